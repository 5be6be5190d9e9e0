"""Edits are written down, one line each, and nothing that happens to the file loses another."""

import os
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from explorer.client.connection import KnownCatalog
from explorer.client.journal import (
    Journal,
    entries_with,
    is_undone,
    last_save,
    last_undo,
    not_offered,
    one_save,
    saves_of,
    undone_in,
)
from explorer.client.records import Edit, What
from explorer.errors import StorageFault
from explorer.metadata import Urn

URN = Urn.dataset("hive", "orders")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOSTILE = 'a "quoted"\nline\u2028 {"json": 1} 🦊 \x00\x1b[31m'


def edit(after: Any, before: Any = None, what: What = "description", column: Any = None) -> Any:
    return Edit(URN, what, before, after, AT, column)


@pytest.fixture
def journal(tmp_path: Path) -> Any:
    return Journal(tmp_path / "deep" / "journal.jsonl")


@pytest.mark.parametrize(
    "made",
    [
        edit(HOSTILE, "before", column="[version=2.0].a.b"),
        edit(("urn:li:tag:a", "urn:li:tag:b"), (), "tags"),
        edit({"note": "gone", "decommissionTime": 3}, None, "deprecation"),
    ],
)
def test_an_edit_comes_back_as_it_was(journal: Any, made: Any) -> None:
    entry = journal.append(made, KnownCatalog("http://there"))
    assert [one.edit for one in journal] == [made]
    assert [one.id for one in Journal(journal.path)] == [entry.id]
    assert entry.server == "http://there"


def test_every_entry_is_one_line_of_json_with_an_id_of_its_own(journal: Any) -> None:
    entries = [journal.append(edit(HOSTILE), KnownCatalog("s")) for _ in range(3)]
    lines = journal.path.read_bytes().splitlines()
    assert [orjson.loads(line)["id"] for line in lines] == [entry.id for entry in entries]
    assert len({entry.id for entry in entries}) == 3
    assert orjson.loads(lines[0])["at"] == "2026-03-01T12:00:00Z"


def test_nobody_else_may_read_it(journal: Any) -> None:
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600


def test_a_line_cut_short_by_a_crash_loses_itself_alone(journal: Any) -> None:
    journal.append(edit("first"), KnownCatalog("s"))
    journal.append(edit("torn"), KnownCatalog("s"))
    os.truncate(journal.path, journal.path.stat().st_size - 9)
    assert [one.after for one in journal] == ["first"]
    journal.append(edit("third"), KnownCatalog("s"))
    assert [one.after for one in journal] == ["first", "third"]


def test_several_processes_write_without_losing_a_line(journal: Any) -> None:
    code = (
        "import sys; from pathlib import Path; from datetime import UTC, datetime\n"
        "from explorer.client.journal import Journal, KnownCatalog\n"
        "from explorer.client.records import Edit\n"
        "from explorer.metadata import Urn\n"
        "journal, urn = Journal(Path(sys.argv[1])), Urn.parse('urn:li:tag:x')\n"
        "for at in range(40):\n"
        "    text = sys.argv[2] * 3000\n"
        "    edit = Edit(urn, 'description', None, text, datetime.now(UTC))\n"
        "    journal.append(edit, KnownCatalog('s'))\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(journal.path), name]) for name in "abc"
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    found = [one.after for one in journal]
    assert sorted(found) == [name * 3000 for name in "abc" for _ in range(40)]


def test_a_place_where_no_journal_can_be_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFault, match="give another path"):
        Journal(tmp_path / "file" / "journal")
    with pytest.raises(StorageFault, match="give another path"):
        Journal(tmp_path)


def undo(journal: Any, save: Any) -> None:
    """Write down what undoing a save would write."""
    with one_save():
        for made, ids in save.edits:
            with one_save(undoes=ids):
                journal.append(edit(made.before, made.after, made.what, made.column), save.made_on)


def test_what_took_an_edit_back_is_known_to_every_program(journal: Any) -> None:
    first = journal.append(edit("a"), KnownCatalog("s"))
    with one_save(undoes=[first.id]):
        second = journal.append(edit("b"), KnownCatalog("s"))
    undone = undone_in(Journal(journal.path))
    assert undone == {first.id: (second.id,)}
    assert is_undone(first.id, undone)
    assert not is_undone(second.id, undone)
    # What took it back is taken back in its turn: the edit stands again.
    with one_save(undoes=[second.id]):
        journal.append(edit("c"), KnownCatalog("s"))
    assert not is_undone(first.id, undone_in(journal))


def test_what_an_older_version_noted_as_undone_stays_undone(journal: Any) -> None:
    first, second = (journal.append(edit(text), KnownCatalog("s")) for text in "ab")
    note = f'{{"by": "{second.id}", "of": "{first.id}"}}\n'.encode()
    journal.path.with_name("undone.jsonl").write_bytes(b'{"by": "\xff\n{"by"\n' + note)
    assert undone_in(journal) == {first.id: (second.id,)}
    assert last_save(list(journal), KnownCatalog("s")) is None
    undone = last_undo(list(journal), KnownCatalog("s"))
    assert undone is not None
    assert undone.id == second.id


