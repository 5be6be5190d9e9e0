"""The row of a column in the terminal, the lines below the table, and what they are read from."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from rich.text import Text

from explorer.tui.content import Times, counted, join, padded, preview, said
from explorer.tui.widgets.charts import bar_text
from explorer.tui.widgets.rows import MARK
from explorer.views.columns import ColumnMeasurements, ColumnRow, column_measurements

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Column, Entity, Schema

__all__ = ["DAYS", "ColumnDrawing", "column_fact_line", "column_lines", "read_measurements"]

DAYS: Final = 30
"""How many days of use are added up."""


async def read_measurements(
    catalog: "AsyncCatalog", entity: "Entity", schema: "Schema"
) -> tuple[ColumnMeasurements, list[BaseException]]:
    """Return what was measured of the columns of an entity, and what went wrong; nothing is known
    of what is no dataset. Two requests."""
    if entity.entity_type != "dataset" or not entity.exists:
        return ColumnMeasurements(), []
    answers = await asyncio.gather(
        catalog.usage(entity.urn, days=DAYS),
        catalog.timeseries(entity.urn, "datasetProfile", latest=True),
        return_exceptions=True,
    )
    usage, profile = (None if isinstance(one, BaseException) else one for one in answers)
    measured = await asyncio.to_thread(column_measurements, usage, profile, schema)
    return measured, [one for one in answers if isinstance(one, BaseException)]


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
class ColumnDrawing:
    """How rows are drawn: the widths that names, types and keys need, the highest use of a column,
    whether columns are ranked by their use, and the raw paths of those that are marked."""

    name: int = 0
    kind: int = 0
    key: int = 0
    most: int = 0
    ranked: bool = False
    marked: Collection[str] = ()

    @classmethod
    def of(cls, schema: "Schema", foreign: Collection[str], most: int) -> Self:
        """Return the widths of the longest of a schema's columns; `foreign` are the raw paths of
        foreign keys."""
        keys = {len(_key(one.is_key, one.path.raw in foreign)) for one in schema}
        return cls(
            max((len(one.name) + one.depth * _INDENT + 4 for one in schema), default=0),
            max((len(_kind(one)) for one in schema), default=0),
            # As wide as the word over it.
            max(len("key"), *keys) if any(keys) else 0,
            most,
        )

    def heading(self, width: int) -> Text:
        """Return the names of the parts."""
        room = self._room(width)
        text = Text(f"{'   column':<{room.name}} ", no_wrap=True)
        if room.kind:
            text.append(f"{'type':<{room.kind}} ")
        if room.key:
            text.append(f"{'key':<{room.key}} ")
        if room.use:
            text.append(f"{'use ↓' if self.ranked else 'use':<{room.use}} ")
        return text.append("  description")

    def draw(self, row: ColumnRow, fold: str, width: int) -> Text:
        """Return a column as a line; `fold` is the mark of a record that can be folded."""
        room = self._room(width)
        column = row.column
        indent = min(row.indent * _INDENT, max(room.name - 8, 0))
        name = Text.assemble(
            (MARK if row.path in self.marked else " ", "bold"),
            (f"{' ' * indent}{fold} ", "dim"),
            said(row.label, "" if row.wanted else "dim"),
        )
        text = padded(name, room.name).append(" ")
        if room.kind:
            text.append_text(padded(said(_kind(column), "dim"), room.kind)).append(" ")
        if room.key:
            text.append(f"{_key(column.is_key, bool(row.foreign_key)):<{room.key}} ", "bold")
        if room.use:
            share = (row.uses or 0) / self.most if self.most else 0
            text.append(bar_text(share, room.use), "dim").append(" ")
        text.append("✎ " if row.is_edited else "  ", "bold")
        return _described(text, row, room.text)

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


def _described(text: Text, row: ColumnRow, room: int) -> Text:
    """Append the description and the labels of a column to its line."""
    marks = [*(f"{TAG}{name}" for name in row.tags), *(f"{TERM}{name}" for name in row.terms)]
    about = preview(row.description, "" if row.wanted else "dim", missing="—")
    if row.has_draft:
        about = Text.assemble((" draft ", "reverse"), " ", about)
    if not marks:
        return text.append_text(padded(about, room))
    label = said(" ".join(marks), "italic dim")
    # Marks have what the text leaves, and a third of the room at least.
    share = min(label.cell_len, max(room // 3, room - about.cell_len - 1, 6))
    text.append_text(padded(about, room - share - 1)).append(" ")
    return text.append_text(padded(label, share))


_SAMPLE_WIDTH = 24


def column_lines(row: ColumnRow, times: Times, lines: int, width: int) -> Text:
    """Return the facts, what was measured, and both texts; in a single line facts and measurements
    alone."""
    facts, measured = _facts(row), _measured(row)
    if lines <= 1:
        return _cut(join([facts, measured]), width)
    parts = [_cut(facts, width)]
    if measured.plain and lines > 2:
        parts.append(_cut(Text("  ").append_text(measured), width))
    column = row.column
    if column.edited:
        text = Text.assemble(("✎ edited    ", "bold"), preview(column.edited))
        parts.append(_with_author(text, row, times, "edited"))
    if column.ingested or not column.edited:
        ingested = preview(column.ingested, missing="no description")
        text = Text.assemble(("  ingested  ", "dim"), ingested)
        parts.append(text if column.edited else _with_author(text, row, times, "ingested"))
    return Text("\n").join(parts)


def column_fact_line(row: ColumnRow) -> Text:
    """Return type and key, use, and sample values of a column in one line."""
    return join([*map(said, row.facts), _measured(row)])


def _cut(text: Text, width: int) -> Text:
    text.truncate(max(width, 1), overflow="ellipsis")
    return text


def _facts(row: ColumnRow) -> Text:
    column = row.column
    foreign = Text()
    if row.foreign_key:
        foreign = Text.assemble("foreign key → ", said(row.foreign_key, "bold"))
    return join(
        [
            said(column.path.simple, "bold"),
            *map(said, row.facts),
            foreign,
            Text("recursive" if column.recursive else ""),
            said(f"{column.children} inside" if column.children else ""),
            *(Text.assemble((TAG, "dim"), said(name, "bold")) for name in row.tags),
            *(Text.assemble((TERM, "dim"), said(name, "bold")) for name in row.terms),
        ]
    )


def _measured(row: ColumnRow) -> Text:
    used = ""
    if row.uses is not None:
        used = f"used {counted(row.uses, 'time')}" if row.uses else "not used"
        used = f"{used} in {DAYS} days"
    samples = [_cut(said(one), _SAMPLE_WIDTH) for one in row.samples]
    return join(
        [
            Text(used),
            Text("" if row.nulls is None else f"{_share(row.nulls)} null"),
            Text("" if row.distinct is None else f"{row.distinct:,} distinct"),
            join(samples, ", "),
        ]
    )


def _share(share: float) -> str:
    percent = share * 100
    if 0 < percent < 0.1:
        return "< 0.1 %"
    return f"{percent:.1f} %".replace(".0 %", " %")


def _with_author(text: Text, row: ColumnRow, times: Times, origin: str) -> Text:
    """Append when and by whom the text was written, where that is known."""
    change = row.change
    if change is None or change.origin != origin or change.created is None:
        return text
    by = f" by {row.author}" if row.author else ""
    return text.append("  ").append_text(said(f"· {times.when(change.created)}{by}", "dim"))
