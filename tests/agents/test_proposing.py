"""What agents propose is reviewed by people, and nothing is written before."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from explorer.agents.tools import describe_error
from explorer.client import AsyncCatalog
from explorer.errors import Conflict, Forbidden, InvalidInput, NotFound
from explorer.metadata import Proposal, Urn
from explorer.sessions.changesets import ChangesetsSession
from explorer.sessions.review import ReviewSession
from explorer.stewardship.proposals import shared_changesets
from explorer.stewardship.staging import Agent, StagedChangeset
from explorer.views.columns import ColumnKnowledge, column_row
from explorer.views.entity import entity_report
from explorer.views.stewardship import agent_records, item_people, review_diff
from explorer.views.text import TextLine
from tests.agents.conftest import Call, calling

pytestmark = pytest.mark.anyio

Make = Callable[[Mapping[str, str | None]], Urn]


def text(urn: Urn | str, column: str, words: str, **more: Any) -> dict[str, Any]:
    return {"urn": str(urn), "what": "description", "column": column, "text": words, **more}


async def review(catalog: AsyncCatalog, name: str) -> ReviewSession:
    session = ReviewSession(catalog, await ChangesetsSession(catalog).fetch(name))
    await session.open()
    return session


async def column_text(catalog: AsyncCatalog, urn: Urn, column: str) -> str:
    found = (await catalog.entity(urn)).schema.column(column)
    assert found is not None
    return found.description


async def test_a_proposal_is_there_at_once_with_who_proposed_it_and_writes_nothing(
    call: Call, catalog: AsyncCatalog, make_table: Make
) -> None:
    urn = make_table({"id": None, "price": "Ingested."})
    proposed = await call(
        "propose",
        changes=[
            text(urn, "id", "Which order.", why="the primary key of the model"),
            text(urn, "price", "In EUR.", instead_of="Ingested."),
        ],
        why="columns without a text",
        model="opus-5",
    )
    assert proposed["proposed"] == 2
    mine = await call("proposals")
    assert mine["proposals"][0]["id"] == proposed["id"]
    assert mine["proposals"][0]["decided"] == {"open": 2}
    session = await review(catalog, proposed["id"])
    assert session.changeset.agent == Agent("assistant", "1.0", "opus-5")
    assert [item.edit.why for item in session.changeset.items] == [
        "the primary key of the model",
        "columns without a text",
    ]
    (said, *_) = review_diff(session.changeset.items[0])
    assert said.text == "why: the primary key of the model"
    assert "proposed by assistant 1.0 (opus-5)" in item_people(
        session.changeset.items[0], session.changeset
    )
    assert await column_text(catalog, urn, "id") == ""


async def test_what_a_person_wrote_meanwhile_is_a_conflict_and_never_overwritten(
    call: Call, catalog: AsyncCatalog, make_table: Make
) -> None:
    urn = make_table({"id": None, "price": None})
    proposed = await call(
        "propose", changes=[text(urn, "id", "A."), text(urn, "price", "B.")], why="no text"
    )
    await catalog.describe(urn, "A person's.", column="id")
    session = await review(catalog, proposed["id"])
    outcome = await session.write(await session.accept_all(2))
    assert (outcome.applied, outcome.failed) == (1, 1)
    assert session.changeset.item(1).theirs == "A person's."
    assert await column_text(catalog, urn, "id") == "A person's."
    assert await column_text(catalog, urn, "price") == "B."
    shown = await call("proposals", id=proposed["id"])
    assert [change["state"] for change in shown["changes"]] == ["failed", "applied"]
    assert shown["changes"][0]["text_meanwhile"] == "A person's."


async def test_what_is_accepted_says_who_wrote_it_and_which_agent_proposed_it(
    call: Call, catalog: AsyncCatalog, make_table: Make
) -> None:
    urn = make_table({"id": None})
    changes = [text(urn, "id", "Which order."), text(urn, "", "Orders.")]
    proposed = await call("propose", changes=changes, why="no text", model="opus-5")
    session = await review(catalog, proposed["id"])
    await session.write(await session.accept_all(2))
    entity = await catalog.entity(urn)
    changed = await catalog.blame(urn)
    knowledge = ColumnKnowledge(names={}, changes=changed)
    row = column_row(entity.schema.columns[0], knowledge)
    assert row.is_edited
    assert row.written_by.endswith("proposed by assistant 1.0 (opus-5)")
    parts = entity_report(entity, {}).parts or ()
    lines = [part.text for part in parts if isinstance(part, TextLine)]
    assert any("edited" in said and "proposed by assistant 1.0 (opus-5)" in said for said in lines)


async def test_labels_owners_and_domains_are_proposed_by_name(
    call: Call, catalog: AsyncCatalog, make_table: Make
) -> None:
    urn = make_table({"email": None})
    for label, aspect, value in (
        ("urn:li:tag:Agents-PII", "tagProperties", {"name": "Agents-PII"}),
        ("urn:li:domain:agents", "domainProperties", {"name": "Agents domain"}),
        ("urn:li:corpuser:ana", "corpUserInfo", {"active": True, "displayName": "Ana Silva"}),
    ):
        await catalog.ingest(Proposal(Urn.parse(label), aspect, value))
    proposed = await call(
        "propose",
        changes=[
            {"urn": str(urn), "what": "tags", "column": "email", "add": ["Agents-PII"]},
            {"urn": str(urn), "what": "owners", "add": ["Ana Silva DATA_STEWARD"]},
            {"urn": str(urn), "what": "domain", "add": ["Agents domain"]},
        ],
        why="as the team said",
    )
    session = await review(catalog, proposed["id"])
    assert (await session.write(await session.accept_all(3))).applied == 3
    entity = await catalog.entity(urn)
    assert [(owner.owner, owner.type) for owner in entity.owners] == [
        ("urn:li:corpuser:ana", "DATA_STEWARD")
    ]
    assert [str(domain) for domain in entity.domains] == ["urn:li:domain:agents"]
    assert [str(tag) for tag in entity.schema.columns[0].tags] == ["urn:li:tag:Agents-PII"]


async def test_a_proposal_with_anything_wrong_is_refused_whole_with_all_that_is_wrong(
    call: Call, catalog: AsyncCatalog, make_table: Make
) -> None:
    urn = make_table({"order_id": "Which order."})
    wrong: tuple[tuple[dict[str, Any], type[Exception], str], ...] = (
        (text(urn, "order_ids", "X."), InvalidInput, "did you mean order_id"),
        (text(f"{urn}"[:-6] + "x,PROD)", "order_id", "X."), NotFound, "there is no"),
        (text(urn, "order_id", "X.", instead_of="Another."), Conflict, "it is now “Which order.”"),
        (text(urn, "order_id", "Which order."), InvalidInput, "has this description already"),
        ({"urn": str(urn), "what": "tags", "add": ["No such tag"]}, NotFound, "No such tag"),
        ({"urn": str(urn), "what": "tags"}, InvalidInput, "give what to add or remove"),
    )
    for change, error, words in wrong:
        with pytest.raises(error, match=words):
            await call("propose", changes=[change], why="because")
    with pytest.raises(InvalidInput, match="say why"):
        await call("propose", changes=[text(urn, "order_id", "X.")], why=" ")
    changes = [text(urn, "order_id", "Good."), *(change for change, *_ in wrong)]
    with pytest.raises(InvalidInput) as caught:
        await call("propose", changes=changes, why="because")
    assert all(f"change {number}" in str(caught.value) for number in range(2, 8))
    assert describe_error(caught.value)["kind"] == "invalid"
    assert (await call("proposals", agent="assistant-of-nobody"))["total"] == 0


async def test_writing_at_once_needs_to_be_allowed_and_is_undone_as_a_persons(
    call: Call, catalog: AsyncCatalog, make_table: Make, tmp_path: Any
) -> None:
    urn = make_table({"id": None})
    change = text(urn, "id", "Which order.")
    with pytest.raises(Forbidden, match="without --allow-writes"):
        await call("propose", changes=[change], why="no text", write=True)
    assert await column_text(catalog, urn, "id") == ""
    await catalog.keep_journal(tmp_path / "journal.jsonl")
    writing = calling(catalog, may_write=True)
    written = await writing("propose", changes=[change], why="no text", write=True)
    assert (written["written"], written["failed"]) == (1, 0)
    assert await column_text(catalog, urn, "id") == "Which order."
    (entry,) = await catalog.journal()
    assert entry.proposed_by == "assistant 1.0"
    await catalog.undo_save()
    assert await column_text(catalog, urn, "id") == ""


@pytest.mark.parametrize("count", [40, pytest.param(1_000, marks=pytest.mark.nightly)])
async def test_two_agents_race_and_all_proposals_are_there_and_none_is_written(
    catalog: AsyncCatalog, make_table: Make, count: int
) -> None:
    urn = make_table({f"c{at}": None for at in range(10)})
    names = (f"red-{count}", f"blue-{count}")
    calls = [calling(catalog, name) for name in names]
    turns = asyncio.Semaphore(8)

    async def propose(at: int) -> None:
        async with turns:
            change = text(urn, f"c{at % 10}", f"Text {at}.")
            await calls[at % 2]("propose", changes=[change], why=f"turn {at}", model="m")

    await asyncio.gather(*(propose(at) for at in range(count)))
    entity = await catalog.entity(urn)
    assert entity.schema.documented == 0
    queue = await shared_changesets(catalog)
    records = {record.agent: record for record in agent_records(queue)}
    for name in names:
        assert (records[name].edits, records[name].open) == (count // 2, count // 2)


async def test_the_list_to_review_is_narrowed_to_one_agent_after_the_other(
    catalog: AsyncCatalog, make_table: Make
) -> None:
    urn = make_table({"id": None})
    for name in ("aa-first", "aa-second"):
        change = text(urn, "id", f"By {name}.")
        await calling(catalog, name)("propose", changes=[change], why="no text")
    session = ChangesetsSession(catalog)
    await session.read()
    everything = session.state.listed
    await session.next_agent()
    assert {entry.agent for entry in session.state.listed} == {"aa-first"} == {session.state.agent}
    assert session.state.listed[0].counts == "aa-first 1.0 · 1 open"
    await session.next_agent()
    assert {entry.agent for entry in session.state.listed} == {"aa-second"}
    await session.read()
    assert {entry.agent for entry in session.state.listed} == {"aa-second"}
    while session.state.agent:
        await session.next_agent()
    assert session.state.listed == everything
    session.close()


async def test_acceptance_is_counted_for_each_agent(
    catalog: AsyncCatalog, make_table: Make
) -> None:
    urn = make_table({f"c{at}": None for at in range(4)})
    careful = calling(catalog, "careful")
    changes = [text(urn, f"c{at}", "A text.") for at in range(4)]
    proposed = await careful("propose", changes=changes, why="no text", model="m")
    session = await review(catalog, proposed["id"])
    changeset: StagedChangeset = session.changeset
    for number in (1, 2, 3):
        await session.accept(changeset.item(number))
    await session.refuse(changeset.item(4))
    await session.write(3)
    await session.sync()
    (record,) = [
        record
        for record in agent_records(await shared_changesets(catalog))
        if record.agent == "careful"
    ]
    assert (record.model, record.edits, record.accepted, record.refused, record.share) == (
        *("m", 4, 3, 1),
        "75%",
    )
