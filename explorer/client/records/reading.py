"""What reading a server and its entities gives."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

import msgspec

from explorer.metadata.aspects import (
    DatasetProfile,
    DatasetUsageStatistics,
    Operation,
    read_aspect,
)

__all__ = ["Measures", "ServerInfo", "Timeseries"]

_T = TypeVar("_T", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server says of itself. `entities` is the number it holds, where it says so; `user` is
    the URN of whom changes are by on the catalog of this machine, else empty."""

    address: str
    product: Literal["catalog", "datahub"]
    version: str
    embedded: bool = False
    sample: bool = False
    entities: int | None = None
    user: str = ""


@dataclass(frozen=True, slots=True)
class Measures:
    """Size and use of a dataset, None for what is not measured: `rows` of its newest profile,
    `queries` and `users` of the last 30 days, `changed`, when it or its rows changed last."""

    rows: int | None = None
    queries: int | None = None
    users: int | None = None
    changed: datetime | None = None


@dataclass(frozen=True, slots=True)
class Timeseries:
    """Points of a timeseries aspect, oldest first. At `limit` points there may be more.

    `as_of` is set for what was kept from an earlier reading.
    """

    aspect: str
    limit: int
    values: tuple[dict[str, Any], ...] = ()
    as_of: datetime | None = None

    @property
    def shown(self) -> int:
        """How many points these are; servers do not say how many there are in all."""
        return len(self.values)

    @property
    def truncated(self) -> bool:
        """Whether the server stopped at its limit."""
        return len(self.values) >= self.limit

    def records(self, kind: type[_T]) -> tuple[_T, ...]:
        """The points as typed records. Raises `ServerFault` for one of another shape."""
        return tuple(read_aspect(value, kind) for value in self.values)

    def usage(self) -> tuple[DatasetUsageStatistics, ...]:
        """The points as windows of use."""
        return self.records(DatasetUsageStatistics)

    def profiles(self) -> tuple[DatasetProfile, ...]:
        """The points as profiles."""
        return self.records(DatasetProfile)

    def operations(self) -> tuple[Operation, ...]:
        """The points as things done to a dataset's rows."""
        return self.records(Operation)
