"""What every session does: a state that is replaced as a whole, actions in turn, errors said
twice."""

import asyncio
from dataclasses import dataclass

import pytest

from explorer.errors import InvalidInput, Superseded
from explorer.sessions.base import Message, Session, SessionState, action

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True)
class Tally(SessionState):
    """The numbers that were added."""

    numbers: tuple[int, ...] = ()


class TallySession(Session[Tally]):
    """Adds numbers, slowly."""

    @action("Add a number")
    async def add(self, number: int) -> None:
        self.check("add")
        await asyncio.sleep(0.01 if number % 2 else 0)
        if number < 0:
            raise InvalidInput(f"{number} is less than 0")
        self.replace(numbers=(*self.state.numbers, number))

    @action("Count to a number")
    async def count(self, number: int) -> None:
        async def step() -> None:
            for at in range(number):
                await asyncio.sleep(0)
                self.replace(numbers=(*self.state.numbers, at))
                self.tell_progress(at + 1, number)

        await self.work("counting", step(), number)

    @action("Add a number once the gate is open", supersedes={"add_later"})
    async def add_later(self, number: int, gate: asyncio.Event) -> None:
        await gate.wait()
        self.replace(numbers=(*self.state.numbers, number))

    @action("Forget all numbers", in_turn=False)
    async def forget(self) -> None:
        self.replace(numbers=())

    def why_not(self, name: str) -> str:
        if name == "forget" and not self.state.numbers:
            return "There is no number."
        if name == "add" and self.state.work is not None:
            return "Something is being counted."
        return "Nothing can be added any more." if len(self.state.numbers) > 5 else ""


def tally() -> TallySession:
    return TallySession(None, Tally())


async def test_actions_that_are_called_together_happen_one_after_another() -> None:
    session = tally()
    await asyncio.gather(*map(session.add, (1, 2, 3, 4)))
    assert session.state.numbers == (1, 2, 3, 4)


async def test_a_refused_action_changes_nothing_and_says_why_twice() -> None:
    session = tally()
    await session.add(2)
    with pytest.raises(InvalidInput, match="less than 0"):
        await session.add(-2)
    message = session.state.message
    assert session.state.numbers == (2,)
    assert message is not None
    assert message.is_error
    assert message.sentence == "-2 is less than 0"


async def test_the_state_says_what_can_be_done_and_why_not() -> None:
    session = tally()
    assert session.state.actions["add"].is_possible
    await session.count(6)
    assert session.state.actions["add"].why_not == "Nothing can be added any more."
    assert session.state.actions["count"].sentence == "Count to a number"


async def test_a_state_that_was_seen_is_never_changed() -> None:
    session = tally()
    seen: list[Tally] = []
    end = session.subscribe(seen.append)
    await session.add(2)
    end()
    await session.add(4)
    assert [state.numbers for state in seen] == [(2,)]


async def test_work_tells_how_far_it_is_and_refuses_what_is_not_possible_meanwhile() -> None:
    session = tally()
    told: list[str] = []
    session.subscribe(lambda state: told.append(str(state.work)))
    counting = asyncio.create_task(session.count(3))
    await asyncio.sleep(0)
    with pytest.raises(InvalidInput, match="being counted"):
        await session.add(2)
    await counting
    assert "counting 2 of 3 …" in told
    assert session.state.work is None


async def test_work_that_is_cancelled_keeps_what_is_done() -> None:
    session = tally()
    counting = asyncio.create_task(session.count(1_000))
    await asyncio.sleep(0.001)
    session.cancel()
    with pytest.raises(asyncio.CancelledError):
        await counting
    assert session.state.work is None
    assert 0 < len(session.state.numbers) < 1_000


async def test_an_error_in_the_background_is_said_once() -> None:
    session = tally()
    told: list[Message | None] = []

    async def fail() -> None:
        raise InvalidInput("no")

    session.subscribe(lambda state: told.append(state.message))
    session.start(fail())
    await session.settle()
    assert [message.sentence for message in told if message is not None] == ["no"]


async def test_what_was_begun_before_the_session_was_closed_is_done() -> None:
    session, told = tally(), list[Tally]()
    session.subscribe(told.append)
    for number in (1, 3):
        session.start(session.add(number))
    session.close()
    await session.settle()
    assert session.state.numbers == (1, 3)
    assert told == []


async def test_the_same_sentence_said_twice_is_two_messages() -> None:
    session = tally()
    session.say("Saved.")
    first = session.state.message
    session.say("Saved.")
    assert session.state.message != first


async def test_what_is_superseded_changes_nothing_and_says_nothing() -> None:
    session, gate = tally(), asyncio.Event()
    calls = [asyncio.create_task(session.add_later(number, gate)) for number in (2, 4, 6)]
    await asyncio.sleep(0)
    gate.set()
    ends = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(end) for end in ends] == [Superseded, Superseded, type(None)]
    assert session.state.numbers == (6,)
    assert session.state.message is None


async def test_a_caller_that_is_cancelled_ends_what_it_called() -> None:
    session, gate = tally(), asyncio.Event()
    call = asyncio.create_task(session.add_later(2, gate))
    await asyncio.sleep(0.001)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    gate.set()
    await session.add(4)
    assert session.state.numbers == (4,)


async def test_an_action_out_of_turn_waits_for_none_and_is_refused_when_it_is_not_possible() -> (
    None
):
    session = tally()
    await session.add(2)
    adding = asyncio.create_task(session.add(1))
    await asyncio.sleep(0)
    await session.forget()
    assert not session.state.numbers
    assert not adding.done()
    with pytest.raises(InvalidInput, match="There is no number"):
        await session.forget()
    await adding
    assert list(session.state.numbers) == [1]
