"""How well a search answers questions whose right tables are known, and those over the sample."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import median, quantiles
from typing import Any, TypeAlias

from explorer.metadata import Registry, Urn
from explorer.query import Filter
from explorer.sample import sample_proposals
from explorer.server.search.document import Document, build_document
from explorer.server.search.index import SearchIndex
from explorer.server.search.query import SearchQuery

Search: TypeAlias = Callable[[str], list[str]]

SAMPLE_QUESTIONS = Path(__file__).parent / "sample_questions.json"
"""Sixty questions over the sample, each with its right tables; where one of several is as right,
they are separated by `|`."""

_TEN = 10
_MOST = 50


def _place(names: Sequence[str], right: str) -> int | None:
    """Return the place of the first name that is right; `None` if none is."""
    places = (names.index(name) for name in right.split("|") if name in names)
    return min(places, default=None)


def judge(
    label: str, search: Search, questions: Sequence[Mapping[str, Any]]
) -> tuple[list[Mapping[str, Any]], float]:
    """Print how well a search answers questions; return those without all tables in the first
    ten, and the mean reciprocal rank of the first right one."""
    wrong: list[Mapping[str, Any]] = []
    reciprocal = nothing = 0.0
    seconds: list[float] = []
    for question in questions:
        begin = time.perf_counter()
        names = search(question["text"])
        seconds.append(time.perf_counter() - begin)
        places = [_place(names, right) for right in question["gold"]]
        first = min((place for place in places if place is not None), default=None)
        reciprocal += 0 if first is None else 1 / (1 + first)
        nothing += not names
        if any(place is None or place >= _TEN for place in places):
            wrong.append({**question, "found": names[:_TEN]})
    count = len(questions)
    print(
        f"{label:<12} all in the first ten {1 - len(wrong) / count:.3f}   "
        f"reciprocal rank {reciprocal / count:.3f}   nothing {nothing / count:.1%}   "
        f"{median(seconds) * 1e3:.1f} / {quantiles(seconds, n=100)[-1] * 1e3:.1f} ms"
    )
    return wrong, reciprocal / count


def sample_documents(registry: Registry) -> list[Document]:
    """Return the search documents of the datasets of the sample, without their use."""
    aspects: dict[Urn, dict[str, Any]] = {}
    for proposal in sample_proposals(date(2026, 1, 15)):
        if proposal.change == "UPSERT" and proposal.urn.entity_type == "dataset":
            aspects.setdefault(proposal.urn, {})[proposal.aspect] = proposal.value
    return [build_document(registry, urn, values) for urn, values in aspects.items()]


def find_names(index: SearchIndex, text: str) -> list[str]:
    """Return the names of the first 50 datasets that a search finds."""
    page = index.search(SearchQuery(text, ("dataset",), Filter(), 0, _MOST, facets=False))
    return [name_of(hit.urn) for hit in page.hits]


def name_of(urn: str) -> str:
    """Return the name in the URN of a dataset."""
    return Urn.parse(urn).name
