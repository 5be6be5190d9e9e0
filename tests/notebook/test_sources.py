"""`cat.add(…)`: your own data, from a notebook."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
import sqlalchemy

from explorer import AsyncCatalog, Catalog
from explorer.errors import InvalidInput
from explorer.notebook.catalog import AddedTable
from tests.conftest import serving_catalog
from tests.notebook.conftest import Page


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """A catalog that holds nothing yet, which all tests here share."""
    with (
        serving_catalog(tmp_path_factory.mktemp("catalog")) as address,
        Catalog(address) as catalog,
    ):
        yield catalog


def columns(cat: Catalog, platform: str, name: str) -> dict[str, str]:
    """Return the types of the columns of a dataset."""
    entity = cat.dataset(f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)")
    return {one.path.raw: one.native_type for one in entity.schema}


def test_a_data_frame_is_added_under_a_name_and_brought_up_to_date(empty: Catalog) -> None:
    frame = pd.DataFrame({"id": [1, 2, 3], "mail": ["a@x.org", "b@x.org", None]})
    added = empty.add(frame, "people", stats=True)
    assert added.plan.counts["new"] == 1
    assert columns(empty, "pandas", "people") == {"id": "BIGINT", "mail": "VARCHAR"}
    urn = "urn:li:dataset:(urn:li:dataPlatform:pandas,people,PROD)"
    (point,) = (shown := empty.dataset(urn).profile()).points
    profile = {one.field_path: one for one in point.field_profiles or ()}
    assert profile["id"].max == "3"
    assert (profile["mail"].null_count, profile["mail"].max) == (1, None)
    assert "mail" in Page(shown._repr_html_()).text
    assert empty.add(frame, "people", stats=True).plan.counts["unchanged"] == 1
    again = empty.add(frame.assign(score=1.5), "people")
    assert again.plan.counts["changed"] == 1
    assert list(columns(empty, "pandas", "people")) == ["id", "mail", "score"]


def test_what_is_added_again_keeps_the_options_that_are_not_given(empty: Catalog) -> None:
    frame = pd.DataFrame({"id": [1, 2, 3]})
    first = empty.add(frame, "kept", stats=True, env="DEV", instance="own")
    assert "keeps" not in Page(first._repr_html_()).text
    urn = "urn:li:dataset:(urn:li:dataPlatform:pandas,own.kept,DEV)"
    again = empty.add(frame.assign(more=1), "kept")
    assert (again.plan.counts["changed"], again.plan.counts["new"]) == (1, 0)
    assert (
        "keeps the options that it was added with: env, instance, stats."
        in Page(again._repr_html_()).text
    )
    profiles = empty.dataset(urn).profile().points
    assert {one.field_path for one in profiles[-1].field_profiles or ()} == {"id", "more"}
    without = empty.add(frame, "kept", env="DEV", instance="", stats=False, accept_removals=True)
    assert not without.kept_options
    assert {str(one) for one in without.plan.of("new")} == {urn.replace("own.", "")}
    assert {str(one) for one in without.plan.of("gone")} == {urn}


def test_a_relation_a_path_and_an_engine_are_added(empty: Catalog, tmp_path: Path) -> None:
    empty.add(duckdb.sql("select 1 as a, {'b': 2} as s"), "made")
    assert list(columns(empty, "duckdb", "made")) == ["a", "s", "s.b"]
    path = tmp_path / "wh.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table t (x int)")
        assert empty.add(path).plan.source.name == "wh"
        assert empty.add(connection).plan.counts["unchanged"] == 3
        connection.execute("insert into t values (1)")
    engine = sqlalchemy.create_engine(
        "sqlite://", poolclass=sqlalchemy.StaticPool, connect_args={"check_same_thread": False}
    )
    with engine.begin() as connected:
        connected.exec_driver_sql("create table t (y int)")
    assert empty.add(engine, "scratch").plan.counts["new"] == 2
    assert columns(empty, "sqlite", "memory.t") == {"y": "INT"}
    # The engine goes on working: it is its owner's.
    with engine.connect() as connected:
        assert connected.exec_driver_sql("select count(*) from t").scalar() == 0
    engine.dispose()


def test_the_asynchronous_catalog_adds_as_well(empty: Catalog) -> None:
    async def add() -> AddedTable:
        async with AsyncCatalog(empty.address) as asked:
            return await asked.add(pd.DataFrame({"a": [1]}), "awaited", env="DEV")

    assert [str(urn) for urn in asyncio.run(add()).plan.of("new")] == [
        "urn:li:dataset:(urn:li:dataPlatform:pandas,awaited,DEV)"
    ]


def test_what_was_added_shows_itself(empty: Catalog) -> None:
    frame = pd.DataFrame({"a": [1]})
    added = empty.add(frame, "shown", dry_run=True)
    assert added.outcome is None
    assert not empty.exists("urn:li:dataset:(urn:li:dataPlatform:pandas,shown,PROD)")
    page = Page(added._repr_html_())
    assert page.wrong == []
    assert "1 table, 1 column · nothing was written" in page.text
    assert list(added.df["name"]) == ["shown"]


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        (pd.DataFrame({"a": [1]}), "a DataFrame needs a name"),
        (3, "a int cannot be added: give a path"),
        ("nothere.csv", "there is no nothere.csv"),
    ],
)
def test_what_cannot_be_added_is_told_with_what_to_do(
    empty: Catalog, what: Any, sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        empty.add(what)


def test_what_a_source_of_another_package_reads_is_added_in_a_notebook(
    empty: Catalog, fieldbook: Path
) -> None:
    added = empty.add(fieldbook)
    assert "2 tables, 3 columns" in Page(added._repr_html_()).text
    assert columns(empty, "fieldbook", "owls") == {"place": "text"}
