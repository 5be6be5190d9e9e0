"""What is kept on this machine of a catalog is told apart by the catalog, not by its address."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from explorer.client import Catalog
from explorer.config import note_catalog, state_dir, state_keys, state_name
from explorer.config.searches import SavedSearch, SearchStore
from explorer.stewardship.drafts import Draft, Drafts
from explorer.stewardship.feed import VisitFile
from tests.conftest import serving_catalog

HERE, MOVED = "http://here:8080", "http://moved:8080"
URN = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path / "state"))


def kept(address: str) -> list[object]:
    """What is found of the catalog at an address: texts, places in the log, searches."""
    return [
        [one.draft.text for one in Drafts.of(address).all()],
        VisitFile.of(address).path.exists(),
        [one.name for one in SearchStore.of(address).read().saved],
    ]


def keep(address: str, name: str) -> None:
    Drafts.of(address).keep(Draft(URN, None, "", name))
    VisitFile.of(address).move(1, datetime.now(UTC))
    SearchStore.of(address).save(SavedSearch(name, name))


def test_two_catalogs_at_one_address_in_turn_share_nothing() -> None:
    note_catalog(HERE, "first")
    keep(HERE, "of the first")
    note_catalog(HERE, "second")
    assert kept(HERE) == [[], False, []]
    keep(HERE, "of the second")
    note_catalog(HERE, "first")
    assert kept(HERE) == [["of the first"], True, ["of the first"]]
    # It is the same catalog at another address.
    note_catalog(MOVED, "second")
    assert kept(MOVED) == [["of the second"], True, ["of the second"]]


def test_what_an_older_version_kept_under_an_address_is_of_the_first_catalog_there() -> None:
    keep(HERE, "older")
    assert kept(HERE) == [["older"], True, ["older"]]
    note_catalog(HERE, "first")
    assert kept(HERE) == [["older"], True, ["older"]]
    assert state_keys(HERE) == ("catalog first", HERE)
    note_catalog(HERE, "second")
    assert kept(HERE) == [[], False, []]
    assert state_keys(HERE) == ("catalog second",)


def test_of_a_server_without_an_id_it_stays_under_its_address() -> None:
    """Those of DataHub give none."""
    keep(HERE, "theirs")
    note_catalog(HERE, "")
    note_catalog(HERE, "ours")
    assert kept(HERE) == [[], False, []]
    note_catalog(HERE, "")
    assert kept(HERE) == [["theirs"], True, ["theirs"]]


def test_a_client_finds_out_which_catalog_is_at_its_address(tmp_path: Path) -> None:
    port = 0
    for name in ("one", "other", "one"):
        (tmp_path / name).mkdir(exist_ok=True)
        with serving_catalog(tmp_path / name, port=port) as address, Catalog(address) as catalog:
            port = int(address.rpartition(":")[2])
            catalog.abilities()
            keep(catalog.identity, name)
            assert kept(catalog.identity) == [[name], True, [name]]


@pytest.mark.parametrize("text", ["", "{", "[]", json.dumps({HERE: ["first"]}), "\x00"])
def test_a_damaged_file_of_catalogs_leaves_the_address(text: str) -> None:
    state_dir().mkdir()
    (state_dir() / "catalogs.json").write_text(text)
    assert state_keys(HERE) == (HERE,)
    note_catalog(HERE, "first")
    assert state_keys(HERE) == ("catalog first", HERE)
    assert state_name(HERE) != state_name(MOVED)


def test_where_nothing_can_be_recorded_the_address_counts() -> None:
    state_dir().write_text("")
    note_catalog(HERE, "first")
    assert state_keys(HERE) == (HERE,)
