"""What reading a server and its entities gives."""

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["ServerInfo", "Timeseries"]


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server says of itself. `entities` is the number it holds, where it says so."""

    address: str
    product: Literal["catalog", "datahub"]
    version: str
    embedded: bool = False
    sample: bool = False
    entities: int | None = None


@dataclass(frozen=True, slots=True)
class Timeseries:
    """Points of a timeseries aspect, oldest first. At `limit` points there may be more."""

    aspect: str
    limit: int
    values: tuple[dict[str, Any], ...] = ()

    @property
    def truncated(self) -> bool:
        """Whether the server stopped at its limit."""
        return len(self.values) >= self.limit
