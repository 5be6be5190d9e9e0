"""Documenting a catalog: documentation files, coverage, worklists, changesets, proposed
descriptions."""

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
        StagedOutcome,
        compare,
        stage_changes,
    )
    from explorer.stewardship.concepts import Concept, ConceptColumn, Variant, stage_concept
    from explorer.stewardship.coverage import (
        Count,
        Coverage,
        CoverageTrend,
        DayCount,
        Group,
        Grouping,
        GroupTrend,
        cover,
    )
    from explorer.stewardship.documentation import Entry, Row, digest_of, rows_of
    from explorer.stewardship.drafting import DraftingCommand, DraftingFailure, DraftingOutcome
    from explorer.stewardship.feed import ChangeFeed, EntityFeed, FeedEntry, FeedKind
    from explorer.stewardship.files import Format, format_of, read_rows, write_report, write_rows
    from explorer.stewardship.labels import (
        LabelledKind,
        LabelledPlace,
        LabelledPlaces,
        LabelsChange,
        stage_labels,
        staged_edit,
    )
    from explorer.stewardship.propagation import KnownColumn, KnownTable, propose
    from explorer.stewardship.proposals import SharedChangeset, SyncOutcome
    from explorer.stewardship.provenance import PropagatedOutcome, PropagatedText
    from explorer.stewardship.staging import (
        ReviewItem,
        ReviewState,
        StagedChangeset,
        StagedEdit,
        TextSource,
    )
    from explorer.stewardship.worklist import Item, Reach, TableUse, Worklist, rank

__all__ = [
    "Applied",
    "AsyncStewardship",
    "Change",
    "ChangeFailure",
    "ChangeFeed",
    "Changeset",
    "Concept",
    "ConceptColumn",
    "Count",
    "Coverage",
    "CoverageTrend",
    "DayCount",
    "DraftingCommand",
    "DraftingFailure",
    "DraftingOutcome",
    "EntityFeed",
    "Entry",
    "FeedEntry",
    "FeedKind",
    "Format",
    "Group",
    "GroupTrend",
    "Grouping",
    "Item",
    "Kind",
    "KnownColumn",
    "KnownTable",
    "LabelledKind",
    "LabelledPlace",
    "LabelledPlaces",
    "LabelsChange",
    "PropagatedOutcome",
    "PropagatedText",
    "Reach",
    "ReviewItem",
    "ReviewState",
    "Row",
    "SharedChangeset",
    "StagedChangeset",
    "StagedEdit",
    "StagedOutcome",
    "Stewardship",
    "SyncOutcome",
    "TableUse",
    "TextSource",
    "Variant",
    "Worklist",
    "compare",
    "cover",
    "digest_of",
    "format_of",
    "propose",
    "rank",
    "read_rows",
    "rows_of",
    "stage_changes",
    "stage_concept",
    "stage_labels",
    "staged_edit",
    "write_report",
    "write_rows",
]

# Imported when first used, because front ends that only store drafts need nothing else of it.
_NAMES = {
    "api": ("AsyncStewardship", "Stewardship"),
    "changeset": (
        "Applied",
        "Change",
        "ChangeFailure",
        "Changeset",
        "Kind",
        "StagedOutcome",
        "compare",
        "stage_changes",
    ),
    "concepts": ("Concept", "ConceptColumn", "Variant", "stage_concept"),
    "coverage": (
        "Count",
        "Coverage",
        "CoverageTrend",
        "DayCount",
        "Group",
        "GroupTrend",
        "Grouping",
        "cover",
    ),
    "drafting": ("DraftingCommand", "DraftingFailure", "DraftingOutcome"),
    "documentation": ("Entry", "Row", "digest_of", "rows_of"),
    "feed": ("ChangeFeed", "EntityFeed", "FeedEntry", "FeedKind"),
    "files": ("Format", "format_of", "read_rows", "write_report", "write_rows"),
    "labels": (
        "LabelledKind",
        "LabelledPlace",
        "LabelledPlaces",
        "LabelsChange",
        "stage_labels",
        "staged_edit",
    ),
    "proposals": ("SharedChangeset", "SyncOutcome"),
    "propagation": ("KnownColumn", "KnownTable", "propose"),
    "provenance": ("PropagatedOutcome", "PropagatedText"),
    "staging": ("TextSource", "ReviewItem", "ReviewState", "StagedChangeset", "StagedEdit"),
    "worklist": ("Item", "Reach", "TableUse", "Worklist", "rank"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
