"""What DataHub's SDK and command line scroll through, in a catalog served by us."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.datahub.conftest import DataHub, Served

# The first test may install DataHub's tools.
SCRIPT = Path(__file__).with_name("scroll_session.py")
OWNER = "urn:li:corpuser:scroller"


def table(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,scroll.{name},PROD)"


TABLES, HIDDEN = [table(f"t{at:02}") for at in range(25)], table("t99")
CHAIN = [[TABLES[at], TABLES[at + 1]] for at in range(24)]


@pytest.fixture(scope="module")
def said(datahub: DataHub) -> Any:
    """What every scroll gave."""
    return datahub.python(SCRIPT)


@pytest.mark.nightly
def test_entities_are_scrolled_to_the_end(said: Any) -> None:
    found = said["entities"]
    assert found["pages"] == [TABLES[:10], TABLES[10:20], TABLES[20:]]
    assert (found["total"], found["aspects"]) == (25, ["ownership"])
    assert found["of a filter"] == TABLES[3:5]
    assert {"datasetKey", "datasetProperties", "ownership"} <= set(found["all aspects"])
    assert found["run"]
    assert found["with removed"] == [*TABLES, HIDDEN]
    assert found["backwards"] == TABLES[:14:-1]
    assert found["refused"] == 400


def test_relationships_are_scrolled_to_the_end(said: Any) -> None:
    found = said["relationships"]
    assert found["incoming"] == found["swapped"] == found["by name"] == TABLES
    assert found["with removed"] == [*TABLES, HIDDEN]
    assert found["outgoing"] == TABLES[:2]


def test_lineage_is_scrolled_to_the_end(said: Any) -> None:
    found = said["lineage"]
    assert found["all"] == CHAIN
    assert sorted(found["around"]) == CHAIN[3:6]
    assert sorted(found["up"]) == CHAIN[3:5]
    assert sorted(found["down"]) == CHAIN[4:6]


def test_platform_resources_are_found_by_their_keys(said: Any) -> None:
    found = said["resources"]
    keys = found["keys"]
    assert found["by key"] == found["by second key"] == [[key] for key in keys]
    assert found["by either"] == sorted(keys[:2])
    assert found["by platform"] == sorted(keys)
    assert found["by none"] == []


def test_a_client_learns_which_aspects_can_be_stored(said: Any) -> None:
    assert said["specifications"] == {"key": True, "aspect": True, "no aspect": False}


@pytest.mark.nightly
def test_version_2_is_read_and_old_runs_are_cleaned_up_with_it(said: Any) -> None:
    found = said["version_2"]
    assert found["entities"] == {urn: ["ownership"] for urn in TABLES[:2]}
    assert found["owner"] == OWNER
    assert (found["read"], found["failures"]) == (12, 0)
    assert found["kept"] == found["made"][-4:]


@pytest.mark.nightly
def test_a_migration_rewrites_every_reference(said: Any, datahub: DataHub, served: Served) -> None:
    # More references than a page of the scroll has, each of them rewritten before the next is read.
    moved = "urn:li:corpuser:moved"
    mapping = datahub.home / "mapping.json"
    mapping.write_text(json.dumps({OWNER: moved}))
    served.http.post(
        "/openapi/v3/entity/corpuser",
        json=[{"urn": OWNER, "corpUserInfo": {"value": {"active": True}}}],
    ).raise_for_status()
    datahub("migrate", "urns-mapping", "--mapping-file", str(mapping), "--force")
    assert served.aspects(moved)["corpUserInfo"]["active"]
    for urn in [*TABLES, HIDDEN]:
        assert [one["owner"] for one in served.aspects(urn)["ownership"]["owners"]] == [moved]
    assert served.aspects(OWNER)["status"] == {"removed": True}
