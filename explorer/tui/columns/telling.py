"""Everything known of one column, in the lines below the table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from explorer.metadata.urn import Urn
from explorer.tui.columns.drawing import TAG, TERM
from explorer.tui.columns.measured import DAYS, ForeignKey, Measured
from explorer.tui.content import join, preview, said
from explorer.tui.times import Times

if TYPE_CHECKING:
    from explorer.client.entity import Column
    from explorer.client.records import ColumnChange
    from explorer.metadata.aspects import FieldProfile

__all__ = ["Known", "facts_of", "told"]

_NOBODY = "unknown"
_SAMPLES = 6
_SAMPLE_LONG = 24


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a column beside its schema; `written` is the change that gave it the text
    that counts."""

    measured: Measured
    foreign: ForeignKey | None
    written: "ColumnChange | None"
    names: Mapping[Urn, str]


def told(column: "Column", known: Known, times: Times, lines: int, width: int) -> Text:
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


def facts_of(column: "Column", measured: Measured) -> Text:
    """Type and key, use, and sample values of a column, in one line."""
    known = Known(measured, None, None, {})
    return join([*_typed(column), _measured(column, known)])


def _cut(text: Text, width: int) -> Text:
    text.truncate(max(width, 1), overflow="ellipsis")
    return text


def _facts(column: "Column", known: Known) -> Text:
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


def _measured(column: "Column", known: Known) -> Text:
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


def _written(known: Known, times: Times, origin: str) -> Text:
    change = known.written
    if change is None or change.origin != origin or change.created is None:
        return Text()
    stamp = change.created
    by = Urn.parse_all([stamp.actor])
    actor = known.names.get(by[0], by[0].name) if by and by[0].name != _NOBODY else ""
    return said(f"· {times.when(stamp)}" + (f" by {actor}" if actor else ""), "dim")
