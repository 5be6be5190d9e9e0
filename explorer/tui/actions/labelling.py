"""What can be done with labels, and with the life of an entity."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action(
        "schema", "label('tags')", ("t",), "Tags of this column", "tag, term", "t T", writes=True
    ),
    Action("schema", "label('terms')", ("T",), "Glossary terms of this column", writes=True),
    Action(
        "entity",
        "label('tags')",
        ("t", "ctrl+t"),
        "Tags of this entity",
        "tags, owners …",
        "t T O D",
        writes=True,
    ),
    Action("entity", "label('terms')", ("m", "T"), "Glossary terms of this entity", writes=True),
    Action("entity", "label('owners')", ("O",), "Owners", writes=True),
    Action("entity", "label('domain')", ("D",), "Domain", writes=True),
    Action("entity", "deprecate", ("exclamation_mark",), "Deprecate, or undo that", writes=True),
    Action(
        "entity",
        "set_aside",
        ("ctrl+x", "delete"),
        "Hide from search and browse, or restore",
        writes=True,
    ),
    Action(
        "app",
        "take_back",
        ("U", "ctrl+z"),
        "Undo the last save, wherever it was made; it is shown first",
        writes=True,
    ),
    Action("app", "do_again", ("ctrl+y", "ctrl+shift+z"), "Redo what was undone", writes=True),
    Action("labels", "write", ("ctrl+s",), "Save the changes", "save"),
    Action(
        "labelline",
        "turn",
        ("enter",),
        "Add or remove; space does too while nothing is typed",
        "add, remove",
    ),
    Action("labelline", "down", ("down",), "Down"),
    Action("labelline", "up", ("up",), "Up"),
    Action("labelline", "page_down", ("pagedown",), "A screen down"),
    Action("labelline", "page_up", ("pageup",), "A screen up"),
    Action("labelline", "to_rows", ("tab",), "Into the list", "list"),
    Action("labelrows", "turn", ("space", "enter"), "Add or remove", "add, remove", "⎵"),
    Action("labelrows", "to_line", ("tab", "slash", "i"), "Back to typing", "type"),
    Action("labels", "kind", ("ctrl+t",), "Another kind of ownership", "kind of ownership"),
    Action("labels", "leave", ("escape",), "Cancel", "leave"),
    Action("deprecation", "write", ("ctrl+s",), "Save the deprecation", "save"),
    Action("deprecation", "lift", ("ctrl+r",), "It may be used again", "take back"),
    Action("deprecation", "complete", ("ctrl+t",), "Complete the replacement", "complete"),
    Action("deprecation", "leave", ("escape",), "Cancel", "leave"),
    Action("aside", "confirm", ("ctrl+s",), "Do it", "do it"),
    Action("aside", "leave", ("escape",), "Cancel", "leave"),
    Action("question", "confirm", ("ctrl+s",), "Yes, do it", "do it"),
    Action("question", "cancel", ("escape",), "No, cancel", "leave"),
    Action("discard", "confirm", ("delete",), "Cancel", "discard", "del"),
    Action("discard", "cancel", ("escape",), "Back to what was typed", "go on"),
)
