"""What is marked in a list gets labels at once, as a changeset reviewed and undone as one."""

from pathlib import Path

import pytest

from explorer.client import Catalog
from explorer.metadata.urn import Urn
from explorer.stewardship import StagedChangeset
from explorer.stewardship.staging import changeset_files
from tests.tui.conftest import OpenTerminal, Reader
from tests.tui.test_worklist import make_table

pytestmark = pytest.mark.anyio

OLD = "urn:li:tag:BulkOld"


def tables(catalog: Catalog, name: str) -> list[Urn]:
    """Three tables, the first of which has a tag; there are two tags and a domain to choose."""
    for tag in ("BulkOld", "BulkNew"):
        catalog.create(f"urn:li:tag:{tag}", "tagProperties", {"name": tag})
    domain = {"name": "Bulk domain"}
    catalog.create("urn:li:domain:0f3a7c", "domainProperties", domain)
    urns = [make_table(catalog, f"{name}_{letter}", ["a", "b", "c"]) for letter in "xyz"]
    catalog.add_tags(urns[0], [OLD])
    return urns


def tags_of(catalog: Catalog, urns: list[Urn]) -> list[list[str]]:
    return [sorted(tag.name for tag in catalog.entity(urn).tags) for urn in urns]


async def mark_all(reader: Reader, name: str) -> None:
    """Search for the tables, and mark the three results."""
    await reader.ask(f"name:{name}_*")
    await reader.press("enter")
    await reader.sees("3 results", f"{name}_z")
    await reader.press("space", "v", "space")
    await reader.sees("3 marked")


async def test_marked_columns_get_tags_and_terms(at: OpenTerminal, desk: Path) -> None:
    with Catalog(data_dir=desk) as catalog:
        urns = tables(catalog, "bulk_cols")
        async with at(desk) as reader:
            await reader.ask("name:bulk_cols_* fieldPaths:b")
            await reader.press("enter")
            await reader.sees("3 results")
            await reader.press("i")
            await reader.sees("3 columns", "bulk_cols_z")
            await reader.press("space", "space")
            await reader.sees("2 marked: t T")
            # Columns have no owners.
            await reader.press("O", "t")
            await reader.sees("Tags of 2 marked columns")
            await reader.type("BulkNew")
            await reader.press("enter")
            await reader.sees("+ BulkNew", "review")
            await reader.press("ctrl+s")
            await reader.sees("Tags of 2 marked columns: + BulkNew", "2 open")
            await reader.press("a", "a", "ctrl+s")
            await reader.sees("Write 2 changes")
            await reader.press("ctrl+s")
            await reader.sees("Written: 2 changes.")
            tags = [catalog.entity(urn).schema.column("b") for urn in urns]
            assert [len(column.tags) for column in tags if column] == [1, 1, 0]


