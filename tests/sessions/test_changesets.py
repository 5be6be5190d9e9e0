"""Changes are put aside as a changeset, or written from a file, without any front end."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.client import AsyncCatalog
from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.sessions.base import READ_ONLY
from explorer.sessions.changesets import ChangesetsSession
from explorer.stewardship import Entry, StagedEdit
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.changeset import Change
from explorer.stewardship.dbt import ProjectLabel

pytestmark = pytest.mark.anyio

MakeTable = Callable[[Mapping[str, str | None]], Urn]


@pytest.fixture
def table(make_table: MakeTable) -> Urn:
    """A table of two columns that nobody described."""
    return make_table(dict.fromkeys("ab"))


async def texts(catalog: AsyncCatalog, urn: Urn) -> list[str]:
    return [column.edited or "" for column in (await catalog.entity(urn)).schema]


async def changes_of(catalog: AsyncCatalog, urn: Urn, **described: str) -> list[Change]:
    steward = AsyncStewardship(catalog)
    rows = [
        replace(row, edited=described[row.column])
        for row in await steward.documentation([urn])
        if row.column in described
    ]
    entries = [Entry(f"line {at}", row, base="") for at, row in enumerate(rows)]
    return [*(await steward.changeset(entries)).to_apply()]


async def test_edits_are_put_aside_in_a_file_and_nothing_is_written(
    catalog: AsyncCatalog, table: Urn, tmp_path: Path
) -> None:
    session = ChangesetsSession(catalog)
    edit = StagedEdit(str(table), table.name, "a", text="About a.")
    staged = await session.stage([edit], "Texts", tmp_path / "texts.changes.jsonl")
    assert (staged.title, staged.path) == ("Texts", tmp_path / "texts.changes.jsonl")
    assert [item.state for item in staged.items] == ["open"]
    concept = await AsyncStewardship(catalog).concept("a")
    keys = [column.key for column in concept.columns if column.urn == str(table)]
    staged_text = await session.stage_concept(concept, "About all a.", keys)
    assert staged_text is not None
    assert (staged_text.title, len(staged_text.items)) == ("One text for a", 1)
    assert await texts(catalog, table) == ["", ""]
    await catalog.describe(table, "About all a.", column="a")
    concept = await AsyncStewardship(catalog).concept("a")
    assert await session.stage_concept(concept, "About all a.", keys) is None


async def test_a_file_is_written_with_the_labels_of_its_project_as_one_save(
    catalog: AsyncCatalog, table: Urn, tmp_path: Path
) -> None:
    journal = await catalog.keep_journal(tmp_path / "journal.jsonl")
    await catalog.put("urn:li:tag:Imported", "tagProperties", {"name": "Imported"})
    session = ChangesetsSession(catalog)
    done: list[tuple[int, int]] = []
    session.subscribe(
        lambda state: done.append((state.work.done, state.work.total)) if state.work else None
    )
    labels = tuple(
        ProjectLabel("schema.yml", "orders", "tags", str(table), column, f"urn:li:tag:{tag}")
        for column, tag in ((None, "Missing"), ("a", "Imported"))
    )
    changes = await changes_of(catalog, table, a="About a.", b="About b.")
    outcome = await session.import_changes(changes, labels)
    assert await texts(catalog, table) == ["About a.", "About b."]
    assert (outcome.added_indexes, [at for at, _ in outcome.failed]) == (frozenset((1,)), [0])
    assert done[-1] == (2, 2)
    assert len({entry.save for entry in journal}) == 1


async def test_a_text_of_somebody_else_is_not_replaced_by_a_file(
    catalog: AsyncCatalog, table: Urn
) -> None:
    changes = await changes_of(catalog, table, a="mine", b="About b.")
    await catalog.describe(table, "theirs", column="a")
    outcome = await ChangesetsSession(catalog).import_changes(changes)
    assert [failure.change.column for failure in outcome.applied.failed] == ["a"]
    assert await texts(catalog, table) == ["theirs", "About b."]


async def test_where_nothing_is_written_that_is_said(address: str, table: Urn) -> None:
    async with AsyncCatalog(address, read_only=True) as catalog:
        session = ChangesetsSession(catalog)
        changes = await changes_of(catalog, table, a="mine")
        with pytest.raises(InvalidInput, match="read-only"):
            await session.import_changes(changes)
        assert session.state.message is not None
        assert session.state.message.sentence == READ_ONLY
        assert await texts(catalog, table) == ["", ""]
