"""A file is compared with the catalog line by line: nothing is lost and nothing is overwritten."""

import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.client.http import HttpTransport
from explorer.client.journal import Journal
from explorer.errors import InvalidInput, StorageFault, Unreachable
from explorer.stewardship import (
    Entry,
    Row,
    StagedChangeset,
    StagedEdit,
    StagedOutcome,
    Stewardship,
    read_rows,
    stage_changes,
    write_rows,
)
from explorer.stewardship.changeset import reopen_undone
from explorer.stewardship.files import FORMATS
from tests.stewardship.conftest import columns


def entries(rows: Any, **edits: Any) -> Any:
    """The rows as lines of a file, in which people changed the texts of these columns."""
    return [
        Entry(f"line {at}", replace(row, edited=edits.get(row.column or "table", row.edited)))
        for at, row in enumerate(rows, start=1)
    ]


def told(changeset: Any) -> Any:
    return {change.column or "table": change.kind for change in changeset.changes}


@pytest.fixture
def orders(steward: Any, named: Any) -> Any:
    return steward.documentation([named("orders")])


def test_there_is_a_row_for_the_table_and_one_for_each_column(orders: Any, named: Any) -> None:
    assert [(row.column, row.ingested, row.edited) for row in orders] == [
        ("", "All orders.", ""),
        ("id", "The key.", ""),
        ("total", "", ""),
        ("note", "", "!"),
        ("city", "A city.", "Where it went."),
    ]
    assert {row.urn for row in orders} == {named("orders")}
    assert orders[1].type == "text"


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_that_is_imported_changes_nothing(
    steward: Any, catalog: Any, named: Any, form: Any
) -> None:
    catalog.describe(named("orders"), " \r\n=1\t'!clear ")
    catalog.describe(named("orders"), "# a\r\n\r\n## b  ", column="total")
    catalog.describe(named("side"), "  ")
    rows = steward.documentation()
    changeset = steward.changeset(read_rows(write_rows(rows, form), form))
    assert len(changeset) == len(rows) == 16
    assert changeset.counts() == {"unchanged": 16}
    assert changeset.to_apply(force_conflicts=True) == ()


def test_each_edit_is_of_its_kind_with_the_texts_beside_it(steward: Any, orders: Any) -> None:
    lines = entries(orders, table="Orders.", city="Elsewhere.", note="")
    lines[2] = replace(lines[2], clears=True)
    lines[3] = replace(lines[3], clears=True)
    changeset = steward.changeset(lines)
    assert told(changeset) == {
        "table": "new",
        "id": "unchanged",
        "total": "unchanged",
        "note": "cleared",
        "city": "changed",
    }
    city = changeset.of("changed")[0]
    assert (city.base, city.theirs, city.mine) == ("Where it went.",) * 2 + ("Elsewhere.",)
    assert len(changeset.to_apply()) == 3


def test_an_empty_text_destroys_nothing_unless_it_is_wanted(steward: Any, orders: Any) -> None:
    lines = entries(orders, city="", note="")
    kept = steward.changeset(lines)
    assert told(kept)["city"] == "emptied"
    assert kept.to_apply() == ()
    assert {change.column for change in kept.left_out} == {"city", "note"}
    assert told(steward.changeset(lines, clear_empty=True))["city"] == "cleared"
    blank = steward.changeset(entries(orders, city="  ", note=" \n"))
    assert told(blank)["city"] == "emptied"
    assert blank.to_apply() == ()


def test_what_somebody_else_wrote_meanwhile_is_a_conflict_only_where_both_wrote(
    steward: Any, catalog: Any, orders: Any, named: Any
) -> None:
    for column in ("city", "note", "total"):
        catalog.describe(named("orders"), f"theirs of {column}", column=column)
    changeset = steward.changeset(entries(orders, city="mine", note="theirs of note"))
    assert told(changeset) == {
        "table": "unchanged",
        "id": "unchanged",
        "total": "unchanged",
        "note": "unchanged",
        "city": "conflict",
    }
    (conflict,) = changeset.of("conflict")
    assert (conflict.base, conflict.theirs, conflict.mine) == (None, "theirs of city", "mine")
    assert changeset.to_apply() == ()
    assert changeset.to_apply(force_conflicts=True) == (conflict,)


