"""What changed since the last visit is read from the log of a real server, and told once."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.client import Catalog
from explorer.errors import InvalidInput
from explorer.metadata import Proposal, Urn
from explorer.metadata.fieldpath import column_urn
from explorer.metadata.registry import load_registry
from explorer.server.app import Service
from explorer.server.authentication import Gate, Keyring, create_token
from explorer.server.data_directory import open_catalog
from explorer.stewardship import ChangeFeed, Stewardship
from explorer.stewardship.feed import VisitFile, likely_columns
from explorer.views.feed import entries_with, entry_diff, entry_sentence, feed_remarks
from tests.conftest import schema_metadata, serving, serving_catalog

ANN = "urn:li:corpuser:ann"


def urn_of(name: str) -> Urn:
    return Urn.dataset("hive", f"feed.{name}")


def put_columns(client: Catalog, urn: Urn, columns: Mapping[str, tuple[str, str | None]]) -> None:
    """Ingest a table whose columns have these types and texts."""
    value = schema_metadata({path: text for path, (_, text) in columns.items()})
    for one in value["fields"]:
        one["nativeDataType"] = columns[one["fieldPath"]][0]
    client.ingest(Proposal(urn, "schemaMetadata", value))


def put_tags(client: Catalog, *names: str) -> None:
    for name in names:
        client.put(f"urn:li:tag:{name}", "tagProperties", {"name": name})


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test is a machine that was never used."""
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_catalog(tmp_path_factory.mktemp("catalog")) as found:
        yield found


@pytest.fixture
def client(address: str) -> Iterator[Catalog]:
    """A client over a socket, who has read everything up to now."""
    with Catalog(address) as found:
        steward = Stewardship(found)
        steward.mark_read(steward.feed())
        yield found


def told(feed: ChangeFeed) -> list[tuple[str, str | None]]:
    return [(one.kind, one.path) for one in feed.entries]


def test_a_changed_schema_is_told_as_what_it_does_to_written_texts(client: Catalog) -> None:
    urn, steward = urn_of("drift"), Stewardship(client)
    put_columns(
        client,
        urn,
        {
            "id": ("int", "The key."),
            "cust_id": ("int", None),
            "total": ("int", None),
            "note": ("text", "Old words."),
            "gone": ("text", None),
        },
    )
    for column, text in (("cust_id", "Who bought."), ("total", "In cents."), ("note", "A note.")):
        client.describe(urn, text, column=column)
    steward.mark_read(steward.feed())
    put_columns(
        client,
        urn,
        {
            "id": ("bigint", "The key."),
            "customer_id": ("int", None),
            "total": ("decimal(10,2)", None),
            "note": ("text", "New words."),
            "shipped": ("date", None),
        },
    )
    feed = steward.feed()
    (entity,) = feed.entities
    assert entity.urn == urn
    assert told(feed) == [
        ("orphaned text", "cust_id"),
        ("type", "total"),
        ("ingested text", "note"),
        ("column dropped", "gone"),
        ("type", "id"),
        ("column added", "customer_id"),
        ("column added", "shipped"),
    ]
    assert [one.needs_care for one in feed.entries] == [True] * 3 + [False] * 4
    orphaned = feed.entries[0]
    assert (orphaned.edited, orphaned.likely, orphaned.place) == (
        *("Who bought.", "customer_id", "customer_id"),
    )
    assert "likely renamed to customer_id" in entry_sentence(orphaned, {})
    lines = [one.text for one in entry_diff(orphaned, feed)]
    assert lines[0] == f"feed.drift · cust_id: {entry_sentence(orphaned, {})}"
    assert lines[2:4] == ["cust_id int", "customer_id"]
    assert lines[-1] == "Who bought."
    assert entry_sentence(feed.entries[1], {}) == (
        "type changed: int → decimal(10,2), below an edited text"
    )
    changed = feed.entries[2]
    assert (changed.before, changed.after, changed.edited) == (
        *("Old words.", "New words.", "A note."),
    )


