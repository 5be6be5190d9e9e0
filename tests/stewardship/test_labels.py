"""Labels of many entities and columns are staged at once, reviewed, and written as one save."""

from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.client.http import HttpTransport
from explorer.client.journal import Journal
from explorer.errors import InvalidInput, Unreachable
from explorer.metadata.urn import Urn
from explorer.stewardship import (
    LabelledKind,
    LabelsChange,
    StagedChangeset,
    StagedOutcome,
    Stewardship,
    stage_labels,
)
from explorer.stewardship.changeset import reopen_undone
from explorer.views.stewardship import edit_sentence, review_diff
from tests.conftest import schema_metadata
from tests.stewardship.test_changeset import Dying, staged

PII, OLD = "urn:li:tag:PII", "urn:li:tag:Old one"
WIKI, OTHER = "https://wiki.example.com/a", "https://wiki.example.com/b"


@pytest.fixture
def three(catalog: Catalog, request: pytest.FixtureRequest) -> list[str]:
    """Three tables of this test alone; the first has a tag, an owner, a link and a deprecation."""
    name = request.node.name[:40]
    urns = [str(Urn.dataset("hive", f"{name}.{at}")) for at in ("one", "two", "three")]
    for urn in urns:
        catalog.put(urn, "schemaMetadata", schema_metadata({"id": "", "note": ""}))
    for tag in (PII, OLD):
        catalog.create(tag, "tagProperties", {"name": tag.rpartition(":")[2]})
    catalog.create("urn:li:corpuser:ann", "corpUserInfo", {"active": True})
    first = urns[0]
    catalog.add_tags(first, [OLD])
    catalog.add_owners(first, ["ann"], ownership="DATA_STEWARD")
    catalog.add_link(first, WIKI, "About it")
    catalog.deprecate(first, "Old.")
    return urns


def edits_of(
    steward: Stewardship, places: list[Any], what: LabelledKind, change: LabelsChange
) -> Any:
    keys = [(one, None) if isinstance(one, str) else one for one in places]
    return stage_labels(steward.labelled(keys, what), change)


def test_what_each_has_and_how_many_have_it_is_read(steward: Any, three: list[str]) -> None:
    absent = "urn:li:dataset:(urn:li:dataPlatform:hive,absent,PROD)"
    keys = [(urn, None) for urn in (*three, absent, "urn:li:tag:PII", three[0])]
    found = steward.labelled(keys, "tags")
    assert [one.urn for one in found.places] == three
    assert (found.counts(), found.missing, found.unfit) == ({OLD: 1}, 1, 1)


def test_only_what_is_to_be_done_is_staged(steward: Any, three: list[str]) -> None:
    change = LabelsChange(add=(PII,), remove=(OLD,))
    edits = edits_of(steward, three, "tags", change)
    assert [(one.urn, one.add, one.remove) for one in edits] == [
        (three[0], (PII,), (OLD,)),
        (three[1], (PII,), ()),
        (three[2], (PII,), ()),
    ]
    assert edits_of(steward, three[1:], "tags", LabelsChange(remove=(OLD,))) == ()
    assert edits_of(steward, three[1:], "deprecation", LabelsChange()) == ()


def test_a_tag_of_the_schema_is_neither_added_nor_taken_off(
    steward: Any, catalog: Catalog, named: Any
) -> None:
    raw = named("raw")
    schema = catalog.aspect(raw, "schemaMetadata").value
    assert isinstance(schema, dict)
    schema["fields"][0]["globalTags"] = {"tags": [{"tag": PII}]}
    catalog.put(raw, "schemaMetadata", schema)
    path = schema["fields"][0]["fieldPath"]
    (place,) = steward.labelled([(raw, path)], "tags").places
    assert (place.labels, place.fixed) == ((), (PII,))
    change = LabelsChange(add=(PII,), remove=(PII,))
    assert edits_of(steward, [(raw, path)], "tags", change) == ()


def test_columns_have_tags_and_terms_and_no_owners(steward: Any, named: Any) -> None:
    raw = named("raw")
    assert len(steward.labelled([(raw, "id"), (raw, "nope")], "terms")) == 1
    for what in ("owners", "domain", "links", "deprecation"):
        assert steward.labelled([(raw, "id")], what).unfit == 1


def test_labels_for_an_earlier_case_of_a_column_can_be_taken_off(
    catalog: Catalog, steward: Any, three: list[str]
) -> None:
    urn = three[0]
    catalog.add_tags(urn, [PII], column="note")
    catalog.put(urn, "schemaMetadata", schema_metadata({"NOTE": ""}))
    (place,) = steward.labelled([(urn, "NOTE")], "tags").places
    assert (place.labels, place.fixed) == ((PII,), ())
    catalog.remove_tags(urn, [PII], column="NOTE")
    assert [one.tags for one in catalog.entity(urn).schema] == [()]