def test_a_file_of_another_catalog_is_compared_with_what_is_here(
    steward: Any, catalog: Any, orders: Any, named: Any
) -> None:
    # One that was exported here before `city` was cleared and `note` changed.
    catalog.describe(named("orders"), "", column="city")
    catalog.describe(named("orders"), "theirs of note", column="note")
    unchanged = dict.fromkeys(("table", "id", "total", "note", "city"), "unchanged")
    assert told(steward.changeset(entries(orders))) == unchanged

    def exported_elsewhere(mark: str) -> Any:
        digests = [row.exported.rpartition(":")[0] for row in orders]
        rows = zip(orders, digests, strict=True)
        return entries([replace(row, exported=digest + mark) for row, digest in rows])

    changeset = steward.changeset(exported_elsewhere(":0badcafe"))
    assert told(changeset) == unchanged | {"note": "conflict", "city": "new"}
    assert len(changeset.to_apply(force_conflicts=True)) == 2
    # Of a file that does not say where it is from, what is lacking is written.
    assert told(steward.changeset(exported_elsewhere(""))) == unchanged | {"city": "new"}


def test_a_line_without_a_digest_writes_where_nothing_stands_and_nowhere_else(
    steward: Any, named: Any
) -> None:
    lines = [
        Entry(f"line {at}", Row(named("orders"), "", column, "", "", "from a list"))
        for at, column in enumerate(("id", "city", "total"))
    ]
    assert told(steward.changeset(lines)) == {"id": "new", "city": "conflict", "total": "new"}


def test_a_spreadsheets_ends_of_lines_are_no_change(steward: Any, catalog: Any, named: Any) -> None:
    catalog.describe(named("side"), "one\r\ntwo")
    rows = steward.documentation([named("side")])
    assert steward.changeset(entries(rows, table="one\ntwo")).counts() == {"unchanged": 3}


def test_lines_that_fit_nowhere_are_listed_and_never_applied(
    steward: Any, orders: Any, named: Any
) -> None:
    urn = named("orders")
    lines = [
        Entry("1", Row(named("nowhere"), "", "", "", "", "x")),
        Entry("2", Row("urn:li:corpuser:ann", "", "", "", "", "x")),
        Entry("3", Row("rubbish", "", "", "", "", "x")),
        Entry("4", Row(urn, "", "ID", "", "", "x")),
        Entry("5", Row(urn, "", "gone", "", "", "x")),
        Entry("6", Row("", "", "", "", "", "x"), problem="it makes no sense"),
    ]
    changeset = steward.changeset([*lines, *entries(orders)])
    assert [change.kind for change in changeset.left_out] == [
        "unknown table",
        "unknown table",
        "unknown table",
        "unknown column",
        "orphan",
        "unreadable",
    ]
    assert [change.entry.place for change in changeset.left_out] == list("123456")
    assert all(change.why for change in changeset.left_out)
    assert changeset.to_apply(force_conflicts=True) == ()
    assert len(changeset) == 11


def test_a_file_from_before_the_type_or_case_of_a_column_changed_is_of_the_column(
    catalog: Any, steward: Any, orders: Any, named: Any
) -> None:
    urn, typed = named("orders"), "[version=2.0].[type=string].city"
    catalog.put(urn, "schemaMetadata", columns(NOTE="", **{typed: "A city."}))
    rows = steward.documentation([urn])
    assert [(row.column, row.edited) for row in rows[1:]] == [
        ("NOTE", "!"),
        (typed, "Where it went."),
    ]
    changeset = steward.changeset(entries([*orders[3:]], note="A remark."))
    assert told(changeset) == {"NOTE": "changed", typed: "unchanged"}
    assert not steward.apply(changeset.to_apply()).failed
    schema = catalog.entity(urn).schema
    assert [(one.path.raw, one.edited, one.earlier and one.earlier.raw) for one in schema] == [
        ("NOTE", "A remark.", None),
        (typed, "Where it went.", "city"),
    ]