def test_a_text_of_a_column_whose_type_changed_is_not_told_as_left_behind(client: Catalog) -> None:
    urn, steward = urn_of("retyped"), Stewardship(client)
    was, now = "[version=2.0].[type=int].id", "[version=2.0].[type=long].id"
    put_columns(client, urn, {was: ("int", None), "note": ("text", None)})
    client.describe(urn, "The key.", column=was)
    steward.mark_read(steward.feed())
    put_columns(client, urn, {now: ("long", None), "note": ("text", None)})
    assert told(steward.feed()) == [("column dropped", was), ("column added", now)]
    steward.mark_read(steward.feed())
    # Moving it there is no other text.
    client.carry_over(urn)
    assert told(steward.feed()) == []
    client.describe(urn, "The key of an order.", column=now)
    assert told(steward.feed()) == [("description", now)]


def test_what_is_marked_as_read_is_not_told_again_but_can_be_looked_up(client: Catalog) -> None:
    urn, steward = urn_of("once"), Stewardship(client)
    put_columns(client, urn, {"a": ("int", None)})
    first = steward.feed()
    assert [one.urn for one in first.entities] == [urn]
    # Reading alone marks nothing.
    assert steward.feed().entries == first.entries
    steward.mark_read(first)
    again = steward.feed()
    assert not again.entries
    assert again.since is not None
    steward.mark_read(again)
    assert steward.feed(earlier=True).entries == first.entries


def test_a_program_that_read_less_does_not_turn_back_what_is_read(client: Catalog) -> None:
    steward = Stewardship(client)
    put_columns(client, urn_of("two_programs"), {"a": ("int", None)})
    early = steward.feed()
    put_columns(client, urn_of("two_programs_b"), {"a": ("int", None)})
    steward.mark_read(steward.feed())
    steward.mark_read(early)
    assert not steward.feed().entries


@pytest.fixture
def people(tmp_path: Path) -> Iterator[tuple[Catalog, Catalog]]:
    """Two people on one server, each with a token: Nina, and Ann."""
    file = tmp_path / "tokens.json"
    tokens = [create_token(file, name, f"urn:li:corpuser:{name}")[0] for name in ("nina", "ann")]
    with (
        serving_catalog(tmp_path, Gate(Keyring(file))) as address,
        Catalog(address, token=tokens[0]) as nina,
        Catalog(address, token=tokens[1]) as ann,
    ):
        yield nina, ann


def test_own_edits_are_left_out_and_those_of_others_name_who_wrote(
    people: tuple[Catalog, Catalog],
) -> None:
    nina, ann = people
    urn, steward = urn_of("people"), Stewardship(nina)
    put_columns(nina, urn, {"a": ("int", None), "b": ("int", None), "c": ("int", None)})
    put_tags(nina, "mine", "theirs", "PII")
    steward.mark_read(steward.feed())
    nina.describe(urn, "Hers.", column="a")
    nina.add_tags(urn, "mine")
    ann.describe(urn, "A first try.", column="b")
    nina.add_tags(urn, "PII", column="b")
    nina.create("urn:li:tag:Newest", "tagProperties", {"name": "Newest"})
    ann.describe(urn, "Theirs.", column="b")
    ann.describe(urn, "All of it.")
    ann.add_tags(urn, "theirs")
    ann.describe(urn, "Taken back.", column="c")
    ann.describe(urn, "", column="c")
    # What one ingests oneself is told: it may be other than one thinks.
    put_columns(nina, urn, {"a": ("bigint", None), "b": ("int", None), "c": ("int", None)})
    feed = steward.feed()
    assert told(feed) == [
        ("type", "a"),
        ("description", "b"),
        ("description", None),
        ("tags", None),
    ]
    column = feed.entries[1]
    assert (column.before, column.after, column.actor) == ("", "Theirs.", ANN)
    assert entry_sentence(feed.entries[3], feed.names) == "tags: + theirs"
    assert feed.user == Urn.parse("urn:li:corpuser:nina")
    # To Ann, Nina's are those of others.
    others = {(one.kind, one.path) for one in Stewardship(ann).feed().entries}
    assert ("description", "a") in others or ("new", None) in others


