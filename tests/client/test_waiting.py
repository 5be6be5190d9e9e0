"""The blocking face ends, whatever is done to it: closed, dropped, forked, used by itself."""

import asyncio
import gc
import inspect
import os
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.client.blocking_face import blocking_iterator, run_through
from explorer.errors import Misuse


class Silent:
    """A transport that carries nothing."""

    def __init__(self) -> None:
        self.closed = 0

    async def send(self, _request: Any) -> Any:
        return 200, b"{}"

    async def close(self) -> None:
        self.closed += 1


async def numbers() -> AsyncGenerator[Any, None]:
    yield 1
    yield 2


@pytest.fixture
def catalog() -> Iterator[Any]:
    with Catalog(transport=Silent()) as made:
        yield made


def begun(catalog: Any) -> Any:
    """An iteration of which one was taken."""
    drawn = blocking_iterator(lambda _core: numbers())(catalog)
    assert next(drawn) == 1
    return drawn


def test_whoever_asks_while_it_is_closed_is_told_so_and_waits_for_nothing() -> None:
    async def leaves_slowly() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)

    for _ in range(10):
        catalog = Catalog(transport=Silent())
        told: list[Any] = []

        def use(work: Any, catalog: Any = catalog, told: Any = told) -> None:
            try:
                while True:
                    catalog.wait(work())
            except Misuse:
                told.append(True)

        users = [leaves_slowly, *[lambda: asyncio.sleep(0)] * 3]
        threads = [threading.Thread(target=use, args=(one,), daemon=True) for one in users]
        for thread in threads:
            thread.start()
        time.sleep(0.005)
        catalog.close()
        for thread in threads:
            thread.join(120)
        assert len(told) == len(threads)


def test_what_a_closed_client_is_asked_through_another_face_is_ended_too() -> None:
    catalog = Catalog(transport=Silent())
    catalog.close()

    async def run(work: Any) -> Any:
        return await work

    work = catalog.core.info()
    with pytest.raises(Misuse):
        run_through(catalog, run).wait(work)
    assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED


def test_two_threads_may_close_it_at_once() -> None:
    catalog = Catalog(transport=Silent())
    threads = [threading.Thread(target=catalog.close, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert not catalog._thread.is_alive()


@pytest.mark.nightly
def test_an_iteration_that_the_garbage_collector_ends_on_the_clients_thread_blocks_nobody(
    catalog: Any,
) -> None:
    class Knot:
        itself: Any
        drawn: Any

    gc.disable()
    try:
        knot = Knot()
        knot.itself, knot.drawn = knot, begun(catalog)
        del knot

        async def collect() -> Any:
            return gc.collect()

        found = []
        asking = threading.Thread(target=lambda: found.append(catalog.wait(collect())), daemon=True)
        asking.start()
        asking.join(120)
    finally:
        gc.enable()
    assert found


def test_an_iteration_is_left_in_peace_after_the_client_was_closed() -> None:
    catalog = Catalog(transport=Silent())
    drawn = begun(catalog)
    catalog.close()
    drawn.close()


def test_a_source_that_asks_the_same_client_is_refused_and_does_not_hang(catalog: Any) -> None:
    with pytest.raises(Misuse, match="list"):
        catalog.ingest_batch(catalog.info() for _ in range(1))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_in_a_process_that_was_forked_off_it_says_so(catalog: Any) -> None:
    child = os.fork()
    if not child:
        # Nothing of the test runner may run here.
        try:
            catalog.info()
        except Misuse:
            catalog.close()
            os._exit(0)
        finally:
            os._exit(1)
    end = time.monotonic() + 10
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert ended == (child, 0)
    assert catalog.exists("urn:li:tag:PII")


def test_one_that_is_dropped_takes_its_thread_and_its_connections_with_it() -> None:
    transport = Silent()
    catalog = Catalog(transport=transport)
    thread = catalog._thread
    del catalog
    gc.collect()
    thread.join(120)
    assert not thread.is_alive()
    assert transport.closed == 1


@pytest.mark.anyio
async def test_a_closed_client_is_offline() -> None:
    catalog = AsyncCatalog(transport=Silent())
    await catalog.close()
    with pytest.raises(Misuse, match="closed"):
        await catalog.info()
