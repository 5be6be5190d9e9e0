"""What a graph asks of a catalog: no more than it takes, and nothing goes on once it failed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import pytest

from explorer.client import AsyncCatalog
from explorer.client.connection import Abilities
from explorer.errors import Unreachable
from explorer.graph import find_impact, read_lineage, read_usage, walk
from explorer.graph.lineage import columns_along, read_columns
from explorer.metadata import Urn

HUB = Urn.of("tag", "hub")


class Failing(AsyncCatalog):
    """Fails at the second question of a kind, while all others wait for ever."""

    def __init__(self, address: Any) -> None:
        super().__init__(address)
        self.asked = 0
        self.left = 0

    async def _answer(self) -> None:
        self.asked += 1
        if self.asked == 2:
            raise Unreachable("gone")
        try:
            await asyncio.Event().wait()
        finally:
            self.left += 1

    async def lineage(self, *_: Any, **__: Any) -> Any:
        await self._answer()

    async def relationships(self, *_: Any, **__: Any) -> Any:
        await self._answer()

    async def timeseries(self, *_: Any, **__: Any) -> Any:
        await self._answer()

    async def abilities(self) -> Any:
        return Abilities()

    async def _lookup(self, *_: Any) -> Any:
        await self._answer()


TABLES = [Urn.dataset("hive", f"t{at}") for at in range(5)]
QUESTIONS: dict[str, Callable[[AsyncCatalog], Awaitable[Any]]] = {
    "lineage": lambda c: read_lineage(c, HUB, "BOTH"),
    "walk": lambda c: walk(c, HUB, ["A"], "BOTH"),
    "usage": lambda c: read_usage(c, TABLES),
    "versions": lambda c: c._versions(TABLES[0], "status", 9, 0, 4),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_when_one_question_fails_the_others_end_too(catalog: Any, name: Any) -> None:
    async def run() -> None:
        async with Failing(catalog.address) as failing:
            with pytest.raises(Unreachable):
                await QUESTIONS[name](failing)
            assert failing.left == failing.asked - 1 > 0
            assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


class Counting(AsyncCatalog):
    """Counts the walks."""

    walks = 0

    async def lineage(self, urn: Any, *further: Any, **more: Any) -> Any:
        self.walks += 1
        return await super().lineage(urn, *further, **more)


@pytest.mark.parametrize("column", [None, "Email"])
def test_the_impact_of_a_column_takes_one_walk_like_that_of_a_table(
    catalog: Any, named: Any, column: str | None
) -> None:
    async def run() -> Any:
        async with Counting(catalog.address) as counting:
            found = await find_impact(counting, named.table("raw"), column)
            assert named.table("mart") in {one.urn for one in found.affected}
            return counting.walks

    assert asyncio.run(run()) == 1


@pytest.mark.parametrize("direction", ["DOWNSTREAM", "UPSTREAM"])
def test_columns_along_a_walk_are_those_of_a_walk_of_their_own(
    catalog: Any, named: Any, direction: Literal["DOWNSTREAM", "UPSTREAM"]
) -> None:
    async def run() -> None:
        async with AsyncCatalog(catalog.address) as one:
            root = named.table("right")
            tables = await read_lineage(one, root, direction, hops=5)
            along = await columns_along(one, tables, "mail")
            alone = await read_columns(one, root, "mail", direction, hops=5)
            assert dict(along.nodes(data=True)) == dict(alone.nodes(data=True))
            assert list(along.edges(data=True)) == list(alone.edges(data=True))
            assert along.graph == alone.graph
            assert len(along) > 1

    asyncio.run(run())
