"""A bulk load whose index is written by another process."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.metadata import Registry
from explorer.query import Filter
from explorer.server.search import indexer, layers
from explorer.server.search.document import Document
from explorer.server.search.index import SearchIndex
from explorer.server.search.indexer import Indexer
from explorer.server.search.layers import DiskIndex
from explorer.server.search.query import SearchQuery

Make = Callable[..., Document]
COUNT = 400


@pytest.fixture
def index(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SearchIndex]:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(layers, "_BULK_AFTER", 100)
    index = SearchIndex(tmp_path / "index", registry)
    yield index
    index.close()


@pytest.fixture(scope="module")
def documents(dataset: Make) -> list[Document]:
    def columns(number: int) -> list[dict[str, object]]:
        return [
            {"fieldPath": f"customer_id_{number}", "type": {}, "description": "Größe – ½ °C"},
            {"fieldPath": "struct.inner", "type": {}},
        ]

    return [
        dataset(
            f"shop.orders_{number}",
            schemaMetadata={"fields": columns(number)},
            datasetProperties={
                "description": f"All orders of day {number}.",
                "customProperties": {"team": "sales"},
            },
            globalTags={"tags": [{"tag": "urn:li:tag:PII"}]},
            browsePathsV2={"path": [{"id": "shop"}, {"id": f"part {number % 7}"}]},
            usage=float(number),
        )
        for number in range(COUNT)
    ]


def process_of(index: SearchIndex) -> Indexer:
    """The process that writes an index."""
    process = index._layers._base.indexer
    assert process is not None
    return process


def load(index: SearchIndex, documents: list[Document], first: int = 1) -> None:
    for begin in range(0, len(documents), 40):
        index.apply(first + begin, documents[begin : begin + 40])


def found(index: SearchIndex, text: str) -> list[str]:
    page = index.search(SearchQuery(text, ("dataset",), Filter(), 0, 3))
    return [hit.urn for hit in page.hits]


def test_a_bulk_load_is_indexed_as_if_this_process_wrote_it(
    index: SearchIndex, documents: list[Document], registry: Registry
) -> None:
    load(index, documents)
    index.flush()
    assert is_running(process_of(index).pid)
    here = SearchIndex(None, registry)
    for document in documents:
        here.apply(1, [document])
    try:
        for text in ("customer_id_210", "day 399", "Größe", "PII", "team:sales", "orders_35*"):
            one, other = (
                each.search(SearchQuery(text, ("dataset",), Filter(), 0, 50))
                for each in (index, here)
            )
            assert one == other
            assert one.total > 0
    finally:
        here.close()
    assert all(index.has_document(document) for document in documents)
    assert index.committed_offset > 1


def test_what_is_loaded_is_found_at_once(index: SearchIndex, documents: list[Document]) -> None:
    load(index, documents)
    assert found(index, "customer_id_399") == [documents[399].urn]
    assert found(index, "customer_id_278") == [documents[278].urn]


@pytest.mark.nightly
def test_a_search_has_an_end_while_more_is_loaded_than_can_be_written(
    index: SearchIndex, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    put, is_found = DiskIndex.put, threading.Event()

    def put_slowly(self: DiskIndex, *given: Any) -> None:
        # Slower than changes come in.
        is_found.wait(0.005 * len(given[0]))
        put(self, *given)

    monkeypatch.setattr(DiskIndex, "put", put_slowly)

    def load_on() -> None:
        offset = 1_000
        while not is_found.is_set():
            for document in documents[300:]:
                offset += 1
                index.apply(offset, [document])

    load(index, documents[:300])
    loading = threading.Thread(target=load_on)
    loading.start()
    try:
        assert found(index, "customer_id_278") == [documents[278].urn]
    finally:
        is_found.set()
        loading.join()


def test_a_process_that_is_killed_loses_nothing(
    index: SearchIndex, documents: list[Document], caplog: pytest.LogCaptureFixture
) -> None:
    load(index, documents[:200])
    index.flush()
    process = process_of(index)
    load(index, documents[200:300], 201)
    # Some of these may have been sent to it.
    os.kill(process.pid, signal.SIGKILL)
    load(index, documents[300:], 301)
    assert found(index, "customer_id_210") == [documents[210].urn]
    index.flush()
    assert all(index.has_document(document) for document in documents)
    assert index.committed_offset == 381
    assert [message.partition(" (")[0] for message in caplog.messages] == [
        "the search index cannot be written by another process"
    ]
    # Nor does it when it is opened again.
    assert not is_running(process.pid)
    index._layers.close()
    again = index._open_layers()
    index._layers = again
    assert all(again.has_document(document) for document in documents)


def test_where_no_process_can_be_started_the_index_is_written_here(
    index: SearchIndex,
    documents: list[Document],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(indexer, "_COMMAND", (sys.executable, "-c", "print('not a message')"))
    load(index, documents)
    index.flush()
    assert all(index.has_document(document) for document in documents)
    assert [message.partition(" (")[0] for message in caplog.messages] == [
        "the search index cannot be written by another process"
    ]


def test_a_process_that_does_not_answer_is_ended(
    index: SearchIndex, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "_COMMAND", (sys.executable, "-c", "import time; time.sleep(600)"))
    monkeypatch.setattr(indexer, "_ANSWER_SECONDS", 0.2)
    load(index, documents)
    index.flush()
    assert all(index.has_document(document) for document in documents)
    assert index._layers._base.indexer is None


def test_text_that_cannot_be_encoded_keeps_only_its_own_document_out(
    index: SearchIndex, documents: list[Document], dataset: Make
) -> None:
    bad = dataset("shop.bad", datasetProperties={"description": "half a \ud83d pair"})
    load(index, [*documents[:160], bad, *documents[160:200]])
    index.flush()
    assert all(index.has_document(document) for document in documents[:200])
    assert is_running(process_of(index).pid)


def test_the_process_ends_when_there_is_no_work(
    index: SearchIndex, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    load(index, documents[:200])
    index.flush()
    process = process_of(index)
    monkeypatch.setattr(layers, "_IDLE_SECONDS", 0.0)
    index.apply(230, documents[200:220])
    index.flush()
    # Not every change in the log changes a document.
    index.apply(231, ())
    wait_until(lambda: not is_running(process.pid))
    load(index, documents[220:], 241)
    index.flush()
    assert all(index.has_document(document) for document in documents)


def test_the_process_ends_with_a_service_that_is_killed_and_the_next_one_goes_on(
    tmp_path: Path, registry: Registry
) -> None:
    program = """
