"""What can be done everywhere."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("app", "find", ("slash",), "Search", "search"),
    Action("app", "browse", ("b",), "Browse the folders, or fold them away", "browse"),
    Action("app", "go_back", ("left_square_bracket", "backspace"), "Back to what was open", "back"),
    Action("app", "go_forward", ("right_square_bracket",), "Forward again"),
    Action("app", "help", ("question_mark", "f1"), "The keys that work here"),
    Action("app", "quit", ("q",), "Quit", "quit"),
    Action("app", "leave_all", ("ctrl+q",), "Quit, from anywhere; what was typed is kept"),
    Action("app", "command_palette", ("colon", "ctrl+p"), "Everything, by name", "everything"),
    Action("help", "close", ("escape", "question_mark", "f1", "q"), "Close", "close"),
)
