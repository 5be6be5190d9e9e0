"""Of several questions of one kind only the last one is answered."""

import asyncio
import threading
from typing import Any

import pytest

from explorer.client.blocking_face import BlockingFace
from explorer.client.connection import LatestOnly
from explorer.errors import NotFound, Superseded

pytestmark = pytest.mark.anyio


class Slow:
    """Answers when told to, in any order."""

    def __init__(self) -> None:
        self.latest = LatestOnly()
        self.gates: dict[str, asyncio.Future[str]] = {}
        self.cancelled: list[str] = []

    async def answer(self, name: Any) -> Any:
        gate = self.gates[name] = asyncio.get_running_loop().create_future()
        try:
            return await gate
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise

    def ask(self, name: Any, key: str | None = "search") -> Any:
        return asyncio.ensure_future(self.latest.run(key, self.answer(name)))


async def test_an_older_question_is_cancelled_and_told_so() -> None:
    slow = Slow()
    first = slow.ask("a")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    second = slow.ask("b")
    with pytest.raises(Superseded):
        await first
    assert slow.cancelled == ["a"]
    slow.gates["b"].set_result("B")
    assert await second == "B"


@pytest.mark.parametrize("failing", [False, True])
async def test_an_answer_that_came_too_late_never_arrives(failing: bool) -> None:
    slow = Slow()
    first = slow.ask("a")
    await asyncio.sleep(0.01)
    # It is there, and its asker has not looked at it when the next question comes.
    if failing:
        slow.gates["a"].set_exception(NotFound("a"))
    else:
        slow.gates["a"].set_result("A")
    second = slow.ask("b")
    await asyncio.sleep(0.01)
    slow.gates["b"].set_result("B")
    with pytest.raises(Superseded):
        await first
    assert await second == "B"


async def test_other_keys_and_no_key_are_left_alone() -> None:
    slow = Slow()
    asked = [slow.ask("a", "x"), slow.ask("b", "y"), slow.ask("c", None), slow.ask("d", None)]
    await asyncio.sleep(0.01)
    for name in "abcd":
        slow.gates[name].set_result(name)
    assert await asyncio.gather(*asked) == list("abcd")


async def test_cancelling_the_asker_is_no_superseding() -> None:
    slow = Slow()
    first = slow.ask("a")
    await asyncio.sleep(0.01)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert slow.cancelled == ["a"]
    second = slow.ask("b")
    await asyncio.sleep(0.01)
    slow.gates["b"].set_exception(NotFound("b"))
    with pytest.raises(NotFound):
        await second


def test_it_works_between_threads_that_wait() -> None:
    class Face(BlockingFace):
        core = None

        def close(self) -> None:
            self._end()

    face, slow, caught = Face(), Slow(), []

    def ask() -> None:
        try:
            face.wait(slow.latest.run("search", slow.answer("a")))
        except Superseded as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while "a" not in slow.gates:
        pass

    async def at_once() -> str:
        return "B"

    assert face.wait(slow.latest.run("search", at_once())) == "B"
    thread.join(120)
    assert len(caught) == 1
    face.close()
