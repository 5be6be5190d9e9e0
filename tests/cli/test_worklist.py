"""What to write next is listed in an order that can be worked out by hand."""

import csv
import io
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer import instance
from explorer.client import Catalog
from explorer.errors import Busy
from explorer.metadata import Proposal, Urn
from explorer.server import stewardship
from explorer.server.authentication import Gate, Keyring, create_token
from explorer.server.coverage import read_facts
from explorer.stewardship import Stewardship
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
def worklist(catalog: Run, site: Any) -> Any:
    return lambda *arguments, stdin=b"": catalog("worklist", *arguments, url=site, stdin=stdin)


def test_the_keys_of_the_order_are_shown(worklist: Any) -> None:
    told = worklist("--json").json
    # (used + 1) x (downstream + 1): (5 + 1) x 2, (3 + 1) x 2, (0 + 1) x 1
    assert [
        (one["urn"], one["column"], one["used"], one["used_of"], one["downstream"], one["weight"])
        for one in told["items"]
    ] == [
        (ORDERS, None, 5, "table", 1, 12),
        (ORDERS, "total", 3, "column", 1, 8),
        (STOCK, "sku", 0, "none", 0, 1),
    ]
    assert (told["days"], told["total"]) == (30, 3)


def test_people_read_a_line_for_each(worklist: Any) -> None:
    ran = worklist()
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[0] == ["weight", "used", "of", "downstream", "table", "column", "type"]
    assert lines[2] == ["8", "3", "column", "1", "shop.orders", "total", "int"]
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "3 of 3 undocumented shown" in ran.err


@pytest.mark.nightly
@pytest.mark.parametrize("command", ["worklist", "coverage"])
def test_the_first_count_is_told_with_how_far_it_is(
    catalog: Run, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()

    def held(urn: str, *more: Any) -> Any:
        if urn == STOCK:
            gate.wait()
        return read_facts(urn, *more)

    monkeypatch.setattr(stewardship, "read_facts", held)
    monkeypatch.setattr(stewardship, "_AT_ONCE", 1)
    # Longer than a client repeats a request by itself.
    monkeypatch.setattr(stewardship, "_RETRY_AFTER_SECONDS", 900.0)
    monkeypatch.setattr("explorer.server.routes.stewardship.PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr("explorer.stewardship.api._LONGEST_PAUSE_SECONDS", 0.1)
    with serving_catalog(tmp_path) as address:
        try:
            with Catalog(address) as client:
                client.ingest_batch(orders_and_stock())
                steward = Stewardship(client)
                with pytest.raises(Busy, match="first time: 1 of 2 datasets") as told:
                    steward.worklist()
                assert told.value.retry_after_seconds is not None
                ran = catalog(command, url=address)
                waited: list[str] = []

                def wait(sentence: str) -> None:
                    waited.append(sentence)
                    gate.set()

                assert steward.worklist(waiting=wait).total == 3
        finally:
            gate.set()
    assert ran.code == 3
    assert "being counted for the first time: 1 of 2 datasets; try again" in ran.err
    assert ran.err.count("\n") == 1
    assert "1 of 2 datasets" in waited[0]


def test_tables_of_one_name_are_told_apart(catalog: Run, tmp_path: Path) -> None:
    named = [
        Proposal(Urn.dataset(platform, "shop.orders"), "datasetProperties", {"name": "orders"})
        for platform in ("hive", "kafka")
    ]
    with serving_catalog(tmp_path) as address:
        with Catalog(address) as client:
            client.ingest_batch([*orders_and_stock(), *named])
        out = catalog("worklist", url=address, COLUMNS="120").out
    assert [out.count(name) for name in ("orders (hive)", "orders (kafka)", "stock (")] == [2, 1, 0]


def test_the_first_few_say_how_many_there_are(worklist: Any) -> None:
    ran = worklist("--top", "1")
    assert len(ran.out.splitlines()) == 2
    assert "1 of 3 undocumented shown" in ran.err


def test_datasets_come_once_each_for_the_next_command(worklist: Any) -> None:
    assert worklist("--urns").out.splitlines() == [ORDERS, STOCK]


def test_csv_has_the_same_keys(worklist: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(worklist("--csv").out)))
    assert [row["weight"] for row in rows] == ["12", "8", "1"]
    assert list(rows[0]) == list(worklist("--json").json["items"][0])


@pytest.mark.parametrize("owner", ["ann", "Ann Keeper", "keeper", "urn:li:corpuser:ann"])
def test_an_owner_is_given_by_name_id_or_urn(worklist: Any, owner: str) -> None:
    items = worklist("--owner", owner, "--json").json["items"]
    assert {one["urn"] for one in items} == {ORDERS}
    assert worklist("--owner", "bob", "--owner", owner, "--json").json["items"] == items
    assert worklist("--owner", "bob").code == 1


def test_mine_is_what_the_user_of_this_machine_owns(
    catalog: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "catalog"
    monkeypatch.setenv("CATALOG_USER", "ann")
    with Catalog(data_dir=directory) as local:
        local.ingest_batch(orders_and_stock())
    try:
        ran = catalog("worklist", "--mine", "--json", "--data-dir", str(directory), url=None)
    finally:
        running = instance.find(directory)
        assert running is not None
        os.kill(running.pid, signal.SIGTERM)
    assert {one["urn"] for one in ran.json["items"]} == {ORDERS}


def test_mine_on_a_server_is_what_the_owner_of_the_token_owns(catalog: Run, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    token, _ = create_token(file, "ann", "urn:li:corpuser:ann")
    with serving_catalog(tmp_path, Gate(Keyring(file))) as address:
        with Catalog(address, token=token) as client:
            client.ingest_batch(orders_and_stock())
            assert client.me() == Urn.parse("urn:li:corpuser:ann")
        ran = catalog("worklist", "--mine", "--json", url=address, CATALOG_TOKEN=token)
    assert {one["urn"] for one in ran.json["items"]} == {ORDERS}


def test_a_server_that_does_not_know_who_asks_says_what_to_do(worklist: Any) -> None:
    ran = worklist("--mine")
    assert ran.code != 0
    assert "give your name with --owner" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [["--top", "0"], ["--csv", "--urns"], ["--owner", "ann", ORDERS], ["--mine", ORDERS]],
)
def test_wrong_use_is_exit_2(worklist: Any, arguments: Any) -> None:
    assert worklist(*arguments).code == 2
