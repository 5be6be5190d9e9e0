"""Field paths, which identify the columns of a schema; the URNs of columns, and the edges of column
lineage.

A path has one of two forms. v1 is dotted names, `address.zip`. v2 has types between the names,
`[version=2.0].[type=struct].[type=string].zip`. A path is always sent back exactly as it was
received, never reassembled from its parts."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from explorer.errors import InvalidInput

_V2_MARK = "[version=2.0]"
_TOKEN = re.compile(r"(?:\[[^\]]*\]|[^.\[]|\[(?![^\]]*\]))+")


@dataclass(frozen=True)
class FieldPath:
    """The path of one column. `str(path)` is the exact text from the server."""

    raw: str

    def __str__(self) -> str:
        return self.raw

    @property
    def version(self) -> int:
        """1 for dotted names, 2 for the form with types."""
        return 2 if self.raw.startswith(_V2_MARK) else 1

    @property
    def is_key(self) -> bool:
        """Whether the path is in the key part of its schema; only v2 paths contain this
        information."""
        return "[key=true]" in self.raw.lower() if self.version == 2 else False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names along the path, without types. A dot inside a name looks like a dot between
        names, so use this to display and sort columns, not to find one."""
        tokens = _TOKEN.findall(self.raw)
        if self.version == 1:
            return tuple(tokens)
        return tuple(token for token in tokens if not _is_annotation(token))

    @property
    def name(self) -> str:
        """The last name on the path, or the raw path if it has no names."""
        return self.names[-1] if self.names else self.raw

    @property
    def simple(self) -> str:
        """The path without types and version, such as `address.zip`."""
        return ".".join(self.names) or self.raw

    def below(self, other: "FieldPath") -> str:
        """Return the path without its version and without the first steps that it shares with the
        other path."""
        steps, other_steps = _TOKEN.findall(self.raw), _TOKEN.findall(other.raw)
        shared = 0
        while (
            shared < min(len(steps), len(other_steps)) - 1 and steps[shared] == other_steps[shared]
        ):
            shared += 1
        return ".".join(step for step in steps[shared:] if step != _V2_MARK) or self.raw

    def ancestors(self) -> Iterator[str]:
        """The raw paths that could be parents of this one, nearest first.

        These are the path cut at each dot outside brackets. The real parent is the first of them
        that exists in the same schema.
        """
        depth = 0
        for at in range(len(self.raw) - 1, 0, -1):
            char = self.raw[at]
            if char == "]":
                depth += 1
            elif char == "[":
                depth = max(depth - 1, 0)
            elif char == "." and depth == 0:
                yield self.raw[:at]


def _is_annotation(token: str) -> bool:
    return token.startswith("[") and token.endswith("]")


_PREFIX = "urn:li:schemaField:("
_RESERVED = {",": "%2C", "(": "%28", ")": "%29"}


def column_urn(dataset: object, path: str) -> str:
    """Return the URN of a column with that exact field path; `dataset` is a URN, as text or
    parsed."""
    return f"{_PREFIX}{dataset},{path})"


def encode_column_urn(dataset: object, path: str) -> str:
    """Return the URN of a column, with the separators of URNs percent-encoded in its path, as
    DataHub does."""
    return column_urn(dataset, "".join(_RESERVED.get(char, char) for char in path))


