"""Every data frame of the notebook says whether it has all rows, and tells labels by name and
URN."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from typing import Any

import pandas as pd
import pytest

from explorer import Catalog, notebook
from explorer.client.records import Edges, Timeseries
from explorer.errors import IncompleteFrame
from explorer.graph.analysis import Impact, Paths
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook.entity import Relationships, Runs
from explorer.notebook.lineage import ImpactTable, PathList
from explorer.notebook.stewardship import (
    ConceptTable,
    CoverageTrendChart,
    FeedTable,
)
from explorer.notebook.timeseries import ProfileChart, UsageChart, Window
from explorer.notebook.view import ShownTable
from explorer.stewardship.coverage import DayCount, GroupTrend
from explorer.views.lineage import ImpactView, PathsView
from tests.conftest import schema_metadata

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"
Make = Callable[[Any], pd.DataFrame]


def _series(aspect: str, **point: Any) -> Window:
    return Window(Timeseries(aspect, 1, ({"timestampMillis": 0, **point},)), None)


def _usage(cat: Any) -> UsageChart:
    return UsageChart(
        "orders",
        _series(
            "datasetUsageStatistics",
            totalSqlQueries=2,
            fieldCounts=[{"fieldPath": "a", "count": 1}],
            userCounts=[{"user": "urn:li:corpuser:a", "count": 2}],
            topSqlQueries=["select 1"],
        ),
    )


def _profiles(cat: Any) -> ProfileChart:
    frequencies = [{"value": "x", "frequency": 1}]
    profiles = [{"fieldPath": f"c{at}", "nullProportion": 0.1, "uniqueCount": 9} for at in range(8)]
    profiles[0]["distinctValueFrequencies"] = frequencies
    return ProfileChart("orders", _series("datasetProfile", rowCount=9, fieldProfiles=profiles))


def _explorer(cat: Any) -> pd.DataFrame:
    explorer = cat.explore("orders")
    assert explorer.wait(30)
    with _closed(explorer):
        frame: pd.DataFrame = explorer.df
        return frame


@contextmanager
def _closed(widget: Any) -> Iterator[None]:
    try:
        yield
    finally:
        widget.close()


def _runs(cat: Any) -> Runs:
    for run in ("first", "second"):
        proposal = Proposal(Urn.dataset("hive", f"frames.{run}"), "status", {"removed": False})
        cat.ingest(proposal.from_run(run, observed_millis=1))
    runs: Runs = cat.runs(count=1)
    return runs


def _trend(cat: Any) -> CoverageTrendChart:
    day = DayCount(2, 1)
    group = GroupTrend("a", "A", (day,), (day,))
    return CoverageTrendChart(
        (date(2026, 1, 1),), (day,), (day,), "domain", (group,), group_total=51
    )


def _facets(cat: Any) -> pd.DataFrame:
    found = cat.search("orders")
    facets = [replace(facet, has_more=True) for facet in found.facets]
    frame: pd.DataFrame = replace(found, facets=tuple(facets)).facets_to_frame()
    return frame


def _paths(cat: Any) -> PathList:
    cut = Paths(ORDERS, ORDERS, "downstream", truncated="20 ways were read")
    return PathList(PathsView.of(cut, {}))


# What is known not to be everything, for each way to a data frame.
PARTIAL: dict[str, Make] = {
    "BrowsedFolder.to_frame": lambda cat: cat.browse("/prod", count=1).df,
    "ChangesTable.to_frame": lambda cat: cat.changes(limit=3).df,
    "ColumnLineage.edges_to_frame": lambda cat: _column_lineage(cat).edges_to_frame(),
    "ColumnLineage.to_frame": lambda cat: _column_lineage(cat).df,
    "ColumnsTable.to_frame": lambda cat: cat.columns("order_id", limit=2).df,
    "ConceptTable.to_frame": lambda cat: ConceptTable("order_id", (), truncated=True).df,
    "CoverageTrendChart.to_frame": lambda cat: _trend(cat).df,
    "EntityLineage.edges_to_frame": lambda cat: _lineage(cat).edges_to_frame(),
    "EntityLineage.to_frame": lambda cat: _lineage(cat).df,
    "Explorer.df": _explorer,
    "FeedTable.to_frame": lambda cat: FeedTable((), None, 0, 9, unread=4).df,
    "History.to_frame": lambda cat: cat["fct_orders"].history("schemaMetadata", 1).df,
    "ImpactTable.to_frame": lambda cat: (
        ImpactTable("a", ImpactView.of(Impact(ORDERS, None, truncated="there are more"))).df
    ),
    "Names.to_frame": lambda cat: cat.names("orders", limit=2).df,
    "PanelChart.to_frame": lambda cat: _profiles(cat).values("c0").df,
    "PathList.to_frame": lambda cat: _paths(cat).df,
    "ProfileChart.columns_to_frame": lambda cat: _profiles(cat).columns_to_frame(),
    "ProfileChart.to_frame": lambda cat: _profiles(cat).df,
    "Relationships.to_frame": lambda cat: Relationships((Edges("INCOMING", 7),)).df,
    "Runs.to_frame": lambda cat: _runs(cat).df,
    "SearchResults.facets_to_frame": _facets,
    "SearchResults.to_frame": lambda cat: cat.search("orders", count=3).df,
    "TopQueries.to_frame": lambda cat: _usage(cat).top_queries.df,
    "TopUsers.to_frame": lambda cat: _usage(cat).top_users.df,
    "UsageChart.columns_to_frame": lambda cat: _usage(cat).columns_to_frame(),
    "UsageChart.queries_to_frame": lambda cat: _usage(cat).queries_to_frame(),
    "UsageChart.to_frame": lambda cat: _usage(cat).df,
    "UsageChart.users_to_frame": lambda cat: _usage(cat).users_to_frame(),
    "WorklistTable.to_frame": lambda cat: cat.stewardship.worklist(top=2).df,
    # Charts of some columns, and of what is added up.
    "by column": lambda cat: _usage(cat).by_column().df,
    "by user": lambda cat: _usage(cat).by_user().df,
    "nulls": lambda cat: _profiles(cat).nulls().df,
    "unique": lambda cat: _profiles(cat).unique().df,
}
# What cannot be anything else.
WHOLE = {
    "AddedTable.to_frame": "the plan of a run",
    "AppliedTable.to_frame": "every change that was asked for",
    "Blame.to_frame": "every documented column",
    "ChangesetTable.to_frame": "every line of a file",
    "ColumnChanges.to_frame": "every change of a column",
    "CoverageTable.to_frame": "every group",
    "Documentation.df": "its own frame, made once",
    "Documentation.to_frame": "every dataset that a search finds",
    "DraftingTable.to_frame": "every text that was asked for",
    "DraftsTable.to_frame": "every draft of this machine",
    "DriftChart.to_frame": "every change between two profiles",
    "EditsTable.to_frame": "the edits of a save",
    "EntityPage.to_frame": "one row",
    "JournalTable.to_frame": "the journal of this machine",
    "LinksTable.to_frame": "the links of an entity",
    "LoadTable.to_frame": "every change that was refused",
    "Owners.to_frame": "the owners of an entity",
    "ProfilesTable.to_frame": "every profile of a file",
    "ProjectPlanTable.to_frame": "every change of a project",
    "ProposalsTable.to_frame": "every changeset of the server",
    "ReviewWidget.df": "every edit of a changeset",
    "SaveTable.to_frame": "the edits of a save",
    "SchemaComparison.to_frame": "every column of two datasets",
    "SchemaTable.to_frame": "every column of a dataset, or those of a filter",
    "ShownTable.df": "what to_frame() gives",
    "ShownTable.to_frame": "abstract",
    "VersionDiff.to_frame": "every place that differs",
}


def _lineage(cat: Any) -> Any:
    return cat["fct_orders"].lineage(limit=1)


def _column_lineage(cat: Any) -> Any:
    return cat["fct_orders"].lineage(column="net_amount", limit=1)


def _producers() -> set[str]:
    """Return what gives a data frame in any module of the notebook."""
    names = set()
    for module in pkgutil.walk_packages(notebook.__path__, "explorer.notebook."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if kind.__module__ == module.name:
                names |= {
                    f"{kind.__name__}.{name}"
                    for name in vars(kind)
                    if name == "df" or name.endswith("to_frame")
                }
    return names


def test_every_way_to_a_data_frame_is_known_to_be_whole_or_in_part() -> None:
    assert {name for name in PARTIAL if "." in name} | set(WHOLE) == _producers()


@pytest.mark.parametrize("name", PARTIAL)
def test_a_frame_of_a_part_says_so_where_it_was_asked_for(name: str, cat: Catalog) -> None:
    with pytest.warns(IncompleteFrame) as warned:
        frame = PARTIAL[name](cat)
    assert frame.attrs["complete"] is False
    total, total_of = frame.attrs["total"], frame.attrs["total_of"]
    assert total is None or total_of != "rows" or total > len(frame)
    assert [warning.filename for warning in warned] == [__file__]


def test_a_frame_of_everything_says_that_too(cat: Catalog) -> None:
    whole = cat.search("orders", entity="dataset", count=3).all()
    assert whole.df.attrs == {"complete": True, "total": whole.total, "total_of": "rows"}
    orders = cat["fct_orders"]
    for table in (
        *(orders, orders.schema, orders.owners, orders.lineage(1), orders.impact(), orders.usage()),
        *(orders.relationships(), orders.history(), cat.columns("order_id"), cat.runs(count=1_000)),
    ):
        assert isinstance(table, ShownTable)
        assert table.df.attrs == {"complete": True, "total": len(table.df), "total_of": "rows"}


def test_columns_say_how_many_tables_were_read(cat: Catalog) -> None:
    some, every = cat.columns("order_id", limit=2), cat.columns("order_id")
    assert not every.truncated
    with pytest.warns(IncompleteFrame, match=f"2 of {every.tables_total} tables read; a larger"):
        frame = some.df
    assert frame.attrs == {"complete": False, "total": every.tables_total, "total_of": "tables"}
    assert f"2 of {every.tables_total} tables read" in repr(some).splitlines()[0]


def test_labels_are_lists_of_names_beside_their_urns_in_every_frame(cat: Catalog) -> None:
    jane, ops = Urn.parse("urn:li:corpuser:jane"), Urn.parse("urn:li:corpGroup:ops")
    tag, term = Urn.parse("urn:li:tag:a"), Urn.parse("urn:li:glossaryTerm:b")
    source, table = (Urn.dataset("hive", f"frames.labels.{name}") for name in ("source", "table"))
    cat.ingest(Proposal(jane, "corpUserInfo", {"displayName": "Doe, Jane", "active": True}))
    cat.ingest(Proposal(tag, "tagProperties", {"name": "Raw, really"}))
    cat.ingest(
        Proposal(term, "glossaryTermInfo", {"name": "Net", "definition": "", "termSource": ""})
    )
    owners = [{"owner": str(owner), "type": "DATAOWNER"} for owner in (jane, ops)]
    cat.ingest(Proposal(table, "ownership", {"owners": owners}))
    cat.ingest(Proposal(table, "globalTags", {"tags": [{"tag": str(tag)}]}))
    stamp = {"time": 0, "actor": str(jane)}
    terms = {"terms": [{"urn": str(term)}], "auditStamp": stamp}
    cat.ingest(Proposal(table, "glossaryTerms", terms))
    schema = schema_metadata({"labelled_column": None})
    schema["fields"][0] |= {"globalTags": {"tags": [{"tag": str(tag)}]}, "glossaryTerms": terms}
    cat.ingest(Proposal(table, "schemaMetadata", schema))
    upstreams = [{"dataset": str(source), "type": "TRANSFORMED"}]
    cat.ingest(Proposal(table, "upstreamLineage", {"upstreams": upstreams}))

    expected = {
        "owners": ["Doe, Jane", "ops"],
        "owner_urns": [str(jane), str(ops)],
        "tags": ["Raw, really"],
        "tag_urns": [str(tag)],
        "terms": ["Net"],
        "term_urns": [str(term)],
    }
    frames = [
        cat.dataset(table).df,
        cat.search('"frames.labels.table"', entity="dataset").df,
        cat.search('"frames.labels.table"', entity="dataset", count=1).all().df,
        cat.dataset(source).impact().df,
        cat.dataset(source).lineage(1).df,
        cat.columns("labelled_column").df,
        cat.dataset(table).schema.df,
    ]
    dtypes: dict[str, Any] = {}
    for frame in frames:
        row = frame.iloc[0]
        common = frame.columns.intersection([*expected])
        assert {name: row[name] for name in common} == {name: expected[name] for name in common}
        assert len(common) >= 2
    # What several of the first have is of one type, and says the same.
    for frame in frames[:4]:
        for name, dtype in frame.dtypes.items():
            assert dtypes.setdefault(str(name), dtype) == dtype, name


def test_a_hit_has_the_values_of_its_row(cat: Any) -> None:
    found = cat.search("fct_orders", entity="dataset").all()
    assert pd.DataFrame(found)["owner_urns"].tolist() == found.df["owner_urns"].tolist()
    assert ", ".join(found.df["owners"].iloc[0]) in repr(next(iter(found)))
