"""All columns of one name are shown with their texts, and marked ones get one text by review."""

from pathlib import Path
from typing import Any

import pytest

from explorer import config
from explorer.client import Catalog
from explorer.metadata.urn import Urn
from explorer.stewardship import StagedChangeset
from explorer.stewardship.staging import changeset_files
from explorer.tui.screens.concept import ConceptScreen
from explorer.tui.widgets.rows import MARK
from tests.tui.conftest import OpenTerminal, Reader
from tests.tui.test_worklist import make_table

pytestmark = pytest.mark.anyio


def make_concept(catalog: Catalog, column: str) -> list[Urn]:
    """Four tables with a column of that name; two have one text, one has another."""
    urns = [make_table(catalog, f"{column}_{letter}", [column, "b"]) for letter in "wxyz"]
    for urn, text in zip(urns, ("The first.", "The first.", "Another."), strict=False):
        catalog.describe(urn, text, column=column)
    return urns


def texts_of_column(catalog: Catalog, urns: list[Urn], column: str) -> list[str]:
    found = [catalog.entity(urn).schema.column(column) for urn in urns]
    return [(one.edited or "") if one is not None else "" for one in found]


def screen_of(reader: Reader) -> ConceptScreen:
    found: Any = reader.app.screen
    assert isinstance(found, ConceptScreen)
    return found


async def test_columns_of_a_name_get_one_text_by_way_of_the_review(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urns = make_concept(catalog, "con_one")
        async with at(desk, urn=urns[3]) as reader:
            await reader.sees("0 of 2 documented")
            await reader.press("c")
            shown = await reader.sees("4 columns of 4 tables, 2 texts, 1 without a text")
            assert shown.index("2  The first.") < shown.index("1  Another.")
            # The cursor is on the column that it was asked from.
            assert screen_of(reader).query_one("ConceptRows").cursor == 3  # type: ignore[attr-defined]
            await reader.press("ctrl+s")
            await reader.sees("Mark columns first")
            await reader.press("u", "up", "space")
            await reader.sees("2 marked", MARK)
            await reader.press("ctrl+s")
            await reader.sees("One text for con_one", "2 open", "con_one_y")
            assert texts_of_column(catalog, urns, "con_one") == [
                *("The first.", "The first.", "Another.", "")
            ]
            await reader.press("a", "a", "ctrl+s")
            await reader.press("ctrl+s")
            await reader.sees("Written: 2 changes.")
            await reader.press("escape")
            await reader.sees("4 columns of 4 tables, 1 text")
        assert set(texts_of_column(catalog, urns, "con_one")) == {"The first."}


async def test_a_text_is_taken_by_its_number_or_in_the_list_of_texts(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urns = make_concept(catalog, "con_two")
    async with at(desk, urn=urns[0]) as reader:
        await reader.sees("1 of 2 documented")
        await reader.press("c")
        await reader.sees("●   1      2  The first.")
        await reader.press("2")
        await reader.sees("●   2      1  Another.")
        await reader.press("tab", "up", "enter")
        await reader.sees("●   1      2  The first.")
        await reader.press("2", "A", "enter")
        await reader.sees("3 open")
        staged = StagedChangeset.open(changeset_files()[0])
        assert {item.edit.text for item in staged.items} == {"Another."}


async def test_a_new_text_is_kept_while_it_is_typed_and_found_again(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urns = make_concept(catalog, "con_three")
    async with at(desk, urn=urns[0]) as reader:
        await reader.sees("1 of 2 documented")
        await reader.press("c")
        await reader.sees("4 columns")
        await reader.press("e")
        await reader.sees("A text for the columns called con_three")
        await reader.type(" Typed here.")
        kept = config.state_dir() / "concepts"
        await reader.until(
            lambda: any("Typed here." in one.read_text() for one in kept.rglob("*.json"))
        )
        # Killed here, as it were.
    async with at(desk, urn=urns[0]) as reader:
        await reader.sees("1 of 2 documented")
        await reader.press("c")
        await reader.sees("new", "The first. Typed here.", "marked “new”")
        await reader.press("e")
        await reader.type(" And more.")
        await reader.press("escape")
        await reader.sees("● new", "The first. Typed here. And more.")
        await reader.press("u", "ctrl+s")
        await reader.sees("1 open", "The first. Typed here. And more.")
        assert not list(kept.rglob("*.json"))


@pytest.mark.nightly
async def test_the_columns_of_a_term_and_of_a_typed_name_are_shown(
    at: OpenTerminal, desk: Path
) -> None:
    term = "urn:li:glossaryTerm:ConceptTerm"
    with Catalog(data_dir=desk) as catalog:
        urns = make_concept(catalog, "con_four")
        info = {"name": "Concept term", "definition": "", "termSource": "INTERNAL"}
        catalog.create(term, "glossaryTermInfo", info)
        catalog.add_terms(urns[2], [term], column="con_four")
        catalog.add_terms(urns[3], [term], column="b")
    async with at(desk, urn=Urn.parse(term)) as reader:
        await reader.sees("Concept term", "same name")
        await reader.press("c")
        await reader.sees("Columns with the term Concept term", "2 columns of 2 tables, 1 text")
        await reader.press("escape")
        await reader.press("f7")
        await reader.type("CON_FOUR")
        await reader.press("enter")
        await reader.sees("Columns CON_FOUR", "4 columns of 4 tables")
        await reader.press("escape", "f7")
        await reader.type("term:concept term")
        await reader.press("enter")
        await reader.sees("Columns with the term", "2 columns of 2 tables, 1 text")
        await reader.press("escape", "f7")
        await reader.type("CON_FOUR")
        await reader.press("enter")
        await reader.sees("Columns CON_FOUR", "4 columns of 4 tables")
        await reader.press("o")
        await reader.sees("con_four_w", "1 of 2 documented")
        await reader.press("f7")
        await reader.type("no_such_column")
        await reader.press("enter")
        await reader.sees("No dataset has a matching column.")


async def test_the_worklist_leads_to_the_columns_of_the_same_name(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        make_concept(catalog, "con_five")
        make_table(catalog, "only_con_five", ["con_five"])
    async with at(desk) as reader:
        await reader.press("W", "f")
        await reader.type("name:only_con_five")
        await reader.press("enter")
        await reader.sees("1 undocumented", "same name")
        await reader.press("c")
        await reader.sees("Columns con_five", "5 columns of 5 tables")
        await reader.press("escape")
        await reader.sees("Worklist")


async def test_marked_columns_of_a_name_get_a_tag(at: OpenTerminal, desk: Path) -> None:
    with Catalog(data_dir=desk) as catalog:
        urns = make_concept(catalog, "con_six")
        catalog.create("urn:li:tag:ConceptTag", "tagProperties", {"name": "ConceptTag"})
    async with at(desk, urn=urns[0]) as reader:
        await reader.sees("1 of 2 documented")
        await reader.press("c")
        await reader.sees("4 columns")
        await reader.press("A", "t")
        await reader.sees("Tags of 4 columns con_six")
        await reader.type("ConceptTag")
        await reader.press("enter", "ctrl+s")
        await reader.sees("4 open", "tags: +ConceptTag")
