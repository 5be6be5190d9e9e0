"""Descriptions are written from an editor, from a pipe or an option; what was typed is not lost."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
EVENTS = "urn:li:dataset:(urn:li:dataPlatform:kafka,shop.events,PROD)"
HOSTILE = (
    "# >8\n\"quotes\" 'single' \\ back\r\nCRLF\r\n\x1b[31mred\x1b[0m \u202eevil [red]x[/red]\n"
    "\ttab\x00"
    "=1+1 # ------------------------ >8 ------------------------\n\n"
)
SCISSORS = "# ------------------------ >8 ------------------------"


@pytest.fixture
def state(tmp_path: Path) -> Any:
    return {"CATALOG_STATE_DIR": str(tmp_path / "state")}


@pytest.fixture
def editor(tmp_path: Path) -> Any:
    """Makes an editor of a shell script, which gets the file as $1."""

    def make(script: Any) -> Any:
        path = tmp_path / "editor"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)
        return {"VISUAL": str(path), "EDITOR": "false"}

    return make


@pytest.fixture
def table(shop: Run, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A table with an ingested description that nobody has written over."""
    name = request.node.name.translate(str.maketrans("[]-.,() ", "________"))[:60]
    urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,written.{name},PROD)"
    value = {"json": {"name": "written", "description": "From the pipeline.\nSecond line."}}
    change = {"entityUrn": urn, "aspectName": "datasetProperties", "aspect": value}
    assert shop("load", "-", stdin=json.dumps([change]).encode()).code == 0
    yield urn
    shop("delete", urn, "--hard", "--yes")


def edited(shop: Run, urn: Any) -> Any:
    held = shop("get", urn, "--json").json["aspects"].get("editableDatasetProperties")
    return held["value"]["description"] if held else None


def kept(state: Any) -> Any:
    return sorted((Path(state["CATALOG_STATE_DIR"]) / "texts").glob("*"))


def test_the_editor_gets_the_text_and_below_it_what_ingestion_says(
    shop: Run, table: Any, state: Any, editor: Any, tmp_path: Path
) -> None:
    shop("describe", table, "--text", "As it was.", **state)
    ran = shop(
        "describe",
        table,
        "--edit",
        **state,
        **editor(f'cp "$1" {tmp_path}/seen; sed -i \'1s/.*/As it is./\' "$1"'),
    )
    assert ran.code == 0, ran
    assert "“As it was.” → “As it is.”" in ran.err
    seen = (tmp_path / "seen").read_text().splitlines()
    assert seen[:2] == ["As it was.", SCISSORS]
    assert seen[-2:] == ["#   From the pipeline.", "#   Second line."]
    assert edited(shop, table) == "As it is."
    assert kept(state) == []


@pytest.mark.parametrize("script", ["true", 'touch "$1"'])
def test_a_text_left_as_it_was_is_not_written(
    shop: Run, table: Any, state: Any, editor: Any, script: str
) -> None:
    shop("describe", table, "--text", HOSTILE.replace("\0", ""), **state)
    before = shop("get", table, "--json").json
    ran = shop("describe", table, "--edit", **state, **editor(script))
    assert (ran.code, "nothing was written" in ran.err) == (0, True), ran
    assert shop("get", table, "--json").json == before
    assert kept(state) == []


def test_a_blank_text_removes_the_description_and_never_is_one(
    shop: Run, table: Any, state: Any
) -> None:
    for text in ("  ", "\n \t"):
        ran = shop("describe", table, "--text", text, **state)
        assert "already has this description" in ran.err
        assert edited(shop, table) is None
    shop("describe", table, "--text", "As it was.", **state)
    assert shop("describe", table, "--text", "   ", **state).code == 0
    assert not edited(shop, table)


def test_an_emptied_text_is_not_written(shop: Run, table: Any, state: Any, editor: Any) -> None:
    shop("describe", table, "--text", "Stays.", **state)
    ran = shop("describe", table, "--edit", **state, **editor(': > "$1"'))
    assert (ran.code, "the text is empty" in ran.err) == (1, True), ran
    assert edited(shop, table) == "Stays."


def test_a_failing_editor_writes_nothing_and_what_was_typed_stays(
    shop: Run, table: Any, state: Any, editor: Any
) -> None:
    ran = shop("describe", table, "--edit", **state, **editor("exit 3"))
    assert (ran.code, ran.out, kept(state)) == (1, "", []), ran
    script = 'echo typed > "$1"; exit 3'
    ran = shop("describe", table, "--edit", **state, **editor(script))
    assert (ran.code, ran.out) == (1, ""), ran
    (file,) = kept(state)
    assert file.name in ran.err.replace("\n", "")
    assert file.read_text() == "typed\n"
    assert edited(shop, table) is None


def test_a_missing_editor_is_said(shop: Run, table: Any, state: Any) -> None:
    ran = shop("describe", table, "--edit", **state, VISUAL="no-such-editor")
    assert (ran.code, "no-such-editor" in ran.err, kept(state)) == (1, True, []), ran


def test_without_the_line_that_ends_the_text_nothing_is_written(
    shop: Run, table: Any, state: Any, editor: Any
) -> None:
    ran = shop("describe", table, "--edit", **state, **editor("sed -i '/>8/d' \"$1\""))
    assert (ran.code, ">8" in ran.err, len(kept(state))) == (1, True, 1), ran
    assert edited(shop, table) is None
    # All of it typed anew is the text.
    ran = shop("describe", table, "--edit", **state, **editor('echo "All new." > "$1"'))
    assert (ran.code, edited(shop, table)) == (0, "All new."), ran


