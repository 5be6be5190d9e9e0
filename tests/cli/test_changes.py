"""What changed since the last visit is listed, filtered, and marked as read."""

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from explorer.client import Catalog
from explorer.metadata import Urn
from tests.cli.conftest import Ran, Run
from tests.conftest import schema_metadata, serving_catalog

URN = Urn.dataset("hive", "shop.changing")


@pytest.fixture
def changes(catalog: Run, tmp_path: Path) -> Iterator[Callable[..., Ran]]:
    """The command on a server where a described column has just been renamed."""
    with serving_catalog(tmp_path) as address, Catalog(address) as client:

        def run(*arguments: str) -> Ran:
            state = str(tmp_path / "state")
            return catalog("changes", *arguments, url=address, CATALOG_STATE_DIR=state)

        client.put(URN, "schemaMetadata", schema_metadata({"cust_id": None, "total": None}))
        client.describe(URN, "Who bought.", column="cust_id")
        assert run("--read").code == 0
        client.put(URN, "schemaMetadata", schema_metadata({"customer_id": None, "total": None}))
        yield run


def test_what_changed_is_told_until_it_is_marked_as_read(changes: Callable[..., Ran]) -> None:
    ran = changes()
    assert ran.code == 0, ran
    assert "changing · cust_id" in ran.out
    assert "customer_id" in ran.out
    assert "2 changes of 1 entity, 1 to look after" in ran.err
    assert "Since " in ran.err
    assert changes("--care", "--urns").out == f"{URN}\n"
    assert changes("--read").out == ran.out
    after = changes()
    assert (after.out, after.code) == ("", 0)
    assert "nothing changed" in after.err
    assert changes("--earlier").out == ran.out


def test_programs_get_every_field(changes: Callable[..., Ran]) -> None:
    found = changes("--json").json
    assert found["since"].startswith("20")
    orphaned, added = found["changes"]
    assert orphaned["kind"] == "orphaned text"
    assert (orphaned["column"], orphaned["likely_column"]) == ("cust_id", "customer_id")
    assert (orphaned["edited"], orphaned["needs_care"]) == ("Who bought.", True)
    assert (added["kind"], added["urn"]) == ("column added", str(URN))
    rows = list(csv.DictReader(io.StringIO(changes("--csv", "--match", "ADDED").out)))
    assert [one["column"] for one in rows] == ["customer_id"]


def test_wrong_use_is_exit_2(changes: Callable[..., Ran]) -> None:
    assert changes("--top", "0").code == 2
    assert changes("--json", "--csv").code == 2
