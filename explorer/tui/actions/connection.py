"""What can be done about the catalog that is asked, and with what is shown of it."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("app", "try_again", ("r",), "Retry what failed", "try again"),
    Action("app", "open_last", ("minus",), "Last opened, and back again"),
    Action("app", "servers", ("f3", "S"), "Switch server"),
    Action("app", "export", ("X",), "Write what is shown to a file: CSV, JSON, Markdown"),
    Action("app", "picture", ("f9",), "Write a picture of the screen to a file"),
    Action("app", "exchanges", ("ctrl+l",), "Log: what was asked of the server"),
    Action("servers", "token", ("t",), "Give an access token for it", "give a token"),
    Action("servers", "offline", ("o",), "Open what was kept of it, asking nobody", "offline copy"),
    Action("servers", "read_only", ("R",), "Open it to be read only", "read only"),
    Action("servers", "address", ("a", "slash"), "Type an address", "type an address"),
    Action("servers", "close", ("escape", "q", "f3"), "Close", "close"),
    Action("log", "copy_line", ("y",), "Copy the line", "copy"),
    Action("log", "close", ("escape", "q", "ctrl+l"), "Close", "close"),
    Action("export", "shown", ("ctrl+t",), "All there are, or only those shown", "all, or shown"),
    Action("export", "close", ("escape",), "Write nothing, or stop writing", "close"),
)
