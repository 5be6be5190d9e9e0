"""A changeset is reviewed and written on the command line; killed at any moment, it goes on."""

import json
import os
import pty
import re
import select
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from explorer.client import Catalog
from explorer.client.journal import JOURNAL, Journal
from explorer.errors import StorageFault
from explorer.metadata import Proposal, Urn
from explorer.metadata.fieldpath import column_urn
from explorer.stewardship import StagedChangeset, StagedEdit, Stewardship, TextSource
from explorer.stewardship.staging import new_path
from tests.cli.conftest import Ran, Run, environment
from tests.cli.test_terminal_output import on_a_terminal
from tests.conftest import schema_metadata, serving_catalog

TABLES = [str(Urn.dataset("hive", f"review.t{number}")) for number in range(5)]
COLUMNS = [f"c{number}" for number in range(100)]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a service with five tables of a hundred columns answers."""
    schema = schema_metadata(dict.fromkeys(COLUMNS), "int", "Number")
    with serving_catalog(tmp_path_factory.mktemp("catalog")) as found:
        with Catalog(found) as client:
            client.ingest_batch(
                [Proposal(Urn.parse(urn), "schemaMetadata", schema) for urn in TABLES]
            )
        yield found


@pytest.fixture(autouse=True)
def undescribed(address: str) -> None:
    """Nobody has described a column yet."""
    texts = [{"fieldPath": column, "description": ""} for column in COLUMNS]
    value = {"editableSchemaFieldInfo": texts}
    with Catalog(address) as client:
        client.ingest_batch(
            [Proposal(Urn.parse(urn), "editableSchemaMetadata", value) for urn in TABLES]
        )


def staged(path: Path, places: Sequence[tuple[str, str]]) -> StagedChangeset:
    edits = [StagedEdit(urn, "t", column, text=f"About {column}.") for urn, column in places]
    return StagedChangeset.create(
        path, edits, title="Texts", server="", proposed_by="urn:li:corpuser:nina"
    )


def texts(address: str) -> dict[tuple[str, str], str]:
    """What people have described, by table and column."""
    with Catalog(address) as client:
        return {
            (urn, column.path.raw): column.edited
            for urn in TABLES
            for column in client.entity(urn).schema
            if column.edited
        }


FEW = [(TABLES[0], "c0"), (TABLES[0], "c1"), (TABLES[1], "c0")]


def test_a_changeset_is_listed_with_what_it_would_write(
    catalog: Run, address: str, tmp_path: Path
) -> None:
    path = staged(tmp_path / "one.changes.jsonl", FEW).path
    ran = catalog("docs", "review", str(path), url=address)
    assert (ran.code, ran.out.count("About")) == (0, 3)
    assert "3 open" in ran.err
    told = json.loads(catalog("docs", "review", str(path), "--json", url=address).out)
    assert told["counts"] == {"open": 3}
    assert told["proposed_by"] == "nina"
    assert [edit["column"] for edit in told["edits"]] == ["c0", "c1", "c0"]
    ran = catalog("docs", "review", str(path), "--apply", url=address)
    assert "0 written\n3 still open; review the file again to decide them" in ran.err
    ran = catalog("docs", "review", str(path), "--accept-all", "--apply", "--dry-run", url=address)
    assert "3 would be written" in ran.err
    assert (texts(address), StagedChangeset.open(path).counts()) == ({}, {"open": 3})


def test_a_changeset_of_another_catalog_is_marked_and_written_once_it_is_imported(
    catalog: Run, address: str, tmp_path: Path
) -> None:
    path = tmp_path / "foreign.changes.jsonl"
    edits = [StagedEdit(urn, "t", column, text=f"About {column}.") for urn, column in FEW]
    StagedChangeset.create(
        path, edits, title="Texts", server="http://there", proposed_by="", catalog="another"
    )
    ran = catalog("docs", "review", str(path), url=address)
    marked = "of another catalog, at http://there: to write it to this catalog, import it"
    assert (ran.code, marked in ran.err) == (0, True), ran
    told = json.loads(catalog("docs", "review", str(path), "--json", url=address).out)
    assert (told["server"], told["foreign"]) == (
        "http://there",
        f"it was made on http://there, not on {address}",
    )
    ran = catalog("docs", "review", str(path), "--accept-all", "--apply", url=address)
    assert (ran.code, "import it first." in ran.err, "--import" in ran.err) == (1, True, True), ran
    assert texts(address) == {}
    with Catalog(address) as client:
        client.describe(TABLES[0], "Theirs.", column="c1")
    more = ("--import", "--accept-all", "--apply")
    ran = catalog("docs", "review", str(path), *more, url=address)
    assert (ran.code, "2 written" in ran.err) == (0, True), ran
    assert "Imported: 3 changes; 1 cannot be written as they are." in ran.err
    written = texts(address)
    assert [written.get(place) for place in FEW] == ["About c0.", "Theirs.", "About c0."]
    imported = next(word for word in ran.err.split() if word.endswith(".changes.jsonl"))
    ran = catalog("docs", "review", imported, "--import", url=address)
    assert (ran.code, "is of this catalog" in ran.err) == (1, True), ran


def test_on_a_narrow_terminal_texts_break_and_not_the_names_of_columns(
    command: tuple[str, ...], address: str, tmp_path: Path
) -> None:
    names = ["shipping_address_id", "billing_address_id2", "returned_address_id"]
    source = (TextSource("lineage", TABLES[1], "raw_orders", "address_id"),)
    text = "Where it is sent, see also `a_long_word_that_is_cut_and_no_name`."
    edits = [
        StagedEdit(TABLES[0], "customer_orders_eu", name, text=text, sources=source)
        for name in names
    ]
    path = tmp_path / "one.changes.jsonl"
    StagedChangeset.create(path, edits, title="Texts", server="", proposed_by="")
    narrow = ("env", "COLUMNS=80", *command, "docs", "review", str(path), "--url", address)
    shown = on_a_terminal(narrow)
    for name in names:
        assert f" {name} " in shown
    assert max(map(len, re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines())) <= 80


def test_what_was_there_already_is_counted_apart_because_undo_leaves_it(
    catalog: Run, address: str, tmp_path: Path
) -> None:
    path = staged(tmp_path / "one.changes.jsonl", FEW).path
    with Catalog(address) as client:
        client.describe(TABLES[0], "About c1.", column="c1")
    ran = catalog("docs", "review", str(path), "--accept-all", "--apply", url=address)
    assert ran.code == 0, ran
    assert "2 written" in ran.err
    assert "1 already in the catalog: catalog undo leaves them as they are" in ran.err
    assert len(texts(address)) == 3
    assert "2 edits undone" in catalog("undo", "--yes", url=address).err
    assert texts(address) == {FEW[1]: "About c1."}
    assert "2 edits redone" in catalog("redo", "--yes", url=address).err
    assert len(texts(address)) == 3
    assert "2 edits undone" in catalog("undo", "--yes", url=address).err
    ran = catalog("docs", "review", str(path), "--accept-all", "--apply", url=address)
    assert ran.code == 0, ran
    assert "2 changes were undone since: they are open again.\n2 written" in ran.err
    assert len(texts(address)) == 3
    assert "undone since" not in catalog("docs", "review", str(path), url=address).err


def test_undo_makes_the_edits_of_a_changeset_undecided_again(catalog: Run, address: str) -> None:
    path = staged(new_path("Texts", datetime.now(UTC)), FEW).path
    assert catalog("docs", "share", str(path), url=address).code == 0
    ran = catalog("docs", "review", str(path), "--accept-all", "--apply", url=address)
    assert "3 written" in ran.err
    (shared,) = catalog("docs", "proposals", "--json", url=address).json
    assert shared["applied"] == 3
    assert (
        "3 changes of the changeset can be decided again"
        in catalog("undo", "--yes", url=address).err
    )
    assert StagedChangeset.open(path).counts() == {"open": 3}
    (shared,) = catalog("docs", "proposals", "--json", url=address).json
    assert (shared["applied"], shared["open"]) == (0, 3)
    # The undo of an edit that no changeset proposed says nothing of one.
    assert catalog("describe", TABLES[0], "--column", "c2", "--text", "x", url=address).code == 0
    assert "changeset" not in catalog("undo", "--yes", url=address).err


def test_an_undo_that_its_changeset_cannot_note_is_told_as_made(
    catalog: Run, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = staged(new_path("Texts", datetime.now(UTC)), FEW).path
    ran = catalog("docs", "review", str(path), "--accept-all", "--apply", url=address)
    assert "3 written" in ran.err

    def full(self: StagedChangeset, entries: object) -> None:
        raise StorageFault("the disk is full")

    monkeypatch.setattr(StagedChangeset, "note_undone", full)
    ran = catalog("undo", "--yes", url=address)
    assert ran.code == 3
    assert "3 edits undone" in ran.err
    assert ran.err.endswith("error: the disk is full\n")
    assert texts(address) == {}


def test_what_is_accepted_is_written_and_somebody_elses_text_is_not_replaced(
    catalog: Run, address: str, tmp_path: Path
) -> None:
    path = staged(tmp_path / "one.changes.jsonl", FEW).path
    with Catalog(address) as client:
        client.describe(TABLES[0], "Theirs.", column="c1")
    ran = catalog("docs", "review", str(path), "--accept-all", "--apply", url=address)
    assert ran.code == 1
    assert "Theirs." in ran.out
    assert "2 written" in ran.err
    assert "1 rejected" in ran.err
    assert texts(address) == {FEW[0]: "About c0.", FEW[1]: "Theirs.", FEW[2]: "About c0."}
    ran = catalog("docs", "review", str(path), "--apply", "--json", url=address)
    assert ran.code == 0
    assert json.loads(ran.out)["applied"] == 0
    assert catalog("docs", "review", str(path), "--refuse-all", url=address).code == 0


def test_texts_are_proposed_from_upstream_reviewed_and_taken_back(
    catalog: Run, address: str, tmp_path: Path
) -> None:
    stamp = {"time": 0, "actor": "urn:li:corpuser:ann"}
    made_from = {"dataset": TABLES[0], "type": "TRANSFORMED", "auditStamp": stamp}
    state = str(tmp_path / "state")
    with Catalog(address) as client:
        client.put(TABLES[1], "upstreamLineage", {"upstreams": [made_from]})
        client.describe(TABLES[0], "The  *key*.", column="c0")
        before = client.aspect(TABLES[1], "editableSchemaMetadata").value
    path = str(tmp_path / "texts.changes.jsonl")
    ran = catalog("docs", "propose", TABLES[1], "--output", path, url=address)
    assert ran.code == 0, ran.err
    assert "1 proposed (1 by name)" in ran.err
    assert "t0.c0" in ran.out
    assert "already exists" in catalog("docs", "propose", "--output", path, url=address).err
    only = catalog("docs", "propose", TABLES[1], "--lineage-only", url=address)
    assert (only.code, "no description found" in only.err) == (1, True)
    accepted = ("docs", "review", path, "--accept-all", "--apply")
    assert catalog(*accepted, url=address, CATALOG_STATE_DIR=state).code == 0
    assert texts(address)[(TABLES[1], "c0")] == "The  *key*."
    assert catalog("undo", "--yes", url=address, CATALOG_STATE_DIR=state).code == 0
    with Catalog(address) as client:
        after = client.aspect(TABLES[1], "editableSchemaMetadata").value
    # The stamps say that somebody was there.
    assert after["editableSchemaFieldInfo"] == before["editableSchemaFieldInfo"]


def test_options_that_exclude_each_other_are_told(catalog: Run, tmp_path: Path) -> None:
    path = str(staged(tmp_path / "one.changes.jsonl", FEW).path)
    assert (
        "cannot be combined" in catalog("docs", "review", path, "--accept-all", "--refuse-all").err
    )
    assert "--apply" in catalog("docs", "review", path, "--dry-run").err
    other = tmp_path / "other"
    other.write_text("{}\n")
    assert "not a changeset" in catalog("docs", "review", str(other)).err


def test_each_edit_is_decided_with_a_key_on_a_terminal(
    command: tuple[str, ...], address: str, tmp_path: Path
) -> None:
    path = staged(tmp_path / "one.changes.jsonl", FEW).path
    parent, child = pty.openpty()
    arguments = (*command, "docs", "review", str(path), "--url", address)
    with subprocess.Popen(
        arguments,
        stdin=child,
        stdout=child,
        stderr=child,
        env=environment(VISUAL="sed -i s/About/On/"),
    ) as process:
        os.close(child)
        seen = ""
        for place, key in (("1 of 3", "a"), ("2 of 3", "?x"), ("3 of 3", "e")):
            seen += _read_until(parent, place, "q quit")
            os.write(parent, key.encode())
        seen += _read_until(parent, "give --apply")
        assert process.wait(timeout=120) == 0
    os.close(parent)
    assert "About c0." in seen
    decided = [(item.state, item.edit.text) for item in StagedChangeset.open(path).items]
    assert decided == [("accepted", "About c0."), ("refused", "About c1."), ("accepted", "On c0.")]
    assert texts(address) == {}


def _read_until(terminal: int, *words: str) -> str:
    seen = ""
    while not all(word in seen for word in words):
        assert select.select([terminal], [], [], 40)[0], seen
        seen += os.read(terminal, 65_536).decode()
    return seen


@pytest.mark.nightly
def test_killed_again_and_again_it_ends_with_exactly_what_was_accepted(
    command: tuple[str, ...], address: str, tmp_path: Path
) -> None:
    places = [(urn, column) for urn in TABLES for column in COLUMNS[:35]]
    changeset = staged(tmp_path / "all.changes.jsonl", places)
    for item in changeset.items:
        changeset.decide(item.number, "accepted", "urn:li:corpuser:omar")
    variables = environment(CATALOG_STATE_DIR=str(tmp_path / "state"))
    arguments = (*command, "docs", "review", str(changeset.path), "--apply", "--url", address)
    kills = 0
    for goal in (30, 90, 140):
        with subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=variables
        ) as process:
            deadline = time.monotonic() + 60
            while len(StagedChangeset.open(changeset.path).of("applied")) < goal:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            kills += process.poll() is None
            process.kill()
    assert kills == 3
    done = subprocess.run(arguments, capture_output=True, env=variables, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert StagedChangeset.open(changeset.path).counts() == {"applied": len(places)}
    assert texts(address) == {place: f"About {place[1]}." for place in places}
    entries = list(Journal(tmp_path / "state" / JOURNAL))
    assert {entry.save for entry in entries} == {changeset.id}
    # Of an edit that was stored when the program was killed the journal may know nothing.
    written = Counter((entry.urn, entry.column) for entry in entries)
    assert max(written.values()) == 1
    assert len(places) - len(written) <= kills * 6


def test_a_concept_shows_its_texts_and_one_is_proposed_for_columns_without(
    catalog: Run, address: str, tmp_path: Path
) -> None:
    with Catalog(address) as client:
        for urn, text in zip(TABLES[:3], ("The seventh.", "The seventh.", "Another."), strict=True):
            client.describe(urn, text, column="c7")
    shown = catalog("docs", "concept", "C7", url=address)
    assert shown.code == 0, shown.err
    assert "5 columns of 5 tables, 2 texts, 2 without a text" in shown.err
    assert "The seventh." in shown.out
    told = json.loads(catalog("docs", "concept", "c7", "--json", url=address).out)
    assert [(one["variant"], one["columns"]) for one in told["variants"]] == [
        (1, 2),
        (2, 1),
        (None, 2),
    ]
    path = tmp_path / "one.changes.jsonl"
    ask = ("docs", "concept", "c7", "--variant", "1")
    ran = catalog(*ask, "--propose", str(path), url=address)
    assert ran.code == 0, ran.err
    assert "2 proposed (2 by elsewhere); nothing is written yet" in ran.err
    assert len(texts(address)) == 3
    more = tmp_path / "more.changes.jsonl"
    assert catalog(*ask, "--replace", "2", "--propose", str(more), url=address).code == 0
    assert len(StagedChangeset.open(more).items) == 3
    ran = catalog("docs", "review", str(path), "--accept-all", "--apply", url=address)
    assert ran.code == 0, ran.err
    assert [texts(address)[urn, "c7"] for urn in TABLES] == [
        "The seventh.",
        "The seventh.",
        "Another.",
        "The seventh.",
        "The seventh.",
    ]


def test_a_new_text_is_proposed_for_every_column_of_a_term(
    catalog: Run, address: str, tmp_path: Path
) -> None:
    term = "urn:li:glossaryTerm:Proposed"
    with Catalog(address) as client:
        info = {"name": "Proposed", "definition": "", "termSource": "INTERNAL"}
        client.create(term, "glossaryTermInfo", info)
        for urn in TABLES[:2]:
            client.add_terms(urn, [term], column="c9")
    path = tmp_path / "new.changes.jsonl"
    asked = ("docs", "concept", "--term", "Proposed", "--text", "New.", "--all")
    ran = catalog(*asked, "--propose", str(path), url=address)
    assert ran.code == 0, ran.err
    assert "2 proposed; nothing is written yet" in ran.err
    items = StagedChangeset.open(path).items
    assert [(item.edit.urn, item.edit.column, item.edit.text) for item in items] == [
        (urn, "c9", "New.") for urn in TABLES[:2]
    ]
    again = catalog(*asked, "--propose", str(path), url=address)
    assert (again.code, "already exists" in again.err) == (1, True)


@pytest.mark.parametrize(
    "options",
    [("--variant", "1"), ("--propose", "x.jsonl"), ("--all",), ("--text", "a", "--variant", "1")],
)
def test_what_does_not_go_together_is_a_usage_error(
    catalog: Run, address: str, options: tuple[str, ...]
) -> None:
    assert catalog("docs", "concept", "c7", *options, url=address).code == 2


def test_labels_are_proposed_reviewed_and_taken_back_as_one(
    catalog: Run, address: str, tmp_path: Path
) -> None:
    state = str(tmp_path / "state")
    with Catalog(address) as client:
        client.create("urn:li:tag:Staged", "tagProperties", {"name": "Staged"})
        client.create("urn:li:domain:staged", "domainProperties", {"name": "Staged domain"})
    proposals = {
        "tag": ("tag", *TABLES[:3], "--add", "Staged"),
        "domain": ("domain", *TABLES[:2], "staged"),
        "gone": ("deprecate", TABLES[0], "--note", "Gone."),
        "link": ("link", TABLES[0], "add", "https://wiki.example.com", "--label", "Wiki"),
    }
    counts = {}
    for name, asked in proposals.items():
        path = tmp_path / f"{name}.changes.jsonl"
        ran = catalog(*asked, "--propose", str(path), url=address)
        assert ran.code == 0, ran.err
        assert "proposed; nothing is written yet" in ran.err
        counts[name] = len(StagedChangeset.open(path).items)
    assert counts == {"tag": 3, "domain": 2, "gone": 1, "link": 1}
    with Catalog(address) as client:
        assert not any(client.entity(urn).tags for urn in TABLES)
    for name in proposals:
        path = tmp_path / f"{name}.changes.jsonl"
        asked = ("docs", "review", str(path), "--accept-all", "--apply")
        ran = catalog(*asked, url=address, CATALOG_STATE_DIR=state)
        assert ran.code == 0, ran.err
    with Catalog(address) as client:
        entity = client.entity(TABLES[0])
        assert [tag.name for tag in entity.tags] == ["Staged"]
        assert [str(one) for one in entity.domains] == ["urn:li:domain:staged"]
        assert [link.url for link in entity.links] == ["https://wiki.example.com"]
    again = catalog(*proposals["tag"], "--propose", str(tmp_path / "again"), url=address)
    assert (again.code, "nothing to propose" in again.err) == (1, True)
    for _ in proposals:
        assert catalog("undo", "--yes", url=address, CATALOG_STATE_DIR=state).code == 0
    with Catalog(address) as client:
        assert not any(client.entity(urn).tags for urn in TABLES)
        assert not client.entity(TABLES[0]).links


def test_proposing_nothing_is_a_usage_error(catalog: Run, address: str, tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    assert catalog("tag", TABLES[0], "--propose", path, url=address).code == 2
    asked = ("tag", TABLES[0], "--add", "Staged", "--dry-run", "--propose", path)
    assert catalog(*asked, url=address).code == 2


def test_propagated_texts_are_listed_refreshed_pinned_and_taken_back(
    catalog: Run, address: str, tmp_path: Path
) -> None:
    stamp = {"time": 0, "actor": "urn:li:corpuser:ann"}
    made_from = {"dataset": TABLES[2], "type": "TRANSFORMED", "auditStamp": stamp}
    with Catalog(address) as client:
        client.put(TABLES[3], "upstreamLineage", {"upstreams": [made_from]})
        for column in ("c7", "c8"):
            client.describe(TABLES[2], f"Text of {column}.", column=column)
    path = str(tmp_path / "texts.changes.jsonl")
    assert catalog("docs", "propose", TABLES[3], "--output", path, url=address).code == 0
    ran = catalog("docs", "review", path, "--accept-all", "--apply", url=address)
    assert ran.code == 0, ran

    def propagated(*words: str) -> Ran:
        return catalog("docs", "propagated", *words, url=address)

    deadline = time.monotonic() + 60
    while len(propagated("list", TABLES[3], "--json").json) != 2:
        assert time.monotonic() < deadline
    assert "t2.c7" in propagated().out
    ran = propagated("pin", TABLES[3], "--column", "c8")
    assert (ran.code, "1 pinned" in ran.err) == (0, True)
    with Catalog(address) as client:
        for column in ("c7", "c8"):
            client.describe(TABLES[2], f"Newer text of {column}.", column=column)
    ran = propagated("refresh", TABLES[3], "--dry-run")
    assert "1 would be refreshed, 1 left as they are" in ran.err
    assert "1 refreshed" in propagated("refresh", "--source", TABLES[2]).err
    written = texts(address)
    assert written[(TABLES[3], "c7")] == "Newer text of c7."
    assert written[(TABLES[3], "c8")] == "Text of c8."
    # A name selects the same as the URN, and a name that nothing has is not an empty selection.
    assert [one["path"] for one in propagated("list", "review.t3", "--json").json] == ["c7", "c8"]
    assert len(propagated("list", "--source", "review.t2", "--json").json) == 2
    assert "1 unpinned" in propagated("unpin", "review.t3", "--column", "c8").err
    for unknown in (("pin", "no_such_table"), ("list", "--source", "no_such_table")):
        ran = propagated(*unknown)
        assert (ran.code, "no dataset is named 'no_such_table'" in ran.err) == (1, True), ran
    told = propagated("take-back", "--source", TABLES[2], "--source-column", "c8", "--json").json
    assert [one["path"] for one in told["done"]] == ["c8"]
    assert "1 taken back" in propagated("take-back", "--source", TABLES[2]).err
    assert not [place for place in texts(address) if place[0] == TABLES[3]]
    for wrong in (
        ("take-back",),
        ("pin",),
        ("list", "--dry-run"),
        ("refresh", "--all", TABLES[3]),
        ("list", "--column", "c8"),
        ("list", "--source-column", "c8"),
    ):
        assert propagated(*wrong).code == 2, wrong


def test_a_dry_run_of_refreshing_or_taking_back_writes_nothing(
    catalog: Run, address: str, tmp_path: Path
) -> None:
    source, made = TABLES[1], TABLES[4]
    stamp = {"time": 0, "actor": "urn:li:corpuser:ann"}
    upstream = {"dataset": source, "type": "TRANSFORMED", "auditStamp": stamp}
    with Catalog(address) as client:
        client.put(made, "upstreamLineage", {"upstreams": [upstream]})
        client.describe(source, "Text of c7.", column="c7")
        steward = Stewardship(client)
        edits = steward.propose_descriptions([made])
        changeset = steward.stage(edits, "Texts", tmp_path / "texts.changes.jsonl")
        changeset.decide_open("accepted", "urn:li:corpuser:ann")
        steward.apply_staged(changeset)
        client.describe(source, "Newer text of c7.", column="c7")
        deadline = time.monotonic() + 60
        while not steward.propagated(urns=[made]):
            assert time.monotonic() < deadline

        def stored() -> list[dict[str, object]]:
            """All that is stored of the table and of its column."""
            entities = [client.entity(urn) for urn in (made, column_urn(made, "c7"))]
            return [
                {name: aspect.value for name, aspect in entity.aspects.items()}
                for entity in entities
            ]

        before = stored()
        for action, done in (("refresh", "refreshed"), ("take-back", "taken back")):
            ran = catalog("docs", "propagated", action, made, "--dry-run", url=address)
            assert (ran.code, f"1 would be {done}" in ran.err) == (0, True), ran
            assert stored() == before, f"{action} --dry-run wrote"
    assert "1 taken back" in catalog("docs", "propagated", "take-back", made, url=address).err
