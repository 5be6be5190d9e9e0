"""What is known of a column: type, keys, usage, profile, labels and texts, and how its row is
drawn.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeVar

from rich.text import Text

from explorer.errors import ServerFault
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.tui.content import Times, join, padded, preview, said
from explorer.tui.widgets.charts import bar_text
from explorer.tui.widgets.rows import MARK
from explorer.views.usage import usage_of

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Column, Entity, Schema
    from explorer.client.records import ColumnChange, Timeseries
    from explorer.metadata.aspects import FieldProfile

__all__ = [
    "DAYS",
    "ColumnDrawing",
    "ColumnKnowledge",
    "ColumnMeasurements",
    "ForeignKey",
    "ShownColumn",
    "by_use",
    "column_fact_line",
    "column_lines",
    "foreign_keys",
    "in_tree_order",
    "read_measurements",
    "schema_of",
]

_T = TypeVar("_T")

DAYS = 30
"""How many days of use are added up."""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Where a column points to; `column` is empty where that is not said."""

    dataset: Urn
    column: str = ""


@dataclass(frozen=True, slots=True)
class ColumnMeasurements:
    """By the raw path of a column: how often it was used in the last days, and its profile."""

    use: Mapping[str, int] = field(default_factory=dict)
    profiles: "Mapping[str, FieldProfile]" = field(default_factory=dict)
    rows: int | None = None

    @property
    def most(self) -> int:
        """How often the most used column was used."""
        return max(self.use.values(), default=0)


async def read_measurements(
    catalog: "AsyncCatalog", entity: "Entity", schema: "Schema"
) -> tuple[ColumnMeasurements, list[BaseException]]:
    """Return what was measured of the columns of an entity, and what went wrong; nothing is known
    of what is no dataset. Two requests."""
    if entity.entity_type != "dataset" or not entity.exists:
        return ColumnMeasurements(), []
    usage, profile = await asyncio.gather(
        catalog.usage(entity.urn, days=DAYS),
        catalog.timeseries(entity.urn, "datasetProfile", latest=True),
        return_exceptions=True,
    )
    measured = await asyncio.to_thread(_read_point, usage, profile, schema)
    return measured, [one for one in (usage, profile) if isinstance(one, BaseException)]


def _read_point(
    usage: "Timeseries | BaseException", profile: "Timeseries | BaseException", schema: "Schema"
) -> ColumnMeasurements:
    """What the answers tell; nothing of one that is an error."""
    use = {} if isinstance(usage, BaseException) else usage_counts(usage, schema)
    if isinstance(profile, BaseException):
        return ColumnMeasurements(use)
    return ColumnMeasurements(use, *read_profile(profile, schema))


def usage_counts(series: "Timeseries", schema: "Schema") -> dict[str, int]:
    """How often each column was used. Use is often told by simple paths, whatever the schema's
    are; a path that several columns share counts for each."""
    told: Counter[str] = Counter()
    for path, count in usage_of(series).columns:
        told[path] += count
    return _by_raw(told, schema)


def read_profile(
    series: "Timeseries", schema: "Schema"
) -> "tuple[dict[str, FieldProfile], int | None]":
    """The columns of the newest profile, and how many rows there were."""
    profiles = series.profiles()
    if not profiles:
        return {}, None
    newest = profiles[-1]
    told = {one.field_path: one for one in newest.field_profiles or ()}
    return _by_raw(told, schema), newest.row_count


def foreign_keys(entity: "Entity") -> dict[str, ForeignKey]:
    """The foreign key of each column that is one, by raw path."""
    listed = (entity.raw("schemaMetadata") or {}).get("foreignKeys")
    found: dict[str, ForeignKey] = {}
    for key in listed if isinstance(listed, list) else ():
        if not isinstance(key, dict):
            continue
        there = list(_columns(key.get("foreignFields")))
        told = Urn.parse_all([key.get("foreignDataset")])
        for at, (_, path) in enumerate(_columns(key.get("sourceFields"))):
            dataset, column = there[at] if at < len(there) else (None, "")
            target = dataset or (told[0] if told else None)
            if target is not None:
                found.setdefault(path, ForeignKey(target, column))
    return found


def schema_of(entity: "Entity") -> "Schema | None":
    """The schema; nothing where it has another shape than a schema's."""
    try:
        return entity.schema
    except ServerFault:
        return None


def _columns(listed: object) -> "Iterable[tuple[Urn, str]]":
    for urn in Urn.parse_all(listed if isinstance(listed, list) else ()):
        if urn.entity_type == "schemaField" and len(urn.parts) > 1:
            for dataset in Urn.parse_all(urn.parts[:1]):
                yield dataset, urn.parts[1]


