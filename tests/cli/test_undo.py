"""Edits are written down on this machine, listed, and taken back where nobody wrote since."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.client.journal import Journal
from explorer.errors import StorageFault
from tests.cli.conftest import Run
from tests.cli.test_delete import answered
from tests.conftest import serving_catalog

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
HOSTILE = "\x1b[31m “a”\r\n\tb\u202e\n"


@pytest.fixture
def mine(shop: Run, tmp_path: Path) -> Any:
    """The command with a journal of this test's own."""

    def run(*arguments: Any, **more: Any) -> Any:
        return shop(*arguments, CATALOG_STATE_DIR=str(tmp_path / "state"), **more)

    return run


def status(urn: Any) -> Any:
    return {"entityUrn": urn, "aspectName": "status", "aspect": {"json": {"removed": False}}}


@pytest.fixture
def table(shop: Run, request: pytest.FixtureRequest) -> Iterator[Any]:
    urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,undone.{request.node.name},PROD)"
    changes = [
        status(urn),
        {
            "entityUrn": "urn:li:tag:Undone",
            "aspectName": "tagProperties",
            "aspect": {"json": {"name": "Undone"}},
        },
    ]
    assert shop("load", "-", stdin=json.dumps(changes).encode()).code == 0
    yield urn
    shop("delete", urn, "--hard", "--yes")


def text(shop: Run, urn: Any) -> Any:
    return shop("describe", urn, "--json").json["edited"]


def listed(mine: Any) -> Any:
    return mine("undo", "--list", "--json").json


def test_the_last_edits_are_taken_back_one_after_the_other(mine: Any, table: Any) -> None:
    mine("describe", table, "--stdin", stdin=f"{HOSTILE}\n".encode())
    mine("describe", table, "--text", "Second.")
    mine("tag", table, "--add", "Undone")
    assert mine("undo", "--yes").code == 0
    assert mine("tag", table, "--json").json[0]["tags"] == []
    ran = mine("undo", "--yes", "--json")
    assert (ran.json["before"], ran.json["after"]) == ("Second.", HOSTILE)
    assert text(mine, table) == HOSTILE
    assert mine("undo", "--yes").code == 0
    assert text(mine, table) is None
    last = mine("undo", "--yes")
    assert (last.code, "nothing left to undo" in last.err) == (1, True), last


def test_an_undo_shows_what_and_whose_it_is_and_takes_no_for_an_answer(
    mine: Any,
    table: Any,
    command: tuple[str, ...],
    served: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path / "state"))
    long = "What is told of each order, whatever its state, is told of here. "
    mine("describe", table, "--text", f"{long}Old.")
    mine("describe", table, "--text", f"{long}New.")
    mine("tag", table, "--add", "Undone")
    asked = (*command, "undo", "--url", served)
    code, shown = answered(asked, b"n\n")
    assert (code, "nothing was undone" in shown) == (1, True), shown
    assert re.search(r"saved 20\d\d-\d\d-\d\d \d\d:\d\d by \S+ \(process \d+\)", shown), shown
    assert re.search(r"tags of undone\.\S+: − Undone", shown), shown
    assert mine("tag", table, "--json").json[0]["tags"] == ["urn:li:tag:Undone"]
    code, shown = answered(asked, b"y\n")
    assert (code, "Undo the last save? [y/N]" in shown) == (0, True), shown
    assert mine("tag", table, "--json").json[0]["tags"] == []
    # Long texts are shown from where they differ.
    assert "“New.” → … “Old.”" in mine("undo").err


def test_where_nobody_can_be_asked_nothing_is_undone_or_redone_without_yes(
    mine: Any, table: Any
) -> None:
    mine("describe", table, "--text", "Mine.")
    ran = mine("undo")
    assert (ran.code, "“Mine.” → none" in ran.err, "give --yes to undo" in ran.err) == (
        *(2, True, True),
    ), ran
    assert text(mine, table) == "Mine."
    mine("undo", "--yes")
    ran = mine("redo", "--json")
    assert (ran.code, "none → “Mine.”" in ran.err, "give --yes to redo" in ran.err) == (
        *(2, True, True),
    ), ran
    assert text(mine, table) is None


def test_what_can_no_longer_be_put_back_is_told_and_the_rest_is_undone_and_redone(
    mine: Any, table: Any
) -> None:
    mine("new", "tag", "Passing", "--id", "Passing")
    mine("describe", table, "--text", "Mine.")
    mine("tag", table, "--add", "Passing", "--add", "Undone")
    mine("tag", table, "--add", "Passing", "--remove", "Undone")
    mine("tag", table, "--remove", "Passing")
    mine("delete", "urn:li:tag:Passing", "--hard", "--yes")
    ran = mine("undo", "--yes")
    assert (ran.code, "the last save is past undoing" in ran.err) == (0, True), ran
    assert "what no longer exists cannot be put back (urn:li:tag:Passing)" in ran.err
    assert mine("tag", table, "--json").json[0]["tags"] == ["urn:li:tag:Undone"]


