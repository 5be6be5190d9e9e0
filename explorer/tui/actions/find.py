"""What can be done while finding."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("find", "enter", ("enter",), "Search, or open what is chosen", "search"),
    Action("find", "take", ("tab",), "Take the completion chosen, or the first", "complete"),
    Action("find", "choose(1)", ("down",), "Next completion, or to the results", called="next"),
    Action(
        "find", "choose(-1)", ("up",), "Completion before; searches asked lately", called="before"
    ),
    Action("find", "leave", ("escape",), "Fold the completions up, or leave", "leave"),
    Action("find", "syntax", ("f1",), "What can be typed here (also ? in an empty box)", "syntax"),
    Action("find", "save", ("ctrl+s",), "Save this search under a name"),
    Action("find", "searches", ("ctrl+r",), "Saved and recent searches"),
    Action("results", "do('facets')", ("f",), "Go to the facets, and back", "facets"),
    Action("results", "do('condition')", ("c",), "Add a condition, step by step", "condition"),
    Action("results", "do('plain')", ("x",), "Take every condition off", called="clear"),
    Action("results", "facet(1)", ("1",), "Narrow by the facet value with that number", "", "1–9"),
    *(Action("results", f"facet({n})", (str(n),), "") for n in range(2, 10)),
    Action("results", "next_page", ("n",), "The next fifty", "page", "n p"),
    Action("results", "previous_page", ("p",), "The fifty before"),
    Action("results", "do('jump')", ("J",), "To a result, or a page, by its number", called="jump"),
    Action("results", "do('order')", ("o",), "Choose the order", "order", called="order"),
    Action("results", "do('why')", ("w",), "Why it was found, and stands where it does", "why"),
    Action("results", "do('save')", ("s",), "Save this search under a name", "save search"),
    Action("results", "do('searches')", ("S",), "Saved and recent searches", called="searches"),
    Action("results", "do('again')", ("r",), "Search again", called="again"),
    Action("facets", "choose", ("enter", "space"), "Take a value on or off", "on, off"),
    Action("facets", "leave", ("escape", "f", "right", "l"), "Back to the results", "results"),
    Action("searches", "rename", ("f2",), "Rename a saved search", "rename"),
    Action("searches", "forget", ("f8",), "Forget a search", "forget"),
    Action("askscreen", "leave", ("escape",), "Leave, and change nothing", "leave"),
    Action("syntax", "close", ("escape", "q", "f1", "question_mark"), "Close", "close"),
)