def split_column(urn: str) -> tuple[str, str] | None:
    """Return the dataset and the field path in a column's URN, or `None` for any other URN. The
    path is everything after the dataset's closing parenthesis, so it may contain commas and
    parentheses."""
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
    """The columns of a dataset, by exact field path and by name, which is the path without types,
    in lower case."""

    paths: frozenset[str] = frozenset()
    by_name: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, paths: Iterable[str]) -> "ColumnPaths":
        """Return the columns with these exact paths, in order and without repeats."""
        by_name: dict[str, list[str]] = defaultdict(list)
        for path in (once := dict.fromkeys(paths)):
            by_name[FieldPath(path).simple.casefold()].append(path)
        return cls(frozenset(once), {name: tuple(group) for name, group in by_name.items()})

    @classmethod
    def of_schema(cls, schema: Mapping[str, Any] | None) -> "ColumnPaths":
        """Return the columns of a `schemaMetadata` aspect; empty if there is no such aspect."""
        listed = _objects((schema or {}).get("fields"))
        return cls.of(_texts([column.get("fieldPath") for column in listed]))

    def exact(self, path: str) -> str:
        """Return a path in the schema's spelling, or unchanged if no single column matches."""
        return self.match(path) or path

    def match(self, path: str) -> str | None:
        """Return the path, in the schema's spelling, of the only column that matches; `None` if
        none or several match. Some sources percent-encode reserved characters or leave out the
        types, and the type of a column or the case of its name may have changed since a path was
        written. Raises `InvalidInput` for a path that is not a string."""
        if not isinstance(path, str):
            raise InvalidInput(f"give the path of a column, not {path!r:.80}")
        if path in self.paths:
            return path
        decoded = unquote(path)
        if decoded in self.paths:
            return decoded
        alike = self.by_name.get(FieldPath(decoded).simple.casefold(), ())
        return alike[0] if len(alike) == 1 else None


_LABELS = (("globalTags", "tags"), ("glossaryTerms", "terms"))


def written_entries(edited: Mapping[str, Any] | None) -> dict[str, bool]:
    """Return the field paths of the entries in an `editableSchemaMetadata` aspect that have a text
    or labels, each with whether it has a text."""
    has_text_by_path: dict[str, bool] = {}
    for info in _objects((edited or {}).get("editableSchemaFieldInfo")):
        path, text = info.get("fieldPath"), info.get("description")
        has_text = isinstance(text, str) and bool(text.strip())
        labels = ((info.get(aspect), field) for aspect, field in _LABELS)
        has_labels = any(
            isinstance(label_aspect, dict) and label_aspect.get(field)
            for label_aspect, field in labels
        )
        if isinstance(path, str) and (has_text or has_labels):
            has_text_by_path[path] = has_text
    return has_text_by_path


def earlier_paths(columns: Iterable[str], written: Mapping[str, bool]) -> dict[str, str]:
    """Return, by the present path of a column, the path under which its description or labels were
    edited before its type or the case of its name changed.

    `columns` are the paths in the schema, `written` is the result of `written_entries`. An entry
    belongs to the column that its path matches, see `ColumnPaths.match`; so it belongs to none if
    two columns match. It also belongs to none if another entry matches the same column, or if both
    the column and the entry have a text.
    """
    paths = list(columns)
    lost = written.keys() - set(paths)
    if not lost:
        return {}
    schema = ColumnPaths.of(paths)
    paths_by_column: dict[str, list[str]] = defaultdict(list)
    for path in lost:
        if (column := schema.match(path)) is not None:
            paths_by_column[column].append(path)
    return {
        column: earlier[0]
        for column, earlier in paths_by_column.items()
        if len(earlier) == 1 and not (written[earlier[0]] and written.get(column, False))
    }


@dataclass(frozen=True, slots=True)
class ColumnEdge:
    """An edge from an upstream to a downstream column, both URNs, with the object that states it
    (`transformOperation`, `confidenceScore`, `query`)."""

    upstream: str
    downstream: str
    stated: Mapping[str, Any]


def column_edges(lineage: Mapping[str, Any] | None) -> Iterator[ColumnEdge]:
    """Yield the edges between columns in an `upstreamLineage` or `dataJobInputOutput` aspect, in
    order; edges that are not between two columns are skipped."""
    for fine in _objects((lineage or {}).get("fineGrainedLineages")):
        for upstream in _texts(fine.get("upstreams")):
            for downstream in _texts(fine.get("downstreams")):
                if split_column(upstream) and split_column(downstream):
                    yield ColumnEdge(upstream, downstream, fine)


def _objects(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _texts(items: Any) -> list[str]:
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []
