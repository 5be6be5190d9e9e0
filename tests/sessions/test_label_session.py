"""Labels are chosen, created and saved step by step, for one entity and for many."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from explorer.client import AsyncCatalog
from explorer.errors import Conflict, InvalidInput, Unreachable
from explorer.metadata import Proposal, Urn
from explorer.sessions.bulk_labels import BulkLabelSession, BulkStaging
from explorer.sessions.labels import (
    NO_CHANGES,
    LabelKind,
    LabelSession,
    LabelTarget,
    labels_of,
)

pytestmark = pytest.mark.anyio

LEGACY, PII, CDC = (f"urn:li:tag:{name}" for name in ("Legacy", "PII", "CDC"))
SALES, FINANCE = ("urn:li:domain:sales", "urn:li:domain:finance")
ANA = "urn:li:corpuser:ana"

MakeTable = Callable[[Mapping[str, str | None]], Urn]


@pytest.fixture
async def table(make_table: MakeTable, catalog: AsyncCatalog) -> Urn:
    """A table with the tag Legacy, in the domain sales, and a person."""
    urn = make_table(dict.fromkeys("ab"))
    await catalog.ingest(Proposal(Urn.parse(ANA), "corpUserInfo", {"active": True}))
    for tag in (LEGACY, PII, CDC):
        name = {"name": Urn.parse(tag).name}
        await catalog.ingest(Proposal(Urn.parse(tag), "tagProperties", name))
    for domain in (SALES, FINANCE):
        name = {"name": Urn.parse(domain).name.title()}
        await catalog.ingest(Proposal(Urn.parse(domain), "domainProperties", name))
    await catalog.add_tags(urn, [LEGACY])
    await catalog.set_domain(urn, SALES)
    return urn


async def open_labels(
    catalog: AsyncCatalog, urn: Urn, kind: LabelKind, path: str | None = None
) -> LabelSession:
    entity = await catalog.entity(urn)
    target = LabelTarget.of(entity, path)
    session = LabelSession(catalog, target, kind, labels_of(entity, kind, path))
    await session.open()
    return session


@pytest.fixture
async def tags(catalog: AsyncCatalog, table: Urn) -> AsyncIterator[LabelSession]:
    """The tags of the table."""
    session = await open_labels(catalog, table, "tags")
    yield session
    session.close()


async def held(catalog: AsyncCatalog, urn: Urn) -> list[str]:
    return [str(tag) for tag in (await catalog.entity(urn)).tags]


def marks(session: LabelSession) -> dict[str, str]:
    return {row.name: row.mark for row in session.state.rows}


async def test_labels_are_found_chosen_and_saved_as_one(
    tags: LabelSession, catalog: AsyncCatalog, table: Urn
) -> None:
    assert marks(tags)["Legacy"] == "on"
    await tags.find("pi")
    assert [row.name for row in tags.state.rows][:1] == ["PII"]
    await tags.toggle(PII)
    await tags.toggle(LEGACY)
    assert tags.describe_change() == "+ PII  − Legacy"
    await tags.save()
    assert await held(catalog, table) == [PII]
    assert len({edit.save for edit in tags.state.edits if hasattr(edit, "save")}) <= 1
    assert tags.describe_edits() == f"Tags of {tags.target.name}: + PII  − Legacy."
    with pytest.raises(InvalidInput, match=NO_CHANGES):
        await tags.save()


async def test_only_the_last_text_is_looked_for(tags: LabelSession) -> None:
    finds = [asyncio.create_task(tags.find(text)) for text in ("p", "pi", "cdc")]
    await asyncio.gather(*finds, return_exceptions=True)
    assert tags.state.offered.text == "cdc"
    assert marks(tags)["CDC"] == "off"


async def test_what_is_taken_before_it_is_found_is_taken_while_the_next_is_typed(
    tags: LabelSession, catalog: AsyncCatalog, table: Urn
) -> None:
    finding = asyncio.create_task(tags.find("pii"))
    taking = asyncio.create_task(tags.toggle_first("pii"))
    await asyncio.sleep(0)
    await tags.find("cdc")
    await asyncio.gather(finding, taking, return_exceptions=True)
    assert (tags.state.offered.text, tags.describe_change()) == ("cdc", "+ PII")
    # What was pressed last is part of what is saved.
    await asyncio.gather(tags.toggle_first("cdc"), tags.save())
    assert await held(catalog, table) == [LEGACY, PII, CDC]


async def test_a_tag_that_is_not_there_is_created_by_the_save(
    tags: LabelSession, catalog: AsyncCatalog, table: Urn
) -> None:
    await tags.find("brand new")
    creatable = await tags.toggle_first("brand new")
    assert creatable is not None
    assert creatable.creates == "brand new"
    assert not tags.state.choice.is_changed
    await tags.create(creatable.label)
    assert tags.describe_change() == "+ brand new (new)"
    assert not (await catalog.entity(Urn.parse(creatable.label))).exists
    await tags.save()
    assert creatable.label in await held(catalog, table)


async def test_a_tag_that_somebody_else_makes_at_the_same_moment_stays_theirs(
    tags: LabelSession, catalog: AsyncCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = "urn:li:tag:made-twice"
    theirs = {"name": "made-twice", "description": "theirs"}
    stored = catalog._read_stored

    async def too_early(urn: Urn, *aspects: Any) -> Any:
        try:
            return await stored(urn, *aspects)
        finally:
            if str(urn) == tag:
                monkeypatch.undo()
                await catalog.put(urn, "tagProperties", theirs)

    await tags.create(tag)
    monkeypatch.setattr(catalog, "_read_stored", too_early)
    await tags.save()
    assert (await catalog.entity(Urn.parse(tag))).raw("tagProperties") == theirs


async def test_what_somebody_else_changed_is_shown_before_anything_is_written(
    tags: LabelSession, catalog: AsyncCatalog, table: Urn
) -> None:
    await tags.toggle(PII)
    await catalog.add_tags(table, [CDC])
    with pytest.raises(Conflict, match="the tags were changed by somebody else meanwhile"):
        await tags.save()
    assert await held(catalog, table) == [LEGACY, CDC]
    assert (marks(tags)["CDC"], tags.describe_change()) == ("on", "+ PII")
    await tags.save()
    assert await held(catalog, table) == [LEGACY, CDC, PII]


async def test_an_entity_is_in_one_domain_and_another_is_not_overwritten_unasked(
    catalog: AsyncCatalog, table: Urn
) -> None:
    session = await open_labels(catalog, table, "domain")
    await session.toggle(FINANCE)
    assert session.describe_change() == "+ Finance  − Sales"
    await catalog.set_domain(table, None)
    with pytest.raises(Conflict, match="the domain was changed"):
        await session.save()
    await session.save()
    assert [str(urn) for urn in (await catalog.entity(table)).domains] == [FINANCE]


async def test_owners_have_a_type_that_is_chosen_for_those_added(
    catalog: AsyncCatalog, table: Urn
) -> None:
    session = await open_labels(catalog, table, "owners")
    await session.toggle(f"{ANA} TECHNICAL_OWNER")
    await session.next_ownership(f"{ANA} TECHNICAL_OWNER")
    assert session.state.choice.added == (f"{ANA} BUSINESS_OWNER",)
    await session.save()
    owners = (await catalog.entity(table)).raw("ownership")
    assert owners is not None
    assert [(owner["owner"], owner["type"]) for owner in owners["owners"]] == [
        (ANA, "BUSINESS_OWNER")
    ]


async def test_what_cannot_be_read_is_said_and_read_with_the_next_text(
    catalog: AsyncCatalog, table: Urn, monkeypatch: pytest.MonkeyPatch
) -> None:
    entity = await catalog.entity(table)
    target = LabelTarget.of(entity, None)
    session = LabelSession(catalog, target, "tags", labels_of(entity, "tags", None))

    async def silent(*_: Any, **__: Any) -> Any:
        raise Unreachable("nobody answers")

    with monkeypatch.context() as broken:
        broken.setattr(AsyncCatalog, "search", silent)
        assert session.why_none() == "reading …"
        with pytest.raises(Unreachable):
            await session.open()
    assert session.state.why_unread.startswith("Reading failed")
    assert session.why_none() == "Tags could not be read."
    assert session.state.offered.text is None
    await session.find("pii")
    assert (session.state.why_unread, marks(session)["PII"]) == ("", "off")


async def test_labels_of_many_are_staged_and_not_written(catalog: AsyncCatalog, table: Urn) -> None:
    other = Urn.dataset("hive", f"{table.name}.other")
    await catalog.ingest(Proposal(other, "datasetProperties", {"name": "other"}))
    await catalog.add_tags(other, [CDC])
    staging = BulkStaging("tags", ((str(table), None), (str(other), None)), "2 tables")
    session = BulkLabelSession(catalog, staging, "tags")
    await session.open()
    assert (marks(session)["Legacy"], marks(session)["CDC"]) == ("some", "some")
    row = next(row for row in session.state.rows if row.label == LEGACY)
    assert row.about.startswith("1 of 2 have it")
    for label in (LEGACY, PII):
        await session.toggle(label)
    await session.save()
    assert session.state.staged is not None
    assert session.state.staged.title.startswith("Tags of 2 tables: + Legacy  + PII")
    assert await held(catalog, table) == [LEGACY]


async def test_labels_are_added_and_removed_without_a_look_at_the_others(
    table: Urn, catalog: AsyncCatalog
) -> None:
    session = LabelSession(catalog, LabelTarget(table, "orders"), "tags")
    await catalog.add_tags(table, [CDC])
    await session.change([PII], [LEGACY, "urn:li:tag:never there"])
    assert await held(catalog, table) == [CDC, PII]
    assert [edit.changed for edit in session.state.edits] == [True, True]
    owners = LabelSession(catalog, LabelTarget(table, "orders"), "owners")
    await owners.change([ANA, f"{ANA} DATA_STEWARD"])
    assert [edit.after for edit in owners.state.edits] == [
        (f"{ANA} TECHNICAL_OWNER",),
        (f"{ANA} TECHNICAL_OWNER", f"{ANA} DATA_STEWARD"),
    ]
    await LabelSession(catalog, LabelTarget(table, "orders"), "owners").change((), [ANA])
    domains = LabelSession(catalog, LabelTarget(table, "orders"), "domain")
    await domains.change([FINANCE])
    entity = await catalog.entity(table)
    assert (entity.owners, [*map(str, entity.domains)]) == ((), [FINANCE])
    await LabelSession(catalog, LabelTarget(table, "orders"), "domain").change()
    assert (await catalog.entity(table)).domains == ()


async def test_of_several_steps_those_before_an_error_are_told(
    table: Urn, catalog: AsyncCatalog
) -> None:
    session = LabelSession(catalog, LabelTarget(table, "orders"), "owners")
    with pytest.raises(InvalidInput):
        await session.change([ANA, f"{ANA} NO_SUCH_TYPE"])
    assert [edit.what for edit in session.state.edits] == ["owners"]
    staging = BulkStaging("tags", ((str(table), None),), "1 marked entity")
    bulk = BulkLabelSession(catalog, staging, "tags")
    with pytest.raises(InvalidInput, match="is staged"):
        await bulk.change([PII])
    assert await held(catalog, table) == [LEGACY]


async def test_that_there_is_no_label_is_said_once_that_is_known(
    catalog: AsyncCatalog, table: Urn
) -> None:
    entity = await catalog.entity(table)
    session = LabelSession(catalog, LabelTarget.of(entity, None), "terms")
    assert session.why_none() == "reading …"
    await session.find("zz no such term")
    assert session.why_none() == "No glossary term matches “zz no such term”."
