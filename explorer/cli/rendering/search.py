"""Render search results and folders as tables, trees, JSON, CSV and URNs."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rich.console import Group, OverflowMethod, RenderableType
from rich.table import Table
from rich.text import Text

from explorer.cli import output
from explorer.cli.options import OutputFormat
from explorer.cli.output import EDITED, UNLIMITED, line_text, note, print_json, results
from explorer.client.display import counted, line
from explorer.client.entity import Entity
from explorer.client.folders import FolderEntries, FolderTree
from explorer.client.records import SearchPage
from explorer.metadata.urn import Urn
from explorer.views.search import ResultRow, result_rows
from explorer.views.table import TableColumn

# Lines of the terminal reserved for the header, the totals and the next prompt.
_RESERVED_LINES: Final = 4
_MIN_ENTRIES: Final = 10
_MAX_PIPED: Final = 1_000
_TREE: Final = ("path", "name", "type", "depth", "entities")


def fitting(shown_as: OutputFormat | None) -> int:
    """Return the default number of entries: those that fit the terminal, or 1,000 if the output
    is not for people."""
    if shown_as is not None or not sys.stdout.isatty():
        return _MAX_PIPED
    return max(_MIN_ENTRIES, results().height - _RESERVED_LINES)


def print_folder(
    listing: FolderEntries, summaries: Mapping[Urn, Entity], shown_as: OutputFormat | None
) -> None:
    """Print the entries at a path in the given format, and totals to standard error."""
    if shown_as == "urns":
        output.print_urns(listing.urns)
    elif shown_as == "json":
        print_json(_folder_as_json(listing, summaries))
    else:
        output.show(_table(listing, summaries), shown_as)
    _print_folder_totals(listing, only_entities=shown_as == "urns")


def print_tree(branches: Sequence[FolderTree], shown_as: OutputFormat | None) -> None:
    """Print the folders, each with the number of entities in and below it."""
    if shown_as == "json":
        print_json([_branch_as_json(branch) for branch in branches])
        return
    if shown_as == "csv":
        rows = [
            (tree.path, tree.name, tree.entity_type, tree.depth, tree.count)
            for tree in _walk(branches)
        ]
        output.show(output.StyledTable.of(_TREE, rows), shown_as)
        return
    console = results()
    types = {branch.entity_type for branch in branches}
    for text in _draw_fields(branches, "", several=len(types) > 1):
        text.no_wrap, text.overflow = True, "ellipsis"
        console.print(text)
    note(counted(sum(1 for _ in _walk(branches)), "folder"))


def _table(listing: FolderEntries, summaries: Mapping[Urn, Entity]) -> output.StyledTable:
    rows: list[list[output.Cell]] = []
    base = listing.path.rstrip("/")
    for entity, folder in listing.folders:
        rows.append(
            [f"{base}/{folder.name}", None, entity, f"{folder.name}/", entity, folder.count, None]
        )
    for entity, entry in listing.entities:
        summary = summaries.get(entry.urn)
        kind = summary.kind if summary else entity
        name = summary.name if summary else entry.name
        rows.append(
            [
                listing.path,
                str(entry.urn),
                entity,
                name,
                kind,
                None,
                _shorten_description(summary),
            ]
        )
    columns = (
        TableColumn("path", audience="programs"),
        TableColumn("urn", audience="programs"),
        TableColumn("type", audience="programs"),
        TableColumn("name", max_width=44, folds=True, style="bold"),
        TableColumn("kind", "type", max_width=16),
        TableColumn("entities", audience="everyone" if listing.folders else "programs"),
        TableColumn(
            "description",
            audience="everyone" if listing.entities else "programs",
            style="dim",
        ),
    )
    return output.StyledTable(columns, rows)


def _shorten_description(summary: Entity | None) -> str:
    if summary is None:
        return ""
    first = next(iter(summary.description.strip().splitlines()), "")
    return f"{EDITED} {first}" if summary.edited_description else first


def _folder_as_json(listing: FolderEntries, summaries: Mapping[Urn, Entity]) -> dict[str, Any]:
    base = listing.path.rstrip("/")
    entities = []
    for entity, entry in listing.entities:
        summary = summaries.get(entry.urn)
        entities.append(
            {
                "urn": str(entry.urn),
                "name": summary.name if summary else entry.name,
                "type": entity,
                "kind": summary.kind if summary else entity,
                "platform": summary.platform if summary else entry.urn.platform,
                "description": summary.description if summary else "",
            }
        )
    return {
        "path": listing.path,
        "total": listing.total,
        "shown": listing.shown,
        "entities_below": listing.below,
        "folders": [
            {
                "path": f"{base}/{folder.name}",
                "name": folder.name,
                "type": entity,
                "entities": folder.count,
            }
            for entity, folder in listing.folders
        ],
        "entities": entities,
    }


def _branch_as_json(branch: FolderTree) -> dict[str, Any]:
    return {
        "path": branch.path,
        "name": branch.name,
        "type": branch.entity_type,
        "entities": branch.count,
        "folders": [_branch_as_json(below) for below in branch.below],
    }


def _walk(branches: Sequence[FolderTree]) -> Iterator[FolderTree]:
    for branch in branches:
        yield branch
        yield from _walk(branch.below)


def _draw_fields(branches: Sequence[FolderTree], before: str, *, several: bool) -> Iterator[Text]:
    for at, branch in enumerate(branches):
        last = at == len(branches) - 1
        top = branch.depth == 1
        lead = "" if top else before + ("└── " if last else "├── ")
        count = f"  {branch.count:,}" + (f" · {branch.entity_type}" if several and top else "")
        yield Text(lead, "dim") + line_text(f"{branch.name}/", "bold") + Text(count, "dim")
        deeper = "" if top else before + ("    " if last else "│   ")
        yield from _draw_fields(branch.below, deeper, several=several)


def _print_folder_totals(listing: FolderEntries, *, only_entities: bool) -> None:
    if not listing.total:
        note("there are no folders or entities here")
        return
    counts = (
        f"{listing.shown:,}"
        if listing.shown == listing.total
        else (f"{listing.shown:,} of {listing.total:,}")
    )
    more = "" if listing.shown == listing.total else "; --all shows all"
    inside = f"; {counted(listing.below, 'entity', 'entities')} in and below {line(listing.path)}"
    if only_entities and listing.folders:
        inside = f"; {len(listing.folders):,} of them folders, which have no URN{inside}"
    note(Text(f"{counts} shown{more}{inside}"))


# The columns other than the description, with their maximum widths.
_COLUMNS = {"name": 36, "type": 12, "platform": 12, "matched": 24}
_CSV = ("urn", "name", "type", "kind", "platform", "description", "edited", "matched")
_GAP = "  "
_WIDE = 110


class _ResultCells(NamedTuple):
    cells: tuple[Text, ...]
    description: Text


def print_urns(page: SearchPage) -> None:
    """Print the URNs of the results, one per line."""
    output.print_urns(hit.urn for hit in page)
    _print_totals(page)


def print_as_csv(page: SearchPage, summaries: Mapping[Urn, Entity]) -> None:
    """Print one CSV row per hit, with the same values as JSON; `matched` lists field names."""
    rows = []
    for row in result_rows(page, summaries):
        values = _as_json(row) | {"matched": list(row.matched_fields)}
        rows.append([values[name] for name in _CSV])
    output.show(output.StyledTable.of(_CSV, rows), "csv")
    _print_totals(page)


def print_as_json(page: SearchPage, summaries: Mapping[Urn, Entity]) -> None:
    """Print the page as one JSON object; `total` counts all matches, `hits` are in order."""
    print_json(
        {
            "text": page.text,
            "start": page.start,
            "total": page.total,
            "corrected": page.corrected,
            "hits": [_as_json(row) for row in result_rows(page, summaries)],
            "facets": {
                facet.name: {value.value: value.count for value in facet.values}
                for facet in page.facets
            },
        }
    )


def print_reasons(page: SearchPage, summaries: Mapping[Urn, Entity]) -> None:
    """Print the rank and score of each hit, the reason, and the fields that matched."""
    console = results()
    for rank, row in enumerate(result_rows(page, summaries), page.start + 1):
        score = f"  {row.score_label}" if row.score_label else ""
        head = (
            f"{rank:>4}  ",
            line_text(row.name, "bold"),
            "  ",
            line_text(row.kind_label),
            (score, "dim"),
        )
        lines = [Text.assemble(*head)]
        if row.reason:
            lines.append(Text("      ") + line_text(row.reason))
        for match in row.matched:
            weight = "" if match.weight is None else f"  weight {match.weight:g}"
            value = next(iter(match.value.split("\n")))
            lines.append(
                Text.assemble(
                    "      ", line_text(match.field), ": ", line_text(value), (weight, "dim")
                )
            )
        for text in lines:
            text.no_wrap, text.overflow = True, "ellipsis"
            console.print(text)
    _print_totals(page)


def print_table(page: SearchPage, summaries: Mapping[Urn, Entity]) -> None:
    """Print a table with each hit's name, type, platform, description and matched fields."""
    if page.hits:
        rows = [_row(row) for row in result_rows(page, summaries)]
        console = results()
        is_wide = _WIDE <= console.width < UNLIMITED
        is_cut = console.width < UNLIMITED
        console.print(_wide(rows, console.width) if is_wide else _narrow(rows, is_cut=is_cut))
    _print_totals(page)


