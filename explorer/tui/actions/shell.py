"""What can be done everywhere."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("app", "find", ("slash",), "Search", "search"),
    Action("app", "browse", ("b",), "Show the folders, or hide them", "browse"),
    Action("app", "folders", ("f6",), "Go to the folders, and back to the page"),
    Action("app", "go_back", ("left_square_bracket", "backspace"), "Back to what was open", "back"),
    Action("app", "go_forward", ("right_square_bracket",), "Forward again"),
    Action("app", "help", ("question_mark", "f1"), "The keys that work here"),
    Action("app", "quit", ("q",), "Quit", "quit"),
    Action("app", "leave_all", ("ctrl+q",), "Quit, from anywhere; what was typed is kept"),
    Action("app", "command_palette", ("colon", "ctrl+p"), "Everything, by name", "everything"),
    Action("app", "jump", ("ctrl+o",), "Jump: a letter over everything one can go to"),
    Action("app", "zoom", ("f10",), "The pane fills the screen, and back"),
    Action(
        "app",
        "change_theme",
        ("f2",),
        "Choose the colours: light, dark, strong contrast …",
        called="theme",
    ),
    Action("app", "settings", ("ctrl+k",), "Keys and settings"),
    Action("app", "welcome", ("ctrl+g",), "The introduction for newcomers"),
    Action("palette", "close", ("escape", "f1", "ctrl+p"), "Close", "close"),
    Action("palette", "choose", ("enter",), "Do it", "do it"),
    Action("palette", "move(1)", ("down", "ctrl+n"), "Down", called="down"),
    Action("palette", "move(-1)", ("up",), "Up", called="up"),
    Action("palette", "page(1)", ("pagedown",), "A screen down", called="page-down"),
    Action("palette", "page(-1)", ("pageup",), "A screen up", called="page-up"),
    Action("jump", "leave", ("escape", "ctrl+o"), "Cancel", "leave"),
)
