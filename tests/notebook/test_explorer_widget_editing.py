"""Writing descriptions in the explorer, without a page: what is kept, compared, saved, refused."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer import Catalog, config
from explorer.client.journal import JOURNAL
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook.explorer import Explorer
from explorer.notebook.widgets.editor import WidgetDraft
from explorer.stewardship.drafts import Draft, Drafts
from explorer.tui.session import Opening
from tests.conftest import schema_of

WAIT_SECONDS = 30
WRITES = """
import sys, time
from explorer.stewardship.drafts import Draft, Drafts
server, urn = sys.argv[1:]
Drafts.of(server).keep(Draft(urn, "zip", "another base", "written elsewhere"))
print("kept", flush=True)
time.sleep(60)
"""
STRING: dict[str, Any] = {"type": {"com.linkedin.schema.StringType": {}}}


@pytest.fixture
def table(cat: Catalog, request: pytest.FixtureRequest) -> Any:
    """A table of two columns, with a text from ingestion, of this test alone."""
    urn = Urn.dataset("hive", f"written.{request.node.name}")
    fields = [
        {"fieldPath": path, "nativeDataType": "text", "type": STRING, "description": said}
        for path, said in (("id", "ingested key"), ("zip", ""))
    ]
    schema = schema_of(fields)
    cat.ingest(Proposal(urn, "schemaMetadata", schema))
    cat.ingest(Proposal(urn, "datasetProperties", {"description": "as *ingested*"}))
    return str(urn)


@pytest.fixture
def explorer(cat: Catalog, table: Any) -> Iterator[Any]:
    made = Explorer(cat, urn=table)
    assert made.wait(WAIT_SECONDS)
    yield made
    made.close()


def hear(explorer: Any, kind: Any, **more: Any) -> None:
    """What the page would send."""
    explorer._handle_custom_msg({"kind": kind, "seq": 1, "view": "page", **more}, [])
    assert explorer.wait(WAIT_SECONDS)


def type_(explorer: Any, text: Any, path: Any = None) -> None:
    """What a page would say of the text in its editor."""
    typed = {"urn": explorer.selected, "path": path, "text": text, "view": "page"}
    explorer.set_state({"typed": {**typed, "revision": explorer.typed["revision"] + 1}})
    assert explorer.wait(WAIT_SECONDS)


def write(explorer: Any, text: Any, path: Any = None) -> None:
    hear(explorer, "edit", **({} if path is None else {"path": path}))
    type_(explorer, text, path)


def test_a_description_is_written_previewed_compared_and_saved(
    cat: Catalog, table: Any, explorer: Any
) -> None:
    hear(explorer, "edit")
    assert explorer.typed["text"] == "as *ingested*"
    assert not explorer.editor["changed"]
    type_(explorer, "one row an **order**\n")
    assert explorer.preview == [["p", "", ["one row an ", ["strong", "", ["order"]]]]]
    hear(explorer, "compare")
    assert explorer.editor["stage"] == "comparing"
    assert {"-as *ingested*", "+one row an **order**"} <= set(explorer.editor["diff"])
    # Nothing is stored before it was compared and saved.
    assert cat.entity(table).edited_description == ""
    hear(explorer, "save")
    assert cat.entity(table).edited_description == "one row an **order**\n"
    assert explorer.editor == {}
    assert explorer.said.startswith("Saved ")
    assert explorer.said.endswith(". undo_save() of the catalog undoes it.")
    assert explorer.entity.edited_description == "one row an **order**\n"
    assert [one["label"] for one in explorer.tab["texts"]] == ["✎ edited", "ingested"]
    assert explorer.page["drafts"] == []


def test_a_save_that_the_journal_cannot_take_is_said_not_to_be_undoable(
    cat: Catalog, table: Any, explorer: Any, tmp_path: Path
) -> None:
    kept = config.state_dir() / JOURNAL
    cat.journal_in(tmp_path / "file" / JOURNAL)
    (tmp_path / "file").write_text("no directory")
    write(explorer, "not recorded")
    hear(explorer, "compare")
    with pytest.warns(UserWarning, match="it is saved, but cannot be undone"):
        hear(explorer, "save")
    assert "It is saved, but cannot be undone: the journal" in explorer.said
    assert "undo_save()" not in explorer.said
    assert cat.entity(table).edited_description == "not recorded"
    cat.journal_in(kept)


def test_a_column_is_written_and_the_table_of_columns_says_so(
    cat: Catalog, table: Any, explorer: Any
) -> None:
    hear(explorer, "tab", tab="columns")
    write(explorer, "the postal code", "zip")
    assert explorer.editor["title"].startswith("zip of ")
    hear(explorer, "compare")
    hear(explorer, "save")
    assert cat.entity(table).schema["zip"].edited == "the postal code"
    zip_row = next(one for one in explorer.tab["columns"] if one["path"] == "zip")
    assert (zip_row["text"], zip_row["mark"]) == (["the postal code"], "✎")


def test_a_text_of_white_space_removes_the_description(
    cat: Catalog, table: Any, explorer: Any
) -> None:
    cat.describe(table, "rows of an old system")
    hear(explorer, "open", urn=table)
    write(explorer, " \n\t\n")
    hear(explorer, "compare")
    # What is compared is what will be stored: every line goes.
    assert explorer.editor["diff"][-1] == "-rows of an old system"
    hear(explorer, "save")
    assert cat.entity(table).edited_description == ""
    assert cat.entity(table).description == "as *ingested*"
    assert explorer.page["drafts"] == []


def test_a_text_that_was_not_compared_is_not_saved(cat: Catalog, table: Any, explorer: Any) -> None:
    write(explorer, "hasty")
    for kind in ("save", "mine", "theirs"):
        hear(explorer, kind)
    assert cat.entity(table).edited_description == ""
    assert explorer.editor["stage"] == "writing"


def test_a_draft_is_kept_until_it_is_saved_or_given_up(table: Any, explorer: Any) -> None:
    write(explorer, "half a sent")
    hear(explorer, "leave")
    assert explorer.editor == {}
    assert explorer.page["drafts"] == [None]
    hear(explorer, "back")
    hear(explorer, "open", urn=table)
    assert explorer.page["drafts"] == [None]
    hear(explorer, "edit")
    assert explorer.typed["text"] == "half a sent"
    hear(explorer, "discard")
    assert explorer.page["drafts"] == []
    hear(explorer, "edit")
    assert explorer.typed["text"] == "as *ingested*"


def test_a_text_left_as_it_was_is_no_draft(table: Any, explorer: Any) -> None:
    hear(explorer, "edit")
    type_(explorer, "as *ingested*")
    hear(explorer, "leave")
    assert explorer.page["drafts"] == []


def test_what_somebody_else_wrote_is_shown_instead_of_overwritten(
    cat: Catalog, table: Any, explorer: Any
) -> None:
    write(explorer, "mine")
    cat.describe(table, "theirs")
    hear(explorer, "compare")
    hear(explorer, "save")
    assert explorer.editor["stage"] == "conflict"
    assert {"-theirs", "+mine"} <= set(explorer.editor["diff"])
    assert cat.entity(table).edited_description == "theirs"
    # It may be written on; saving it tells the conflict again.
    hear(explorer, "write")
    hear(explorer, "compare")
    hear(explorer, "save")
    assert explorer.editor["stage"] == "conflict"
    # Who leaves the editor sees what is saved now.
    hear(explorer, "write")
    hear(explorer, "leave")
    assert explorer.entity.edited_description == "theirs"
    hear(explorer, "edit")
    assert "The saved text has changed since" in explorer.editor["note"]
    hear(explorer, "compare")
    hear(explorer, "save")
    assert explorer.editor["stage"] == "conflict"
    hear(explorer, "mine")
    assert cat.entity(table).edited_description == "mine"
    assert explorer.editor == {}


def test_theirs_may_be_taken(cat: Catalog, table: Any, explorer: Any) -> None:
    write(explorer, "mine", "zip")
    cat.describe(table, "theirs", column="zip")
    hear(explorer, "compare")
    hear(explorer, "save")
    hear(explorer, "theirs")
    assert (explorer.typed["text"], explorer.editor["stage"]) == ("theirs", "writing")
    type_(explorer, "theirs and mine", "zip")
    hear(explorer, "compare")
    hear(explorer, "save")
    assert cat.entity(table).schema["zip"].edited == "theirs and mine"


def test_a_failed_save_is_said_and_the_draft_stays(cat: Catalog, table: Any, explorer: Any) -> None:
    write(explorer, "kept", "zip")
    hear(explorer, "compare")
    cat.delete(table, with_references=True)
    hear(explorer, "save")
    assert explorer.problem
    assert explorer.editor["stage"] == "comparing"
    assert explorer.typed["text"] == "kept"


def test_a_read_only_catalog_refuses_and_says_so(cat: Catalog, table: Any) -> None:
    with Catalog(cat.address, read_only=True) as catalog:
        explorer = Explorer(catalog, urn=table)
        try:
            assert explorer.wait(WAIT_SECONDS)
            why_not = explorer.page["why_not"]
            assert "read-only" in why_not
            hear(explorer, "edit", path="zip")
            assert explorer.editor == {}
            assert explorer.problem == why_not
        finally:
            explorer.close()


def test_what_has_no_description_of_peoples_says_why(explorer: Any) -> None:
    hear(explorer, "open", urn="urn:li:corpuser:jdoe")
    assert "cannot be edited" in explorer.page["why_not"]


def test_a_page_knows_one_end_of_line_and_changes_none() -> None:
    draft = WidgetDraft("urn", None, "t", "", "one\r\ntwo", "one\r\ntwo")
    assert draft.with_page_text("one\ntwo") is draft
    assert draft.with_page_text("one\ntwo\nthree").text == "one\r\ntwo\r\nthree"
    assert not draft.with_page_text("x").with_page_text("one\ntwo").changed


def test_characters_that_cannot_be_seen_are_counted(table: Any, explorer: Any) -> None:
    write(explorer, "safe\u202egnp.exe\x1b")
    hear(explorer, "compare")
    assert explorer.editor["hidden"] == "2 characters in it cannot be seen"
    hear(explorer, "write")
    type_(explorer, "safe\u202egnp.exe")
    hear(explorer, "compare")
    assert explorer.editor["hidden"] == "1 character in it cannot be seen"


def test_a_draft_on_disk_is_gone_on_with_and_marked(
    cat: Catalog, table: Any, explorer: Any
) -> None:
    write(explorer, "half a sentence\n")
    kept = Drafts.of(cat.identity)
    (stored,) = kept.all()
    assert (stored.draft.path, stored.draft.text) == (None, "half a sentence\n")
    assert (stored.draft.program, stored.process) == ("notebook", os.getpid())
    # The terminal keeps its own in the same place.
    directory = cat.identity.removeprefix("directory:")
    assert Opening(data_dir=Path(directory)).server_settings().identity == cat.identity
    # As after the kernel's end: another widget that was told nothing.
    other = Explorer(cat, urn=table)
    try:
        assert other.wait(WAIT_SECONDS)
        assert other.page["drafts"] == [None]
        hear(other, "edit")
        assert other.typed["text"] == "half a sentence\n"
        assert other.editor["note"].startswith("This is your unsaved draft")
        cat.describe(table, "theirs")
        hear(other, "compare")
        hear(other, "save")
        assert other.editor["stage"] == "conflict"
        hear(other, "discard")
        assert (other.page["drafts"], kept.all()) == ([], [])
    finally:
        other.close()


def test_what_somebody_else_wrote_since_a_draft_was_kept_is_shown_instead_of_overwritten(
    cat: Catalog, table: Any, explorer: Any
) -> None:
    write(explorer, "mine")
    cat.describe(table, "theirs")
    # As after the kernel's end: another widget that was told nothing.
    other = Explorer(cat, urn=table)
    try:
        assert other.wait(WAIT_SECONDS)
        hear(other, "edit")
        assert other.typed["text"] == "mine"
        assert "The saved text has changed since" in other.editor["note"]
        hear(other, "compare")
        hear(other, "save")
        assert cat.entity(table).edited_description == "theirs"
        assert other.editor["stage"] == "conflict"
        assert {"-theirs", "+mine"} <= set(other.editor["diff"])
        hear(other, "discard")
    finally:
        other.close()


def test_a_draft_left_by_a_program_that_was_killed_is_offered(cat: Catalog, table: Any) -> None:
    def explore() -> Any:
        made = Explorer(cat, urn=table)
        assert made.wait(WAIT_SECONDS)
        return made

    command = [sys.executable, "-c", WRITES, cat.identity, table]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        # What another running program edits stays its own.
        explorer = explore()
        hear(explorer, "edit", path="zip")
        assert explorer.typed["text"] == ""
        explorer.close()
        process.kill()
    explorer = explore()
    assert explorer.page["drafts"] == ["zip"]
    hear(explorer, "edit", path="zip")
    assert explorer.typed["text"] == "written elsewhere"
    assert "The saved text has changed since" in explorer.editor["note"]
    hear(explorer, "discard")
    explorer.close()
    assert Drafts.of(cat.identity).all() == []


def test_a_widget_discards_no_draft_that_another_kept_since(
    cat: Catalog, table: Any, explorer: Any
) -> None:
    write(explorer, "first")
    other = Explorer(cat, urn=table)
    try:
        assert other.wait(WAIT_SECONDS)
        write(other, "second")
        hear(explorer, "discard")
        assert [one.draft.text for one in Drafts.of(cat.identity).all()] == ["second"]
        hear(other, "discard")
        assert Drafts.of(cat.identity).all() == []
    finally:
        other.close()


def test_saving_ends_the_draft_on_disk_and_what_was_typed_meanwhile_stays_one(
    cat: Catalog, table: Any, explorer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe = type(cat).describe

    def describe_slowly(self: Any, *given: Any, **named: Any) -> Any:
        assert typed_on.wait(WAIT_SECONDS)
        return describe(self, *given, **named)

    typed_on = threading.Event()
    monkeypatch.setattr(type(cat), "describe", describe_slowly)
    write(explorer, "first", "zip")
    hear(explorer, "compare")
    explorer._handle_custom_msg({"kind": "save"}, [])
    state = {**explorer.typed, "text": "first and second", "view": "another"}
    explorer.set_state({"typed": {**state, "revision": state["revision"] + 1}})
    typed_on.set()
    assert explorer.wait(WAIT_SECONDS)
    assert cat.entity(table).schema["zip"].edited == "first"
    assert (explorer.editor["stage"], explorer.typed["text"]) == ("writing", "first and second")
    assert [one.draft.text for one in Drafts.of(cat.identity).all()] == ["first and second"]
    hear(explorer, "compare")
    hear(explorer, "save")
    assert cat.entity(table).schema["zip"].edited == "first and second"
    assert Drafts.of(cat.identity).all() == []


def test_an_older_text_that_comes_late_replaces_nothing(
    cat: Catalog, table: Any, explorer: Any
) -> None:
    write(explorer, "newer")
    known = dict(explorer.typed)
    explorer.set_state({"typed": {**known, "text": "older", "revision": known["revision"] - 1}})
    assert explorer.wait(WAIT_SECONDS)
    assert explorer.typed == known
    assert [one.draft.text for one in Drafts.of(cat.identity).all()] == ["newer"]


def test_a_draft_that_cannot_be_kept_is_told(
    cat: Catalog, table: Any, explorer: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path / "file"))
    write(explorer, "for nobody's disk")
    assert "The draft cannot be kept" in explorer.problem
    assert explorer.typed["text"] == "for nobody's disk"


def kept_before(cat: Catalog, urn: str, **texts: str) -> None:
    """What programs that ended left: a draft for each text, of the column that it names."""
    # No process has such a number.
    for process, (column, text) in enumerate(texts.items(), 4_194_305):
        draft = Draft(urn, column.partition("_")[0], "", text, "places", column.partition("_")[0])
        replace(Drafts.of_catalog(cat), process=process).keep(draft)


def listed(explorer: Any) -> dict[str, Any]:
    """The list of drafts, by their texts."""
    hear(explorer, "kept", do="list")
    return {row["text"]: row for row in explorer.kept["rows"]}


def test_unsaved_texts_are_told_at_the_start_and_their_number_follows(
    cat: Catalog, table: Any, explorer: Any
) -> None:
    # Whoever types at present knows of it.
    write(explorer, "typed now")
    assert (explorer.kept["count"], explorer.kept["said"]) == (1, "")
    hear(explorer, "discard")
    assert explorer.kept["count"] == 0
    kept_before(cat, table, id="one", zip="two")
    other = Explorer(cat)
    try:
        assert other.wait(WAIT_SECONDS)
        told = "2 texts that you typed are not saved yet"
        assert (other.kept["count"], other.kept["said"]) == (2, f"{told}.")
        # No text is in what a notebook may save before the list is opened.
        assert "rows" in other.kept
        assert not other.kept["rows"]
        assert told in repr(other)
        row = listed(other)["one"]
        hear(other, "kept", do="discard", id=row["id"])
        assert other.kept["said"] == "1 draft, not saved"
        hear(other, "kept", do="hide")
        assert (other.kept["said"], other.kept["rows"]) == ("", [])
        Drafts.of_catalog(cat).discard(Drafts.of_catalog(cat).all()[0])
        hear(other, "kept", do="list")
        assert other.kept["said"] == "No drafts: no text waits to be saved."
    finally:
        other.close()


def test_each_draft_of_the_list_is_opened_saved_and_discarded_by_itself(
    cat: Catalog, table: Any, explorer: Any
) -> None:
    kept_before(cat, table, zip_older="older", zip_newer="newer", id="the key")
    rows = listed(explorer)
    assert (rows["older"]["name"], rows["older"]["column"]) == ("places", "zip")
    assert rows["older"]["by"] == "program, ended"
    hear(explorer, "kept", do="open", id=rows["older"]["id"])
    assert (explorer.editor["path"], explorer.typed["text"]) == ("zip", "older")
    # The list gives way to the editor.
    assert (explorer.kept["said"], explorer.kept["count"]) == ("", 3)
    hear(explorer, "leave")
    assert sorted(explorer.page["drafts"]) == ["id", "zip", "zip"]
    rows = listed(explorer)
    assert set(rows) == {"older", "newer", "the key"}
    hear(explorer, "kept", do="compare", id=rows["newer"]["id"])
    assert (explorer.editor["stage"], explorer.typed["text"]) == ("comparing", "newer")
    assert "+newer" in explorer.editor["diff"]
    hear(explorer, "save")
    assert cat.entity(table).schema["zip"].edited == "newer"
    rows = listed(explorer)
    assert set(rows) == {"older", "the key"}
    hear(explorer, "kept", do="discard", id=rows["the key"]["id"])
    assert (set(listed(explorer)), explorer.said) == ({"older"}, "")
    assert explorer.kept["restores"]
    hear(explorer, "kept", do="restore")
    assert set(listed(explorer)) == {"older", "the key"}
    assert not explorer.kept["restores"]
    assert cat.entity(table).schema["id"].edited is None


def test_a_draft_in_the_editor_is_discarded_from_the_list_too(
    cat: Catalog, table: Any, explorer: Any
) -> None:
    write(explorer, "half a sent")
    hear(explorer, "kept", do="discard", id=listed(explorer)["half a sent"]["id"])
    assert (explorer.editor, explorer.page["drafts"], explorer.kept["rows"]) == ({}, [], [])
    hear(explorer, "edit")
    assert explorer.typed["text"] == "as *ingested*"


def test_a_draft_that_is_gone_or_open_elsewhere_is_told(
    cat: Catalog, table: Any, explorer: Any
) -> None:
    kept_before(cat, table, id="the key")
    row = listed(explorer)["the key"]
    (stored,) = Drafts.of_catalog(cat).all()
    Drafts.of_catalog(cat).discard(stored)
    for act in ("open", "discard"):
        hear(explorer, "kept", do=act, id=row["id"])
        assert "was saved, discarded or changed since" in explorer.problem
        assert explorer.kept["count"] == 0
    # One that always runs.
    replace(Drafts.of_catalog(cat), process=1).keep(stored.draft)
    row = listed(explorer)["the key"]
    assert "Another running program has this draft open" in row["why_not"]
    assert (explorer.kept["count"], row["by"]) == (0, "program 1, running")
    hear(explorer, "kept", do="open", id=row["id"])
    assert "Another running program has this draft open" in explorer.problem
    assert explorer.editor == {}


def test_a_draft_saved_in_a_cell_is_none_in_the_widget(
    cat: Catalog, table: Any, explorer: Any
) -> None:
    write(explorer, "half a sent")
    hear(explorer, "leave")
    cat.drafts[0].save()
    hear(explorer, "open", urn=table)
    assert explorer.page["drafts"] == []
    hear(explorer, "edit")
    assert (explorer.typed["text"], explorer.editor["note"]) == ("half a sent", "")


def test_a_discarded_draft_that_cannot_be_restored_can_be_later(
    cat: Catalog, table: Any, explorer: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept_before(cat, table, id="the key")
    hear(explorer, "kept", do="discard", id=listed(explorer)["the key"]["id"])
    (tmp_path / "file").write_text("")
    with monkeypatch.context() as full:
        full.setenv("CATALOG_STATE_DIR", str(tmp_path / "file"))
        hear(explorer, "kept", do="restore")
        assert "The draft cannot be kept" in explorer.problem
    hear(explorer, "kept", do="restore")
    assert set(listed(explorer)) == {"the key"}


def test_results_and_folders_are_marked_where_there_is_a_draft(
    cat: Catalog, table: Any, explorer: Any
) -> None:
    explorer.search(f'name:"{table.split(",")[1]}"')
    assert explorer.wait(WAIT_SECONDS)
    assert [hit["state"] for hit in explorer.find["hits"]] == [""]
    write(explorer, "half a sent")
    assert [hit["state"] for hit in explorer.find["hits"]] == ["draft"]
    # The folder of a single table has no row of its own.
    for name in ("prod", "hive", "written"):
        for folder in [one for one in explorer.tree if one["name"] == name]:
            hear(explorer, "unfold", key=folder["key"])
    while more := [one["more"] for one in explorer.tree if one.get("more")]:
        hear(explorer, "more", key=more[0])
    assert [one["urn"] for one in explorer.tree if one.get("draft")] == [table]
    hear(explorer, "discard")
    assert [hit["state"] for hit in explorer.find["hits"]] == [""]
    assert not any(one.get("draft") for one in explorer.tree)


def test_no_text_stays_in_what_a_notebook_may_save_once_its_editor_is_closed(explorer: Any) -> None:
    write(explorer, "a secret draft")
    assert "a secret draft" in json.dumps(explorer.get_state(), default=str)
    hear(explorer, "leave")
    assert "secret" not in json.dumps(explorer.get_state(), default=str)
    assert "secret" not in json.dumps(explorer._repr_mimebundle_()[0], default=str)
