"""Caring for what a catalog says: documentation as files, coverage, and what to write next."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.stewardship.api import AsyncStewardship, Stewardship
    from explorer.stewardship.changeset import (
        Applied,
        Change,
        ChangeFailure,
        Changeset,
        Kind,
        compare,
    )
    from explorer.stewardship.coverage import Count, Coverage, Group, Grouping, cover
    from explorer.stewardship.documentation import Entry, Row, digest_of, rows_of
    from explorer.stewardship.files import Format, format_of, read_rows, write_report, write_rows
    from explorer.stewardship.worklist import Item, Reach, TableUse, Worklist, rank

__all__ = [
    "Applied",
    "AsyncStewardship",
    "Change",
    "ChangeFailure",
    "Changeset",
    "Count",
    "Coverage",
    "Entry",
    "Format",
    "Group",
    "Grouping",
    "Item",
    "Kind",
    "Reach",
    "Row",
    "Stewardship",
    "TableUse",
    "Worklist",
    "compare",
    "cover",
    "digest_of",
    "format_of",
    "rank",
    "read_rows",
    "rows_of",
    "write_report",
    "write_rows",
]

# Imported at the first use: front ends that only keep drafts need nothing else of this package.
_NAMES = {
    "api": ("AsyncStewardship", "Stewardship"),
    "changeset": ("Applied", "Change", "ChangeFailure", "Changeset", "Kind", "compare"),
    "coverage": ("Count", "Coverage", "Group", "Grouping", "cover"),
    "documentation": ("Entry", "Row", "digest_of", "rows_of"),
    "files": ("Format", "format_of", "read_rows", "write_report", "write_rows"),
    "worklist": ("Item", "Reach", "TableUse", "Worklist", "rank"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
