"""What can be done while finding."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("results", "facets", ("f",), "Go to the facets, and back", "facets"),
    Action("results", "clear_facets", ("x",), "Take every facet off"),
    Action("results", "facet(1)", ("1",), "Narrow by the facet value with that number", "", "1–9"),
    *(Action("results", f"facet({n})", (str(n),), "") for n in range(2, 10)),
    Action("facets", "choose", ("enter", "space"), "Take a value on or off", "on, off"),
    Action("facets", "leave", ("escape", "f", "right", "l"), "Back to the results", "results"),
    Action("find", "complete", ("tab",), "Complete the name", "complete"),
    Action("find", "to_results", ("down", "enter"), "Go to the results", "results"),
    Action("find", "leave", ("escape",), "Leave the search box", "leave"),
)