def _by_raw(told: Mapping[str, _T], schema: "Iterable[Column]") -> dict[str, _T]:
    simple = {FieldPath(path).simple: one for path, one in told.items()}
    found: dict[str, _T] = {}
    for column in schema:
        one = told.get(column.path.raw, simple.get(column.path.simple))
        if one is not None:
            found[column.path.raw] = one
    return found


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

    def draw(self, shown: "ShownColumn", fold: str, width: int) -> Text:
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
            row.append(bar_text(count / self.most if self.most else 0, room.use), "dim").append(" ")
        row.append("✎ " if column.edited else "  ", "bold")
        return self._described(row, shown, room.text)

    def _described(self, row: Text, shown: "ShownColumn", room: int) -> Text:
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


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A column that is shown. One that is not `wanted` is there for what lies in it; one that is
    `flat` is called by its whole path."""

    column: "Column"
    wanted: bool = True
    flat: bool = False


def in_tree_order(
    columns: "Sequence[Column]", folded: Collection[str], chosen: Collection[int] | None = None
) -> list[ShownColumn]:
    """Parents before their children. What lies in a record that is `folded` is left out, and with
    `chosen`, places in `columns`, all but those and what they lie in, whether folded or not."""
    if chosen is not None:
        kept = _with_parents(columns, chosen)
        return [ShownColumn(columns[at], at in chosen) for at in sorted(kept)]
    shown: list[ShownColumn] = []
    hidden_below: int | None = None
    for column in columns:
        if hidden_below is not None and column.depth > hidden_below:
            continue
        hidden_below = column.depth if column.path.raw in folded else None
        shown.append(ShownColumn(column))
    return shown


def by_use(
    columns: "Sequence[Column]", counts: Mapping[str, int], chosen: Collection[int] | None = None
) -> list[ShownColumn]:
    """Most used first, then as in the schema; `counts` by raw path."""
    places = range(len(columns)) if chosen is None else sorted(chosen)
    ranked = sorted(places, key=lambda at: (-counts.get(columns[at].path.raw, 0), at))
    return [ShownColumn(columns[at], flat=True) for at in ranked]


def _with_parents(columns: "Sequence[Column]", chosen: Collection[int]) -> set[int]:
    kept: set[int] = set()
    above: list[int] = []
    for at, column in enumerate(columns):
        del above[column.depth :]
        above.append(at)
        if at in chosen:
            kept.update(above)
    return kept


_NOBODY = "unknown"
_SAMPLES = 6
_SAMPLE_LONG = 24


@dataclass(frozen=True, slots=True)
class ColumnKnowledge:
    """What is known of a column beside its schema; `written` is the change that gave it the text
    that counts."""

    measured: ColumnMeasurements
    foreign: ForeignKey | None
    written: "ColumnChange | None"
    names: Mapping[Urn, str]


def column_lines(
    column: "Column", known: ColumnKnowledge, times: Times, lines: int, width: int
) -> Text:
    """The facts, what was measured, and both texts; in a single line the most telling alone."""
    facts = _facts(column, known)
    measured = _measured(column, known)
    if lines <= 1:
        return _cut(join([facts, measured]), width)
    parts = [_cut(facts, width)]
    if measured.plain and lines > 2:
        parts.append(_cut(Text("  ").append_text(measured), width))
    if column.edited:
        text = Text.assemble(("✎ edited    ", "bold"), preview(column.edited))
        by = _written(known, times, "edited")
        parts.append(text.append("  ").append_text(by) if by.plain else text)
    if column.ingested or not column.edited:
        text = Text.assemble(
            ("  ingested  ", "dim"), preview(column.ingested, missing="no description")
        )
        by = _written(known, times, "ingested") if not column.edited else Text()
        parts.append(text.append("  ").append_text(by) if by.plain else text)
    return Text("\n").join(parts)


def column_fact_line(column: "Column", measured: ColumnMeasurements) -> Text:
    """Type and key, use, and sample values of a column, in one line."""
    known = ColumnKnowledge(measured, None, None, {})
    return join([*_typed(column), _measured(column, known)])


def _cut(text: Text, width: int) -> Text:
    text.truncate(max(width, 1), overflow="ellipsis")
    return text


def _facts(column: "Column", known: ColumnKnowledge) -> Text:
    def name(urn: Urn) -> str:
        return known.names.get(urn, urn.name)

    foreign = Text()
    if known.foreign is not None:
        to = f"{name(known.foreign.dataset)}.{known.foreign.column}".rstrip(".")
        foreign = Text.assemble("foreign key → ", said(to, "bold"))
    return join(
        [
            said(column.path.simple, "bold"),
            *_typed(column),
            foreign,
            Text("recursive" if column.recursive else ""),
            said(f"{column.children} inside" if column.children else ""),
            *(Text.assemble((TAG, "dim"), said(name(tag), "bold")) for tag in column.tags),
            *(Text.assemble((TERM, "dim"), said(name(term), "bold")) for term in column.terms),
        ]
    )


def _typed(column: "Column") -> list[Text]:
    """Its type, whether it may be empty, whether it is a key."""
    return [
        said(column.native_type or column.type),
        Text("nullable" if column.nullable else "not null"),
        Text("key" if column.is_key else ""),
    ]


def _measured(column: "Column", known: ColumnKnowledge) -> Text:
    measured = known.measured
    count = measured.use.get(column.path.raw)
    used = ""
    if measured.most:
        used = f"used {count:,} times in {DAYS} days" if count else f"not used in {DAYS} days"
    profile = measured.profiles.get(column.path.raw)
    return join([Text(used), *(_profiled(profile, measured.rows) if profile else ())])


def _profiled(profile: "FieldProfile", rows: int | None) -> list[Text]:
    nulls = profile.null_proportion
    if nulls is None and profile.null_count is not None and rows:
        nulls = profile.null_count / rows
    distinct = profile.unique_count
    samples = [said(one) for one in (profile.sample_values or ())[:_SAMPLES]]
    for sample in samples:
        sample.truncate(_SAMPLE_LONG, overflow="ellipsis")
    return [
        Text("" if nulls is None else f"{_share(nulls)} null"),
        Text("" if distinct is None else f"{distinct:,} distinct"),
        join(samples, ", "),
    ]


def _share(share: float) -> str:
    percent = share * 100
    if 0 < percent < 0.1:
        return "< 0.1 %"
    return f"{percent:.1f} %".replace(".0 %", " %")


def _written(known: ColumnKnowledge, times: Times, origin: str) -> Text:
    change = known.written
    if change is None or change.origin != origin or change.created is None:
        return Text()
    stamp = change.created
    by = Urn.parse_all([stamp.actor])
    actor = known.names.get(by[0], by[0].name) if by and by[0].name != _NOBODY else ""
    return said(f"· {times.when(stamp)}" + (f" by {actor}" if actor else ""), "dim")
