"""Labels and changes of them in words for the screen."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from explorer.metadata.names import ownership
from explorer.metadata.urn import Urn
from explorer.tui.content import said
from explorer.tui.labelling.choice import Choice, owner_of

if TYPE_CHECKING:
    from explorer.client.records import Edit, Held, What

__all__ = [
    "NameOf",
    "ownership_word",
    "tell_change",
    "tell_held",
    "tell_label",
    "tell_taking_back",
]

NameOf = Callable[[str], str]
"""The name people know a URN by."""

_SHORT = 60
_NOTHING: dict["What", str] = {
    "deprecation": "not deprecated",
    "description": "no description",
    "owners": "nobody",
}


def ownership_word(kind: str, name_of: NameOf = Urn.label) -> str:
    """A kind of ownership as people say it; not cleaned for the screen."""
    if kind.startswith("urn:"):
        return name_of(kind)
    return ownership(kind)


def tell_label(label: str, name_of: NameOf = Urn.label) -> str:
    """A label by its name, an owner with the kind of ownership; not cleaned for the screen."""
    urn, kind = owner_of(label)
    return f"{name_of(urn)} ({ownership_word(kind, name_of)})" if kind else name_of(urn)


def tell_change(choice: Choice, name_of: NameOf = Urn.label) -> Text:
    """What would be written: `+ PII  − Legacy`."""
    parts = [
        *((f"+ {tell_label(one, name_of)}", one in choice.new) for one in choice.added),
        *((f"− {tell_label(one, name_of)}", False) for one in choice.removed),
    ]
    text = Text()
    for words, is_new in parts:
        text.append("  " if text.plain else "").append_text(said(words, "bold"))
        if is_new:
            text.append(" (new)", "italic")
    return text


def tell_held(what: "What", held: "Held", name_of: NameOf = Urn.label) -> str:
    """What an edit found or left, in a few words; not cleaned for the screen."""
    match held:
        case str() if what == "status":
            return held
        case str() if held.strip():
            short = " ".join(held.split())
            return f"“{short[:_SHORT]}…”" if len(short) > _SHORT else f"“{short}”"
        case dict():
            note = str(held.get("note") or "")
            return f"deprecated: {note[:_SHORT]}" if note else "deprecated"
        case tuple() if held:
            return ", ".join(_label_of(what, one, name_of) for one in held)
        case _:
            return _NOTHING.get(what, "none")


def tell_taking_back(edit: "Edit", name_of: NameOf = Urn.label) -> Text:
    """What taking an edit back would do: the labels that come and go, or both texts."""
    before, after = edit.before, edit.after
    if edit.what == "entity":
        gone = "is removed, unless something else uses it"
        return said(gone if before is None else "is created again", "bold")
    if isinstance(before, tuple) and isinstance(after, tuple):
        off: Sequence[str] = [one for one in after if one not in before]
        back: Sequence[str] = [one for one in before if one not in after]
        words = [
            *(f"+ {_label_of(edit.what, one, name_of)}" for one in back),
            *(f"− {_label_of(edit.what, one, name_of)}" for one in off),
        ]
        return said("  ".join(words), "bold")
    return Text.assemble(
        said(tell_held(edit.what, after, name_of)),
        ("\nbecomes ", "dim"),
        said(tell_held(edit.what, before, name_of), "bold"),
    )


def _label_of(what: "What", label: str, name_of: NameOf) -> str:
    return label if what == "links" else tell_label(label, name_of)