def test_of_lines_that_agree_one_counts_and_of_those_that_do_not_none(
    steward: Any, orders: Any
) -> None:
    agreeing = entries(orders, total="sum")
    disagreeing = entries(orders, id="one") + entries(orders, id="two")
    changeset = steward.changeset([*agreeing, *disagreeing, *agreeing])
    assert [(c.column, c.mine) for c in changeset.to_apply()] == [("total", "sum")]
    duplicates = changeset.of("duplicate")
    assert sorted((c.column, c.mine) for c in duplicates) == [
        ("id", "one"),
        ("id", "two"),
        ("total", "sum"),
    ]


def test_what_is_applied_stands_in_the_catalog_and_a_second_import_has_nothing_to_do(
    steward: Any, catalog: Any, orders: Any, named: Any
) -> None:
    lines = entries(orders, table="Orders.", total="Sum\r\n=1", city="")
    applied = steward.apply(steward.changeset(lines, clear_empty=True).to_apply())
    assert (len(applied.done), applied.failed, applied.untried) == (3, (), ())
    entity = catalog.entity(named("orders"))
    assert entity.edited_description == "Orders."
    assert entity.schema.column("total").edited == "Sum\r\n=1"
    assert entity.schema.column("city").description == "A city."
    assert entity.schema.column("note").edited == "!"
    assert steward.changeset(lines, clear_empty=True).to_apply() == ()


def test_a_forced_conflict_still_never_overwrites_what_nobody_saw(
    steward: Any, catalog: Any, orders: Any, named: Any
) -> None:
    catalog.describe(named("orders"), "theirs", column="city")
    changeset = steward.changeset(entries(orders, city="mine"))
    catalog.describe(named("orders"), "unseen", column="city")
    applied = steward.apply(changeset.to_apply(force_conflicts=True))
    assert applied.done == ()
    assert [failure.change.column for failure in applied.failed] == ["city"]
    assert catalog.entity(named("orders")).schema.column("city").edited == "unseen"


def test_one_refusal_stops_nothing(steward: Any, catalog: Any, orders: Any, named: Any) -> None:
    changeset = steward.changeset(entries(orders, id="a", total="b", city="c"))
    catalog.describe(named("orders"), "in between", column="total")
    seen = []
    applied = steward.apply(changeset.to_apply(), progress=lambda *at: seen.append(at))
    assert [change.column for change, _ in applied.done] == ["id", "city"]
    assert [failure.change.column for failure in applied.failed] == ["total"]
    assert seen[-1] == (3, 3)


class Dying:
    """Carries requests until some texts have been written, then never again."""

    def __init__(self, inner: Any, edits: Any) -> None:
        self._inner, self.edits_left = inner, edits

    async def send(self, request: Any) -> Any:
        if "updateDescription" in str(request.body) or "updateDataset" in str(request.body):
            if not self.edits_left:
                raise Unreachable("the server is gone")
            self.edits_left -= 1
        return await self._inner.send(request)

    async def close(self) -> None:
        await self._inner.close()


def test_what_a_server_that_dies_halfway_did_not_get_is_what_a_second_import_finds(
    steward: Any, catalog: Any, named: Any
) -> None:
    rows = steward.documentation()
    lines = [Entry(str(at), replace(row, edited=f"text {at}")) for at, row in enumerate(rows)]
    with Catalog(transport=Dying(HttpTransport(catalog.address, 10.0), 5)) as dying:
        through = Stewardship(dying)
        applied = through.apply(through.changeset(lines).to_apply())
    assert isinstance(applied.ended_by, Unreachable)
    assert len(applied.done) == 5
    assert len(applied.done) + len(applied.failed) + len(applied.untried) == len(rows)
    again = steward.changeset(lines)
    assert len(again.of("unchanged")) == 5
    assert len(steward.apply(again.to_apply()).done) == len(rows) - 5
    assert steward.changeset(lines).to_apply() == ()