def test_the_edits_of_one_save_are_one_and_others_are_their_own(journal: Any) -> None:
    alone = journal.append(edit("a"), KnownCatalog("s"))
    with one_save() as together:
        journal.append(edit("b", column="x"), KnownCatalog("s"))
        with one_save():
            journal.append(edit("c", column="y"), KnownCatalog("s"))
    with one_save(together):
        journal.append(edit("d", column="z"), KnownCatalog("s"))
    found = saves_of(journal)
    assert [(one.id, len(one.entries)) for one in found] == [(alone.id, 1), (together, 3)]
    assert [made.column for made, _ in found[1].edits] == ["z", "y", "x"]


def test_several_edits_of_one_place_are_undone_as_one_and_others_labels_are_left_out(
    journal: Any,
) -> None:
    with one_save():
        journal.append(edit(("a", "new"), ("a",), "tags"), KnownCatalog("s"))
        # Somebody put another on in between.
        journal.append(edit(("new", "other"), ("a", "new", "other"), "tags"), KnownCatalog("s"))
        journal.append(edit("second", "first"), KnownCatalog("s"))
        journal.append(edit("third", "second"), KnownCatalog("s"))
    save = last_save(list(journal), KnownCatalog("s"))
    assert save is not None
    (text, text_ids), (tags, tag_ids) = save.edits
    assert (text.before, text.after, len(text_ids)) == ("first", "third", 2)
    assert (tags.before, tags.after, len(tag_ids)) == (("a",), ("new",), 2)


def test_undo_goes_back_save_by_save_and_redo_forth_again(journal: Any) -> None:
    def last(of: Any) -> Any:
        found = of(list(journal), KnownCatalog("s"))
        return found and found.edits[0][0].after

    for text in ("one", "two"):
        journal.append(edit(text), KnownCatalog("s"))
    journal.append(edit("elsewhere"), KnownCatalog("other"))
    for wanted in ("two", "one"):
        assert last(last_save) == wanted
        undo(journal, last_save(list(journal), KnownCatalog("s")))
    assert last_save(list(journal), KnownCatalog("s")) is None
    for wanted in ("one", "two"):
        redone = last_undo(list(journal), KnownCatalog("s"))
        assert redone is not None
        assert redone.edits[0][0].before == wanted
        undo(journal, redone)
        assert last(last_save) == wanted
    assert last_undo(list(journal), KnownCatalog("s")) is None
    undo(journal, last_save(list(journal), KnownCatalog("s")))
    assert last_undo(list(journal), KnownCatalog("s")) is not None
    # Whoever goes on from there has nothing to do again.
    journal.append(edit("three"), KnownCatalog("s"))
    assert last_undo(list(journal), KnownCatalog("s")) is None
    assert last(last_save) == "three"
    undo(journal, last_save(list(journal), KnownCatalog("s")))
    assert last(last_save) == "one"


def test_without_an_id_a_save_is_of_the_catalog_at_its_address(journal: Any) -> None:
    """An older version recorded none, and DataHub's servers give none."""
    journal.append(edit("old"), KnownCatalog("http://here:8080/"))
    ours, unknown = KnownCatalog("http://HERE:8080", "ours"), KnownCatalog("http://here:8080")
    for here in (ours, unknown):
        save = last_save(list(journal), here)
        assert save is not None
        assert save.entries[0].after == "old"
    for elsewhere in (KnownCatalog("http://there", "ours"), KnownCatalog("http://there")):
        assert last_save(list(journal), elsewhere) is None
        assert not_offered(journal, elsewhere) == ""


def test_of_a_save_that_was_undone_in_part_the_rest_is_left_to_undo(journal: Any) -> None:
    with one_save():
        first = journal.append(edit("a", column="x"), KnownCatalog("s"))
        journal.append(edit("b", column="y"), KnownCatalog("s"))
    with one_save(undoes=[first.id]):
        journal.append(edit(None, "a", column="x"), KnownCatalog("s"))
    save = last_save(list(journal), KnownCatalog("s"))
    assert save is not None
    assert [one.column for one in save.entries] == ["y"]


def test_saves_are_found_by_words_of_what_they_are_of_and_of_what_they_wrote(journal: Any) -> None:
    with one_save(approved_by="urn:li:corpuser:nina"):
        journal.append(edit("Orders a day.", "Before."), KnownCatalog("http://there"))
        journal.append(edit("Another.", column="amount"), KnownCatalog("http://there"))
    journal.append(edit(("urn:li:tag:PII",), (), "tags"), KnownCatalog("http://elsewhere"))
    entries = list(journal)

    def found(words: str) -> int:
        return len(entries_with(entries, words))

    assert found("") == found("orders") == 3
    # A save is found as a whole, by words in any of its edits.
    assert found("ORDERS a day") == found("nina amount") == found("before there") == 2
    assert found("pii tags elsewhere 2026-03-01") == 1
    assert found("pii nina") == 0