import sys, time
from pathlib import Path
from explorer.metadata import Urn, load_registry
from explorer.server.search.document import build_document
from explorer.server.search.indexer import IndexChange
from explorer.server.search.fields import Vocabulary
from explorer.server.search.layers import DiskIndex
registry = load_registry()
index = DiskIndex(Path(sys.argv[1]), Vocabulary(registry), None)
index.hand_over()
documents = [
    build_document(registry, Urn.dataset("hive", f"name_{at}", "PROD"), {}) for at in range(2_000)
]
index.put([IndexChange(document.urn, document) for document in documents[:10]])
index.commit(10)
index.put([IndexChange(document.urn, document) for document in documents[10:]])
print(index.indexer.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen(
        (sys.executable, "-c", program, str(tmp_path / "index")), stdout=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout is not None
        pid = int(service.stdout.readline())
        assert is_running(pid)
        service.kill()
    index = SearchIndex(tmp_path / "index", registry)
    try:
        assert not is_running(pid)
        assert index.committed_offset == 10
        assert len(list(index.urns())) == 10
    finally:
        index.close()


def test_an_interrupt_at_the_terminal_does_not_reach_the_process(
    index: SearchIndex, documents: list[Document]
) -> None:
    load(index, documents[:200])
    index.flush()
    assert os.getpgid(process_of(index).pid) != os.getpgrp()


def wait_until(is_met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_met():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether a process runs, and is not only waiting for its parent to look at its end."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