def test_datasets_are_named_searched_or_those_below_a_folder(steward: Any, named: Any) -> None:
    assert steward.datasets([named("side"), named("raw"), named("side")]) == tuple(
        row for row in steward.datasets([named("side"), named("raw")])
    )
    assert {urn.name for urn in steward.datasets(folder="/in")} == {"raw"}
    assert {urn.name for urn in steward.datasets(filter="owners:urn:li:corpuser:bob")} == {"orders"}
    assert {urn.name for urn in steward.datasets(text="mart")} >= {"mart"}
    assert len(steward.datasets()) == 5
    with pytest.raises(InvalidInput, match="not a dataset"):
        steward.datasets(["urn:li:tag:x"])
    with pytest.raises(InvalidInput, match="not several"):
        steward.datasets([named("raw")], folder="/")


def staged(path: Path, *edits: StagedEdit) -> StagedChangeset:
    changeset = StagedChangeset.create(
        path / "orders.changes.jsonl", edits, title="Orders", server="", proposed_by="nina"
    )
    for item in changeset.items:
        changeset.decide(item.number, "accepted", "omar")
    return changeset


def text_of(name: str, column: str | None, text: str, before: str = "") -> StagedEdit:
    return StagedEdit(name, "a table", column, before=before, text=text)


def texts(catalog: Catalog, urn: str) -> dict[str, str]:
    return {column.path.raw: column.edited or "" for column in catalog.entity(urn).schema}


def test_an_edit_from_before_the_type_of_its_column_changed_is_written_to_the_column(
    steward: Stewardship, catalog: Catalog, named: Any, tmp_path: Path
) -> None:
    urn, typed = named("orders"), "[version=2.0].[type=string].city"
    changeset = staged(tmp_path, text_of(urn, "city", "Where it goes.", "Where it went."))
    catalog.put(urn, "schemaMetadata", columns(total="", **{typed: "A city."}))
    catalog.keep_journal(tmp_path / "journal.jsonl")
    assert steward.apply_staged(changeset) == StagedOutcome(1)
    assert texts(catalog, urn) == {"total": "", typed: "Where it goes."}
    journal = [(one.what, one.proposed_by, one.approved_by) for one in catalog.journal()]
    assert journal == [("path", "nina", "omar"), ("description", "nina", "omar")]
    catalog.undo_save()
    assert texts(catalog, urn) == {"total": "", typed: "Where it went."}
    again = StagedChangeset.open(changeset.path)
    assert catalog.wait(reopen_undone(catalog.core, again)) == 1


def test_what_is_written_counts_as_applied_though_the_file_cannot_take_it(
    steward: Stewardship, catalog: Catalog, named: Any, tmp_path: Path
) -> None:
    urn = named("orders")
    held = texts(catalog, urn)
    paths = list(held)[:2]
    changeset = staged(tmp_path, *(text_of(urn, path, "New.", held[path]) for path in paths))
    catalog.keep_journal(tmp_path / "journal.jsonl")

    def full(self: StagedChangeset, lines: bytes, *, is_synced: bool) -> None:
        raise StorageFault("the disk is full")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StagedChangeset, "_append_lines", full)
        outcome = steward.apply_staged(changeset)
        assert (outcome.applied, outcome.failed, outcome.untried) == (1, 0, 1)
        assert "1 of 2 edits are written, but the changeset cannot note it: the disk is full" in (
            str(outcome.ended_by)
        )
        assert changeset.counts() == {"accepted": 1, "applied": 1}
    assert texts(catalog, urn) == {**held, paths[0]: "New."}
    again = StagedChangeset.open(changeset.path)
    assert steward.apply_staged(again) == StagedOutcome(applied=2, present=1)
    assert [one.column for one in catalog.journal()] == paths
    assert len(catalog.undo_save()) == 2


