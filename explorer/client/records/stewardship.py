"""What a server counts of its documentation."""

import msgspec

__all__ = ["DescribedCount", "DescribedCounts", "DescribedGroup", "Undescribed", "UndescribedPage"]


class Undescribed(msgspec.Struct, frozen=True, rename="camel"):
    """A column, or a table where `column` is None, that nobody described. `used_of` says what
    `used` counts: `column`, `table` or `none`."""

    urn: str
    table: str
    type: str
    place: int
    used: int
    used_of: str
    downstream: int
    at_least: bool = False
    platform: str | None = None
    column: str | None = None


class UndescribedPage(msgspec.Struct, frozen=True):
    """A page of what nobody described in `datasets`, of `total` in all, the heaviest first."""

    datasets: int
    total: int
    items: tuple[Undescribed, ...] = ()


class DescribedCount(msgspec.Struct, frozen=True):
    """How many of `total` are described, by people (`edited`), by ingestion, or by both."""

    total: int
    documented: int
    edited: int
    ingested: int


class DescribedGroup(msgspec.Struct, frozen=True):
    """The counts of the datasets under one key."""

    key: str
    name: str
    tables: DescribedCount
    columns: DescribedCount


class DescribedCounts(msgspec.Struct, frozen=True):
    """How much of `datasets` is described."""

    datasets: int
    tables: DescribedCount
    columns: DescribedCount
    groups: tuple[DescribedGroup, ...] = ()