def test_in_a_conflict_both_texts_stay_and_the_typed_one_is_in_a_named_file(
    shop: Run, table: Any, state: Any, editor: Any, command: tuple[str, ...], served: str
) -> None:
    theirs = " ".join((*command, "describe", f"'{table}'", "--url", served, "--text"))
    script = f"{theirs} Theirs; sed -i '1s/.*/Mine, and long./' \"$1\""
    ran = shop("describe", table, "--edit", **state, **editor(script))
    assert ran.code == 1, ran
    assert "changed by somebody else" in ran.err
    assert "+Theirs" in ran.err
    assert edited(shop, table) == "Theirs"
    (file,) = kept(state)
    assert file.name in ran.err.replace("\n", "")
    assert file.stat().st_mode & 0o777 == 0o600
    again = shop("describe", table, "--text", "-", stdin=file.read_bytes(), **state)
    assert (again.code, edited(shop, table)) == (0, "Mine, and long.")


def test_force_writes_over_what_came_in_between(
    shop: Run, table: Any, state: Any, editor: Any, command: tuple[str, ...], served: str
) -> None:
    theirs = " ".join((*command, "describe", f"'{table}'", "--url", served, "--text"))
    script = f"{theirs} Theirs; sed -i '1s/.*/Mine./' \"$1\""
    ran = shop("describe", table, "--edit", "--force", **state, **editor(script))
    assert (ran.code, edited(shop, table)) == (0, "Mine."), ran


def test_what_was_typed_is_kept_when_the_server_goes_away(
    table: Any, catalog: Run, served: str, state: Any, editor: Any
) -> None:
    ran = catalog(
        "describe", ORDERS, "--stdin", stdin=b"Typed long.\r", url="http://127.0.0.1:1", **state
    )
    assert ran.code == 3, ran
    (file,) = kept(state)
    assert file.name in ran.err.replace("\n", "")
    again = catalog("describe", table, "--stdin", stdin=file.read_bytes(), **state)
    assert (again.code, edited(catalog, table)) == (0, "Typed long.\r")


def test_a_dry_run_shows_a_diff_and_writes_nothing(
    shop: Run, table: Any, state: Any, editor: Any
) -> None:
    shop("describe", table, "--text", "One.\nTwo.", **state)
    ran = shop("describe", table, "--text", "One.\r\nTwo.\nThree.", "--dry-run", **state)
    lines = ran.out.splitlines()
    assert ("-One." in lines, "+One.␍" in lines, "+Three." in lines) == (True, True, True), ran
    assert " Two." in lines
    as_json = shop("describe", table, "--text", "x", "--dry-run", "--json", **state).json
    assert (as_json["before"], as_json["edited"]) == ("One.\nTwo.", "x")
    assert (as_json["changed"], as_json["dry_run"]) == (True, True)
    typed = shop("describe", table, "--edit", "--dry-run", **state, **editor('echo No > "$1"'))
    assert (typed.code, kept(state)[0].read_text()) == (0, "No\n"), typed
    assert edited(shop, table) == "One.\nTwo."


@pytest.mark.parametrize("text", [HOSTILE, "no end", "one\n", "two\n\n", "\r", " lead", "a\r\n"])
def test_hostile_text_goes_through_standard_input_byte_for_byte(
    shop: Run, table: Any, state: Any, text: Any
) -> None:
    end = b"\r\n" if text.endswith("\r") else b"\n"
    ran = shop("describe", table, "--stdin", stdin=text.encode() + end, **state)
    if not text.strip():
        assert ran.code == 1
        return
    assert (ran.code, edited(shop, table)) == (0, text), ran
    assert not set("\x1b\u202e\r\0") & set(ran.out + ran.err)


@pytest.mark.parametrize("text", [HOSTILE, "no end", "one\n", "a\r\nb\r\n", f"a\n{SCISSORS}\nx"])
def test_hostile_text_goes_through_an_editor_byte_for_byte(
    shop: Run, table: Any, state: Any, editor: Any, text: Any
) -> None:
    assert shop("describe", table, "--stdin", stdin=text.encode() + b"\n", **state).code == 0
    ran = shop("describe", table, "--edit", **state, **editor("sed -i '1s/^/Before it /' \"$1\""))
    assert (ran.code, edited(shop, table)) == (0, f"Before it {text}"), ran


def test_what_cannot_be_described_is_said_before_the_editor_opens(
    shop: Run, state: Any, editor: Any, tmp_path: Path
) -> None:
    shown = editor(f"touch {tmp_path}/opened")
    urn = "urn:li:corpuser:mara"
    ran = shop("describe", urn, "--edit", **state, **shown)
    assert (ran.code, "cannot be edited" in ran.err) == (1, True), ran
    ran = shop("describe", "urn:li:tag:nowhere", "--edit", **state, **shown)
    assert ran.code == 1
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--text", "x", "--edit"], "--text and --edit cannot be combined"),
        (["--stdin", "--edit"], "cannot be combined"),
        (["--dry-run"], "nothing to write"),
        (["--force"], "nothing to write"),
    ],
)
def test_wrong_use_is_exit_2(shop: Run, arguments: Any, words: str) -> None:
    ran = shop("describe", ORDERS, *arguments)
    assert (ran.code, words in ran.err) == (2, True), ran


def test_the_one_description_of_a_term_is_edited_and_nobody_is_said_to_have_written_it(
    shop: Run, state: Any, editor: Any
) -> None:
    made = shop("new", "term", "Churned again", "--description", "Left.", **state)
    urn = made.out.strip()
    shown = shop("describe", urn)
    assert ("Left." in shown.out, "ingestion" in shown.out) == (True, False)
    assert shop("describe", urn, "--json").json["edited"] == "Left."
    written = shop("describe", urn, "--edit", **state, **editor('sed -i s/Left/Gone/ "$1"'))
    assert written.code == 0, written.err
    assert shop("describe", urn, "--json").json["description"] == "Gone."