def test_accepted_edits_of_every_kind_are_written_and_no_others(
    steward: Stewardship, catalog: Catalog, named: Any, tmp_path: Path
) -> None:
    raw, side = named("raw"), named("side")
    catalog.create("urn:li:tag:PII", "tagProperties", {"name": "PII"})
    term = "urn:li:glossaryTerm:Raw"
    catalog.create(term, "glossaryTermInfo", {"definition": "", "termSource": "INTERNAL"})
    catalog.create("urn:li:corpuser:ann", "corpUserInfo", {"active": True})
    label = partial(StagedEdit, raw, "raw")
    changeset = staged(
        tmp_path,
        text_of(raw, "id", "The key."),
        text_of(raw, None, "As it came."),
        label("body", "tags", add=("urn:li:tag:PII",)),
        label(None, "terms", add=(term,)),
        label(None, "owners", add=("urn:li:corpuser:ann DATA_STEWARD",)),
        label(None, "domain", add=("urn:li:domain:sales",)),
        text_of(side, "a", "Refused."),
        text_of(side, "b", "Not decided."),
    )
    changeset.decide(7, "refused", "omar")
    changeset.decide(8, "open", "omar")

    outcome = steward.apply_staged(changeset)

    assert outcome == StagedOutcome(applied=6)
    assert changeset.counts() == {"open": 1, "refused": 1, "applied": 6}
    entity = catalog.entity(raw)
    assert (texts(catalog, raw)["id"], entity.edited_description) == ("The key.", "As it came.")
    body = entity.schema.column("body")
    assert body is not None
    assert [str(tag) for tag in body.tags] == ["urn:li:tag:PII"]
    assert [str(one) for one in entity.terms] == [term]
    assert [str(one.owner) for one in entity.owners] == ["urn:li:corpuser:ann"]
    assert [str(one) for one in entity.domains] == ["urn:li:domain:sales"]
    assert set(texts(catalog, side).values()) == {""}


def test_somebody_elses_text_is_shown_and_replaced_only_when_it_was_seen(
    steward: Stewardship, catalog: Catalog, named: Any, tmp_path: Path
) -> None:
    raw = named("raw")
    changeset = staged(tmp_path, text_of(raw, "id", "Mine."), text_of(raw, "body", "Body."))
    catalog.describe(raw, "Theirs.", column="id")

    assert steward.apply_staged(changeset) == StagedOutcome(applied=1, failed=1)

    (failed,) = changeset.of("failed")
    assert (failed.theirs, texts(catalog, raw)) == ("Theirs.", {"id": "Theirs.", "body": "Body."})
    # Nothing is tried again by itself.
    assert steward.apply_staged(changeset) == StagedOutcome()
    changeset.decide(failed.number, "accepted", "omar", before="Theirs.")
    assert steward.apply_staged(changeset) == StagedOutcome(applied=1)
    assert texts(catalog, raw)["id"] == "Mine."


def test_what_is_written_already_counts_as_applied(
    steward: Stewardship, catalog: Catalog, named: Any, tmp_path: Path
) -> None:
    raw = named("raw")
    tagged = StagedEdit(raw, "raw", "id", "tags", add=("urn:li:tag:PII",))
    edits = [text_of(raw, "id", "The same."), text_of(raw, "body", "New."), tagged]
    changeset = staged(tmp_path, *edits)
    catalog.create("urn:li:tag:PII", "tagProperties", {"name": "PII"})
    catalog.add_tags(raw, ["urn:li:tag:PII"], column="id")
    catalog.describe(raw, "The same.", column="id")
    assert steward.apply_staged(changeset) == StagedOutcome(applied=3, present=2)


def test_edits_are_written_whatever_a_file_says_of_who_decided(
    steward: Stewardship, catalog: Catalog, named: Any, tmp_path: Path
) -> None:
    raw = named("raw")
    changeset = staged(tmp_path, text_of(raw, "id", "New."))
    changeset.decide(changeset.items[0].number, "accepted", "urn:li:two\nlines " * 100)
    assert steward.apply_staged(changeset) == StagedOutcome(applied=1)
    assert texts(catalog, raw)["id"] == "New."


