"""What can be done while finding."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("find", "enter", ("enter",), "Search, or open what is chosen", "search"),
    Action("find", "take", ("tab",), "Take the completion chosen, or the first", "complete"),
    Action("find", "choose(1)", ("down",), "Next completion, or to the results", called="next"),
    Action("find", "choose(-1)", ("up",), "Previous completion; recent searches", called="before"),
    Action("find", "leave", ("escape",), "Close the completions, or leave", "leave"),
    Action("find", "syntax", ("f1",), "Search syntax (also ? in an empty box)", "syntax"),
    Action("find", "save", ("ctrl+s",), "Save this search under a name"),
    Action("find", "searches", ("ctrl+r",), "Saved and recent searches"),
    Action("results", "do('facets')", ("f",), "Go to the facets, and back", "facets"),
    Action("results", "do('condition')", ("c",), "Add a condition, step by step", "condition"),
    Action("results", "do('plain')", ("x",), "Clear all conditions", called="clear"),
    Action("results", "facet(1)", ("1",), "Filter by the facet value with that number", "", "1–9"),
    *(Action("results", f"facet({n})", (str(n),), "") for n in range(2, 10)),
    Action("results", "next_page", ("n",), "Next page", "page", "n p"),
    Action("results", "previous_page", ("p",), "Previous page"),
    Action("results", "do('jump')", ("J",), "To a result, or a page, by its number", called="jump"),
    Action("results", "do('order')", ("o",), "Choose the order", "order", called="order"),
    Action("results", "do('why')", ("w",), "Why it was found, and why it ranks here", "why"),
    Action(
        "results", "mark", ("space", "v"), "Mark or unmark a result, and go to the next", "mark"
    ),
    Action("results", "unmark", ("escape",), "Unmark all results", "unmark"),
    Action("results", "do('save')", ("s",), "Save this search under a name", "save search"),
    Action("results", "do('searches')", ("S",), "Saved and recent searches", called="searches"),
    Action("results", "do('again')", ("r",), "Search again", called="again"),
    Action("facets", "choose", ("enter", "space"), "Add or remove a value", "add, remove"),
    Action("facets", "leave", ("escape", "f", "right", "l"), "Back to the results", "results"),
    Action("searches", "rename", ("f2",), "Rename a saved search", "rename"),
    Action("searches", "forget", ("f8",), "Forget a search", "forget"),
    Action("askscreen", "leave", ("escape",), "Cancel", "leave"),
    Action("syntax", "close", ("escape", "q", "f1", "question_mark"), "Close", "close"),
)
