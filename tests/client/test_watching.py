"""Whoever watches a client is told of every exchange, and of no token."""

from typing import Any

import orjson
import pytest

from explorer.client import AsyncCatalog, Exchange
from explorer.client.transport import Retry
from explorer.errors import CatalogError, Unreachable
from explorer.metadata import Urn

pytestmark = pytest.mark.anyio

TOKEN = "a-token-nobody-may-see"
URN = Urn.dataset("hive", "orders")
NOTHING = b'{"results": {}}'


class Wire:
    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    async def send(self, request: Any) -> Any:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        """Nothing is held."""


def watched(*answers: Any, **said: Any) -> Any:
    catalog = AsyncCatalog(transport=Wire(*answers), **said)
    seen: list[Exchange] = []
    catalog.watch(seen.append)
    return catalog, seen


async def test_an_answer_is_told_with_its_path_status_and_size() -> None:
    body = orjson.dumps({"results": {}})
    catalog, seen = watched((200, body))
    await catalog.summaries([URN])
    (one,) = seen
    assert (one.method, one.status, one.sized_bytes) == ("GET", 200, len(body))
    assert one.path.startswith("/entitiesV2?ids=")
    assert (one.failure, one.writes) == ("", False)
    assert one.seconds >= 0


async def test_every_try_is_told_and_why_it_failed() -> None:
    silence = Unreachable("it hung up")
    retry = Retry(tries=3, first_pause_seconds=0)
    catalog, seen = watched(silence, silence, (200, NOTHING), retry=retry)
    await catalog.summaries([URN])
    assert [(one.status, one.failure) for one in seen] == [
        (None, "it hung up"),
        (None, "it hung up"),
        (200, ""),
    ]


async def test_a_refusal_is_told_whole_and_without_the_token() -> None:
    said = f"not with {TOKEN}: " + "why " * 500
    catalog, seen = watched((403, said.encode()), token=TOKEN)
    with pytest.raises(CatalogError):
        await catalog.graphql("{ me }")
    (one,) = seen
    assert one.status == 403
    assert one.failure.count("why") == 500
    assert TOKEN not in repr(seen)


async def test_nobody_is_told_after_the_watching_ended() -> None:
    catalog, seen = watched((200, NOTHING))
    catalog.watch(None)
    await catalog.summaries([URN])
    assert not seen
