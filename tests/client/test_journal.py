"""Edits are written down, one line each, and nothing that happens to the file loses another."""

import os
import stat
import subprocess
import sys
from datetime import UTC, datetime

import orjson
import pytest

from explorer.client.journal import Journal, is_undone, read_undone
from explorer.client.records import Edit
from explorer.errors import Unusable
from explorer.metadata import Urn

URN = Urn.dataset("hive", "orders")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOSTILE = 'a "quoted"\nline\u2028 {"json": 1} 🦊 \x00\x1b[31m'


def edit(after, before=None, what="description", column=None):
    return Edit(URN, what, before, after, AT, column)


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "deep" / "journal.jsonl")


@pytest.mark.parametrize(
    "made",
    [
        edit(HOSTILE, "before", column="[version=2.0].a.b"),
        edit(("urn:li:tag:a", "urn:li:tag:b"), (), "tags"),
        edit({"note": "gone", "decommissionTime": 3}, None, "deprecation"),
    ],
)
def test_an_edit_comes_back_as_it_was(journal, made):
    entry = journal.append(made, "http://there")
    assert [one.edit for one in journal] == [made]
    assert [one.id for one in Journal(journal.path)] == [entry.id]
    assert entry.server == "http://there"


def test_every_entry_is_one_line_of_json_with_an_id_of_its_own(journal):
    entries = [journal.append(edit(HOSTILE), "s") for _ in range(3)]
    lines = journal.path.read_bytes().splitlines()
    assert [orjson.loads(line)["id"] for line in lines] == [entry.id for entry in entries]
    assert len({entry.id for entry in entries}) == 3
    assert orjson.loads(lines[0])["at"] == "2026-03-01T12:00:00Z"


def test_nobody_else_may_read_it(journal):
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600


def test_a_line_cut_short_by_a_crash_loses_itself_alone(journal):
    journal.append(edit("first"), "s")
    journal.append(edit("torn"), "s")
    os.truncate(journal.path, journal.path.stat().st_size - 9)
    assert [one.after for one in journal] == ["first"]
    journal.append(edit("third"), "s")
    assert [one.after for one in journal] == ["first", "third"]


def test_several_processes_write_without_losing_a_line(journal):
    code = (
        "import sys; from pathlib import Path; from datetime import UTC, datetime\n"
        "from explorer.client.journal import Journal; from explorer.client.records import Edit\n"
        "from explorer.metadata import Urn\n"
        "journal, urn = Journal(Path(sys.argv[1])), Urn.parse('urn:li:tag:x')\n"
        "for at in range(40):\n"
        "    text = sys.argv[2] * 3000\n"
        "    journal.append(Edit(urn, 'description', None, text, datetime.now(UTC)), 's')\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(journal.path), name]) for name in "abc"
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    found = [one.after for one in journal]
    assert sorted(found) == [name * 3000 for name in "abc" for _ in range(40)]


def test_a_place_where_no_journal_can_be_is_said_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Unusable, match="name another place"):
        Journal(tmp_path / "file" / "journal")
    with pytest.raises(Unusable, match="name another place"):
        Journal(tmp_path)


def test_what_took_an_edit_back_is_known_to_every_program(journal):
    first, second, third = (journal.append(edit(text), "http://there") for text in "abc")
    journal.note_undone(first.id, [second.id])
    undone = Journal(journal.path).undone()
    assert undone == {first.id: (second.id,)}
    assert is_undone(first.id, undone)
    assert not is_undone(second.id, undone)
    # What took it back is taken back in its turn: the edit stands again.
    journal.note_undone(second.id, [third.id])
    assert not is_undone(first.id, read_undone(journal.path))
    assert stat.S_IMODE(journal.path.with_name("undone.jsonl").stat().st_mode) == 0o600


def test_a_broken_line_about_what_was_undone_loses_itself_alone(journal):
    first, second = (journal.append(edit(text), "http://there") for text in "ab")
    journal.path.with_name("undone.jsonl").write_bytes(b'{"by": "\xff\n{"by"\n')
    journal.note_undone(first.id, [second.id])
    assert journal.undone() == {first.id: (second.id,)}
