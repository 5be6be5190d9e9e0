"""What can be done with what is told of an entity, and with what it is related to."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("overview", "next_mention", ("n", "tab"), "To the next reference", "next reference"),
    Action("overview", "previous_mention", ("p", "N", "shift+tab"), "To the reference before"),
    Action("overview", "whole", ("w",), "All of a long text, as it is written", "whole text"),
    Action(
        "relations", "fold", ("space", "left", "right"), "Expand or collapse a kind", "collapse"
    ),
    Action("relations", "filter", ("f",), "Filter by name, type or relationship", "filter"),
    Action("relations", "unfilter", ("escape",), "Clear the filter", "all"),
    Action("narrowing", "keep", ("enter", "down"), "To what passes", "to the list"),
    Action("narrowing", "leave", ("escape",), "Clear the filter", "all"),
)
