"""What should no longer be used is marked, with why, until when and what instead."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.conftest import Run

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
# The beginning of 2030-06-30 in UTC.
MOMENT = 1_909_008_000_000


@pytest.fixture
def table(shop: Run, request: pytest.FixtureRequest) -> Iterator[Any]:
    urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,deprecated.{request.node.name},PROD)"
    change = {"entityUrn": urn, "aspectName": "status", "aspect": {"json": {"removed": False}}}
    assert shop("load", "-", stdin=json.dumps([change]).encode()).code == 0
    yield urn
    shop("delete", urn, "--hard", "--yes")


def test_a_deprecation_is_said_shown_and_taken_back(shop: Run, table: Any) -> None:
    words = ["--note", 'Goes "soon".', "--until", "2030-06-30", "--replacement", ORDERS]
    dry = shop("deprecate", table, *words, "--dry-run", "--json")
    assert shop("deprecate", table, "--json").json == [{"urn": table, "deprecation": None}]
    ran = shop("deprecate", table, *words, "--json")
    assert ran.code == 0, ran
    assert 'not deprecated → deprecated “Goes "soon".”, until 2030-06-30' in ran.err
    held = {"note": 'Goes "soon".', "decommissionTime": MOMENT, "replacement": ORDERS}
    assert (ran.json["edits"][0]["before"], ran.json["edits"][0]["after"]) == (None, held)
    assert dry.json["edits"][0]["after"] == held
    assert shop("deprecate", table, "--json").json[0]["deprecation"] == held
    assert "use shop.orders instead" in " ".join(shop("deprecate", table).out.split())
    assert "deprecated" in shop("get", table).out
    assert shop("deprecate", table, "--undo").code == 0
    assert shop("deprecate", table, "--json").json[0]["deprecation"] is None


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_replacement_is_found_by_its_name(shop: Run, table: Any, more: tuple[str, ...]) -> None:
    named = ["--note", "Old.", "--replacement", "shop.orders"]
    ran = shop("deprecate", table, *named, *more, "--json")
    assert ran.code == 0, ran
    assert ran.json["edits"][0]["after"] == {"note": "Old.", "replacement": ORDERS}
    wrong = shop("deprecate", table, "--note", "Old.", "--replacement", "nope", *more)
    assert (wrong.code, wrong.out) == (1, "")
    assert "nothing here is named 'nope'" in wrong.err


def test_of_several_one_that_fails_loses_no_other(shop: Run, table: Any) -> None:
    nowhere = table.replace("test_", "nowhere_")
    ran = shop("deprecate", nowhere, table, "--note", "Gone.")
    assert (ran.code, nowhere in ran.err) == (1, True), ran
    assert shop("deprecate", table, "--json").json[0]["deprecation"] == {"note": "Gone."}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--until", "2030-06-30"], "--note"),
        (["--undo", "--note", "x"], "--undo"),
        (["--note", "x", "--until", "tomorrow"], "tomorrow"),
        (["--note", " "], "--note is empty"),
        (["--dry-run"], "needs a change"),
    ],
)
def test_wrong_use_is_exit_2(shop: Run, arguments: Any, words: str) -> None:
    ran = shop("deprecate", ORDERS, *arguments)
    assert (ran.code, words in ran.err) == (2, True), ran


@pytest.mark.parametrize("given", ["urn:li:orders", "nope"])
def test_a_replacement_that_is_not_there_is_refused_before_anything_is_written(
    shop: Run, table: Any, given: str
) -> None:
    ran = shop("deprecate", table, "--note", "x", "--replacement", given)
    assert (ran.code, f"'{given.rpartition(':')[2]}'" in ran.err) == (1, True), ran
    assert shop("deprecate", table, "--json").json[0]["deprecation"] is None


def test_a_table_is_not_its_own_replacement(shop: Run, table: Any) -> None:
    words = ("deprecate", table, "--note", "Old.", "--replacement", table)
    for more in ((), ("--dry-run",)):
        ran = shop(*words, *more)
        assert (ran.code, "cannot be its own replacement" in ran.err) == (1, True), ran
    assert shop("deprecate", table, "--json").json == [{"urn": table, "deprecation": None}]
