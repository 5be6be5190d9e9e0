"""The results, facets and folders of the explorer widget, as data for its page."""

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from explorer.client.display import counted, in_quotes, line
from explorer.client.records import Suggestion
from explorer.metadata.names import singular
from explorer.notebook.markup import markdown_line_tree
from explorer.notebook.search import Question, SearchResults, make_results
from explorer.sessions.browse import Branch, Outline, OutlineRow
from explorer.sessions.search import NO_NAMES, Results
from explorer.views.absence import LOADING, NONE
from explorer.views.chart import compact
from explorer.views.search import (
    FacetGroup,
    ResultRow,
    facet_value_label,
    loosened_label,
    tables_label,
)
from explorer.views.text import EDITED

if TYPE_CHECKING:
    from explorer.client.records import Measures
    from explorer.notebook.search import SearchCatalog

PageState = dict[str, Any]

FOLDER_PAGE = 50
PAGE = 20
MOST_VALUES = 40

_NAME = 120
_LONGEST_MATCH = 140
_SHORT = 200


def row_at(outline: Outline, key: str) -> OutlineRow | None:
    """Return the row with a key; None if it no longer exists."""
    branch: Branch | None = outline.root
    *above, last = map(int, key.removeprefix("n").split("."))
    for index in above:
        branch = branch.below.get(index) if branch is not None else None
    return OutlineRow(branch, last, len(above)) if branch is not None else None


def tree_rows(branch: Branch, drafts: Container[str] = (), above: str = "n") -> list[PageState]:
    """Return the rows below a folder as far as they were read, from top to bottom, as the page
    draws them; `drafts` has the URNs of entities with drafts."""
    rows: list[PageState] = []
    entries = list(branch.loaded())
    for at, (index, entry) in enumerate(entries, 1):
        key, below = f"{above}{index}", branch.below.get(index)
        is_open = below is not None and below.unfolded and not _is_closed_by_error(below)
        row = {
            "key": key,
            "name": line(entry.name, _NAME),
            "urn": str(entry.urn or ""),
            "count": entry.count,
            "level": key.count(".") + 1,
            "at": at,
            "of": len(entries),
            "open": is_open if entry.below is not None else None,
            "note": _note(below) if below is not None else "",
            "draft": str(entry.urn) in drafts,
        }
        rows.append(row)
        if below is not None and is_open:
            rows += tree_rows(below, drafts, f"{key}.")
            read_count = sum(1 for _ in below.loaded())
            if below.total is not None and 0 < read_count < below.total:
                name = f"{read_count:,} of {below.total:,}"
                more = {"more": key, "key": f"{key}+", "level": key.count(".") + 2, "name": name}
                rows.append(more)
    return rows


def _is_closed_by_error(branch: Branch) -> bool:
    return branch.total is None and bool(branch.failed)


def _note(branch: Branch) -> str:
    for error in branch.failed.values():
        return f"{line(str(error), 200)} — expand it again to retry"
    if branch.requested:
        return LOADING.phrase
    if branch.total == 0:
        return "empty"
    return branch.note if branch.complete else ""


def results_page(results: Results, catalog: "SearchCatalog") -> SearchResults:
    """Return the results as `SearchResults`, which render themselves. No request."""
    query = results.query
    question = Question(
        *(catalog, None, results.filter, query.sort or None, PAGE),
        measures=False,
        columns=query.columns,
    )
    page = replace(results.page, text=query.text.strip() or "*")
    return make_results(page, results.entities, question, results.measures, results.names)


def page_state(results: Results, ticked: Container[str], drafts: Container[str] = ()) -> PageState:
    """Return the results as data for the page; `ticked` are the URNs of ticked results, `drafts`
    the URNs of entities with drafts."""
    page, query = results.page, results.query
    chosen = query.chosen or {}
    rows = [results.row(hit, drafts) for hit in page]
    return {
        "said": _describe_results(results),
        "words": [line(word) for word in (page.corrected or query.text).split()],
        "hits": [_hit(row, query.text, ticked=str(row.urn) in ticked) for row in rows],
        "facets": [_facet(group) for group in results.groups],
        "chosen": [
            {
                "field": name,
                "value": value,
                "label": _display_label(facet_value_label(name, value, results.names)),
            }
            for name, values in chosen.items()
            for value in values
        ],
        "start": page.start,
        "total": page.total,
        "before": page.start > 0,
        "after": page.end < results.count,
    }


def _describe_results(results: Results) -> str:
    page, query = results.page, results.query
    if not page.total:
        hint = "; remove a condition, or try fewer words"
        return f"No results{hint if query.chosen or query.filter or query.text else ''}"
    parts = [counted(page.total, "column" if query.columns else "result")]
    if tables := tables_label(page):
        parts[0] += f" {tables}"
    if page.total > len(page):
        parts.append(f"{page.start + 1:,}–{page.end:,}")
    if results.count < results.total:
        parts.append(f"the server stops at {results.count:,}")
    if page.corrected:
        typed, corrected = in_quotes(query.text, _SHORT), in_quotes(page.corrected, _SHORT)
        parts.append(f"for {corrected}; nothing matches {typed}")
    if loosened := loosened_label(page):
        parts.append(loosened)
    if not results.entities:
        parts.append(NO_NAMES)
    return " · ".join(parts)


def _hit(row: ResultRow, words: str, *, ticked: bool) -> dict[str, Any]:
    match = row.hidden_match(f"{row.name} {row.first_line}", words)
    return {
        "urn": str(row.urn),
        "name": line(row.name, _SHORT),
        "kind": line(f"{row.kind_label} of {row.folder}" if row.column else row.kind_label, 120),
        "platform": line(" · ".join(filter(None, (row.platform, row.place))), 120),
        "about": markdown_line_tree(row.first_line, 2 * _SHORT),
        "mark": EDITED if row.is_edited else "",
        "measures": _describe_measures(row.measures),
        "state": " · ".join(row.states),
        "why": match
        and {
            "field": line(match.label, 60),
            "value": line(match.excerpt(words, _LONGEST_MATCH), _LONGEST_MATCH),
        },
        "ticked": ticked,
    }


def _facet(group: FacetGroup) -> dict[str, Any]:
    rows = [row for at, row in enumerate(group.rows) if at < MOST_VALUES or row.is_chosen]
    return {
        "field": group.field,
        "label": line(group.label, 60),
        "more": len(group.rows) - len(rows),
        "size": group.size,
        "values": [
            {
                "value": row.value,
                "label": _display_label(row.label),
                "count": row.count,
                "on": row.is_chosen,
                "adds": row.adds,
            }
            for row in rows
        ],
    }


def _display_label(label: str) -> str:
    return line(label, 80) or NONE.phrase


def offers_of(suggestions: Iterable[Suggestion]) -> list[dict[str, Any]]:
    """Return completions as data for the page."""
    return [
        {
            "text": line(suggestion.text, _SHORT),
            "urn": str(suggestion.urn) if suggestion.urn else "",
            "kind": singular(suggestion.entity_type),
            "platform": line(suggestion.platform, 60),
        }
        for suggestion in suggestions
    ]


def _describe_measures(measures: "Measures | None") -> str:
    """Return rows, use and last change in a few words; empty where none is known."""
    if measures is None:
        return ""
    rows, queries, changed = measures.rows, measures.queries, measures.changed
    parts = (
        "" if rows is None else f"{compact(rows)} rows",
        "" if queries is None else f"{compact(queries)} queries a month",
        "" if changed is None else f"changed {changed:%Y-%m-%d}",
    )
    return " · ".join(part for part in parts if part)