def test_an_entity_is_in_one_domain(steward: Any, three: list[str]) -> None:
    change = LabelsChange(add=("urn:li:domain:a", "urn:li:domain:b"))
    with pytest.raises(InvalidInput, match="one domain"):
        edits_of(steward, three, "domain", change)


def accepted(steward: Stewardship, path: Path, three: list[str]) -> StagedChangeset:
    """A changeset of every kind of label, all of it accepted."""
    link = f"{OTHER} The other"
    change = LabelsChange
    return staged(
        path,
        *edits_of(steward, three, "tags", change(add=(PII,), remove=(OLD,))),
        *edits_of(steward, [(three[0], "id")], "tags", change(add=(PII,))),
        *edits_of(
            steward,
            three,
            "owners",
            change(
                add=("urn:li:corpuser:ann TECHNICAL_OWNER",),
                remove=("urn:li:corpuser:ann DATA_STEWARD",),
            ),
        ),
        *edits_of(steward, three, "domain", change(add=("urn:li:domain:sales",))),
        *edits_of(
            steward,
            three,
            "deprecation",
            change(deprecation={"note": "Gone.", "decommissionTime": 1_780_000_000_123}),
        ),
        *edits_of(steward, three, "links", change(add=(link,), remove=(f"{WIKI} About it",))),
    )


def state_of(catalog: Catalog, urn: str) -> tuple[Any, ...]:
    entity = catalog.entity(urn)
    column = entity.schema.columns[0]
    return (
        sorted(map(str, entity.tags)),
        sorted(f"{one.owner} {one.type}" for one in entity.owners),
        [str(one) for one in entity.domains],
        (entity.raw("deprecation") or {}).get("deprecated", False)
        and (entity.raw("deprecation") or {}).get("note"),
        [(one.url, one.description) for one in entity.links],
        [str(one) for one in column.tags],
    )


def test_every_kind_is_written_and_undone_as_one_save(
    steward: Any, catalog: Catalog, three: list[str], tmp_path: Path
) -> None:
    before = [state_of(catalog, urn) for urn in three]
    changeset = accepted(steward, tmp_path, three)
    count = len(changeset.items)
    with Catalog(catalog.address) as client:
        client.journal_in(tmp_path / "journal.jsonl")
        assert Stewardship(client).apply_staged(changeset) == StagedOutcome(applied=count)
        for urn in three:
            tags, owners, domains, note, links, _ = state_of(catalog, urn)
            assert (tags, domains, note) == ([PII], ["urn:li:domain:sales"], "Gone.")
            assert "urn:li:corpuser:ann TECHNICAL_OWNER" in owners
            assert "urn:li:corpuser:ann DATA_STEWARD" not in owners
            assert links == [(OTHER, "The other")]
        held = catalog.entity(three[0]).raw("deprecation")
        assert held is not None
        assert held["decommissionTime"] == 1_780_000_000_123
        assert state_of(catalog, three[0])[5] == [PII]
        after = [state_of(catalog, urn) for urn in three]
        client.undo_save()
        assert [state_of(catalog, urn) for urn in three] == before

        steward = Stewardship(client)
        assert steward.wait(reopen_undone(steward.core.catalog, changeset)) == count
        assert changeset.decide_open("accepted", "omar") == count
        assert steward.apply_staged(changeset) == StagedOutcome(applied=count)
        assert [state_of(catalog, urn) for urn in three] == after
        client.undo_save()
    assert [state_of(catalog, urn) for urn in three] == before


def test_labels_of_many_go_on_after_the_server_died_and_are_one_save(
    steward: Any, catalog: Catalog, three: list[str], tmp_path: Path
) -> None:
    changeset = accepted(steward, tmp_path, three)
    count = len(changeset.items)
    transport = DyingOfLabels(HttpTransport(catalog.address, 10.0), 6)
    with Catalog(transport=transport) as client:
        client.journal_in(tmp_path / "journal.jsonl")
        outcome = Stewardship(client).apply_staged(changeset)
        assert isinstance(outcome.ended_by, Unreachable)
        assert 0 < len(changeset.of("applied")) < count
        assert len(changeset.of("accepted")) == outcome.untried == count - outcome.applied
        transport.edits_left = 1_000
        again = StagedChangeset.open(changeset.path)
        assert Stewardship(client).apply_staged(again).failed == 0
        assert again.counts() == {"applied": count}
    assert {entry.save for entry in Journal(tmp_path / "journal.jsonl")} == {changeset.id}


class DyingOfLabels(Dying):
    """Carries requests until some labels have been written, then never again."""

    async def send(self, request: Any) -> Any:
        if "mutation" in str(request.body):
            if not self.edits_left:
                raise Unreachable("the server is gone")
            self.edits_left -= 1
        return await self._inner.send(request)


