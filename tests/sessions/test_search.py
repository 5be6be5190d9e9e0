"""Searching without a screen: superseded, refused, failed and empty searches, facets, pages."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog
from explorer.errors import Busy, InvalidInput, Superseded, Unreachable
from explorer.metadata import Urn
from explorer.query import FilterSyntax
from explorer.sessions import search as search_module
from explorer.sessions.search import NO_NAMES, Query, Results, SearchSession

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")


class Gated(AsyncCatalog):
    """The catalog; its answers are held back as long as the gate is shut, and can fail or be of an
    earlier time."""

    def __init__(self, directory: Path) -> None:
        super().__init__(data_dir=directory)
        self.gate = asyncio.Event()
        self.gate.set()
        self.failing: Exception | None = None
        self.as_of_search: datetime | None = None
        self.asked: list[str] = []
        self.cancelled: list[str] = []

    async def search(self, text: str = "*", **further: Any) -> Any:
        self.asked.append(text)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(text)
            raise
        if self.failing is not None:
            raise self.failing
        return replace(await super().search(text, **further), as_of=self.as_of_search)


@pytest.fixture
async def catalog(sample: Path) -> AsyncIterator[Gated]:
    async with Gated(sample) as catalog:
        yield catalog


@pytest.fixture
def session(catalog: Gated) -> SearchSession:
    return SearchSession(catalog, size=20, values=5)


def results_of(session: SearchSession) -> Results:
    assert session.state.results is not None
    return session.state.results


async def until_asked(catalog: Gated, text: str) -> None:
    async with asyncio.timeout(120):
        while text not in catalog.asked:  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.005)


async def test_a_later_search_replaces_one_that_still_runs(
    catalog: Gated, session: SearchSession
) -> None:
    catalog.gate.clear()
    first = asyncio.create_task(session.search(Query("customers")))
    await until_asked(catalog, "customers")
    second = asyncio.create_task(session.search(Query("orders")))
    with pytest.raises(Superseded):
        await first
    assert catalog.cancelled == ["customers"]
    assert session.state.is_searching
    catalog.gate.set()
    await second
    assert results_of(session).query == Query("orders")
    assert not session.state.is_searching
    # Nothing went wrong that anybody has to be told.
    assert session.state.message is None


async def test_every_state_says_either_that_it_searches_or_what_was_found(
    session: SearchSession,
) -> None:
    seen: list[tuple[bool, bool]] = []
    session.subscribe(lambda state: seen.append((state.is_searching, state.results is not None)))
    await session.search(Query("orders"))
    assert set(seen) == {(True, False), (False, True)}


async def test_a_search_that_is_given_up_is_none_that_runs(
    catalog: Gated, session: SearchSession
) -> None:
    catalog.gate.clear()
    search = asyncio.create_task(session.search(Query("orders")))
    await until_asked(catalog, "orders")
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert (session.state.is_searching, session.state.results) == (False, None)


async def test_of_what_is_typed_only_the_last_text_is_searched_for(
    catalog: Gated, session: SearchSession
) -> None:
    texts = ["o", "or", "ord", "orders"]
    searches = [session.search(Query(text), is_typed=True) for text in texts]
    outcomes = await asyncio.gather(*searches, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes[:-1]] == [Superseded] * 3
    assert catalog.asked == ["orders"]


async def test_loading_failing_refused_and_finding_nothing_are_told_apart(
    catalog: Gated, session: SearchSession
) -> None:
    await session.search(Query("orders"))
    found = session.state.results
    states = []
    session.subscribe(lambda state: states.append(state.is_searching))
    catalog.failing = Unreachable("no catalog answers")
    with pytest.raises(Unreachable):
        await session.search(Query("customers"))
    assert states[0]
    assert (session.state.is_searching, session.state.results) == (False, found)
    assert session.state.message is not None
    assert session.state.message.error is catalog.failing
    catalog.failing = None
    with pytest.raises(FilterSyntax):
        await session.search(Query("orders nosuch:x"))
    faults = [session.state.fault]
    assert session.state.results is found
    await session.search(Query("zzzznothing"))
    faults.append(session.state.fault)
    assert [fault is None for fault in faults] == [False, True]
    assert results_of(session).total == 0
    assert not session.state.is_searching


async def test_an_empty_answer_takes_no_results_away_while_a_condition_is_typed(
    session: SearchSession,
) -> None:
    text = "orders platform:snow"
    await session.search(Query("orders"))
    found = session.state.results
    await session.search(Query(text), cursor=len(text))
    assert session.state.results is found
    session.show_held_back()
    assert results_of(session).total == 0


async def test_pages_are_added_where_they_belong(session: SearchSession) -> None:
    await session.search(Query())
    first = results_of(session)
    assert first.total > 60
    await session.read_page(40)
    results = results_of(session)
    assert [at in results.hits for at in (0, 19, 20, 39, 40, 59, 60)] == [
        *(True, True, False, False),
        *(True, True, False),
    ]
    assert results.row(results.hits[40]).is_read
    # What was seen before is as it was.
    assert 40 not in first.hits


async def test_a_page_of_an_earlier_search_is_not_added_to_another(
    catalog: Gated, session: SearchSession
) -> None:
    await session.search(Query())
    catalog.gate.clear()
    late = asyncio.create_task(session.read_page(20))
    await asyncio.sleep(0)
    found = asyncio.create_task(session.search(Query("orders")))
    await until_asked(catalog, "orders")
    catalog.gate.set()
    await asyncio.gather(late, found)
    assert set(results_of(session).hits) == set(range(20))


@pytest.mark.parametrize("chosen", [None, {}], ids=["in the text", "beside it"])
async def test_a_chosen_facet_finds_what_it_counted_and_counts_what_more_would_add(
    session: SearchSession, chosen: Any
) -> None:
    registry = session.catalog.registry
    await session.search(Query("orders", chosen=chosen))
    whole = results_of(session).total
    group = next(group for group in results_of(session).groups if group.field == "platform")
    first, second = group.rows[:2]
    query = session.state.query.toggle("platform", first.value, registry)
    assert (query.text == "orders") is (chosen is not None)
    await session.search(query)
    results = results_of(session)
    assert results.total == first.count
    group = next(group for group in results.groups if group.field == "platform")
    rows = {row.value: row for row in group.rows}
    assert (rows[first.value].is_chosen, rows[second.value].adds) == (True, True)
    await session.search(query.toggle("platform", second.value, registry))
    assert results_of(session).total == results.total + (rows[second.value].count or 0)
    await session.search(query.toggle("platform", first.value, registry))
    assert results_of(session).total == whole


async def test_a_slip_is_corrected_and_said(session: SearchSession) -> None:
    await session.search(Query("custmers"))
    assert results_of(session).corrected == ("custmers", "customers")
    assert results_of(session).words == "customers"


@pytest.mark.parametrize("is_slow", [False, True])
async def test_what_an_earlier_index_finds_is_shown_without_names(
    catalog: Gated, session: SearchSession, monkeypatch: pytest.MonkeyPatch, is_slow: bool
) -> None:
    async def fail(*_: Any) -> Any:
        if is_slow and catalog.as_of_search is not None:
            await asyncio.Event().wait()
        raise Busy("the database is away")

    monkeypatch.setattr(search_module, "_OLD_PAGE_SECONDS", 0.05)
    catalog.as_of_search = datetime.now(UTC)
    monkeypatch.setattr(catalog, "summaries", fail)
    await session.search(Query("fct_orders"))
    results = results_of(session)
    assert results.page.as_of is not None
    assert not results.row(results.hits[0]).is_read
    assert session.state.message is not None
    assert session.state.message.sentence == NO_NAMES
    # Of a server that is whole, the same is an error.
    catalog.as_of_search = None
    with pytest.raises(Busy):
        await session.search(Query("fct_orders"))


async def test_words_and_conditions_are_completed(session: SearchSession) -> None:
    names = await session.complete("fct_ord", 7)
    assert names[0].urn is not None
    assert names[0].detail.startswith("dataset · snowflake")
    assert await session.complete("f", 1) == ()
    text = "orders platform:"
    values = await session.complete(text, len(text))
    assert values[0].text.startswith("orders platform:")
    fields = await session.complete("orders plat", 11)
    assert "platform:" in [field.label for field in fields]


async def test_names_for_what_stands_there_no_more_are_not_waited_for(
    session: SearchSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, given_up = asyncio.Event(), []
    suggest = AsyncCatalog.suggest

    async def wait_for_ever(self: AsyncCatalog, text: str, **further: Any) -> Any:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            given_up.append(text)
            raise

    monkeypatch.setattr(AsyncCatalog, "suggest", wait_for_ever)
    first = asyncio.create_task(session.complete("fct_refu", 8))
    await asked.wait()
    monkeypatch.setattr(AsyncCatalog, "suggest", suggest)
    completions = await session.complete("dim_stor", 8)
    with pytest.raises(Superseded):
        await first
    assert given_up == ["fct_refu"]
    assert completions[0].label.startswith("dim_stor")


async def test_a_urn_among_the_words_and_an_order_mean_what_they_mean_in_python(
    session: SearchSession,
) -> None:
    for text in ("orders urn:li:tag:PII", "type:tag urn:li:tag:PII", "-urn:li:tag:PII"):
        page = await session.catalog.search(text, count=20)
        assert page.total
        await session.search(Query(text))
        assert results_of(session).urns == [hit.urn for hit in page]
    await session.search(Query("type:dataset", sort="-use"))
    assert results_of(session).urns[0] == ORDERS


async def test_what_others_changed_is_read_again_where_it_is_shown(
    session: SearchSession,
) -> None:
    await session.search(Query("fct_orders"))
    before = results_of(session)
    await session.refresh([Urn.dataset("hive", "never.there")])
    assert results_of(session) is before
    await session.refresh([ORDERS])
    assert results_of(session).entities[ORDERS] is not before.entities[ORDERS]
    await session.read_measures()
    row = results_of(session).row(results_of(session).hits[0])
    assert row.measures is not None


async def test_columns_are_results_with_their_tables(session: SearchSession) -> None:
    await session.search(Query("customer email", columns=True))
    results = results_of(session)
    first = results.row(results.hits[0])
    assert (first.name, first.kind_label, first.table) == ("email", "column", "customers")
    assert first.column_to_open(results.words) == "email"
    assert first.entity_urn in results.entities
    assert first.entity_urn.name in ("shop.public.customers", "raw.shop.customers")
    assert results.page.complete
    assert not results.groups
    await session.read_page(20)
    assert len(results_of(session).hits) == 40
    urns = [hit.urn for hit in results_of(session).hits.values()]
    assert len({*urns}) == 40


async def test_a_result_is_opened_at_the_column_that_explains_it(session: SearchSession) -> None:
    await session.search(Query("wrapping type:dataset"))
    results = results_of(session)
    rows = map(results.row, results.hits.values())
    columns = {row.name: row.column_to_open(results.words) for row in rows}
    assert columns["order_items"] == "is_gift"
    await session.search(Query("orders type:dataset"))
    results = results_of(session)
    assert results.row(results.hits[0]).column_to_open(results.words) is None


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (Query("email", sort="name", columns=True), "leave out the sort order"),
        (Query("email", types=("chart",), columns=True), "only datasets have columns"),
    ],
)
async def test_what_columns_do_not_have_is_refused(
    session: SearchSession, query: Query, sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        await session.search(query)
