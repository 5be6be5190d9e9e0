"""Saves of the journal in words, as rows and as differences."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from explorer.client.connection import KnownCatalog
from explorer.client.journal import Journal, one_save, undone_in
from explorer.client.records import Edit, What
from explorer.metadata.urn import Urn
from explorer.views.journal import (
    journal_page,
    journal_table,
    save_diff,
    save_records,
    save_sentence,
    value_words,
)
from explorer.views.table import to_objects

ORDERS, ITEMS = Urn.dataset("hive", "orders"), Urn.dataset("hive", "items")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def edit(
    after: Any,
    before: Any = None,
    what: What = "description",
    column: str | None = None,
    urn: Urn = ORDERS,
) -> Edit:
    return Edit(urn, what, before, after, AT, column)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.jsonl")


def test_a_save_says_what_it_edited_and_what_became_of_it(journal: Journal) -> None:
    first = journal.append(
        edit("One row an order.", "Old.", column="amount"), KnownCatalog("http://here")
    )
    with one_save(proposed_by="urn:li:corpuser:ben", approved_by="urn:li:corpuser:nina"):
        kept = journal.append(edit("Items."), KnownCatalog("http://here"))
        journal.append(edit("Items.", urn=ITEMS), KnownCatalog("http://here"))
        journal.append(edit(("urn:li:tag:PII",), (), "tags"), KnownCatalog("http://here"))
    with one_save(undoes=[first.id]):
        undo = journal.append(
            edit("Old.", "One row an order.", column="amount"), KnownCatalog("http://here")
        )
    with one_save(undoes=[undo.id]):
        journal.append(
            edit("One row an order.", "Old.", column="amount"), KnownCatalog("http://here")
        )
    with one_save(undoes=[kept.id]):
        journal.append(edit(None, "Items."), KnownCatalog("http://here"))
    records = save_records(list(journal))
    states = [one.state for one in records]
    assert states == ["undo", "redo", "undone", "partly undone", ""]
    sentences = [save_sentence(one) for one in records]
    assert sentences[3:] == [
        "2 descriptions, tags of 2 entities",
        "description of amount in orders",
    ]
    table = journal_page(records, str)
    assert [column.title for column in table.columns] == [
        *("when", "what", "change", "state", "approved by")
    ]
    assert table.rows[4][2] == "“One row an order.”"
    assert (table.rows[3][2], table.rows[3][4]) == ("orders, items, orders", "nina")


def test_the_difference_of_a_save_shows_texts_and_only_the_labels_that_changed(
    journal: Journal,
) -> None:
    tags = ("urn:li:tag:Kept", "urn:li:tag:Gone"), ("urn:li:tag:Kept", "urn:li:tag:New")
    with one_save(approved_by="urn:li:corpuser:nina"):
        journal.append(edit("New.", "Old."), KnownCatalog("http://here"))
        journal.append(edit(tags[1], tags[0], "tags"), KnownCatalog("http://here"))
        journal.append(
            edit({"note": "Use items."}, None, "deprecation"), KnownCatalog("http://here")
        )
    (record,) = save_records(list(journal))
    assert [(one.mark, one.text) for one in save_diff(record)] == [
        ("", "approved by nina"),
        ("", "description of orders"),
        ("-", "Old."),
        ("+", "New."),
        ("", "tags of orders"),
        ("-", "Gone"),
        ("+", "New"),
        ("", "deprecation of orders"),
        ("-", "not deprecated"),
        ("+", "deprecated “Use items.”"),
    ]


@pytest.mark.parametrize("kind", ["DATAOWNER", "urn:li:ownershipType:__system__dataowner"])
def test_owners_are_said_with_their_kind_in_words(kind: str) -> None:
    assert value_words("owners", (f"urn:li:corpuser:ann {kind}",)) == "ann (data owner)"


def test_the_local_catalog_is_called_this_machine_and_several_are_told_apart(
    journal: Journal,
) -> None:
    def servers() -> list[Any]:
        table = journal_page(save_records(list(journal)), str)
        return [row[-1] for row in table.rows if table.columns[-1].title == "server"]

    journal.append(
        edit("One.", "", column="amount"),
        KnownCatalog("unix:/home/ann/.local/catalog/service.sock"),
    )
    assert servers() == []
    journal.append(edit("Two.", "", column="amount"), KnownCatalog("http://here"))
    assert servers() == ["http://here", "this machine"]
    journal.append(
        edit("Three.", "", column="amount"), KnownCatalog("unix:/srv/trial/service.sock")
    )
    assert servers() == ["/srv/trial", "http://here", "/home/ann/.local/catalog"]


def test_programs_get_every_edit_with_what_stood_there(journal: Journal) -> None:
    with one_save("one", proposed_by="urn:li:corpuser:ben"):
        journal.append(edit("New.", "Old.", column="amount"), KnownCatalog("http://here"))
    entries = list(journal)
    (row,) = to_objects(journal_table(entries, undone_in(entries)))
    assert row == {
        "id": entries[0].id,
        "at": AT.isoformat(),
        "server": "http://here",
        "urn": str(ORDERS),
        "column": "amount",
        "what": "description",
        "before": "Old.",
        "after": "New.",
        "undone": False,
        "undoes": None,
        "save": "one",
        "proposed_by": "urn:li:corpuser:ben",
        "approved_by": None,
    }
