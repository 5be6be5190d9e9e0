"""How much is documented is shown, and stops a build."""

import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.metadata import Urn
from tests.cli.conftest import Run, orders_and_stock
from tests.conftest import serving_catalog

ORDERS = str(Urn.dataset("hive", "shop.orders"))
STOCK = str(Urn.dataset("snowflake", "stock"))
STAMP = {"time": 0, "actor": "urn:li:corpuser:ann"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The address of a service with two tables."""
    with serving_catalog(tmp_path_factory.mktemp("catalog")) as address:
        with Catalog(address) as client:
            client.ingest_batch(orders_and_stock())
        yield address


@pytest.fixture
def coverage(catalog: Run, site: Any) -> Any:
    return lambda *arguments, stdin=b"": catalog("coverage", *arguments, url=site, stdin=stdin)


def test_tables_and_columns_are_shown_apart(coverage: Any) -> None:
    ran = coverage()
    assert ran.code == 0
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[1] == ["tables", "2", "1", "50.0", "0", "1"]
    assert lines[2] == ["columns", "4", "2", "50.0", "0", "2"]


def test_the_numbers_are_under_stable_keys(coverage: Any) -> None:
    told = coverage("--by", "owner", "--json").json
    whole = {"total": 4, "documented": 2, "edited": 0, "ingested": 2, "percent": 50.0}
    assert told["columns"] == whole
    assert told["gate"] is None
    assert {group["key"]: group["tables"]["documented"] for group in told["groups"]} == {
        "urn:li:corpuser:ann": 0,
        "": 1,
    }


def test_groups_are_lines_for_people_and_programs(coverage: Any) -> None:
    people = coverage("--by", "platform")
    assert {line.split()[0] for line in people.out.splitlines()[1:]} == {"hive", "snowflake"}
    rows = list(csv.DictReader(io.StringIO(coverage("--by", "owner", "--csv").out)))
    assert [row["columns_total"] for row in rows] == ["2", "2"]
    assert "(no owner)" in coverage("--by", "owner").out


def test_a_part_is_chosen_by_urn_and_by_filter(coverage: Any) -> None:
    assert coverage("-", "--json", stdin=STOCK.encode()).json["tables"]["percent"] == 100.0
    assert coverage("--filter", "owners:ann", "--json").json["tables"]["total"] == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--fail-under", "50"], 0),
        (["--fail-under", "50.1"], 1),
        (["--fail-under", "60", STOCK], 1),
        (["--fail-under", "60", "--only", "tables", STOCK], 0),
        (["--fail-under", "0", STOCK.replace("stock", "none")], 1),
        (["--fail-under", "101"], 2),
        (["--only", "tables"], 2),
        (["--json", "--csv"], 2),
    ],
)
def test_the_gate_decides_the_exit_code(coverage: Any, arguments: Any, code: int) -> None:
    assert coverage(*arguments).code == code


def test_what_falls_short_is_said_and_marked(coverage: Any) -> None:
    ran = coverage("--fail-under", "80", "--only", "columns", "--json")
    assert ran.json["gate"] == {"fail_under": 80.0, "only": "columns", "reached": False}
    assert "columns: 50.0% documented, below 80%" in ran.err


def test_the_trend_is_a_line_for_each_day_of_change(coverage: Any) -> None:
    ran = coverage("--trend", "--days", "30")
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert ran.out.splitlines()[1].split() == [today, "2", "1", "50.0", "4", "2", "50.0"]
    assert f"nothing is known before {today}" in ran.err
    told = coverage("--trend", "--by", "platform", "--every", "week", "--json").json
    assert (told["since"], told["by"], told["every"], told["datasets"]) == (
        today,
        "platform",
        "week",
        2,
    )
    assert {(one["key"], one["columns_percent"]) for one in told["days"]} == {
        ("hive", 50.0),
        ("snowflake", 50.0),
    }
    rows = list(csv.DictReader(io.StringIO(coverage("--trend", "--csv").out)))
    assert [row["tables_documented"] for row in rows] == ["1"]
    assert coverage("--days", "3").code == 2
    assert coverage("--trend", "--fail-under", "3").code == 2
