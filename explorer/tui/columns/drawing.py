"""A column as a row of the table, and the names of the table's parts over it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rich.text import Text

from explorer.metadata.urn import Urn
from explorer.tui.content import padded, preview, said
from explorer.tui.measures.shapes import bar
from explorer.tui.rows import MARK

if TYPE_CHECKING:
    from explorer.client.entity import Column, Schema
    from explorer.tui.columns.outline import Shown

__all__ = ["TAG", "TERM", "Drawing"]

TAG, TERM = "#", "≡"
"""What stands before the name of a tag, and before that of a glossary term."""

_NAME_AT_LEAST = 14
_KIND_AT_LEAST = 6
_INDENT = 2
_NO_KIND, _NO_USE = 46, 64
_ROOMY = 100


@dataclass(frozen=True, slots=True)
class _Room:
    """The widths of the parts of a row in cells; nothing for a part that is left out."""

    name: int
    kind: int
    key: int
    use: int
    text: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """What rows are drawn from: how much room names, types and keys would like to have, what is
    known of columns beside the schema, by raw path, whether they are ranked by their use, and the
    raw paths of those with a draft and of those that are marked."""

    name: int = 0
    kind: int = 0
    key: int = 0
    foreign: Collection[str] = ()
    use: Mapping[str, int] | None = None
    most: int = 0
    names: Mapping[Urn, str] | None = None
    ranked: bool = False
    drafts: Collection[str] = ()
    marked: Collection[str] = ()

    @classmethod
    def of(
        cls,
        schema: "Schema",
        foreign: Collection[str],
        use: Mapping[str, int],
        names: Mapping[Urn, str],
    ) -> Self:
        """What the longest of a schema's columns would like."""
        keys = {len(_key(one.is_key, one.path.raw in foreign)) for one in schema}
        return cls(
            max((len(one.name) + one.depth * _INDENT + 4 for one in schema), default=0),
            max((len(_kind(one)) for one in schema), default=0),
            # As wide as the word over it.
            max(len("key"), *keys) if any(keys) else 0,
            foreign,
            use,
            max(use.values(), default=0),
            names,
        )

    def heading(self, width: int) -> Text:
        """The names of the parts."""
        room = self._room(width)
        text = Text(f"{'   column':<{room.name}} ", no_wrap=True)
        if room.kind:
            text.append(f"{'type':<{room.kind}} ")
        if room.key:
            text.append(f"{'key':<{room.key}} ")
        if room.use:
            text.append(f"{'use ↓' if self.ranked else 'use':<{room.use}} ")
        return text.append("  description")

    def draw(self, shown: "Shown", fold: str, width: int) -> Text:
        """A column; `fold` is the mark of a record that can be folded."""
        room = self._room(width)
        column = shown.column
        depth = 0 if shown.flat else column.depth
        indent = min(depth * _INDENT, max(room.name - 8, 0))
        label = column.path.simple if shown.flat else column.name
        name = Text.assemble(
            (MARK if column.path.raw in self.marked else " ", "bold"),
            (f"{' ' * indent}{fold} ", "dim"),
            said(label, "" if shown.wanted else "dim"),
        )
        row = padded(name, room.name).append(" ")
        if room.kind:
            row.append_text(padded(said(_kind(column), "dim"), room.kind)).append(" ")
        if room.key:
            row.append(
                f"{_key(column.is_key, column.path.raw in self.foreign):<{room.key}} ", "bold"
            )
        if room.use:
            count = (self.use or {}).get(column.path.raw, 0)
            row.append(bar(count / self.most if self.most else 0, room.use), "dim").append(" ")
        row.append("✎ " if column.edited else "  ", "bold")
        return self._described(row, shown, room.text)

    def _described(self, row: Text, shown: "Shown", room: int) -> Text:
        column = shown.column
        names = self.names or {}
        marks = [f"{TAG}{names.get(urn, urn.name)}" for urn in column.tags]
        marks += [f"{TERM}{names.get(urn, urn.name)}" for urn in column.terms]
        text = preview(column.description, "" if shown.wanted else "dim", missing="—")
        if column.path.raw in self.drafts:
            text = Text.assemble((" draft ", "reverse"), " ", text)
        if not marks:
            return row.append_text(padded(text, room))
        label = said(" ".join(marks), "italic dim")
        # Marks have what the text leaves, and a third of the room at least.
        share = min(label.cell_len, max(room // 3, room - text.cell_len - 1, 6))
        row.append_text(padded(text, room - share - 1)).append(" ")
        return row.append_text(padded(label, share))

    def _room(self, width: int) -> _Room:
        name = max(_NAME_AT_LEAST, min(self.name, width * 2 // 5))
        kind = max(_KIND_AT_LEAST, min(self.kind, width // 7)) if width >= _NO_KIND else 0
        key = self.key if width >= _NO_KIND else 0
        use = (10 if width >= _ROOMY else 6) if self.most and width >= _NO_USE else 0
        parts = [part for part in (name, kind, key, use) if part]
        return _Room(name, kind, key, use, max(8, width - sum(parts) - len(parts) - 2))


def _key(is_key: bool, is_foreign: bool) -> str:
    return " ".join(word for word, meant in (("PK", is_key), ("FK", is_foreign)) if meant)


def _kind(column: "Column") -> str:
    """The type, `?` where there may be none, `↻` where it lies in itself."""
    marks = ("?" if column.nullable else "") + (" ↻" if column.recursive else "")
    return f"{column.type or column.native_type}{marks}"
