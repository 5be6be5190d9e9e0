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

# Drafts are kept by front ends that ask for nothing else of this package.
_HOMES = {
    "Applied": "explorer.stewardship.changeset",
    "AsyncStewardship": "explorer.stewardship.api",
    "Change": "explorer.stewardship.changeset",
    "Changeset": "explorer.stewardship.changeset",
    "Count": "explorer.stewardship.coverage",
    "Coverage": "explorer.stewardship.coverage",
    "Entry": "explorer.stewardship.documentation",
    "ChangeFailure": "explorer.stewardship.changeset",
    "Format": "explorer.stewardship.files",
    "Group": "explorer.stewardship.coverage",
    "Grouping": "explorer.stewardship.coverage",
    "Item": "explorer.stewardship.worklist",
    "Kind": "explorer.stewardship.changeset",
    "Reach": "explorer.stewardship.worklist",
    "Row": "explorer.stewardship.documentation",
    "Stewardship": "explorer.stewardship.api",
    "TableUse": "explorer.stewardship.worklist",
    "Worklist": "explorer.stewardship.worklist",
    "compare": "explorer.stewardship.changeset",
    "cover": "explorer.stewardship.coverage",
    "digest_of": "explorer.stewardship.documentation",
    "format_of": "explorer.stewardship.files",
    "rank": "explorer.stewardship.worklist",
    "read_rows": "explorer.stewardship.files",
    "rows_of": "explorer.stewardship.documentation",
    "write_report": "explorer.stewardship.files",
    "write_rows": "explorer.stewardship.files",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