async def test_tags_of_marked_results_are_reviewed_written_and_undone_as_one(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urns = tables(catalog, "bulk_tags")
        async with at(desk) as reader:
            await mark_all(reader, "bulk_tags")
            await reader.press("t")
            await reader.sees("Tags of 3 marked entities", "1 of 3 have it")
            await reader.type("BulkNew")
            await reader.press("enter")
            await reader.type("BulkOld")
            await reader.sees("◐ BulkOld")
            # On all, then off all.
            await reader.press("enter", "enter")
            await reader.sees("+ BulkNew", "− BulkOld", "review")
            await reader.press("ctrl+s")
            await reader.sees("Tags of 3 marked entities: + BulkNew", "3 open", "+BulkNew −BulkOld")
            assert tags_of(catalog, urns) == [["BulkOld"], [], []]
            await reader.press("a", "a", "x", "ctrl+s")
            await reader.sees("Write 2 changes")
            await reader.press("ctrl+s")
            await reader.sees("Written: 2 changes.")
            assert sorted(map(len, tags_of(catalog, urns))) == [0, 1, 1]
            assert OLD not in str(tags_of(catalog, urns))
            await reader.press("escape")
            await reader.sees("3 marked")
            await reader.press("ctrl+z")
            await reader.sees("Undo the last save, 2 edits?")
            await reader.press("ctrl+s")
            await reader.until(lambda: tags_of(catalog, urns) == [["BulkOld"], [], []])


@pytest.mark.nightly
async def test_the_domain_and_a_link_of_marked_results_are_staged(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urns = tables(catalog, "bulk_more")
        async with at(desk) as reader:
            await mark_all(reader, "bulk_more")
            await reader.press("D")
            await reader.sees("Domain of 3 marked entities")
            await reader.type("Bulk domain")
            await reader.press("enter", "ctrl+s")
            await reader.sees("3 open", "domain: +Bulk domain")
            await reader.press("A")
            await reader.press("ctrl+s")
            await reader.press("ctrl+s")
            await reader.press("ctrl+s")
            await reader.sees("Written: 3 changes.")
            assert {str(one) for urn in urns for one in catalog.entity(urn).domains} == {
                "urn:li:domain:0f3a7c"
            }
            await reader.press("escape")
            await reader.press("D")
            await reader.sees("all 3 have it")
            await reader.press("escape")
            catalog.add_link(urns[0], "https://wiki.example.com/old", "The old one")
            await reader.press("L")
            await reader.sees("Links of 3 marked entities", "The old one", "1 of 3 have it")
            # On all, then off all.
            await reader.press("space", "space")
            await reader.sees("− The old one")
            await reader.press("a")
            await reader.type("https://wiki.example.com/bulk")
            await reader.press("enter")
            await reader.type("The wiki")
            await reader.press("enter")
            await reader.sees("+ The wiki  − The old one")
            await reader.press("ctrl+s")
            await reader.sees("3 open", "links: +The wiki (https://wiki.example.com/bulk)")
            await reader.press("A")
            await reader.press("ctrl+s")
            await reader.press("ctrl+s")
            await reader.press("ctrl+s")
            await reader.sees("Written: 3 changes.")
            assert {one.url for urn in urns for one in catalog.entity(urn).links} == {
                "https://wiki.example.com/bulk"
            }


async def test_a_deprecation_with_its_note_is_staged_and_taken_back_for_all(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urns = tables(catalog, "bulk_gone")
        catalog.deprecate(urns[0], "Use the other.")
        async with at(desk) as reader:
            await mark_all(reader, "bulk_gone")
            await reader.press("exclamation_mark")
            await reader.sees("Deprecate · 3 marked entities", "undeprecate")
            await reader.type("Use the other.")
            await reader.press("ctrl+s")
            await reader.sees("2 open", "deprecated · Use the other.", "Left out: 1 unchanged.")
            await reader.press("escape")
            await reader.press("exclamation_mark")
            await reader.press("ctrl+r")
            await reader.sees("1 open", "may be used again")


async def test_without_marks_it_is_the_result_under_the_cursor(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        tables(catalog, "bulk_one")
    async with at(desk) as reader:
        await reader.ask("name:bulk_one_z")
        await reader.press("enter")
        await reader.sees("1 result", "bulk_one_z")
        await reader.press("O")
        await reader.sees("Owners of bulk_one_z")
        await reader.press("escape")
        await reader.press("t", "ctrl+s")
        await reader.sees("No changes yet")


async def test_marked_columns_get_their_tags_together(at: OpenTerminal, desk: Path) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = tables(catalog, "bulk_columns")[0]
        async with at(desk, urn=urn) as reader:
            await reader.sees("0 of 3 documented")
            await reader.press("v", "v", "t")
            await reader.sees("Tags of 2 marked columns of bulk_columns_x")
            await reader.type("BulkNew")
            await reader.press("enter", "ctrl+s")
            await reader.sees("2 open", "tags: +BulkNew")
            before = changeset_files()[0]
            assert [item.edit.column for item in StagedChangeset.open(before).items] == ["a", "b"]
            await reader.press("a", "a", "ctrl+s")
            await reader.press("ctrl+s")
            await reader.sees("Written: 2 changes.")
        entity = catalog.entity(urn)
        assert [len(column.tags) for column in entity.schema] == [1, 1, 0]


async def test_what_has_no_such_label_is_left_out_and_said(at: OpenTerminal, desk: Path) -> None:
    with Catalog(data_dir=desk) as catalog:
        tables(catalog, "bulk_unfit")
    async with at(desk) as reader:
        await reader.ask("BulkNew type:tag")
        await reader.press("enter")
        await reader.sees("1 result")
        await reader.press("D")
        await reader.sees("Nothing marked has a domain")
