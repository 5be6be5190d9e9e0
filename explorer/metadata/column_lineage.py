"""Lineage between columns as aspects state it: URNs of columns, and the edges between them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from explorer.metadata.fieldpath import FieldPath

__all__ = ["ColumnEdge", "ColumnPaths", "column_edges", "column_urn", "split_column"]

_PREFIX = "urn:li:schemaField:("


def column_urn(dataset: object, path: str) -> str:
    """Return the URN of a column with that exact path; `dataset` is a URN, as text or parsed."""
    return f"{_PREFIX}{dataset},{path})"


def split_column(urn: str) -> tuple[str, str] | None:
    """Return the dataset and the path in the URN of a column; None for another URN. A path may
    hold commas and parentheses: it is what follows the dataset's closing parenthesis."""
    if not urn.startswith(_PREFIX) or not urn.endswith(")"):
        return None
    inside = urn[len(_PREFIX) : -1]
    depth = 0
    for at, char in enumerate(inside):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "," and depth == 0:
            return (inside[:at], inside[at + 1 :]) if inside[at + 1 :] else None
    return None


@dataclass(frozen=True, slots=True)
class ColumnPaths:
    """The columns of a dataset, by exact path and by name: the path without types, in lower
    case."""

    paths: frozenset[str] = frozenset()
    by_name: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, paths: Iterable[str]) -> "ColumnPaths":
        """Return the columns of some exact paths, each once in their order."""
        by_name: dict[str, list[str]] = defaultdict(list)
        for path in (once := dict.fromkeys(paths)):
            by_name[FieldPath(path).simple.casefold()].append(path)
        return cls(frozenset(once), {name: tuple(held) for name, held in by_name.items()})

    @classmethod
    def of_schema(cls, schema: Mapping[str, Any] | None) -> "ColumnPaths":
        """Return the columns of an aspect `schemaMetadata`; none where there is no such aspect."""
        listed = _objects((schema or {}).get("fields"))
        return cls.of(_texts([one.get("fieldPath") for one in listed]))

    def exact(self, path: str) -> str:
        """Return the path as the schema has it; some sources percent-encode reserved characters,
        or leave the types out."""
        if path in self.paths:
            return path
        decoded = unquote(path)
        if decoded in self.paths:
            return decoded
        alike = self.by_name.get(FieldPath(decoded).simple.casefold(), ())
        return alike[0] if len(alike) == 1 else path


@dataclass(frozen=True, slots=True)
class ColumnEdge:
    """One column that another is made from, both as URNs, and the object that states it, with its
    `transformOperation`, `confidenceScore` and `query`."""

    upstream: str
    downstream: str
    stated: Mapping[str, Any]


def column_edges(lineage: Mapping[str, Any] | None) -> Iterator[ColumnEdge]:
    """Yield the edges between columns in an aspect `upstreamLineage` or `dataJobInputOutput`, in
    its order; what is not between two columns is left out."""
    for fine in _objects((lineage or {}).get("fineGrainedLineages")):
        for upstream in _texts(fine.get("upstreams")):
            for downstream in _texts(fine.get("downstreams")):
                if split_column(upstream) and split_column(downstream):
                    yield ColumnEdge(upstream, downstream, fine)


def _objects(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _texts(items: Any) -> list[str]:
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []
