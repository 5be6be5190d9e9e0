"""Field paths, which identify the column of a schema, in both forms in use.

v1 is dotted names, `address.zip`. v2 has types between the names,
`[version=2.0].[type=struct].[type=string].zip`. A path is always sent back exactly as it was
received, never reassembled from its parts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

__all__ = ["FieldPath"]

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
        """Whether the path is in the key part of its schema; only v2 paths can say so."""
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
