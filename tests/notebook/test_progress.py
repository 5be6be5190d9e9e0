"""What takes a while says so, can be interrupted, and leaves the catalog usable."""

import asyncio
import os
import signal
import threading
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from explorer import Catalog
from explorer.errors import Misuse, NotFound
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook import progress


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bars are shown from the beginning."""
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 0.0)
    monkeypatch.setattr(progress, "_TICK_SECONDS", 0.01)


def interrupt_when(happened: Any) -> None:
    """Interrupt the main thread as the kernel's stop button does, once this has happened."""

    def wait() -> None:
        assert happened.wait(120)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=wait, daemon=True).start()


def test_what_is_quick_shows_nothing(
    cat: Catalog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # However busy the machine is, this is quicker.
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 60.0)
    assert len(cat.search("orders", count=1).all(limit=3)) == 3
    assert len(cat.dataset(cat.search("fct_orders", entity="dataset").urns[0]).lineage(1))
    shown = capsys.readouterr()
    assert shown.out == shown.err == ""


def test_what_takes_long_shows_how_far_it_is_and_leaves_nothing(
    cat: Catalog, at_once: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work(tell: Any) -> str:
        for done in range(1, 4):
            tell(done, 3)
            await asyncio.sleep(0.05)
        return "done"

    assert progress.with_progress(cat, work, "loading") == "done"
    shown = capsys.readouterr().err
    assert "loading" in shown
    assert "/3" in shown
    assert shown.rstrip(" ").endswith("\r")

    assert list(progress.each(range(4), "reading", total=lambda: 4)) == [0, 1, 2, 3]
    assert "reading" in capsys.readouterr().err


def test_errors_come_through(cat: Catalog, at_once: Any) -> None:
    async def work(tell: Any) -> None:
        raise NotFound("there is nothing")

    with pytest.raises(NotFound, match="there is nothing"):
        progress.with_progress(cat, work, "looking")


def test_an_interrupt_calls_the_work_off_and_the_catalog_goes_on(cat: Catalog) -> None:
    begun, ended = threading.Event(), threading.Event()

    async def work(tell: Any) -> None:
        try:
            begun.set()
            await asyncio.sleep(600)
        finally:
            ended.set()

    interrupt_when(begun)
    with pytest.raises(KeyboardInterrupt):
        progress.with_progress(cat, work, "walking")
    assert ended.is_set()
    assert cat.search("orders", count=1).total
    assert not [one for one in threading.enumerate() if one.name.startswith("catalog-waiting")]


def test_the_thread_of_a_client_is_told_that_it_cannot_wait_for_itself(cat: Catalog) -> None:
    told: list[str] = []

    def ask(_: object) -> None:
        try:
            other.measures(["urn:li:dataset:(urn:li:dataPlatform:hive,db.t,PROD)"])
        except Misuse as error:
            told.append(str(error))

    with Catalog(cat.address) as other:
        other.watch(ask)
        other.info()
        other.watch(None)
    assert told
    assert "cannot be made on the client's own thread" in told[0]


def test_a_scroll_can_be_left_and_begun_again(cat: Catalog) -> None:
    pages = cat.hits(page_size=10)
    read = progress.each(pages, "reading", total=lambda: pages.total)
    first = next(read)
    assert isinstance(read, Generator)
    read.close()
    assert next(iter(pages)) != first
    pages.close()
    assert len(cat.search(count=1).all(limit=30)) == 30


def test_an_interrupted_reading_of_names_keeps_what_was_read(
    cat: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = threading.Event()
    taken = iter(range(10_000))
    whole = progress.each

    def slowly(items: Any, what: Any, *, total: Any = None) -> Iterator[Any]:
        for item in whole(items, what, total=total):
            if next(taken) == 250:
                met.set()
                threading.Event().wait(20)
            yield item

    monkeypatch.setattr("explorer.notebook.catalog.each", slowly)
    with Catalog(cat.address) as other:
        interrupt_when(met)
        with pytest.raises(KeyboardInterrupt):
            other.names()
        assert len(other._ipython_key_completions_()) >= 200
        assert other.search("orders", count=1).total


def test_a_load_tells_how_many_were_sent(
    cat: Catalog, at_once: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    proposals = [
        Proposal(Urn.dataset("hive", f"load.t{at}"), "datasetProperties", {"description": "x"})
        for at in range(300)
    ]
    assert cat.ingest_batch(proposals).written_count == 300
    assert "loading" in capsys.readouterr().err
    assert cat.ingest_batch(iter(proposals[:2])).written_count == 2


def test_a_bar_in_a_notebook_is_told_how_far_it_is_and_ends_as_nothing(
    cat: Catalog, at_once: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    class Handle:
        def display(self, data: Any, raw: Any) -> None:
            told.append(data)

        update = display

    class Kernel:
        kernel = object()

    monkeypatch.setattr("IPython.display.DisplayHandle", Handle)
    monkeypatch.setattr("IPython.core.getipython.get_ipython", Kernel)
    monkeypatch.delenv("TQDM_DISABLE", raising=False)

    async def work(tell: Any) -> None:
        for done in range(1, 4):
            tell(done, 3)
            await asyncio.sleep(0.05)

    progress.with_progress(cat, work, "loading <all>")
    assert any("of 3" in one["text/plain"] for one in told)
    assert any('max="3"' in one["text/html"] for one in told[:-1])
    assert all("&lt;all&gt;" in one["text/html"] for one in told[:-1])
    # No widget is left whose kernel is gone when the notebook is opened again.
    assert told[-1] == {"text/plain": ""}
    assert not any("widget" in kind for one in told for kind in one)