def test_what_an_interrupted_apply_stored_is_in_the_journal(
    sample: Catalog, tmp_path: Path
) -> None:
    tables = [f"urn:li:dataset:(urn:li:dataPlatform:hive,cut{at},PROD)" for at in range(40)]
    for urn in tables:
        sample.create(urn, "datasetProperties", {"description": "Ingested."})
    changeset = staged(tmp_path, *(text_of(urn, None, "Edited.") for urn in tables))
    journal = tmp_path / "journal.jsonl"

    def interrupt(done: int, _total: int) -> None:
        # As ctrl+c does; other edits are under way then.
        if done % 10 == 5:
            os.kill(os.getpid(), signal.SIGINT)

    for _ in range(4):
        with suppress(KeyboardInterrupt), Catalog(sample.address) as client:
            client.journal_in(journal)
            Stewardship(client).apply_staged(changeset, progress=interrupt)
        changeset = StagedChangeset.open(changeset.path)
    stored = {urn for urn in tables if sample.entity(urn).edited_description}
    assert stored == {str(entry.edit.urn) for entry in Journal(journal)}
    assert len(stored) > 5


def test_an_apply_that_is_cut_off_goes_on_later_and_is_one_save(
    catalog: Catalog, named: Any, tmp_path: Path
) -> None:
    raw, side = named("raw"), named("side")
    edits = [text_of(urn, column, "New.") for urn in (raw, side) for column in texts(catalog, urn)]
    changeset = staged(tmp_path, *edits)
    transport = Dying(HttpTransport(catalog.address, 10.0), 2)
    with Catalog(transport=transport) as client:
        client.journal_in(tmp_path / "journal.jsonl")
        outcome = Stewardship(client).apply_staged(changeset)
        assert isinstance(outcome.ended_by, Unreachable)
        assert 0 < outcome.untried == len(changeset.of("accepted")) < 4

        transport.edits_left = 100
        changeset = StagedChangeset.open(changeset.path)
        assert Stewardship(client).apply_staged(changeset).ended_by is None
        assert changeset.counts() == {"applied": 4}
        written = list(Journal(tmp_path / "journal.jsonl"))
        assert {entry.save for entry in written} == {changeset.id}
        assert {(entry.proposed_by, entry.approved_by) for entry in written} == {("nina", "omar")}
        name = f"changeset {changeset.id}, proposed by nina, approved by omar"
        assert name in {run.run_id for run in client.runs()}
        client.undo_save()
    assert {text for urn in (raw, side) for text in texts(catalog, urn).values()} == {""}


def test_what_is_accepted_after_an_apply_is_a_save_of_its_own_even_if_it_is_cut_off(
    catalog: Catalog, named: Any, tmp_path: Path
) -> None:
    raw, side = named("raw"), named("side")
    edits = [text_of(urn, column, "New.") for urn in (raw, side) for column in texts(catalog, urn)]
    changeset = StagedChangeset.create(
        tmp_path / "texts.changes.jsonl", edits, title="Texts", server="", proposed_by="nina"
    )
    first, *others = [item.number for item in changeset.items]
    transport = Dying(HttpTransport(catalog.address, 10.0), 100)
    with Catalog(transport=transport) as client:
        client.journal_in(tmp_path / "journal.jsonl")
        steward = Stewardship(client)
        changeset.decide(first, "accepted", "omar")
        assert steward.apply_staged(changeset) == StagedOutcome(applied=1)
        for number in others:
            changeset.decide(number, "accepted", "omar")
        transport.edits_left = 2
        assert isinstance(steward.apply_staged(changeset).ended_by, Unreachable)
        transport.edits_left = 100
        changeset = StagedChangeset.open(changeset.path)
        assert steward.apply_staged(changeset).ended_by is None
        saves = [entry.save for entry in Journal(tmp_path / "journal.jsonl")]
        assert saves[0] == changeset.id
        assert len(saves) == len(edits)
        assert len(set(saves[1:])) == 1
        # The list of edits shows the beginnings of ids.
        assert saves[1][:8] != changeset.id[:8]
        name = f"changeset {changeset.id}, proposed by nina, approved by omar"
        assert name in {run.run_id for run in client.runs()}

        client.undo_save()
        stored = [text for urn in (raw, side) for text in texts(catalog, urn).values()]
        assert Counter(stored) == {"New.": 1, "": len(others)}
        client.undo_save()
    assert {text for urn in (raw, side) for text in texts(catalog, urn).values()} == {""}


