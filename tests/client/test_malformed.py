"""Whatever becomes of a server's answers on their way, the client gives an error of its own."""

import asyncio
import inspect
from pathlib import Path

import pytest

from explorer.client import AsyncCatalog
from tests.client.malformed import CALLS, run, served
from tests.client.test_read_only import ELSEWHERE

# Made of other calls, or calling nobody.
MADE_OF_OTHERS = ELSEWHERE | {
    "record",
    "folder",
    "remove",
    "known_as",
    "move_contents",
    "find_labels",
    "other_spelling",
}


@pytest.mark.nightly
def test_a_malformed_answer_to_any_request_is_an_error_of_ours(tmp_path: Path) -> None:
    rounds = 5
    with served(tmp_path) as address:
        done, ends, faults = asyncio.run(run(address, rounds))
    assert not faults, "\n\n".join(f"{name}:\n{trace}" for name, trace in faults.items())
    assert sum(done.values()) > 50 * rounds
    assert ends["an answer"] > 5 * rounds
    assert ends["Unreadable"] > 2 * rounds


def test_every_method_that_asks_is_among_the_calls() -> None:
    asked = {
        name
        for name, method in inspect.getmembers(AsyncCatalog)
        if not name.startswith("_")
        and (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method))
    }
    assert asked - MADE_OF_OTHERS <= {name.split()[0] for name in CALLS}