def test_what_a_run_of_ones_own_removes_is_told_and_what_one_hides_oneself_is_not(
    people: tuple[Catalog, Catalog],
) -> None:
    nina, _ = people
    steward, dropped, hidden, brief = Stewardship(nina), *map(urn_of, ("gone", "hidden", "brief"))
    for urn in (dropped, hidden):
        put_columns(nina, urn, {"a": ("int", None)})
    steward.mark_read(steward.feed())
    put_columns(nina, brief, {"a": ("int", None)})
    nina.put(dropped, "status", {"removed": True}, run_id="night-2")
    nina.put(brief, "status", {"removed": True}, run_id="night-2")
    nina.soft_delete(hidden)
    feed = steward.feed()
    assert {(one.urn, one.kind) for one in feed.entries} == {
        (dropped, "deleted"),
        (brief, "deleted"),
    }


def test_a_propagated_text_is_told_once_and_its_column_is_not_new(
    people: tuple[Catalog, Catalog], tmp_path: Path
) -> None:
    nina, ann = people
    source, made = urn_of("carried_from"), urn_of("carried_to")
    put_columns(nina, source, {"id": ("int", "The key.")})
    put_columns(nina, made, {"id": ("int", None)})
    edge = {"dataset": str(source), "type": "COPY", "auditStamp": {"time": 0, "actor": ANN}}
    nina.put(made, "upstreamLineage", {"upstreams": [edge]})
    for reader in people:
        Stewardship(reader).mark_read(Stewardship(reader).feed())
    steward = Stewardship(ann)
    texts = steward.propose_descriptions([made])
    changeset = steward.stage(texts, "Texts", str(tmp_path / "texts.changes.jsonl"))
    changeset.decide(1, "accepted", ANN)
    assert steward.apply_staged(changeset).applied == 1
    assert ann.entity(column_urn(str(made), "id")).exists
    assert told(Stewardship(nina).feed()) == [("description", "id")]
    assert told(Stewardship(ann).feed()) == []


def test_new_and_deleted_entities_are_one_entry_each(client: Catalog) -> None:
    steward, new, old = Stewardship(client), urn_of("brought"), urn_of("dropped")
    put_columns(client, old, {"a": ("int", None)})
    put_tags(client, "PII")
    steward.mark_read(steward.feed())
    put_columns(client, new, {"a": ("int", None), "b": ("int", None)})
    client.add_tags(new, "PII")
    client.delete(old)
    feed = steward.feed()
    assert {(one.urn, one.kind, one.after) for one in feed.entries} == {
        (new, "new", "2 columns"),
        (old, "deleted", ""),
    }


def test_what_was_put_back_is_no_change(client: Catalog) -> None:
    urn, steward = urn_of("put_back"), Stewardship(client)
    put_columns(client, urn, {"a": ("int", None)})
    steward.mark_read(steward.feed())
    put_columns(client, urn, {"a": ("text", None), "b": ("int", None)})
    put_columns(client, urn, {"a": ("int", None)})
    assert not steward.feed().entities


def test_of_very_many_changes_the_newest_are_read_and_the_others_counted(client: Catalog) -> None:
    steward = Stewardship(client)
    urns = [urn_of(f"many_{number}") for number in range(12)]
    for urn in urns:
        put_columns(client, urn, {"a": ("int", None)})
    feed = steward.feed(most_entities=5)
    assert [one.urn for one in feed.entities] == urns[:-6:-1]
    assert feed.more_entities == 7
    assert "7 more entities changed, before those listed." in feed_remarks(feed)
    newest = steward.feed(most_changes=4)
    assert newest.unread > 0
    assert {one.urn for one in newest.entities} <= set(urns[-4:])
    assert any("older changes of the log were not looked at" in one for one in feed_remarks(newest))