def test_what_was_undone_can_be_decided_and_applied_again(
    catalog: Catalog, named: Any, tmp_path: Path
) -> None:
    raw = named("raw")
    edits = [text_of(raw, column, "New.") for column in texts(catalog, raw)]
    changeset = staged(tmp_path, *edits)

    def reopened(steward: Stewardship, changeset: StagedChangeset) -> int:
        return steward.wait(reopen_undone(steward.core.catalog, changeset))

    with Catalog(catalog.address) as client:
        client.journal_in(tmp_path / "journal.jsonl")
        steward = Stewardship(client)
        assert steward.apply_staged(changeset) == StagedOutcome(applied=2)
        assert reopened(steward, changeset) == 0

        client.undo_save()
        client.redo()
        assert reopened(steward, changeset) == 0, "what was redone is applied"
        client.undo_save()
        assert reopened(steward, changeset) == 2
        assert [item.decided_by for item in changeset.of("open")] == ["", ""]
        changeset = StagedChangeset.open(changeset.path)
        assert changeset.counts() == {"open": 2}
        assert reopened(steward, changeset) == 0

        first, second = (item.number for item in changeset.items)
        changeset.decide(first, "accepted", "omar", text="Newer.")
        changeset.decide(second, "refused", "omar")
        assert steward.apply_staged(changeset) == StagedOutcome(applied=1)
        assert reopened(steward, changeset) == 0
        assert changeset.counts() == {"refused": 1, "applied": 1}
        client.undo_save()
        assert reopened(steward, changeset) == 1
        # Somebody writes the same text elsewhere: the edit is in the catalog, and nothing of this
        # changeset is there to be undone.
        catalog.describe(raw, "Newer.", column=edits[0].column)
        changeset.decide(first, "accepted", "omar")
        assert steward.apply_staged(changeset) == StagedOutcome(applied=1, present=1)
        assert reopened(steward, changeset) == 0
        assert changeset.item(first).state == "applied"


def test_a_file_becomes_a_staged_changeset(
    steward: Stewardship, catalog: Catalog, orders: Any, tmp_path: Path
) -> None:
    lines = entries(orders, table="Orders.", city="Elsewhere.", note="")
    catalog.describe(orders[0].urn, "Somebody's.")
    edits = stage_changes(steward.changeset(lines).changes)
    assert [(edit.column, edit.before, edit.text) for edit in edits] == [
        (None, "", "Orders."),
        ("city", "Where it went.", "Elsewhere."),
    ]
    changeset = staged(tmp_path, *edits)
    assert steward.apply_staged(changeset) == StagedOutcome(applied=1, failed=1)
    assert changeset.of("failed")[0].theirs == "Somebody's."


def test_edits_that_open_the_journal_at_once_are_all_written_down(
    catalog: Catalog, named: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SlowJournal(Journal):
        """A journal on a disk that takes its time."""

        def __init__(self, path: Path) -> None:
            time.sleep(0.3)
            super().__init__(path)

    monkeypatch.setattr("explorer.client.edits.Journal", SlowJournal)
    path = tmp_path / "journal.jsonl"
    tables = [named("raw"), named("side")]
    with Catalog(catalog.address) as client, ThreadPoolExecutor(2) as pool:
        client.journal_in(path)
        assert all(edit.changed for edit in pool.map(client.describe, tables, ("One.", "Two.")))
    assert sorted(entry.urn for entry in Journal(path)) == sorted(tables)