def test_every_kind_of_edit_is_taken_back(mine: Any, table: Any) -> None:
    edits = [
        ["own", table, "--add", "mara"],
        ["link", table, "add", "https://x.org", "--label", "A b"],
        ["deprecate", table, "--note", "Gone."],
        ["deprecate", table, "--undo"],
    ]
    for edit in edits:
        assert mine(*edit).code == 0, edit
    for _ in edits:
        assert mine("undo", "--yes").code == 0
    assert mine("own", table, "--json").json[0]["owners"] == []
    assert mine("link", table, "--json").json == []
    assert mine("deprecate", table, "--json").json[0]["deprecation"] is None
    states = [(entry["undone"], bool(entry["undoes"])) for entry in listed(mine)]
    assert states == [(False, True)] * 4 + [(True, False)] * 4


def test_an_edit_is_named_by_the_beginning_of_its_id_and_done_again_by_its_undoing(
    mine: Any, table: Any
) -> None:
    mine("describe", table, "--text", "Once.")
    mine("tag", table, "--add", "Undone")
    older = listed(mine)[1]
    assert (older["what"], older["before"], older["after"]) == ("description", None, "Once.")
    assert mine("undo", "--yes", older["id"][:8]).code == 0
    assert text(mine, table) is None
    again = mine("undo", "--yes", older["id"])
    assert (again.code, "already undone" in again.err) == (1, True), again
    undoing = listed(mine)[0]
    assert undoing["undoes"] == older["id"]
    assert mine("undo", "--yes", undoing["id"]).code == 0
    assert text(mine, table) == "Once."
    # It stands again, and is the last but one that can be taken back.
    mine("undo", "--yes")
    assert mine("tag", table, "--json").json[0]["tags"] == []
    mine("undo", "--yes")
    assert text(mine, table) is None


def test_what_somebody_changed_since_is_not_taken_back(
    mine: Any, shop: Run, table: Any, tmp_path: Path
) -> None:
    mine("describe", table, "--text", "Mine.")
    shop("describe", table, "--text", "Theirs.", CATALOG_STATE_DIR=str(tmp_path / "other"))
    ran = mine("undo", "--yes")
    assert (ran.code, ran.out) == (1, ""), ran
    assert "changed by somebody else" in ran.err
    assert "current value: Theirs." in ran.err
    assert "--force overwrites" in ran.err
    assert text(mine, table) == "Theirs."
    assert listed(mine)[0]["undone"] is False
    assert mine("undo", "--yes", "--force").code == 0
    assert text(mine, table) is None


def test_what_one_command_did_to_several_places_is_taken_back_and_done_again_at_once(
    mine: Any, table: Any
) -> None:
    other = table.replace("undone.", "undone_too.")
    mine("load", "-", stdin=json.dumps([status(other)]).encode())
    mine("tag", table, other, "--add", "Undone")
    entries = listed(mine)
    assert len({entry["save"] for entry in entries}) == 1
    ran = mine("undo", "--yes", "--json")
    assert {edit["urn"] for edit in ran.json["edits"]} == {table, other}
    assert [one["tags"] for one in mine("tag", table, other, "--json").json] == [[], []]
    assert mine("redo", "--yes").code == 0
    tagged = [["urn:li:tag:Undone"]] * 2
    assert [one["tags"] for one in mine("tag", table, other, "--json").json] == tagged
    again = mine("redo", "--yes")
    assert (again.code, "nothing was undone" in again.err) == (1, True), again
    assert mine("undo", "--yes", entries[0]["save"][:10]).code == 0
    assert [one["tags"] for one in mine("tag", table, other, "--json").json] == [[], []]
    mine("delete", other, "--hard", "--yes")


def test_a_save_of_what_was_deleted_for_good_is_told_and_the_one_before_is_undone(
    mine: Any, table: Any
) -> None:
    other = table.replace("undone.", "undone_gone.")
    mine("load", "-", stdin=json.dumps([status(other)]).encode())
    mine("describe", table, "--text", "Mine.")
    mine("describe", other, "--text", "Gone.")
    mine("delete", other, "--hard", "--yes")
    ran = mine("undo", "--yes")
    assert (ran.code, "past undoing" in ran.err) == (0, True), ran
    assert text(mine, table) is None


