"""Facets count what taking a value on finds; people by name, slips, use, and every page."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.tui.screens.search_results import Facets, ResultRows
from tests.tui.conftest import OpenTerminal, Reader

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))


def rows(reader: Reader) -> Iterator[Any]:
    """The values of the facets that are shown: field, value, whether it is on, and the count."""
    facets = reader.app.query_one(Facets)
    for index, row in enumerate(facets._rows):
        if row.value is not None:
            (text,) = facets._draw_facet(index, 40)
            plain = text.plain
            yield row.group.field, row.value.value, "●" in plain, plain.split()[-1]


async def total(reader: Reader) -> Any:
    return reader.app.query_one(ResultRows).total


async def test_people_are_found_and_completed_by_their_names(
    sample: Path, at: OpenTerminal
) -> None:
    with Catalog(data_dir=sample) as catalog:
        page = catalog.search("*", entity="corpuser", sort="name", count=100)
        names = {urn: entity.name for urn, entity in catalog.summaries(h.urn for h in page).items()}
        owners = {one.value for one in catalog.facets(entity="dataset", names=["owners"])[0].values}
        urn, name = next((u, n) for u, n in names.items() if str(u) in owners and " " in n)
        owned = catalog.search("*", filter=f"owners:'{urn}'", count=0).total
    async with at(sample) as reader:
        await reader.ask(f'owner:"{name.lower()}"')
        shown = await reader.sees("result")
        assert f"{owned} result" in shown
        await reader.ask(f"owner:{name[:4].lower()}")
        await reader.sees(name)
        await reader.press("tab")
        await reader.press("enter")
        assert reader.box.value == f"owner:{urn.name}"


async def test_a_slip_is_corrected_and_said(sample: Path, at: OpenTerminal) -> None:
    async with at(sample) as reader:
        await reader.ask("custmers")
        shown = await reader.sees("for “customers”; nothing matches “custmers”", "customers")
        assert "No results" not in shown
        await reader.ask("customers")
        assert "nothing matches" not in await reader.sees("best first")


class Cut(AsyncCatalog):
    """The catalog, as if every facet had more values than it gives."""

    async def search(self, text: str = "*", **further: Any) -> Any:
        page = await super().search(text, **further)
        return replace(page, facets=tuple(replace(one, has_more=True) for one in page.facets))


async def test_the_keys_of_conditions_work_at_the_facets_too(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample) as reader:
        await reader.ask("orders tags:PII")
        await reader.press("enter", "f")
        await reader.sees("⏎ add, remove", "c condition", "esc results")
        first = next(row for row in rows(reader) if row[0] == "_entityType")
        await reader.press("1")
        assert reader.box.value == f"orders tags:PII AND type:{first[1]}"
        await reader.press("x")
        assert reader.box.value == "orders"
        # One still stands at the facets.
        await reader.sees("⏎ add, remove")
        await reader.press("c")
        await reader.sees("Condition: choose a field")
        await reader.press("escape")
        await reader.sees("⏎ add, remove")


async def test_a_facet_with_more_values_than_are_given_says_so(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, client=lambda: Cut(data_dir=sample)) as reader:
        shown = await reader.sees("results", "▸ Owned By")
        assert re.search(r"▸ Owned By \d+\+", shown)