def _wide(rows: Sequence[_ResultCells], width: int) -> RenderableType:
    """Return a table with one line per hit; the description fills the remaining width."""
    widths = _widths(rows)
    used_width = sum(widths) + len(_GAP) * len(widths)
    longest = max(len("description"), *(row.description.cell_len for row in rows))
    table = Table(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0), header_style="bold")
    _add_columns(table, widths[:-1])
    table.add_column(
        "description", width=min(longest, width - used_width), no_wrap=True, overflow="ellipsis"
    )
    _add_columns(table, widths[-1:], start=len(widths) - 1)
    for row in rows:
        *texts, matched = row.cells
        table.add_row(*texts, row.description, matched)
    return table


def _narrow(rows: Sequence[_ResultCells], *, is_cut: bool) -> RenderableType:
    """Return a table with two lines per hit, the description on the second; with `is_cut`, columns
    have at most their usual width."""
    widths = _widths(rows, is_cut=is_cut)
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


def _widths(rows: Sequence[_ResultCells], *, is_cut: bool = True) -> list[int]:
    return [
        min(
            most if is_cut else UNLIMITED,
            max(len(header), *(row.cells[at].cell_len for row in rows)),
        )
        for at, (header, most) in enumerate(_COLUMNS.items())
    ]


def _add_columns(table: Table, widths: Sequence[int], start: int = 0) -> None:
    headers = tuple(_COLUMNS)[start:]
    for header, width in zip(headers, widths, strict=False):
        # Names are folded, never truncated.
        folds = header == "name"
        overflow: OverflowMethod = "fold" if folds else "ellipsis"
        table.add_column(header, width=width, no_wrap=not folds, overflow=overflow)