def test_hiding_and_restoring_are_taken_back(mine: Any, table: Any) -> None:
    mine("delete", table, "--soft")
    assert [(one["what"], one["after"]) for one in listed(mine)] == [("status", "hidden")]
    ran = mine("undo", "--yes")
    assert "hidden → shown" in ran.err, ran
    assert mine("restore", table, "--dry-run", "--json").json["restored"][0]["was_removed"] is False
    assert mine("redo", "--yes").code == 0
    mine("restore", table)
    assert mine("undo", "--yes").code == 0
    assert mine("restore", table, "--dry-run", "--json").json["restored"][0]["was_removed"] is True


def test_the_list_is_newest_first_and_says_how_many(mine: Any, table: Any) -> None:
    assert "no edits" in mine("undo", "--list").err
    mine("describe", table, "--stdin", stdin=f"{HOSTILE}\n".encode())
    mine("tag", table, "--add", "Undone")
    mine("tag", table, "--add", "Undone")
    ran = mine("undo", "--list", "--count", "1")
    assert "1 of 2 shown" in ran.err
    *head, change = ran.out.splitlines()
    assert "tags of undone." in " ".join(head)
    assert change == "  none → Undone"
    both = mine("undo", "--list")
    assert "\x1b" not in both.out
    assert max(map(len, both.out.splitlines())) <= 80
    csv = mine("undo", "--list", "--csv").out
    assert csv.startswith(
        "id,at,server,urn,column,what,before,after,undone,undoes,save,proposed_by"
    )
    assert "1 of 1 shown" in mine("undo", "--list", "--find", "UNDONE tags").err
    assert mine("undo", "--list", "--find", "tags nowhere").out == ""
    assert [one["after"] for one in listed(mine)] == [["urn:li:tag:Undone"], HOSTILE]


def test_listing_asks_no_server(mine: Any, table: Any) -> None:
    mine("tag", table, "--add", "Undone")
    ran = mine("undo", "--list", "--json", url="http://127.0.0.1:1")
    assert (ran.code, len(ran.json)) == (0, 1), ran


def test_an_edit_is_taken_back_at_any_address_of_its_catalog_and_on_no_other(
    mine: Any, table: Any, tmp_path: Path, served: str
) -> None:
    mine("tag", table, "--add", "Undone")
    (tmp_path / "another").mkdir()
    with serving_catalog(tmp_path / "another") as elsewhere:
        ran = mine("undo", "--yes", url=elsewhere)
        assert (ran.code, f"nothing left to undo at {elsewhere};" in ran.err) == (1, True), ran
        ran = mine("undo", "--yes", listed(mine)[0]["id"], url=elsewhere)
        assert (ran.code, f"was made on {served}" in ran.err) == (1, True), ran
    assert mine("tag", table, "--json").json[0]["tags"] == ["urn:li:tag:Undone"]
    ran = mine("undo", "--yes", url=served.replace("127.0.0.1", "localhost"))
    assert (ran.code, mine("tag", table, "--json").json[0]["tags"]) == (0, []), ran


def test_a_dry_run_is_not_written_down(mine: Any, table: Any) -> None:
    mine("describe", table, "--text", "x", "--dry-run")
    mine("tag", table, "--add", "Undone", "--dry-run")
    assert listed(mine) == []


def test_a_journal_that_cannot_be_made_stops_before_anything_is_written(
    shop: Run, table: Any, tmp_path: Path
) -> None:
    place = tmp_path / "file"
    place.write_text("no directory")
    ran = shop("tag", table, "--add", "Undone", CATALOG_STATE_DIR=str(place))
    assert (ran.code, "journal" in ran.err) == (3, True), ran
    assert shop("tag", table, "--json").json[0]["tags"] == []


def test_what_the_journal_cannot_take_is_saved_and_not_said_to_be_undoable(
    mine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Journal, edit: Any, server: str) -> None:
        raise StorageFault("the journal is cut short; is the disk full?")

    monkeypatch.setattr(Journal, "append", full)
    ran = mine("new", "tag", "Unrecorded")
    assert ran.code == 0, ran
    assert "it is saved, but cannot be undone: the journal is cut short" in ran.err
    assert "Unrecorded is created\n" in ran.err
    mine("delete", "urn:li:tag:Unrecorded", "--hard", "--yes")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--list", "abc"], 2, "--list and an ID cannot be combined"),
        (["--csv"], 2, "--csv needs --list"),
        (["--list", "--force"], 2, "--list and --force"),
        (["abc"], 1, "begins with abc"),
    ],
)
def test_what_cannot_be_done_is_said(mine: Any, arguments: Any, code: int, words: str) -> None:
    ran = mine("undo", *arguments)
    assert (ran.code, words in ran.err) == (code, True), ran
