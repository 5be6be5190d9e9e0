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
        "Tags of it all",
        "tags, owners …",
        "t T O D",
        writes=True,
    ),
    Action("entity", "label('terms')", ("m", "T"), "Glossary terms of it all", writes=True),
    Action("entity", "label('owners')", ("O",), "Owners", writes=True),
    Action("entity", "label('domain')", ("D",), "Domain", writes=True),
    Action(
        "entity", "deprecate", ("exclamation_mark",), "Deprecate, or take that back", writes=True
    ),
    Action(
        "entity",
        "set_aside",
        ("ctrl+x", "delete"),
        "Hide from search and browse, or restore",
        writes=True,
    ),
    Action("entity", "take_back", ("U", "ctrl+z"), "Take the last change back", writes=True),
    Action("labels", "write", ("ctrl+s",), "Write what was chosen", "write"),
    Action(
        "labelline",
        "turn",
        ("enter",),
        "Put on or take off; a space does while nothing is typed",
        "on, off",
    ),
    Action("labelline", "down", ("down",), "Down"),
    Action("labelline", "up", ("up",), "Up"),
    Action("labelline", "page_down", ("pagedown",), "A screen down"),
    Action("labelline", "page_up", ("pageup",), "A screen up"),
    Action("labelline", "to_rows", ("tab",), "Into the list", "list"),
    Action("labelrows", "turn", ("space", "enter"), "Put on, or take off", "on, off", "⎵"),
    Action("labelrows", "to_line", ("tab", "slash", "i"), "Back to typing", "type"),
    Action("labels", "kind", ("ctrl+t",), "Another kind of ownership", "kind of ownership"),
    Action("labels", "leave", ("escape",), "Leave, and write nothing", "leave"),
    Action("deprecation", "write", ("ctrl+s",), "Write the deprecation", "write"),
    Action("deprecation", "lift", ("ctrl+r",), "It may be used again", "take back"),
    Action("deprecation", "complete", ("ctrl+t",), "Complete the replacement", "complete"),
    Action("deprecation", "leave", ("escape",), "Leave, and write nothing", "leave"),
    Action("aside", "confirm", ("y",), "Do it", "do it"),
    Action("aside", "leave", ("escape", "n", "q"), "Leave everything as it is", "leave"),
    Action("question", "confirm", ("y",), "Yes", "yes"),
    Action("question", "cancel", ("escape", "n"), "No", "no"),
)