def test_one_that_is_refused_stops_no_other(
    steward: Any, catalog: Catalog, three: list[str], tmp_path: Path
) -> None:
    edits = edits_of(steward, three, "domain", LabelsChange(add=("urn:li:domain:sales",)))
    changeset = staged(tmp_path, *edits)
    catalog.create("urn:li:domain:other", "domainProperties", {"name": "Other"})
    catalog.set_domain(three[1], "urn:li:domain:other")
    assert steward.apply_staged(changeset) == StagedOutcome(applied=2, failed=1)
    (failed,) = changeset.of("failed")
    assert (failed.edit.urn, failed.theirs) == (three[1], "urn:li:domain:other")
    assert [one.text for one in review_diff(failed) if one.mark] == ["sales", "other"]
    # Whoever accepts it again has seen theirs.
    changeset.decide(failed.number, "accepted", "omar", before=failed.theirs)
    assert steward.apply_staged(changeset) == StagedOutcome(applied=1)
    assert [str(one) for one in catalog.entity(three[1]).domains] == ["urn:li:domain:sales"]


def test_other_labels_that_came_meanwhile_are_no_conflict(
    steward: Any, catalog: Catalog, three: list[str], tmp_path: Path
) -> None:
    first = three[0]
    changeset = staged(
        tmp_path,
        *edits_of(steward, [first], "tags", LabelsChange(add=(PII,), remove=(OLD,))),
        *edits_of(steward, [first], "links", LabelsChange(remove=(f"{WIKI} About it",))),
    )
    catalog.create("urn:li:tag:New", "tagProperties", {"name": "New"})
    catalog.add_tags(first, ["New"])
    catalog.remove_tags(first, [OLD])
    catalog.add_link(first, OTHER, "Theirs")
    assert steward.apply_staged(changeset) == StagedOutcome(applied=2)
    entity = catalog.entity(first)
    assert sorted(str(one) for one in entity.tags) == ["urn:li:tag:New", PII]
    assert [one.url for one in entity.links] == [OTHER]


def test_a_deprecation_and_a_link_that_changed_meanwhile_are_conflicts(
    steward: Any, catalog: Catalog, three: list[str], tmp_path: Path
) -> None:
    first = three[0]
    changeset = staged(
        tmp_path,
        *edits_of(steward, [first], "deprecation", LabelsChange(deprecation={"note": "Mine."})),
        *edits_of(steward, [first], "links", LabelsChange(remove=(f"{WIKI} About it",))),
    )
    catalog.deprecate(first, "Old.", replacement=three[1])
    catalog.add_link(first, WIKI, "By another name")
    assert steward.apply_staged(changeset) == StagedOutcome(failed=2)
    said, links = changeset.of("failed")
    shown = [(one.mark, one.text) for one in review_diff(said) if one.mark]
    assert any(mark == "-" and text.startswith("use ") for mark, text in shown)
    assert ("+", "Mine.") in shown
    assert (" ", f"By another name ({WIKI})") in [
        (one.mark, one.text) for one in review_diff(links)
    ]
    for item in (said, links):
        changeset.decide(item.number, "accepted", "omar", before=item.theirs)
    assert steward.apply_staged(changeset) == StagedOutcome(applied=2)
    assert state_of(catalog, first)[3] == "Mine."


def test_a_tag_that_is_new_is_made_when_it_is_written_and_undone_with_it(
    steward: Any, catalog: Catalog, three: list[str], tmp_path: Path
) -> None:
    new = "urn:li:tag:Brand new"
    edits = edits_of(steward, three, "tags", LabelsChange(add=(new,), creates=(new,)))
    assert edit_sentence(edits[0]) == "tags: +Brand new"
    changeset = staged(tmp_path, *edits)
    assert not catalog.exists(new)
    with Catalog(catalog.address) as client:
        client.journal_in(tmp_path / "journal.jsonl")
        assert Stewardship(client).apply_staged(changeset) == StagedOutcome(applied=3)
        assert all(new in map(str, catalog.entity(urn).tags) for urn in three)
        client.undo_save()
    assert not catalog.exists(new)


def test_labels_are_shown_by_what_people_call_them(steward: Any, three: list[str]) -> None:
    change = LabelsChange(
        add=("urn:li:domain:0f3a",), label_names={"urn:li:domain:0f3a": "Finance"}
    )
    (edit, *_) = edits_of(steward, three, "domain", change)
    assert edit_sentence(edit) == "domain: +Finance"
    said = LabelsChange(deprecation={"note": "Gone.", "decommissionTime": 1_780_000_000_123})
    (edit, *_) = edits_of(steward, three, "deprecation", said)
    assert edit_sentence(edit) == "deprecated · Gone. · to be removed on 2026-05-28"
    (edit, *_) = edits_of(steward, three, "deprecation", LabelsChange())
    assert edit_sentence(edit) == "may be used again"
