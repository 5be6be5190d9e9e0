"""Links to documents: listed, added, removed; those of others stay."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.conftest import Run

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
NOWHERE = "urn:li:dataset:(urn:li:dataPlatform:hive,linked.nowhere,PROD)"
STAMP = {"time": 1700000000000, "actor": "urn:li:corpuser:etl"}


@pytest.fixture
def table(shop: Run, request: pytest.FixtureRequest) -> Iterator[Any]:
    urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,linked.{request.node.name},PROD)"
    link = {"url": "https://x.org/a", "description": "First", "createStamp": STAMP}
    value = {"json": {"elements": [link]}}
    change = {"entityUrn": urn, "aspectName": "institutionalMemory", "aspect": value}
    assert shop("load", "-", stdin=json.dumps([change]).encode()).code == 0
    yield urn
    shop("delete", urn, "--hard", "--yes")


def urls(shop: Run, urn: Any) -> Any:
    return [(one["url"], one["label"]) for one in shop("link", urn, "--json").json]


def test_a_link_is_added_and_removed_and_others_stay(shop: Run, table: Any) -> None:
    ran = shop("link", table, "add", "https://x.org/b", "--label", "Second one", "--json")
    assert ran.code == 0, ran
    assert "First <https://x.org/a>, Second one <https://x.org/b>" in ran.err
    assert ran.json["edits"][0]["after"][1] == "https://x.org/b Second one"
    assert urls(shop, table)[1] == ("https://x.org/b", "Second one")
    assert shop("link", table, "remove", "https://x.org/a").code == 0
    assert urls(shop, table) == [("https://x.org/b", "Second one")]


def test_one_of_two_links_to_an_address_is_removed_by_its_label(shop: Run, table: Any) -> None:
    shop("link", table, "add", "https://x.org/b", "--label", "Kept")
    shop("link", table, "remove", "https://x.org/b", "--label", "Other")
    assert len(urls(shop, table)) == 2
    ran = shop("link", table, "remove", "https://x.org/b", "--label", "Kept", "--dry-run", "--json")
    assert ran.json["edits"][0]["after"] == ["https://x.org/a First"]
    assert len(urls(shop, table)) == 2
    shop("link", table, "remove", "https://x.org/b", "--label", "Kept")
    assert urls(shop, table) == [("https://x.org/a", "First")]


def test_links_are_listed(shop: Run, table: Any) -> None:
    ran = shop("link", table)
    assert ran.out.splitlines()[0].split() == ["label", "url"]
    assert "https://x.org/a" in ran.out
    (row,) = shop("link", table, "--json").json
    assert (row["by"], row["at_millis"]) == ("urn:li:corpuser:etl", 1700000000000)
    assert shop("link", table, "--csv").out.startswith("urn,label,url,by,at_millis\r\n")
    assert shop("link", "urn:li:corpuser:mara").err == "no links\n"


@pytest.mark.parametrize("action", ["add", "remove"])
def test_a_dry_run_writes_nothing(shop: Run, table: Any, action: str) -> None:
    before = urls(shop, table)
    ran = shop("link", table, action, "https://x.org/a", "--label", "First", "--dry-run")
    assert (ran.code, "dry run" in ran.err) == (0, True), ran
    assert urls(shop, table) == before


def test_of_several_one_that_fails_loses_no_other(shop: Run, table: Any) -> None:
    given = f"{NOWHERE}\n{table}\n".encode()
    ran = shop("link", "-", "add", "https://x.org/c", "--label", "Both", stdin=given)
    assert (ran.code, NOWHERE in ran.err) == (1, True), ran
    assert ("https://x.org/c", "Both") in urls(shop, table)


def test_a_link_that_is_not_there_cannot_be_removed(shop: Run, table: Any) -> None:
    for more in ([], ["--dry-run"]):
        ran = shop("link", table, "remove", "https://x.org/none", *more)
        assert (ran.code, "has no link to https://x.org/none" in ran.err) == (1, True), ran


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["add"], "needs the URL"),
        (["add", "https://x"], "--label"),
        (["add", "https://x y", "--label", "x"], "%20"),
        (["drop", "https://x"], "drop"),
        (["--label", "x"], "--label needs"),
        (["--dry-run"], "needs a change"),
    ],
)
def test_wrong_use_is_exit_2(shop: Run, arguments: Any, words: str) -> None:
    ran = shop("link", ORDERS, *arguments)
    assert (ran.code, words in ran.err) == (2, True), ran