def _row(row: ResultRow) -> _ResultCells:
    name = line_text(row.name, "bold")
    if row.states:
        name.append(f"  {', '.join(row.states)}", "dim italic")
    matched = line_text(", ".join(row.matched_fields), "dim")
    text = line_text(row.first_line, missing=row.description_placeholder)
    description = Text(f"{EDITED} ") + text if row.is_edited else text
    return _ResultCells(
        (name, line_text(row.kind_label), line_text(row.platform), matched), description
    )


def _as_json(row: ResultRow) -> dict[str, Any]:
    return {
        "urn": str(row.urn),
        "name": row.name,
        "type": row.urn.entity_type,
        "kind": row.kind,
        "platform": row.platform,
        "description": row.description,
        "edited": row.is_edited,
        "score": row.score,
        "reason": row.reason,
        "matched": [
            {"field": match.field, "value": match.value, "weight": match.weight}
            for match in row.matched
        ],
    }


def _print_totals(page: SearchPage) -> None:
    if page.corrected:
        note(
            Text("no match for "),
            line_text(page.text[:80]),
            Text("; showing results for "),
            line_text(page.corrected[:80]),
        )
    if not page.total:
        if page.text == "*":
            note(Text("nothing found"))
        else:
            note(Text("nothing found for "), line_text(page.text[:80]))
    elif not page.hits:
        note(Text(f"no results after {page.start:,}: the total is {page.total:,}"))
    elif len(page) == page.total:
        note(Text(f"{page.total:,} shown"))
    else:
        after = page.start + len(page)
        more = f"; --start {after} shows the next ones" if page.truncated else ""
        note(Text(f"{len(page):,} of {page.total:,} shown{more}"))
