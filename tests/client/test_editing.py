"""What people write arrives as they wrote it, and overwrites nobody's unawares."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from explorer.client.catalog import AsyncCatalog, Catalog
from explorer.client.editable import TextConflict
from explorer.client.edits import plan_edits
from explorer.client.journal import Journal, one_save, saves_of
from explorer.errors import Forbidden, InvalidInput, NotFound, StorageFault
from explorer.metadata import Proposal, Urn
from tests.conftest import schema_of, serving_catalog

TABLE = Urn.dataset("hive", "editing.orders")
NOWHERE = Urn.dataset("hive", "editing.nowhere")
PLAIN, NESTED = "plain.with.dots", "[version=2.0].[type=struct].[type=string].a,(b)/c~d%2F"
HOSTILE = '"""}) { evil } $x `code` \\n\r\n\t<b> ${y} 🦊 \u202e\x00\x1b[31m {"a": \'1\'}'
TAGS = ("urn:li:tag:PII", "urn:li:tag:Legacy")
TERMS = ("urn:li:glossaryTerm:Order", "urn:li:glossaryTerm:Sales.Order")
ABOVE_LABELS = {"tags": "globalTags", "terms": "glossaryTerms", "owners": "ownership"}


def column(path: Any) -> Any:
    return {
        "fieldPath": path,
        "nativeDataType": "string",
        "type": {"type": {"com.linkedin.schema.StringType": {}}},
    }


@pytest.fixture
def table(client: Any) -> Iterator[Any]:
    client.put(
        TABLE,
        "schemaMetadata",
        schema_of([column(PLAIN), column(NESTED)]),
    )
    for tag in TAGS:
        client.put(tag, "tagProperties", {"name": Urn.parse(tag).name})
    for term in TERMS:
        client.put(term, "glossaryTermInfo", {"definition": "d", "termSource": "INTERNAL"})
    client.put("urn:li:corpuser:jdoe", "corpUserInfo", {"active": True})
    client.put(
        "urn:li:corpGroup:sales", "corpGroupInfo", {"admins": [], "members": [], "groups": []}
    )
    client.put("urn:li:domain:shop", "domainProperties", {"name": "Shop"})
    yield TABLE
    client.delete(TABLE)


def edited(client: Any, aspect: Any, urn: Any = TABLE) -> Any:
    return client.entity(urn, [aspect]).raw(aspect) or {}


def info(client: Any, path: Any) -> Any:
    infos = edited(client, "editableSchemaMetadata").get("editableSchemaFieldInfo", ())
    return next((one for one in infos if one["fieldPath"] == path), {})


def test_edits_that_are_only_planned_say_what_they_would_change_and_write_nothing(
    client: Any, table: Any
) -> None:
    with plan_edits():
        edits = [
            client.add_tags(TABLE, TAGS[0]),
            client.add_tags(TABLE, TAGS[1]),
            client.remove_tags(TABLE, TAGS[0]),
            client.describe(TABLE, "Orders.", column=PLAIN),
            client.add_link(TABLE, "https://wiki", "Wiki"),
            client.deprecate(TABLE, "Unused."),
        ]
        with pytest.raises(NotFound):
            client.remove_link(TABLE, "https://nowhere")
    assert [edit.after for edit in edits[:5]] == [
        *((TAGS[0],), TAGS, (TAGS[1],), "Orders.", ("https://wiki Wiki",))
    ]
    assert edits[2].before == TAGS
    assert edits[5].after["note"] == "Unused."
    for aspect in ("globalTags", "editableSchemaMetadata", "institutionalMemory", "deprecation"):
        assert not edited(client, aspect)
    assert client.add_tags(TABLE, TAGS[0]).before == ()


# Columns whose type or case changed.

LONG, WAS = "[version=2.0].[type=long].id", "[version=2.0].[type=int].id"


@pytest.fixture
def retyped(client: Any, table: Any, tmp_path: Path) -> Any:
    """A table whose columns were written about before their type and case changed."""
    client.put(TABLE, "schemaMetadata", schema_of([column(WAS), column("NOTE"), column(PLAIN)]))
    client.describe(TABLE, "The key.", column=WAS)
    client.add_tags(TABLE, TAGS[0], column=WAS)
    client.describe(TABLE, "A remark.", column="NOTE")
    client.put(TABLE, "schemaMetadata", schema_of([column(LONG), column("note"), column(PLAIN)]))
    client.keep_journal(tmp_path / "journal.jsonl")
    return TABLE


def shown(client: Any) -> Any:
    """What is shown of each column: its text, its tags, and the path that they were written for."""
    return {
        one.path.simple: (one.edited or "", [*map(str, one.tags)], one.earlier and one.earlier.raw)
        for one in client.entity(TABLE).schema
        if one.path.raw != PLAIN
    }


BEFORE = {"id": ("The key.", [TAGS[0]], WAS), "note": ("A remark.", [], "NOTE")}
AFTER = {"id": ("The key.", [TAGS[0]], None), "note": ("A remark.", [], None)}


def test_what_was_written_of_a_column_is_shown_after_its_type_or_case_changed(
    client: Any, retyped: Any
) -> None:
    assert shown(client) == BEFORE
    assert client.entity(TABLE).schema.orphans == ()
    client.put(
        TABLE,
        "schemaMetadata",
        schema_of([column(LONG), column("note"), column("Note")]),
    )
    assert [one.field_path for one in client.entity(TABLE).schema.orphans] == ["NOTE"]
    assert shown(client)["note"] == ("", [], None)


def test_what_was_written_of_earlier_columns_is_moved_undone_and_redone(
    client: Any, retyped: Any
) -> None:
    moved = client.carry_over(retyped)
    assert sorted(edit.column for edit in moved) == [LONG, "note"]
    assert shown(client) == AFTER
    assert client.entity(TABLE).schema.orphans == ()
    assert client.carry_over(retyped) == ()
    client.undo_save()
    assert shown(client) == BEFORE
    client.redo()
    assert shown(client) == AFTER
    for edit in moved:
        client.undo(edit)
    assert shown(client) == BEFORE


def test_a_planned_edit_starts_from_what_was_written_before_the_type_changed(
    client: Any, retyped: Any
) -> None:
    with plan_edits():
        edit = client.add_tags(retyped, TAGS[1], column=LONG)
        text = client.describe(retyped, "Another key.", column=LONG, instead_of="The key.")
    assert (edit.before, edit.after) == ((TAGS[0],), TAGS)
    assert (text.before, text.after) == ("The key.", "Another key.")
    assert shown(client) == BEFORE


def test_one_column_is_moved_alone(client: Any, retyped: Any) -> None:
    (edit,) = client.carry_over(retyped, LONG)
    assert edit.before == {WAS: {"description": "The key.", "tags": (TAGS[0],)}}
    assert edit.after == {LONG: edit.before[WAS]}
    assert shown(client) == {"id": AFTER["id"], "note": BEFORE["note"]}


def test_a_new_text_replaces_the_one_for_the_earlier_type_with_its_undo(
    client: Any, retyped: Any
) -> None:
    with pytest.raises(TextConflict) as conflict:
        client.describe(retyped, "Another key.", column=LONG, instead_of="")
    assert conflict.value.theirs == "The key."
    assert shown(client) == BEFORE

    edit = client.describe(retyped, "Another key.", column=LONG, instead_of="The key.")
    assert (edit.before, edit.after) == ("The key.", "Another key.")
    assert shown(client)["id"] == ("Another key.", [TAGS[0]], None)
    assert not info(client, WAS).get("description")
    client.undo_save()
    assert shown(client) == BEFORE
    client.redo()
    assert shown(client)["id"] == ("Another key.", [TAGS[0]], None)


def test_labels_for_the_earlier_type_are_added_to_and_removed(client: Any, retyped: Any) -> None:
    edit = client.add_tags(retyped, TAGS[1], column=LONG, instead_of=TAGS[0])
    assert edit.before == (TAGS[0],)
    assert shown(client)["id"] == ("The key.", [*TAGS], None)
    client.undo_save()
    assert shown(client) == BEFORE
    client.remove_tags(retyped, TAGS[0], column=LONG)
    assert shown(client)["id"] == ("The key.", [], None)
    client.undo_save()
    assert shown(client) == BEFORE


def test_a_move_that_somebody_wrote_over_is_not_undone(client: Any, retyped: Any) -> None:
    (edit,) = client.carry_over(retyped, LONG)
    client.describe(retyped, "Theirs.", column=LONG)
    with pytest.raises(TextConflict):
        client.undo(edit)
    assert shown(client)["id"] == ("Theirs.", [TAGS[0]], None)


def test_an_edit_made_before_the_type_changed_is_undone_at_the_column(
    client: Any, table: Any, tmp_path: Path
) -> None:
    client.put(TABLE, "schemaMetadata", schema_of([column(WAS)]))
    client.keep_journal(tmp_path / "journal.jsonl")
    client.describe(TABLE, "The key.", column=WAS)
    client.describe(TABLE, "The first key.", column=WAS)
    client.put(TABLE, "schemaMetadata", schema_of([column(LONG)]))
    client.undo_save()
    assert shown(client) == {"id": ("The key.", [], None)}


def test_who_wrote_for_the_earlier_type_is_told_of_the_column(client: Any, retyped: Any) -> None:
    blamed = client.blame(retyped)
    assert {path: change.after for path, change in blamed.items()} == {
        LONG: "The key.",
        "note": "A remark.",
    }
    assert [one.after for one in client.column_history(retyped, LONG)] == ["The key."]


# Descriptions.


@pytest.mark.parametrize("path", [None, PLAIN, NESTED])
def test_a_description_arrives_byte_for_byte(client: Any, table: Any, path: Any) -> None:
    edit = client.describe(table, HOSTILE, column=path)
    held = edited(client, "editableDatasetProperties") if path is None else info(client, path)
    assert held["description"] == HOSTILE
    assert (edit.urn, edit.column, edit.before, edit.after) == (table, path, None, HOSTILE)
    again = client.describe(table, HOSTILE, column=path)
    assert not again.changed


MADE = {
    "chart": ("urn:li:chart:(looker,editing)", "chartInfo"),
    "dashboard": ("urn:li:dashboard:(looker,editing)", "dashboardInfo"),
    "dataFlow": ("urn:li:dataFlow:(airflow,editing,PROD)", "dataFlowInfo"),
    "dataJob": (
        "urn:li:dataJob:(urn:li:dataFlow:(airflow,editing,PROD),t)",
        "dataJobInfo",
    ),
    "container": ("urn:li:container:editing", "containerProperties"),
    "tag": ("urn:li:tag:editing", "tagProperties"),
    "domain": ("urn:li:domain:editing", "domainProperties"),
    "dataProduct": ("urn:li:dataProduct:editing", "dataProductProperties"),
    "glossaryTerm": ("urn:li:glossaryTerm:editing", None),
    "corpGroup": ("urn:li:corpGroup:editing", None),
}


@pytest.mark.parametrize("kind", MADE)
def test_every_kind_that_has_a_description_takes_one(client: Any, kind: Any) -> None:
    urn, aspect = MADE[kind]
    if aspect in ("tagProperties", "domainProperties", "containerProperties"):
        client.put(urn, aspect, {"name": "Kept"})
    else:
        client.put(urn, "status", {"removed": False})
    client.describe(urn, HOSTILE)
    entity = client.entity(urn)
    texts = [
        aspect.value.get(field)
        for aspect in entity.aspects.values()
        for field in ("description", "definition")
    ]
    assert texts.count(HOSTILE) == 1
    if aspect in ("tagProperties", "domainProperties", "containerProperties"):
        assert entity.raw(aspect)["name"] == "Kept"
    client.describe(urn, "second")
    assert client.describe(urn, "third").before == "second"
    client.delete(urn)


def test_what_has_no_description_is_said_with_what_has(client: Any) -> None:
    with pytest.raises(InvalidInput, match=r"of a corpuser cannot be edited.*glossaryTerm"):
        client.describe("urn:li:corpuser:jdoe", "x")
    with pytest.raises(InvalidInput, match="only a dataset has columns"):
        client.describe("urn:li:tag:x", "x", column="c")


def test_the_second_of_two_writers_sees_both_texts(client: Any, table: Any) -> None:
    client.describe(table, "first", instead_of="")
    client.describe(table, "theirs", instead_of="first")
    with pytest.raises(TextConflict) as caught:
        client.describe(table, "mine", instead_of="first")
    conflict = caught.value
    assert (conflict.base, conflict.theirs, conflict.mine) == ("first", "theirs", "mine")
    assert not client.describe(table, "theirs", instead_of="first").changed
    assert edited(client, "editableDatasetProperties")["description"] == "theirs"
    client.describe(table, "mine", instead_of="first", force=True)
    assert edited(client, "editableDatasetProperties")["description"] == "mine"


def test_two_who_wrote_the_same_are_no_conflict(client: Any, table: Any) -> None:
    client.describe(table, "same", column=NESTED)
    assert not client.describe(table, "same", column=NESTED, instead_of="").changed


def test_nothing_is_written_of_what_does_not_exist(client: Any, table: Any, tmp_path: Path) -> None:
    journal = client.keep_journal(tmp_path / "journal")
    attempts: list[Callable[[], Any]] = [
        lambda: client.describe(NOWHERE, "x"),
        lambda: client.describe(NOWHERE, "x", column=PLAIN),
        lambda: client.describe(table, "x", column="plain"),
        lambda: client.add_tags(NOWHERE, "PII"),
        lambda: client.add_tags(table, "PII", column="nowhere"),
        lambda: client.add_tags(table, "Nowhere"),
        lambda: client.add_link(NOWHERE, "https://x", "x"),
        lambda: client.remove_link(table, "https://x"),
        lambda: client.set_domain(NOWHERE, "shop"),
        lambda: client.deprecate(NOWHERE, "x"),
    ]
    for attempt in attempts:
        with pytest.raises((NotFound, InvalidInput)):
            attempt()
    assert not client.entity(NOWHERE).exists
    assert not edited(client, "editableSchemaMetadata")
    assert list(journal) == []


# Labels.


def test_a_tag_on_one_column_leaves_the_other_and_its_text(client: Any, table: Any) -> None:
    client.describe(table, "kept", column=PLAIN)
    client.add_tags(table, "PII", column=PLAIN)
    edit = client.add_tags(table, ["PII", "urn:li:tag:Legacy"], column=NESTED)
    assert (edit.what, edit.before, edit.after) == ("tags", (), TAGS)
    assert info(client, PLAIN)["description"] == "kept"
    assert info(client, PLAIN)["globalTags"] == {"tags": [{"tag": TAGS[0]}]}
    assert [one["tag"] for one in info(client, NESTED)["globalTags"]["tags"]] == list(TAGS)
    client.remove_tags(table, "PII", column=NESTED)
    assert [one["tag"] for one in info(client, NESTED)["globalTags"]["tags"]] == [TAGS[1]]
    assert info(client, PLAIN)["globalTags"]["tags"]


def test_labels_are_added_to_those_there_are(client: Any, table: Any) -> None:
    client.add_tags(table, "Legacy")
    assert client.add_tags(table, "PII").after == (TAGS[1], TAGS[0])
    assert not client.add_tags(table, "PII").changed
    assert client.remove_tags(table, ["Legacy", "absent"]).after == (TAGS[0],)
    client.add_terms(table, TERMS)
    client.add_terms(table, "Order", column=PLAIN)
    assert client.remove_terms(table, "Sales.Order").after == (TERMS[0],)
    entity = client.entity(table)
    assert [str(one) for one in (*entity.tags, *entity.terms)] == [TAGS[0], TERMS[0]]
    assert [one["urn"] for one in info(client, PLAIN)["glossaryTerms"]["terms"]] == [TERMS[0]]


def test_owners_come_and_go_by_their_kind(client: Any, table: Any) -> None:
    user, group = "urn:li:corpuser:jdoe", "urn:li:corpGroup:sales"
    client.add_owners(table, ["jdoe", group])
    edit = client.add_owners(table, "jdoe", ownership="DATA_STEWARD")
    assert edit.after == (
        f"{user} TECHNICAL_OWNER",
        f"{group} TECHNICAL_OWNER",
        f"{user} DATA_STEWARD",
    )
    assert client.remove_owners(table, "jdoe", ownership="TECHNICAL_OWNER").after == edit.after[1:]
    assert client.remove_owners(table, ["jdoe", group]).after == ()
    assert client.entity(table).owners == ()


def test_a_name_stands_for_one_kind_only(client: Any, table: Any) -> None:
    with pytest.raises(InvalidInput, match="is not a tag"):
        client.add_tags(table, "urn:li:glossaryTerm:Order")
    with pytest.raises(InvalidInput, match="give its id or its URN"):
        client.add_owners(table, " ")


def test_a_domain_takes_the_place_of_another(client: Any, table: Any) -> None:
    assert client.set_domain(table, "shop").after == ("urn:li:domain:shop",)
    assert [str(one) for one in client.entity(table).domains] == ["urn:li:domain:shop"]
    assert client.set_domain(table, None).before == ("urn:li:domain:shop",)
    assert client.entity(table).domains == ()


def test_a_deprecation_says_why_until_when_and_what_instead(client: Any, table: Any) -> None:
    client.deprecate(
        table, "old", decommission=datetime(2027, 1, 1, tzinfo=UTC), replacement=NOWHERE
    )
    held = edited(client, "deprecation")
    assert (held["deprecated"], held["note"]) == (True, "old")
    assert held["decommissionTime"] == 1798761600000
    assert held["replacement"] == str(NOWHERE)
    assert client.undeprecate(table).before["note"] == "old"
    assert client.entity(table).deprecation is None
    naive = datetime(2027, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    with pytest.raises(InvalidInput, match="time zone"):
        client.deprecate(table, "x", decommission=naive)


# Links.


def test_a_link_is_removed_and_not_one_whose_address_begins_so(client: Any, table: Any) -> None:
    stamp = {"time": 1, "actor": "urn:li:corpuser:ann"}
    elements = [
        {"url": url, "description": "how", "createStamp": stamp}
        for url in ("https://x.example/a", "https://x.example/a b")
    ]
    client.put(table, "institutionalMemory", {"elements": elements})
    edit = client.remove_link(table, "https://x.example/a")
    assert edit.after == ("https://x.example/a b how",)
    assert [link.url for link in client.links(table)] == ["https://x.example/a b"]


def test_links_are_added_one_by_one_and_removed_by_address_and_label(
    client: Any, table: Any
) -> None:
    client.add_link(table, "https://a", "A and more")
    edit = client.add_link(table, "https://b", "B")
    assert edit.after == ("https://a A and more", "https://b B")
    assert [(link.url, link.description) for link in client.links(table)] == [
        ("https://a", "A and more"),
        ("https://b", "B"),
    ]
    with pytest.raises(NotFound):
        client.remove_link(table, "https://a", "another label")
    assert client.remove_link(table, "https://a").after == ("https://b B",)
    with pytest.raises(InvalidInput, match="%20"):
        client.add_link(table, "https://a b", "x")


# What a writer saw.

JDOE = "urn:li:corpuser:jdoe TECHNICAL_OWNER"
SEEN: dict[str, tuple[Callable[..., Any], Callable[[Any], Any], tuple[Any, Any]]] = {
    "column": (
        lambda c, seen: c.describe(TABLE, "mine", column=NESTED, instead_of=seen),
        lambda c: c.describe(TABLE, "theirs", column=NESTED),
        ("", "theirs"),
    ),
    "table": (
        lambda c, seen: c.describe(TABLE, "mine", instead_of=seen),
        lambda c: c.describe(TABLE, "theirs"),
        ("", "theirs"),
    ),
    "tags": (
        lambda c, seen: c.add_tags(TABLE, "PII", instead_of=seen),
        lambda c: c.add_tags(TABLE, "Legacy"),
        ((), ["Legacy"]),
    ),
    "tags of a column": (
        lambda c, seen: c.add_tags(TABLE, "PII", column=NESTED, instead_of=seen),
        lambda c: c.add_tags(TABLE, "Legacy", column=NESTED),
        ((), ["Legacy"]),
    ),
    "terms": (
        lambda c, seen: c.add_terms(TABLE, TERMS[0], instead_of=seen),
        lambda c: c.add_terms(TABLE, TERMS[1]),
        ((), [TERMS[1]]),
    ),
    "owners": (
        lambda c, seen: c.add_owners(TABLE, "urn:li:corpGroup:sales", instead_of=seen),
        lambda c: c.add_owners(TABLE, "jdoe"),
        ((), [JDOE]),
    ),
    "owners taken": (
        lambda c, seen: c.remove_owners(TABLE, "jdoe", instead_of=seen),
        lambda c: c.add_owners(TABLE, "jdoe", ownership="DATA_STEWARD"),
        ((), ["urn:li:corpuser:jdoe DATA_STEWARD"]),
    ),
    "domain": (
        lambda c, seen: c.set_domain(TABLE, None, instead_of=seen),
        lambda c: c.set_domain(TABLE, "shop"),
        ((), "shop"),
    ),
    "deprecation": (
        lambda c, seen: c.deprecate(TABLE, "mine", instead_of=seen),
        lambda c: c.deprecate(TABLE, "theirs", replacement=NOWHERE),
        ({}, {"note": "theirs", "replacement": str(NOWHERE)}),
    ),
    "deprecation lifted": (
        lambda c, seen: c.undeprecate(TABLE, instead_of=seen),
        lambda c: c.deprecate(TABLE, "theirs"),
        ({"note": "read"}, {"note": "theirs"}),
    ),
    "links": (
        lambda c, seen: c.add_link(TABLE, "https://mine", "M", instead_of=seen),
        lambda c: c.add_link(TABLE, "https://theirs", "T"),
        ((), ["https://theirs T"]),
    ),
    "links taken": (
        lambda c, seen: c.remove_link(TABLE, "https://theirs", instead_of=seen),
        lambda c: c.add_link(TABLE, "https://theirs", "T"),
        ((), ["https://theirs T"]),
    ),
}


@pytest.mark.parametrize("what", SEEN)
def test_an_edit_is_made_only_over_what_its_writer_saw(client: Any, table: Any, what: Any) -> None:
    edit, others, (unseen, seen) = SEEN[what]
    others(client)
    before = client.entity(table).aspects
    with pytest.raises(TextConflict):
        edit(client, unseen)
    assert {name: one.value for name, one in client.entity(table).aspects.items()} == {
        name: one.value for name, one in before.items()
    }
    done = edit(client, seen)
    assert done.changed
    # Made again, as after an answer that got lost, it finds its work done.
    assert not edit(client, seen).changed


# Taking back.


def edits_of(client: Any, table: Any) -> Any:
    """One edit of every kind."""
    return [
        client.describe(table, "text"),
        client.describe(table, "text", column=NESTED),
        client.add_tags(table, TAGS, column=PLAIN),
        client.add_terms(table, "Order"),
        client.add_owners(table, "jdoe", ownership="DATA_STEWARD"),
        client.set_domain(table, "shop"),
        client.deprecate(table, "old"),
        client.add_link(table, "https://a", "A"),
    ]


def test_every_edit_in_the_journal_can_be_taken_back_and_back_again(
    client: Any, table: Any, tmp_path: Path
) -> None:
    journal = client.keep_journal(tmp_path / "journal")
    made = edits_of(client, table)
    client.describe(table, "text")
    client.add_tags(table, TAGS[0], column=PLAIN)
    entries = list(journal)
    assert [entry.edit for entry in entries] == made
    undone = [client.undo(entry) for entry in reversed(entries)]
    entity = client.entity(table)
    assert entity.edited_description == ""
    assert (entity.terms, entity.owners, entity.domains, entity.links) == ((), (), (), ())
    assert entity.deprecation is None
    assert not info(client, NESTED)["description"]
    assert not info(client, PLAIN)["globalTags"]["tags"]
    assert [entry.edit for entry in journal] == [*made, *undone]
    for edit in undone:
        client.undo(edit)
    assert client.entity(table).edited_description == "text"
    assert len(client.links(table)) == 1


def cut_short(self: Journal, edit: Any, server: str) -> None:
    raise StorageFault(f"the journal {self.path} is cut short; is the disk full?")


def test_an_edit_that_could_not_be_written_down_is_saved_and_said_not_to_be_undoable(
    client: Any, table: Any, tmp_path: Path
) -> None:
    journal = client.keep_journal(tmp_path / "journal")
    journal.path.unlink()
    journal.path.mkdir()
    with pytest.warns(UserWarning, match="it is saved, but cannot be undone: the journal"):
        assert client.describe(table, "text").changed
    with one_save():
        with pytest.warns(UserWarning, match="cannot be undone"):
            client.describe(table, "text", column=PLAIN)
        # Of one save it is said once: a second warning would be an error here.
        client.add_tags(table, TAGS[0])
    assert len(client.save_warnings) == 1
    assert client.entity(table).edited_description == "text"
    client.keep_journal(tmp_path / "another")
    client.describe(table, "recorded")
    assert client.save_warnings == ()


def test_an_undo_that_the_journal_cannot_note_as_made_ends(
    client: Any, table: Any, journal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.describe(table, "first")
    gone = client.new("tag", "unnoted").urn
    client.add_tags(table, gone)
    client.remove_tags(table, gone)
    client.delete(gone)
    monkeypatch.setattr(Journal, "append", cut_short)
    with (
        pytest.warns(UserWarning, match="the next undo begins with the same save"),
        pytest.raises(NotFound, match="cannot be put back"),
    ):
        client.undo_save()
    assert client.entity(table).edited_description == "first"


def test_what_another_wrote_since_is_not_taken_back(client: Any, table: Any) -> None:
    first = client.describe(table, "first")
    client.describe(table, "theirs")
    with pytest.raises(TextConflict) as caught:
        client.undo(first)
    assert (caught.value.base, caught.value.theirs, caught.value.mine) == ("first", "theirs", "")
    assert client.entity(table).edited_description == "theirs"
    tagged, deprecated = client.add_tags(table, "PII"), client.deprecate(table, "old")
    client.remove_tags(table, "PII")
    client.deprecate(table, "older")
    for edit in (tagged, deprecated):
        with pytest.raises(TextConflict):
            client.undo(edit)


def test_taking_back_a_label_leaves_those_of_others(client: Any, table: Any) -> None:
    mine = client.add_tags(table, "PII")
    client.add_tags(table, "Legacy")
    assert client.undo(mine).after == (TAGS[1],)


def test_an_edit_is_undone_on_its_catalog_wherever_that_is_and_on_no_other_at_its_address(
    tmp_path: Path,
) -> None:
    urn = Urn.dataset("hive", "moved.orders")
    for name in ("first", "second"):
        (tmp_path / name).mkdir()

    @contextmanager
    def at(name: str, port: int = 0) -> Iterator[Any]:
        with serving_catalog(tmp_path / name, port=port) as address, Catalog(address) as catalog:
            catalog.journal_in(tmp_path / "journal.jsonl")
            yield catalog

    with at("first") as first:
        first.ingest(Proposal(urn, "status", {"removed": False}))
        first.describe(urn, "Written in the first.")
        save, port = first.last_save(), int(first.address.rpartition(":")[2])
    with at("second", port) as second:
        second.ingest(Proposal(urn, "editableDatasetProperties", {"description": "Own."}))
        assert second.last_save(everyone=True) is None
        with pytest.raises(NotFound, match="at this address before is of another catalog"):
            second.undo_save()
        with pytest.raises(InvalidInput, match=f"another catalog, which was at {second.address}"):
            second.undo_save(save, force=True)
        assert second.entity(urn).edited_description == "Own."
    with at("first") as moved:
        assert moved.address != save.server
        assert moved.last_save() == save
        moved.undo_save()
        assert not moved.entity(urn).edited_description
        moved.redo()
        assert moved.entity(urn).edited_description == "Written in the first."


def test_an_edit_made_on_another_server_is_not_taken_back_here(
    client: Any, table: Any, tmp_path: Path
) -> None:
    client.describe(table, "before")
    journal = client.keep_journal(tmp_path / "journal")
    client.describe(table, "after")
    (entry,) = journal
    # An older version recorded no id.
    for catalog in ("", "another"):
        elsewhere = msgspec.structs.replace(
            entry, server="http://elsewhere.example:8080", catalog=catalog
        )
        with pytest.raises(InvalidInput) as caught:
            client.undo(elsewhere)
        assert "http://elsewhere.example:8080" in str(caught.value)
        assert client.address in str(caught.value)
    assert client.entity(table).edited_description == "after"
    client.undo(entry)
    assert client.entity(table).edited_description == "before"
    client.keep_journal(tmp_path / "another")


@pytest.fixture
def journal(client: Any, tmp_path: Path) -> Iterator[Any]:
    yield client.keep_journal(tmp_path / "journal")
    client.keep_journal(tmp_path / "another")


@pytest.fixture
def unmade(client: Any) -> Iterator[Any]:
    """The URNs of tags that nobody has created."""
    urns = tuple(f"urn:li:tag:undo-{number}" for number in range(2))
    yield urns
    for urn in urns:
        if client.exists(urn):
            client.delete(urn)


def tags_of(client: Any, urn: Any) -> Any:
    return [str(tag) for tag in client.entity(urn).tags]


def one_page_of_tags(client: Any, table: Any, tag: Any) -> None:
    """What a page of tags saves: one that is created, one put on, one taken off."""
    with one_save():
        assert client.create(tag, "tagProperties", {"name": "made"}).changed
        client.add_tags(table, [tag, TAGS[0]])
        client.remove_tags(table, TAGS[1])


def test_undo_takes_back_all_that_one_save_did_and_redo_does_it_again(
    client: Any, table: Any, journal: Any, unmade: Any
) -> None:
    tag = unmade[0]
    client.add_tags(table, TAGS[1])
    one_page_of_tags(client, table, tag)
    assert tags_of(client, table) == [tag, TAGS[0]]
    client.undo_save()
    assert tags_of(client, table) == [TAGS[1]]
    assert not client.exists(tag)
    client.redo()
    assert tags_of(client, table) == [tag, TAGS[0]]
    assert client.entity(tag).raw("tagProperties") == {"name": "made"}
    with pytest.raises(NotFound, match="something else was saved since"):
        client.redo()
    client.undo_save()
    client.undo_save()
    assert tags_of(client, table) == []
    assert not client.exists(tag)
    with pytest.raises(NotFound, match="no edit"):
        client.undo_save()


def test_a_tag_is_undone_after_its_uses_in_whatever_order_the_journal_has_them(
    client: Any, table: Any, tmp_path: Path, unmade: Any
) -> None:
    tag, path = unmade[0], tmp_path / "journal.jsonl"
    client.journal_in(path)
    client.add_tags(table, TAGS[1])
    one_page_of_tags(client, table, tag)
    before, made, *uses = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join((before, *uses, made)))
    client.journal_in(path)
    client.undo_save()
    assert tags_of(client, table) == [TAGS[1]]
    assert not client.exists(tag)
    client.redo()
    assert tags_of(client, table) == [tag, TAGS[0]]


def test_a_tag_that_others_use_or_changed_stays_when_its_creation_is_undone(
    client: Any, table: Any, journal: Any, unmade: Any
) -> None:
    used, described = unmade
    for tag in (used, described):
        one_page_of_tags(client, table, tag)
    first, second = saves_of(journal)
    other = Urn.dataset("hive", "undo.other")
    client.put(other, "globalTags", {"tags": [{"tag": used}]})
    client.put(described, "tagProperties", {"name": "made", "description": "by somebody"})
    client.undo_save(second)
    client.undo_save(first)
    assert tags_of(client, table) == []
    assert client.exists(used)
    assert client.exists(described)
    assert client.last_save() is None
    client.delete(other)


def test_a_save_of_what_was_deleted_for_good_is_told_and_passed_over(
    client: Any, table: Any, journal: Any
) -> None:
    client.describe(table, "mine")
    other, both = (Urn.dataset("hive", f"undo.{name}") for name in ("gone", "both"))
    for urn in (other, both):
        client.put(urn, "status", {"removed": False})
    with one_save():
        client.describe(both, "stays")
        client.describe(other, "goes")
    client.add_tags(other, TAGS[0])
    client.delete(other)
    with pytest.warns(UserWarning, match="past undoing.*undo.gone") as told:
        client.undo_save()
    assert len(told) == 2
    assert client.entity(both).edited_description == ""
    client.undo_save()
    assert client.entity(table).edited_description == ""
    assert client.last_save() is None
    client.delete(both)


@pytest.mark.parametrize("what", ["tags", "terms", "owners"])
def test_an_undo_puts_back_the_labels_that_exist_and_names_those_that_do_not(
    client: Any, table: Any, journal: Any, what: str
) -> None:
    kind = {"tags": "tag", "terms": "glossaryTerm", "owners": "corpuser"}[what]
    aspect, value = {
        "tags": ("tagProperties", {"name": "x"}),
        "terms": ("glossaryTermInfo", {"definition": "d", "termSource": "INTERNAL"}),
        "owners": ("corpUserInfo", {"active": True}),
    }[what]
    gone, stays, new = (f"urn:li:{kind}:undo-{name}" for name in ("gone", "stays", "new"))
    for urn in (gone, stays, new):
        client.put(urn, aspect, value)
    add, remove = getattr(client, f"add_{what}"), getattr(client, f"remove_{what}")
    add(table, [gone, stays])
    with one_save():
        remove(table, [gone, stays])
        add(table, new)
    client.delete(gone)
    with pytest.warns(UserWarning, match=f"no longer exists cannot be put back .{gone}"):
        client.undo_save()
    held = str(client.entity(table).raw(ABOVE_LABELS[what]))
    assert (gone in held, stays in held, new in held) == (False, True, False)
    client.redo()
    held = str(client.entity(table).raw(ABOVE_LABELS[what]))
    assert (stays in held, new in held) == (False, True)
    for urn in (stays, new):
        client.delete(urn)


@pytest.mark.parametrize("what", ["tag", "domain", "parent"])
def test_an_undo_that_can_put_nothing_back_is_told_and_passed_over(
    client: Any, table: Any, journal: Any, what: str
) -> None:
    client.describe(table, "mine")
    if what == "tag":
        gone = client.new("tag", "undo over").urn
        client.add_tags(table, gone)
        client.remove_tags(table, gone)
    elif what == "domain":
        gone = client.new("domain", "undo over").urn
        client.set_domain(table, gone)
        client.set_domain(table, "urn:li:domain:shop")
    else:
        gone = client.new("glossaryNode", "undo over").urn
        term = client.new("glossaryTerm", "undo moved", parent=gone).urn
        client.move(term, None)
    client.delete(gone)
    last = client.last_save()
    with pytest.raises(NotFound, match=f"no longer exists cannot be put back .{gone}"):
        client.undo_save(last)
    assert client.last_save().id != last.id
    if what == "domain":
        assert edited(client, "domains")["domains"] == ["urn:li:domain:shop"]
    if what == "parent":
        assert "parentNode" not in edited(client, "glossaryTermInfo", term)
        client.delete(term)


def test_a_redo_that_can_put_nothing_back_is_told_and_passed_over(
    client: Any, table: Any, journal: Any
) -> None:
    client.describe(table, "mine")
    above = client.new("domain", "redo above").urn
    made = client.new("dataProduct", "redo below", parent=above).urn
    client.undo_save()
    client.undo_save()
    client.undo_save()
    assert not client.exists(above)
    assert client.redo()[0].after == "mine"
    client.redo()
    client.delete(above)
    with (
        pytest.warns(UserWarning, match=f"past redoing: {made}: .*cannot be put back .{above}"),
        pytest.raises(NotFound, match="nothing was undone"),
    ):
        client.redo()
    assert not client.exists(made)


def test_a_deprecation_is_put_back_without_a_replacement_that_is_gone(
    client: Any, table: Any, journal: Any
) -> None:
    other = Urn.dataset("hive", "undo.replacement")
    client.put(other, "status", {"removed": False})
    client.deprecate(table, "Use the other.", replacement=other)
    client.undeprecate(table)
    client.delete(other)
    with pytest.warns(UserWarning, match="cannot be put back .*undo.replacement"):
        client.undo_save()
    held = edited(client, "deprecation")
    assert (held["note"], held.get("replacement")) == ("Use the other.", None)


def test_what_another_session_saved_is_undone_only_when_it_is_named(
    client: Any, table: Any, journal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.describe(table, "mine")
    with monkeypatch.context() as another:
        another.setattr("explorer.client.journal.SESSION", "catalog-tui 4711 0a", raising=False)
        client.describe(table, "theirs", column=PLAIN)
    client.undo_save()
    assert client.entity(table).edited_description == ""
    assert info(client, PLAIN)["description"] == "theirs"
    with pytest.raises(
        NotFound, match=r"by catalog-tui \(process 4711\): undo_save\(last_save\(everyone"
    ):
        client.undo_save()
    client.undo_save(client.last_save(everyone=True))
    assert not info(client, PLAIN)["description"]


def test_hiding_and_restoring_are_edits_that_are_undone(
    client: Any, table: Any, journal: Any
) -> None:
    client.soft_delete(table)
    assert [(one.what, one.before, one.after) for one in journal] == [("status", "shown", "hidden")]
    client.undo_save()
    assert not client.entity(table).removed
    client.redo()
    assert client.entity(table).removed
    client.restore(table)
    client.undo_save()
    assert client.entity(table).removed


def test_nothing_of_a_save_is_undone_where_a_part_was_changed_since(
    client: Any, table: Any, journal: Any
) -> None:
    with one_save():
        client.describe(table, "mine")
        client.describe(table, "mine", column=PLAIN)
        client.add_tags(table, TAGS[0])
    client.describe(table, "theirs")
    save = saves_of(journal)[0]
    with pytest.raises(TextConflict) as caught:
        client.undo_save(save)
    assert (caught.value.theirs, caught.value.mine) == ("theirs", "")
    assert info(client, PLAIN)["description"] == "mine"
    assert tags_of(client, table) == [TAGS[0]]
    client.undo_save(save, force=True)
    assert client.entity(table).edited_description == ""
    assert not info(client, PLAIN)["description"]
    assert tags_of(client, table) == []


def test_what_somebody_took_back_already_is_undone_by_writing_nothing(
    client: Any, table: Any, journal: Any
) -> None:
    client.describe(table, "mine")
    client.put(table, "editableDatasetProperties", {"description": ""})
    client.undo_save()
    assert client.last_save() is None
    assert client.last_undo() is not None


def test_an_editor_who_may_not_delete_hides_the_tag_that_is_undone(
    client: Any, table: Any, journal: Any, unmade: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any, **__: Any) -> None:
        raise Forbidden("not for editors")

    tag = unmade[0]
    one_page_of_tags(client, table, tag)
    monkeypatch.setattr(AsyncCatalog, "delete", refuse)
    client.undo_save()
    assert client.entity(tag).removed
    client.redo()
    assert not client.entity(tag).removed
    assert tags_of(client, table) == [tag, TAGS[0]]
    monkeypatch.undo()


def test_a_journal_that_is_only_named_is_opened_by_the_first_edit(
    client: Any, table: Any, tmp_path: Path
) -> None:
    client.journal_in(tmp_path / "later" / "journal")
    client.entity(table)
    assert not (tmp_path / "later").exists()
    client.describe(table, "text")
    assert client.last_save().edits[0][0].after == "text"
    (tmp_path / "file").write_text("")
    client.journal_in(tmp_path / "file" / "journal")
    with pytest.warns(UserWarning, match="it is saved, but cannot be undone"):
        client.describe(table, "other")
    assert client.entity(table).edited_description == "other"
