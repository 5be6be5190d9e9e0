"""Entities are hidden and brought back, or deleted for good once somebody agreed."""

import json
import os
import pty
import select
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.conftest import Run

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"


@pytest.fixture
def tables(shop: Run, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Two tables of this test's own; the second is made from the first."""
    names = [f"{request.node.name}.{n}" for n in ("a", "b")]
    urns = [f"urn:li:dataset:(urn:li:dataPlatform:hive,gone.{name},PROD)" for name in names]
    upstream = {"upstreams": [{"dataset": urns[0], "type": "TRANSFORMED"}]}
    point = {"timestampMillis": 1700000000000, "rowCount": 7}
    changes = [
        (urns[0], "datasetProperties", {"name": "a"}),
        (urns[0], "datasetProperties", {"name": "a", "description": "Second version."}),
        (urns[0], "datasetProfile", point),
        (urns[1], "upstreamLineage", upstream),
    ]
    loaded = [
        {"entityUrn": urn, "aspectName": name, "aspect": {"json": value}}
        for urn, name, value in changes
    ]
    assert shop("load", "-", stdin=json.dumps(loaded).encode()).code == 0
    yield urns
    shop("delete", *urns, "--hard", "--yes")


def answered(arguments: Any, answer: Any) -> Any:
    """Run a command on a terminal, where the question is answered."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        arguments, stdin=child, stdout=child, stderr=child, start_new_session=True
    )
    os.close(child)
    seen, asked = b"", True
    with process:
        while select.select([parent], [], [], 30)[0]:
            try:
                part = os.read(parent, 65_536)
            except OSError:
                break
            seen += part
            if asked and b"[y/N]" in seen:
                os.write(parent, answer)
                asked = False
        process.wait(timeout=120)
    os.close(parent)
    return process.returncode, seen.decode()


def exists(shop: Run, urn: Any) -> Any:
    return shop("get", urn).code == 0


def test_what_is_hidden_is_brought_back(shop: Run, tables: Any) -> None:
    urn, _ = tables
    dry = shop("delete", urn, "--soft", "--dry-run", "--json")
    assert dry.json["deleted"][0]["written"] is False
    assert "removed" not in shop("get", urn).out
    ran = shop("delete", urn, "--soft", "--json")
    assert (ran.code, ran.json["deleted"][0]["removed"]) == (0, True), ran
    assert "catalog restore" in ran.err
    assert "removed: hidden" in shop("get", urn).out
    assert "already" in shop("delete", urn, "--soft").err
    assert "would be shown" in shop("restore", urn, "--dry-run").err
    back = shop("restore", "-", "--json", stdin=f"{urn}\n".encode())
    assert back.json == {
        "dry_run": False,
        "restored": [{"urn": urn, "was_removed": True, "removed": False, "written": True}],
        "failed": [],
    }
    assert "removed: hidden" not in shop("get", urn).out


def test_a_dry_run_of_a_hard_deletion_says_what_goes(shop: Run, tables: Any) -> None:
    urn, other = tables
    ran = shop("delete", urn, "--hard", "--dry-run", "--json")
    assert ran.code == 0, ran
    (going,) = ran.json["deleted"]
    assert (going["done"], going["points"], going["references"]) == (False, 1, 1)
    assert going["referenced_by"][0]["urn"] == other
    assert f"{going['versions']} versions, 1 time series point, 1 reference to it" in ran.err
    gone = shop("delete", urn, "--hard", "--yes", "--json").json["deleted"][0]
    assert (gone["done"], gone["points"]) == (True, 1)
    assert gone["versions"] == going["versions"] >= 2
    assert not exists(shop, urn)


@pytest.mark.parametrize(("kind", "entity"), [("domain", "domain"), ("group", "glossaryNode")])
def test_what_is_in_a_deleted_domain_or_group_is_moved_to_where_it_is_found(
    shop: Run, kind: str, entity: str
) -> None:
    def new(name: str, above: str = "") -> str:
        inside = ("--in", above) if above else ()
        urn: str = shop("new", kind, name, *inside, "--json").json["urn"]
        return urn

    top = new(f"Top {kind}")
    middle = new(f"Middle {kind}", top)
    child = new(f"Child {kind}", middle)
    planned = shop("delete", middle, "--hard", "--dry-run")
    assert f"to be moved to {top.rpartition(':')[2]}: {child.rpartition(':')[2]}" in planned.err
    gone = shop("delete", middle, "--hard", "--yes", "--json").json["deleted"][0]
    assert (gone["moved"], gone["moved_to"]) == ([child], top)
    assert "What was in it is moved to the top level" in shop("delete", top, "--hard", "--yes").err
    field = "parentDomain" if kind == "domain" else "parentNode"
    at_top = shop("search", "--filter", f"type:{entity} NOT {field}:*", "--urns").out
    assert child in at_top.splitlines()
    shop("delete", child, "--hard", "--yes")


def test_nobody_to_be_asked_is_exit_2_and_nothing_goes(shop: Run, tables: Any) -> None:
    ran = shop("delete", *tables, "--hard")
    assert (ran.code, "give --yes" in ran.err) == (2, True), ran
    ran = shop("delete", "-", "--hard", stdin=tables[0].encode())
    assert ran.code == 2
    assert exists(shop, tables[0])


def test_on_a_terminal_it_asks_and_only_yes_deletes(
    shop: Run, tables: Any, served: str, command: tuple[str, ...]
) -> None:
    urn, _ = tables
    words = (*command, "delete", urn, "--hard", "--url", served)
    for answer in (b"n\n", b"\n"):
        code, seen = answered(words, answer)
        assert (code, "nothing was deleted" in seen) == (1, True), seen
        assert "referenced by" in seen
        assert f"In the catalog at {served}: Delete this entity permanently?" in seen
        assert exists(shop, urn)
    code, seen = answered(words, b"y\n")
    assert (code, "permanently" in seen) == (0, True), seen
    assert not exists(shop, urn)


@pytest.mark.parametrize("how", [["--soft"], ["--hard", "--yes"]])
def test_of_several_one_that_fails_loses_no_other(shop: Run, tables: Any, how: Any) -> None:
    urn, _ = tables
    nowhere = urn.replace("gone.", "never.")
    ran = shop("delete", nowhere, urn, *how, "--json")
    assert ran.code == 1, ran
    assert [one["urn"] for one in ran.json["deleted"]] == [urn]
    assert [one["urn"] for one in ran.json["failed"]] == [nowhere]
    assert nowhere in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([ORDERS], "give either"),
        ([ORDERS, "--soft", "--hard"], "give either"),
        (["--soft"], "Missing"),
    ],
)
def test_how_must_be_said(shop: Run, arguments: Any, words: str) -> None:
    ran = shop("delete", *arguments)
    assert (ran.code, words in ran.err) == (2, True), ran


def test_what_does_not_exist_cannot_be_restored(shop: Run) -> None:
    urn = "urn:li:tag:never-there"
    ran = shop("restore", urn)
    assert (ran.code, ran.out, urn in ran.err) == (1, "", True), ran


@pytest.mark.parametrize("how", [["--soft"], ["--hard", "--yes"], ["--hard", "--dry-run"]])
def test_a_name_is_not_taken_and_what_lists_urns_is_told(shop: Run, how: list[str]) -> None:
    ran = shop("delete", "my orders", *how)
    assert (ran.code, ran.out) == (1, "")
    assert "“my orders” is not a URN" in ran.err
    assert "“catalog search 'my orders' --urns” lists URNs" in ran.err
