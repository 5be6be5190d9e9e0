"""Field paths: which column of a schema, in either of the two forms in use.

v1 is dotted names, `address.zip`. v2 carries types between the names,
`[version=2.0].[type=struct].[type=string].zip`. A path is sent back exactly as it came; it is
never put together from its pieces.
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
    """One column's path. `str(path)` is the exact text the server gave."""

    raw: str

    def __str__(self) -> str:
        return self.raw

    @property
    def version(self) -> int:
        """1 for dotted names, 2 for the form with types."""
        return 2 if self.raw.startswith(_V2_MARK) else 1

    @property
    def is_key(self) -> bool:
        """Whether the path lies in the key part of its schema (said by v2 paths only)."""
        return "[key=true]" in self.raw.lower() if self.version == 2 else False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names along the path without types. A dot inside a name cannot be told from one
        between names, so this is for showing and sorting, not for finding a column."""
        tokens = _TOKEN.findall(self.raw)
        if self.version == 1:
            return tuple(tokens)
        return tuple(token for token in tokens if not _is_annotation(token))

    @property
    def name(self) -> str:
        """The last name on the path; the raw path where it holds no name."""
        return self.names[-1] if self.names else self.raw

    @property
    def simple(self) -> str:
        """The path as people write it, `address.zip`: no types, no version."""
        return ".".join(self.names) or self.raw

    def ancestors(self) -> Iterator[str]:
        """Every raw path that could be this one's parent, nearest first.

        A parent is a path that exists in the same schema; what is given here are the cuts at a
        dot outside brackets, so a caller looks each up and takes the first it finds.
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
