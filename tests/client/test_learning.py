"""What a server can do is found out once, and remembered only where it said so itself."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from explorer.client import AsyncCatalog, Retry
from explorer.errors import Unreachable
from explorer.metadata import Urn

TABLE = Urn.dataset("hive", "learning")
FIELDS = {"data": {"__type": {"fields": [{"name": "updateDataset"}]}}}
OURS = {"noCode": "true", "catalogExplorer": {"version": "1"}}


class Told:
    """Answers questions as told, one answer after another, the last for ever."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def send(self, request: Any) -> Any:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            raise Unreachable("gone")
        return answer[0], orjson.dumps(answer[1])

    async def close(self) -> None:
        pass


def ask(wire: Any, question: Any, times: Any, **more: Any) -> Any:
    async def run() -> Any:
        async with AsyncCatalog(transport=wire, retry=Retry(1), **more) as catalog:
            return [await question(catalog) for _ in range(times)]

    return asyncio.run(run())


def offers(name: Any) -> Any:
    return lambda catalog: catalog._offers("Mutation", name)


def test_a_schema_that_could_not_be_asked_for_is_asked_for_again() -> None:
    wire = Told((500, {"message": "it broke"}), (200, FIELDS))
    assert ask(wire, offers("addLink"), 3) == [True, False, False]
    assert wire.asked == 2


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"errors": [{"message": "introspection is off"}]}),
        (404, {"message": "no such place"}),
        (200, {"data": {"__type": None}}),
    ],
    ids=["refused", "nowhere", "no such type"],
)
def test_a_server_that_does_not_tell_its_schema_is_asked_once(answer: Any) -> None:
    wire = Told(answer)
    assert ask(wire, offers("addLink"), 3) == [True, True, True]
    assert wire.asked == 1


QUESTIONS: dict[str, tuple[Any, Any, Any, Callable[[Any], Any], Any]] = {
    "abilities": (
        lambda catalog: catalog.abilities(),
        (200, OURS),
        (200, {"noCode": "true"}),
        lambda found: found.product,
        ["catalog", "datahub", "datahub"],
    ),
    "schema": (
        offers("updateDataset"),
        (200, FIELDS),
        (200, {"data": {"__type": {"fields": [{"name": "other"}]}}}),
        lambda found: found,
        [True, False, False],
    ),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_a_kept_answer_tells_of_the_server_is_asked_again(
    name: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CATALOG_CACHE_DIR", str(tmp_path))
    question, before, after, seen, told = QUESTIONS[name]
    settings = {"url": "http://learning.example", "offline": "fallback"}
    ask(Told(before), question, 1, **settings)
    found = ask(Told(None, after), question, 3, **settings)
    assert [seen(one) for one in found] == told