def test_an_entity_that_is_written_all_the_time_is_told_by_its_newest_changes(
    client: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn, steward = urn_of("busy"), Stewardship(client)
    put_columns(client, urn, {"a": ("int", None)})
    steward.mark_read(steward.feed())
    for number in range(60):
        put_columns(client, urn, {"a": (f"varchar({number})", None)})
    (entity,) = steward.feed().entities
    assert entity.unread == 10
    assert [(one.before, one.after) for one in entity.entries] == [("varchar(9)", "varchar(59)")]


def test_a_log_that_was_trimmed_past_the_last_visit_says_so(tmp_path: Path) -> None:
    engine = open_catalog(tmp_path, load_registry())
    try:
        with serving(Service(engine)) as address, Catalog(address) as client:
            steward = Stewardship(client)
            put_columns(client, urn_of("trimmed"), {"a": ("int", None)})
            steward.mark_read(steward.feed())
            put_columns(client, urn_of("trimmed_b"), {"a": ("int", None)})
            put_columns(client, urn_of("trimmed_c"), {"a": ("int", None)})
            head = client.changes(limit=0).head
            later = round(time.time() * 1000) + 60_000
            assert engine.store.write(lambda tx: tx.trim_log(later, head - 1, 1_000)).result()
            feed = steward.feed()
            assert feed.trimmed
            assert any("does not reach back" in one for one in feed_remarks(feed))
            steward.mark_read(feed)
            assert not steward.feed().trimmed
    finally:
        engine.close()


def test_a_catalog_that_was_made_anew_is_noticed(client: Catalog) -> None:
    VisitFile.of(client.identity).move(10**9, datetime.now(UTC))
    steward = Stewardship(client)
    feed = steward.feed()
    assert feed.replaced
    steward.mark_read(feed)
    assert not steward.feed().replaced


def test_a_server_without_a_change_log_says_what_cannot_be_had(
    client: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = client.core._connection
    without = replace(client.abilities(), changes=False)
    monkeypatch.setattr(connection, "_abilities", without)
    with pytest.raises(InvalidInput, match="has no change log, so what changed since"):
        Stewardship(client).feed()


def test_entries_are_found_by_words(client: Catalog) -> None:
    urn, steward = urn_of("worded"), Stewardship(client)
    put_columns(client, urn, {"a": ("int", None), "b": ("int", None)})
    steward.mark_read(steward.feed())
    put_columns(client, urn, {"a": ("int", None), "b": ("geography", None)})
    put_columns(client, urn_of("worded_too"), {"a": ("int", None)})
    feed = steward.feed()
    assert [one.path for one in entries_with(feed, "WORDED geography")] == ["b"]
    assert entries_with(feed, "") == feed.entries
    assert not entries_with(feed, "geography new")


@pytest.mark.parametrize(
    ("old", "new", "renamed"),
    [
        ("id cust_id total", "id customer_id total", {"cust_id": "customer_id"}),
        ("id city total", "id ship_city total", {"city": "ship_city"}),
        ("id a.zip", "id b.zip", {}),
        ("id town", "id total amount", {}),
        ("id first last", "id first_name last_name", {"first": "first_name", "last": "last_name"}),
        ("id", "id", {}),
    ],
)
def test_a_column_was_likely_renamed_where_name_and_place_say_so(
    old: str, new: str, renamed: dict[str, str]
) -> None:
    sides = [{path: {"nativeDataType": "int"} for path in text.split()} for text in (old, new)]
    if old == "id town":
        sides[0]["town"] = {"nativeDataType": "text"}
    assert likely_columns(*sides) == renamed


_PATHS = st.lists(st.sampled_from(["a", "b", "c", "d", "ab", "bc", "a.b", "a_b"]), unique=True)


@given(_PATHS, _PATHS)
def test_a_rename_leads_from_one_dropped_column_to_one_added_one(
    old: list[str], new: list[str]
) -> None:
    found = likely_columns({path: {} for path in old}, {path: {} for path in new})
    assert set(found) <= set(old) - set(new)
    assert set(found.values()) <= set(new) - set(old)
    assert len(set(found.values())) == len(found)
