"""A choice of labels: what an entity or column has, what is added and removed, and its description
in words."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from rich.text import Text
from textual.message import Message

from explorer.metadata.names import ownership
from explorer.metadata.urn import Urn
from explorer.tui.content import line_text

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.stewardship.labels import LabelledKind
    from explorer.stewardship.worklist import Key

__all__ = [
    "TERM_PREFIX",
    "BulkLabelsRequested",
    "LabelChoice",
    "LabelKind",
    "LabelState",
    "LabelTarget",
    "LabelsRequested",
    "describe_change",
    "describe_label",
    "labels_of",
    "owner_and_type",
    "ownership_word",
    "read_labels",
]

TERM_PREFIX: Final = "urn:li:glossaryTerm:"

LabelKind = Literal["tags", "terms", "owners", "domain"]
LabelState = Literal["on", "some", "off", "added", "removed", "fixed"]


@dataclass(slots=True)
class LabelChoice:
    """A choice of labels as texts: URNs, for owners with the ownership type after a space.

    `current` is what the server has, `fixed` what comes from the ingested schema and cannot be
    removed here. If `single`, at most one label is chosen. `new` labels are created first. For
    several items `current` is what all of them have, `some` what only some have; of these, those in
    `to_remove` are to be removed.
    """

    current: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    single: bool = False
    selection: list[str] = field(default_factory=list)
    new: set[str] = field(default_factory=set)
    some: tuple[str, ...] = ()
    to_remove: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.selection = list(self.current)

    @property
    def added(self) -> tuple[str, ...]:
        """Return the labels to add, in the order in which they were chosen."""
        return tuple(label for label in self.selection if label not in self.current)

    @property
    def removed(self) -> tuple[str, ...]:
        """Return the labels to remove."""
        deselected = (label for label in self.current if label not in self.selection)
        return (*deselected, *(label for label in self.some if label in self.to_remove))

    @property
    def changed(self) -> bool:
        """Return whether there is anything to write."""
        return bool(self.added or self.removed)

    @property
    def concerned(self) -> tuple[str, ...]:
        """Return every label that is present or chosen."""
        return tuple(dict.fromkeys((*self.fixed, *self.current, *self.some, *self.selection)))

    def state(self, label: str) -> LabelState:
        """Return the present and the chosen state of a label."""
        if label in self.selection:
            return "on" if label in self.current else "added"
        if label in self.current or label in self.to_remove:
            return "removed"
        if label in self.some:
            return "some"
        return "fixed" if label in self.fixed else "off"

    def toggle(self, label: str) -> bool:
        """Add or remove a label; return False without a change if that is not possible. A label
        that some items have is added to all, then removed from all, then left as it is."""
        if label in self.selection:
            self.selection.remove(label)
            self.new.discard(label)
            if label in self.some:
                self.to_remove.add(label)
        elif label in self.to_remove:
            self.to_remove.remove(label)
        elif label in self.fixed and label not in self.current:
            return False
        elif self.single:
            self.selection[:] = [label]
            self.to_remove.clear()
        else:
            self.selection.append(label)
        return True

    def create(self, label: str) -> None:
        """Add a label that is created first."""
        self.new.add(label)
        if label not in self.selection:
            self.toggle(label)

    def note_written(self, *, added: Iterable[str] = (), removed: Iterable[str] = ()) -> None:
        """Record that the server has stored a part of the choice."""
        removed_labels = frozenset(removed)
        remaining = (label for label in self.current if label not in removed_labels)
        self.current = tuple(dict.fromkeys((*remaining, *added)))
        self.new.difference_update(self.current)

    def note_current(self, current: Sequence[str]) -> None:
        """Record that the server has different labels now; the choice is kept."""
        added, removed = self.added, frozenset(self.removed)
        self.current = tuple(current)
        selection = (
            [] if self.single and added else [label for label in current if label not in removed]
        )
        self.selection = list(dict.fromkeys((*selection, *added)))


def owner_and_type(label: str) -> tuple[str, str]:
    """Return the URN of a label and, for an owner, the ownership type; empty for all others."""
    urn, _, kind = label.rpartition(" ")
    # Only the kind of an owner comes after the last space; other URNs may hold spaces themselves.
    is_owner = urn.startswith(("urn:li:corpuser:", "urn:li:corpGroup:"))
    return (urn, kind) if is_owner else (label, "")


@dataclass
class LabelsRequested(Message):
    """Asks to change the labels of the column under the cursor."""

    kind: LabelKind


@dataclass
class BulkLabelsRequested(Message):
    """Asks to change the marked items through a reviewed changeset: labels, deprecation or links of
    entities, or labels of columns at their exact paths. `subject` is the name of all of them for
    messages."""

    what: "LabelledKind"
    keys: "tuple[Key, ...]"
    subject: str


_COLUMN_ASPECTS = ("schemaMetadata", "editableSchemaMetadata")


@dataclass(frozen=True, slots=True)
class LabelTarget:
    """An entity, or its column at the field path `path`, with their display names."""

    urn: Urn
    name: str
    path: str | None = None
    column: str = ""

    @classmethod
    def of(cls, entity: "Entity", path: str | None) -> "LabelTarget":
        """The place as the entity has it."""
        if path is None:
            return cls(entity.urn, entity.name)
        column = entity.schema.column(path)
        return cls(entity.urn, entity.name, path, column.path.simple if column else path)

    @property
    def full_name(self) -> str:
        """Return the name for messages; not cleaned for the screen."""
        return self.name if self.path is None else f"{self.column} of {self.name}"


def labels_of(entity: "Entity", kind: LabelKind, path: str | None) -> LabelChoice:
    """Return the labels of one kind of an entity or its column."""
    from explorer.client.editable import LABEL_KINDS

    if kind == "domain":
        return LabelChoice(tuple(map(str, entity.domains)), single=True)
    stored = LABEL_KINDS[kind]
    value = entity.raw(stored.aspect) if path is None else entity.column_edits
    labels = stored.labels(value or {}, path)
    column = entity.schema.column(path) if path is not None else None
    urns = (column.tags if kind == "tags" else column.terms) if column else ()
    return LabelChoice(labels, tuple(str(urn) for urn in urns if str(urn) not in labels))


async def read_labels(catalog: "AsyncCatalog", place: LabelTarget, kind: LabelKind) -> LabelChoice:
    """Read the current labels from the server. One request."""
    aspects = {
        "tags": "globalTags",
        "terms": "glossaryTerms",
        "owners": "ownership",
        "domain": "domains",
    }
    aspect_names = (aspects[kind],) if place.path is None else _COLUMN_ASPECTS
    return labels_of(await catalog.entity(place.urn, aspect_names), kind, place.path)


NameOf = Callable[[str], str]
"""The name people know a URN by."""


def ownership_word(kind: str, name_of: NameOf = Urn.label) -> str:
    """Return the name of an ownership type; not cleaned for the screen."""
    if kind.startswith("urn:"):
        return name_of(kind)
    return ownership(kind)


def describe_label(label: str, name_of: NameOf = Urn.label) -> str:
    """Return the name of a label, for an owner with the ownership type; not cleaned for the
    screen."""
    urn, kind = owner_and_type(label)
    return f"{name_of(urn)} ({ownership_word(kind, name_of)})" if kind else name_of(urn)


def describe_change(choice: LabelChoice, name_of: NameOf = Urn.label) -> Text:
    """Return the labels that would be added and removed: `+ PII  − Legacy`."""
    parts = [
        *((f"+ {describe_label(label, name_of)}", label in choice.new) for label in choice.added),
        *((f"− {describe_label(label, name_of)}", False) for label in choice.removed),
    ]
    text = Text()
    for words, is_new in parts:
        text.append("  " if text.plain else "").append_text(line_text(words, "bold"))
        if is_new:
            text.append(" (new)", "italic")
    return text
