"""`catalog add` and `catalog sources`, from the first run to the removal."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from explorer.client import Catalog
from explorer.metadata.urn import Urn
from explorer.sources.configured import read_runs, require_source
from explorer.sources.location import open_source
from explorer.sources.run import plan_run, run_source
from explorer.sources.source import SourceOptions
from tests.sources.conftest import Run, dataset, execute, quiet

ORDERS = dataset("sqlite", "shop.orders")
CUSTOMERS = dataset("sqlite", "shop.customers")


def stored(cat: Catalog) -> dict[str, Any]:
    """Every aspect of every dataset and container, by URN and name."""
    urns = list(cat.urns(["dataset", "container"], include_removed=True))
    return {
        f"{urn} {name}": aspect.value
        for urn, entity in cat.entities(urns).items()
        for name, aspect in entity.aspects.items()
    }


def is_removed(cat: Catalog, urn: str) -> bool:
    """Whether a dataset is soft-deleted."""
    return bool((cat.entity(urn).raw("status") or {}).get("removed"))


def test_a_dry_run_says_what_would_go_in_and_writes_nothing(
    command: Run, cat: Catalog, shop: Path
) -> None:
    ran = command("add", str(shop), "--dry-run")
    assert ran.code == 0, ran
    assert "1 database, 2 tables, 1 view, 13 columns" in ran.out
    assert "4 new" in ran.out
    assert "shop.big_orders, shop.customers, shop.orders" in ran.out
    assert list(cat.urns(["dataset", "container", "dataHubIngestionSource"])) == []


def test_what_was_added_is_found_and_says_which_run_brought_it(
    command: Run, cat: Catalog, shop: Path
) -> None:
    ran = command("add", str(shop), "--json")
    assert ran.code == 0, ran
    value = json.loads(ran.out)
    assert value["counts"] == {"new": 4, "changed": 0, "back": 0, "unchanged": 0, "gone": 0}
    assert value["refused"] == value["skipped"] == []
    assert {hit.urn.name for hit in cat.hits("orders", entity="dataset")} == {
        *("shop.orders", "shop.big_orders")
    }
    entity = cat.entity(ORDERS)
    assert [column.name for column in entity.schema] == ["id", "customer_id", "total"]
    assert entity.aspects["schemaMetadata"].run_id == value["run_id"]
    assert [one["rowCount"] for one in cat.profiles(ORDERS).values] == [2]
    view = cat.entity(dataset("sqlite", "shop.big_orders"))
    assert len((view.raw("upstreamLineage") or {})["fineGrainedLineages"]) == 5


def test_a_second_run_changes_nothing(command: Run, cat: Catalog, shop: Path) -> None:
    assert command("add", str(shop)).code == 0
    before = stored(cat)
    ran = command("add", str(shop), "--json")
    assert ran.code == 0, ran
    value = json.loads(ran.out)
    assert value["written"] == 0
    assert value["counts"]["unchanged"] == 4
    assert stored(cat) == before
    assert len(cat.profiles(ORDERS).values) == 1


def test_only_what_changed_is_written(command: Run, cat: Catalog, shop: Path) -> None:
    assert command("add", str(shop)).code == 0
    execute(shop, "alter table orders add column note text; drop view big_orders")
    execute(shop, "create table big_orders as select 1 as id")
    value = json.loads(command("sources", "run", "shop", "--json").out)[0]
    assert set(value["entities"]["changed"]) == {ORDERS, dataset("sqlite", "shop.big_orders")}
    assert [column.name for column in cat.entity(ORDERS).schema][-1] == "note"
    # What was a view has neither SQL nor lineage any more.
    now = cat.entity(dataset("sqlite", "shop.big_orders"))
    assert now.raw("subTypes") == {"typeNames": ["Table"]}
    assert now.raw("viewProperties") is None
    assert now.raw("upstreamLineage") is None


def test_a_dropped_table_is_hidden_and_comes_back_with_its_documentation(
    command: Run, cat: Catalog, shop: Path
) -> None:
    assert command("add", str(shop)).code == 0
    cat.describe(ORDERS, "What people bought.")
    execute(shop, "drop view big_orders; alter table orders rename to kept")
    ran = command("sources", "run", "shop")
    assert ran.code == 0, ran
    assert "1 new, 2 gone, 2 unchanged" in ran.out
    assert is_removed(cat, ORDERS)
    assert {hit.urn.name for hit in cat.hits("*", entity="dataset")} == {
        *("shop.customers", "shop.kept")
    }
    execute(shop, "alter table kept rename to orders")
    ran = command("sources", "run", "shop")
    assert "1 back again" in ran.out
    assert not is_removed(cat, ORDERS)
    assert cat.entity(ORDERS).description == "What people bought."


def test_a_source_that_lost_nearly_everything_writes_nothing_unless_told(
    command: Run, cat: Catalog, shop: Path
) -> None:
    assert command("add", str(shop)).code == 0
    before = stored(cat)
    execute(
        shop, "drop view big_orders; drop table orders; drop table customers; create table x(a)"
    )
    ran = command("sources", "run", "shop")
    assert ran.code == 1
    assert "3 of the 3 datasets of shop no longer exist there" in ran.err
    assert "--accept-removals" in ran.err
    assert stored(cat) == before
    ran = command("sources", "run", "shop", "--accept-removals")
    assert ran.code == 0, ran
    assert is_removed(cat, ORDERS)


def test_a_failed_run_removes_nothing_and_is_in_the_list(
    command: Run, cat: Catalog, shop: Path
) -> None:
    assert command("add", str(shop)).code == 0
    before = stored(cat)
    shop.write_bytes(shop.read_bytes()[:100] + b"\0" * 5000)
    ran = command("sources", "run")
    assert ran.code == 1
    assert "cannot be read" in ran.err
    assert stored(cat) == before
    listed = json.loads(command("sources", "--json").out)
    assert [one["state"] for one in listed] == ["failed"]
    assert "cannot be read" in listed[0]["report"]
    shop.unlink()
    assert "there is no" in command("sources", "run", "shop").err


def test_a_dry_run_of_a_source_that_cannot_be_read_writes_nothing(command: Run, shop: Path) -> None:
    assert command("add", str(shop)).code == 0
    shop.write_bytes(b"SQLite format 3\0" + b"\xff" * 4_000)
    assert command("sources", "run", "shop", "--dry-run").code == 1
    assert [one["state"] for one in json.loads(command("sources", "--json").out)] == ["done"]


def test_a_run_that_is_broken_off_is_made_good_by_the_next(cat: Catalog, shop: Path) -> None:
    options = SourceOptions()
    source = open_source(str(shop), options)

    def stop(what: str, done: int, _total: int | None) -> None:
        if what == "written" and done:
            raise KeyboardInterrupt

    plan = plan_run(cat, "shop", source, options, quiet)
    with pytest.raises(KeyboardInterrupt):
        run_source(cat, plan, stop)
    configured = require_source(cat, "shop")
    assert [run.status for run in read_runs(cat, configured)] == ["FAILURE"]
    # What was written counts as the source's: dropped before the next run, it is hidden then.
    execute(shop, "drop view big_orders")
    outcome = run_source(cat, plan_run(cat, "shop", source, options, quiet), quiet)
    assert outcome.plan.counts["gone"] == 1
    assert len(cat.profiles(ORDERS).values) > 0
    assert is_removed(cat, dataset("sqlite", "shop.big_orders"))
    assert len(require_source(cat, "shop").state.seen) == 3


def test_the_list_says_what_was_added_when_and_what_it_has(command: Run, shop: Path) -> None:
    assert "no source was added" in command("sources").err
    assert command("add", str(shop)).code == 0
    ran = command("sources", "--json")
    (row,) = json.loads(ran.out)
    assert row["name"] == "shop"
    assert row["kind"] == "sqlite"
    assert row["location"] == str(shop)
    assert row["datasets"] == 3
    assert row["state"] == "done"
    shown = command("sources").out.splitlines()
    assert shown[0].split()[:4] == ["name", "kind", "last", "run"]
    assert shown[1].split()[:2] == ["shop", "sqlite"]


def test_a_removed_source_takes_with_it_what_it_brought_and_nothing_else(
    command: Run, cat: Catalog, shop: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.sqlite"
    execute(other, "create table t (a)")
    assert command("add", str(shop)).code == 0
    assert command("add", str(other)).code == 0
    cat.describe(ORDERS, "What people bought.")
    assert command("sources", "remove", "shop").code == 2
    missing = command("sources", "remove", "shops")
    assert (missing.code, "--yes" in missing.err, "shops" in missing.err) == (1, False, True)
    assert "4 entities would be hidden" in command("sources", "remove", "shop", "--dry-run").err
    assert not is_removed(cat, ORDERS)
    ran = command("sources", "remove", "shop", "--yes")
    assert ran.code == 0, ran
    assert is_removed(cat, ORDERS)
    assert not is_removed(cat, dataset("sqlite", "other.t"))
    assert [one["name"] for one in json.loads(command("sources", "--json").out)] == ["other"]
    # Added again, everything is back.
    assert "4 back again" in command("add", str(shop)).out
    assert cat.entity(ORDERS).description == "What people bought."


def test_a_source_can_be_removed_for_good(command: Run, cat: Catalog, shop: Path) -> None:
    assert command("add", str(shop)).code == 0
    execute(shop, "drop view big_orders")
    assert command("sources", "run", "shop").code == 0
    ran = command("sources", "remove", "shop", "--hard", "--yes")
    assert ran.code == 0, ran
    types = ["dataset", "container", "dataHubIngestionSource", "dataHubExecutionRequest"]
    assert list(cat.urns(types, include_removed=True)) == []


def test_sources_and_runs_are_the_entities_that_datahub_has_for_them(
    command: Run, cat: Catalog, shop: Path
) -> None:
    run_id = json.loads(command("add", str(shop), "--json").out)["run_id"]
    source = cat.entity("urn:li:dataHubIngestionSource:shop").raw("dataHubIngestionSourceInfo")
    assert source is not None
    recipe = json.loads(source["config"]["recipe"])
    assert recipe["source"] == {"type": "sqlite", "config": {"location": str(shop), "env": "PROD"}}
    run = cat.entity(f"urn:li:dataHubExecutionRequest:{run_id}")
    asked, result = (
        run.raw("dataHubExecutionRequestInput"),
        run.raw("dataHubExecutionRequestResult"),
    )
    assert asked is not None
    assert result is not None
    assert asked["source"]["ingestionSource"] == "urn:li:dataHubIngestionSource:shop"
    assert result["status"] == "SUCCESS"
    assert json.loads(result["structuredReport"]["serializedValue"])["new"] == 4


def test_sources_and_runs_do_not_stand_in_the_way_of_a_search(
    command: Run, cat: Catalog, shop: Path
) -> None:
    assert command("add", str(shop)).code == 0
    assert {hit.urn.entity_type for hit in cat.hits("shop")} == {"container", "dataset"}
    sources = cat.hits("shop", entity="dataHubIngestionSource")
    assert [hit.urn.name for hit in sources] == ["shop"]


def test_two_sources_cannot_claim_the_same_tables(
    command: Run, cat: Catalog, shop: Path, tmp_path: Path
) -> None:
    assert command("add", str(shop)).code == 0
    copy = tmp_path / "copy" / "shop.sqlite"
    copy.parent.mkdir()
    copy.write_bytes(shop.read_bytes())
    assert "there is already a source shop" in command("add", str(copy)).err
    ran = command("add", str(copy), "--name", "copy")
    assert ran.code == 1
    assert "already comes from the source shop" in ran.err
    ran = command("add", str(copy), "--name", "copy", "--instance", "copy")
    assert ran.code == 0, ran
    assert cat.exists(dataset("sqlite", "copy.shop.orders"))


def test_a_source_that_another_program_changed_is_told(
    command: Run, cat: Catalog, shop: Path
) -> None:
    assert command("add", str(shop)).code == 0
    urn = "urn:li:dataHubIngestionSource:shop"
    info = cat.aspect(urn, "dataHubIngestionSourceInfo").value
    cat.put(
        urn, "dataHubIngestionSourceInfo", {**info, "config": {**info["config"], "extraArgs": {}}}
    )
    ran = command("sources", "run", "shop")
    assert ran.code == 1
    assert f"catalog delete {urn} --hard, and add it again" in ran.err


def test_a_folder_that_another_source_has_as_well_is_not_hidden(
    command: Run, cat: Catalog, tmp_path: Path
) -> None:
    path = tmp_path / "wh.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema a; create table a.t (x int); create table a.u (x int)")
        connection.execute("create schema b; create table b.t (x int)")
    for schema in ("a", "b"):
        ran = command("add", str(path), "--name", schema, "--schema", schema)
        assert ran.code == 0, ran
    with duckdb.connect(str(path)) as connection:
        connection.execute("drop schema b cascade")
    ran = command("sources", "run", "b", "--accept-removals")
    assert ran.code == 0, ran
    assert is_removed(cat, dataset("duckdb", "wh.b.t"))
    names = [hit.urn for hit in cat.hits("wh", entity="container")]
    assert {cat.entity(urn).name for urn in names} == {"wh", "a"}


def test_labels_that_people_gave_stay(command: Run, cat: Catalog, shop: Path) -> None:
    assert command("add", str(shop)).code == 0
    cat.new("tag", "PII")
    cat.add_tags(CUSTOMERS, ["urn:li:tag:PII"])
    cat.describe(CUSTOMERS, "The name.", column="name")
    execute(shop, "alter table customers add column mail text")
    assert "1 changed" in command("sources", "run", "shop").out
    entity = cat.entity(CUSTOMERS)
    assert entity.tags == (Urn.parse("urn:li:tag:PII"),)
    assert entity.schema.column("name").description == "The name."  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("location", "code", "sentence"),
    [
        ("nothere.sqlite", 1, "there is no nothere.sqlite"),
        ("nosuch://host/db", 1, "SQLAlchemy knows no database 'nosuch'"),
        ("sqlite://", 1, "names no file"),
        ("mysql://ann@127.0.0.1:1/x", 1, "pip install 'pymysql'"),
        ("postgresql://a:${NOT_SET_HERE}@h/d", 1, "the variable NOT_SET_HERE, which is not set"),
    ],
)
def test_what_cannot_be_added_is_told_with_what_to_do(
    command: Run, location: str, code: int, sentence: str
) -> None:
    ran = command("add", location)
    assert ran.code == code, ran
    assert sentence in ran.err
    assert "Traceback" not in ran.err


def test_an_empty_database_is_told(command: Run, tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite"
    execute(path, "create table t (a); drop table t")
    ran = command("add", str(path))
    assert ran.code == 1
    assert "has no tables" in ran.err


@pytest.mark.parametrize(
    ("package", "sentence"),
    [
        ("sqlalchemy", "reading databases needs SQLAlchemy"),
        ("sqlglot", "reading SQL needs sqlglot"),
    ],
)
def test_a_missing_extra_is_named(
    shop: Path, tmp_path: Path, address: str, package: str, sentence: str
) -> None:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    message = f"raise ModuleNotFoundError('no', name={package!r})"
    (blocked / f"{package}.py").write_text(message)
    done = subprocess.run(
        (sys.executable, "-m", "explorer.cli", "add", str(shop), "--url", address),
        env={"PATH": "", "PYTHONPATH": f"{blocked}:{Path.cwd()}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "[sources]'" in done.stderr


def test_help_imports_none_of_the_libraries() -> None:
    code = (
        "import sys\nfrom explorer.cli.command import run\n"
        "for words in (['--help'], ['add', '--help'], ['sources', '--help']): run(words)\n"
        "print(sorted({'sqlalchemy', 'duckdb', 'sqlglot'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        (sys.executable, "-c", code), capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stderr.strip() == "[]"
