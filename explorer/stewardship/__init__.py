"""Caring for what a catalog says: documentation as files, coverage, and what to write next."""

from explorer.stewardship.applying import Applied, Failure
from explorer.stewardship.changeset import Change, Changeset, Kind, compare
from explorer.stewardship.coverage import Count, Coverage, Group, Grouping, cover
from explorer.stewardship.documentation import Entry, Row, digest_of, rows_of
from explorer.stewardship.faces import AsyncStewardship, Stewardship
from explorer.stewardship.files import Format, format_of, read_rows, write_rows
from explorer.stewardship.files.report import write_report
from explorer.stewardship.worklist import Item, Reach, TableUse, Worklist, rank

__all__ = [
    "Applied",
    "AsyncStewardship",
    "Change",
    "Changeset",
    "Count",
    "Coverage",
    "Entry",
    "Failure",
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
