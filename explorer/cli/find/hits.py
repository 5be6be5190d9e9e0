"""A page of search results: as a table, as JSON, as URNs."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Group, OverflowMethod, RenderableType
from rich.table import Table
from rich.text import Text

from explorer.cli import tables
from explorer.cli.output import EDITED, note, print_json, results, said
from explorer.client.entity import Entity
from explorer.client.records import Hit, SearchPage
from explorer.metadata.urn import Urn

__all__ = ["print_as_csv", "print_as_json", "print_reasons", "print_table", "print_urns"]

# The columns beside the description, and the most that each takes.
_COLUMNS = {"name": 36, "type": 12, "platform": 12, "matched": 24}
_CSV = ("urn", "name", "type", "kind", "platform", "description", "edited", "matched")
_GAP = "  "
_WIDE = 110


class _Row(NamedTuple):
    cells: tuple[Text, ...]
    description: Text


def print_urns(page: SearchPage) -> None:
    """One URN a line, and nothing else."""
    tables.print_urns(hit.urn for hit in page)
    _say_how_many(page)


def print_as_csv(page: SearchPage, summaries: Mapping[Urn, Entity]) -> None:
    """A line for each hit, with what JSON says of it; `matched` are the fields that did."""
    rows = []
    for hit in page:
        said_of_it = _as_json(hit, summaries.get(hit.urn))
        said_of_it["matched"] = list(dict.fromkeys(match.field for match in hit.matched))
        rows.append([said_of_it[name] for name in _CSV])
    tables.print_csv(tables.Table([tables.Column(name) for name in _CSV], rows))
    _say_how_many(page)


def print_as_json(page: SearchPage, summaries: Mapping[Urn, Entity]) -> None:
    """The page as one object: `total` counts all that matches, `hits` are in order."""
    print_json(
        {
            "text": page.text,
            "start": page.start,
            "total": page.total,
            "corrected": page.corrected,
            "hits": [_as_json(hit, summaries.get(hit.urn)) for hit in page],
            "facets": {
                facet.name: {value.value: value.count for value in facet.values}
                for facet in page.facets
            },
        }
    )


def print_reasons(page: SearchPage, summaries: Mapping[Urn, Entity]) -> None:
    """For each hit its place and score, the reason, and the fields that matched."""
    console = results()
    for rank, hit in enumerate(page, page.start + 1):
        entity = summaries.get(hit.urn)
        score = "" if hit.score is None else f"  score {hit.score:.4g}"
        use = f", {hit.use:.2g} of it for its use" if hit.use else ""
        name = said(entity.name if entity else hit.urn.name, "bold")
        kind = said(entity.kind if entity else hit.urn.entity_type)
        lines = [Text.assemble(f"{rank:>4}  ", name, "  ", kind, (f"{score}{use}", "dim"))]
        if hit.reason:
            lines.append(Text("      ") + said(hit.reason))
        for match in hit.matched:
            weight = "" if match.weight is None else f"  weight {match.weight:g}"
            value = next(iter(match.value.split("\n")))
            lines.append(
                Text.assemble("      ", said(match.field), ": ", said(value), (weight, "dim"))
            )
        for one in lines:
            one.no_wrap, one.overflow = True, "ellipsis"
            console.print(one)
    _say_how_many(page)


def print_table(page: SearchPage, summaries: Mapping[Urn, Entity]) -> None:
    """A line for each hit: what it is, what it says, and why it is there."""
    if page.hits:
        rows = [_row(hit, summaries.get(hit.urn)) for hit in page]
        console = results()
        console.print(_wide(rows, console.width) if console.width >= _WIDE else _narrow(rows))
    _say_how_many(page)


def _wide(rows: Sequence[_Row], width: int) -> RenderableType:
    """A line for each hit; the description gets what the other columns leave."""
    widths = _widths(rows)
    taken = sum(widths) + len(_GAP) * len(widths)
    longest = max(len("description"), *(row.description.cell_len for row in rows))
    table = Table(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0), header_style="bold")
    _add_columns(table, widths[:-1])
    table.add_column(
        "description", width=min(longest, width - taken), no_wrap=True, overflow="ellipsis"
    )
    _add_columns(table, widths[-1:], start=len(widths) - 1)
    for row in rows:
        *others, matched = row.cells
        table.add_row(*others, row.description, matched)
    return table


def _narrow(rows: Sequence[_Row]) -> RenderableType:
    """Two lines for each hit, the description below."""
    widths = _widths(rows)
    parts: list[RenderableType] = []
    for at, row in enumerate(rows):
        table = Table(
            box=None,
            pad_edge=False,
            padding=(0, len(_GAP), 0, 0),
            header_style="bold",
            show_header=at == 0,
        )
        _add_columns(table, widths)
        table.add_row(*row.cells)
        below = Text(_GAP) + row.description
        below.no_wrap, below.overflow = True, "ellipsis"
        parts += [table, below]
    return Group(*parts)


def _widths(rows: Sequence[_Row]) -> list[int]:
    return [
        min(most, max(len(header), *(row.cells[at].cell_len for row in rows)))
        for at, (header, most) in enumerate(_COLUMNS.items())
    ]


def _add_columns(table: Table, widths: Sequence[int], start: int = 0) -> None:
    headers = tuple(_COLUMNS)[start:]
    for header, width in zip(headers, widths, strict=False):
        # A name is never cut, only broken.
        whole = header == "name"
        overflow: OverflowMethod = "fold" if whole else "ellipsis"
        table.add_column(header, width=width, no_wrap=not whole, overflow=overflow)


def _row(hit: Hit, entity: Entity | None) -> _Row:
    name = said(entity.name if entity else hit.urn.name, "bold")
    if entity and entity.deprecation is not None:
        name.append("  deprecated", "dim italic")
    cells = (
        name,
        said(entity.kind if entity else hit.urn.entity_type),
        said(entity.platform if entity else hit.urn.platform),
        said(", ".join(dict.fromkeys(match.field for match in hit.matched)), "dim"),
    )
    return _Row(cells, _description(entity))


def _description(entity: Entity | None) -> Text:
    if entity is None:
        return Text()
    first = next(iter(entity.description.strip().splitlines()), "")
    shown = said(first, missing="no description")
    return Text(f"{EDITED} ") + shown if entity.edited_description else shown


def _as_json(hit: Hit, entity: Entity | None) -> dict[str, Any]:
    return {
        "urn": str(hit.urn),
        "name": entity.name if entity else hit.urn.name,
        "type": hit.urn.entity_type,
        "kind": entity.kind if entity else hit.urn.entity_type,
        "platform": entity.platform if entity else hit.urn.platform,
        "description": entity.description if entity else "",
        "edited": bool(entity and entity.edited_description),
        "score": hit.score,
        "reason": hit.reason,
        "matched": [
            {"field": match.field, "value": match.value, "weight": match.weight}
            for match in hit.matched
        ],
    }


def _say_how_many(page: SearchPage) -> None:
    if page.corrected:
        note(
            Text("no match for "),
            said(page.text[:80]),
            Text("; these are the results for "),
            said(page.corrected[:80]),
        )
    if not page.total:
        note(Text("nothing found for "), said(page.text[:80]))
    elif not page.hits:
        note(Text(f"nothing after {page.start:,}: there are {page.total:,}"))
    elif len(page) == page.total:
        note(Text(f"{page.total:,} shown"))
    else:
        after = page.start + len(page)
        more = f"; --start {after} for what follows" if page.truncated else ""
        note(Text(f"{len(page):,} of {page.total:,} shown{more}"))
