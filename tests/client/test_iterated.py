"""One thing after another, for code that waits."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from explorer.client.blocking_face import BlockingFace, blocking_iterator


class Source:
    """Gives numbers: some at once, then one for each time that it is told to go on."""

    def __init__(self) -> None:
        self.told = asyncio.Event()
        self.given = 0
        self.closed = False

    async def numbers(
        self, at_once: Any, later: int = 0, failing: bool = False
    ) -> AsyncGenerator[Any, None]:
        try:
            for _ in range(at_once):
                self.given += 1
                yield self.given
            for _ in range(later):
                async with asyncio.timeout(10):
                    await self.told.wait()
                self.told.clear()
                self.given += 1
                yield self.given
            if failing:
                raise ValueError("no more")
        finally:
            self.closed = True


class Blocking(BlockingFace):
    def __init__(self) -> None:
        self.source = Source()
        self.waits = 0
        super().__init__()

    @property
    def core(self) -> Any:
        return self.source

    def wait(self, work: Any) -> Any:
        self.waits += 1
        return super().wait(work)

    def go_on(self) -> None:
        self._loop.call_soon_threadsafe(self.source.told.set)

    numbers = blocking_iterator(Source.numbers)


@pytest.fixture
def blocking() -> Iterator[Any]:
    made = Blocking()
    yield made
    made._end()


def test_what_is_there_is_handed_over_a_hundred_at_a_time(blocking: Any) -> None:
    assert list(blocking.numbers(1_000)) == list(range(1, 1_001))
    assert blocking.waits <= 12
    assert blocking.source.closed


def test_each_is_given_as_soon_as_it_has_come(blocking: Any) -> None:
    found = []
    for number in blocking.numbers(3, later=4):
        found.append(number)
        if number >= 3:
            # Nothing comes before this is said: whoever waited for more would wait in vain.
            blocking.go_on()
    assert found == [1, 2, 3, 4, 5, 6, 7]


def test_nothing_is_drawn_far_ahead_of_what_is_used(blocking: Any) -> None:
    numbers = blocking.numbers(10_000)
    assert next(numbers) == 1
    assert blocking.source.given <= 101
    numbers.close()
    assert blocking.source.closed


def test_a_failure_comes_after_what_came_before_it(blocking: Any) -> None:
    found = []
    with pytest.raises(ValueError, match="no more"):
        found.extend(blocking.numbers(5, failing=True))
    assert found == [1, 2, 3, 4, 5]
    assert blocking.source.closed


def test_leaving_while_more_is_awaited_calls_it_off(blocking: Any) -> None:
    numbers = blocking.numbers(1, later=1)
    assert next(numbers) == 1
    numbers.close()
    assert blocking.source.closed
