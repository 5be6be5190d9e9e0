"""A bulk load whose index entries are made in another process."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from orjson import dumps

from explorer.metadata import Registry, Urn
from explorer.query import Filter
from explorer.server.search import entries, layers
from explorer.server.search.analysis import analyse
from explorer.server.search.document import Document, EntityState, Scalar, StoredValues
from explorer.server.search.entries import EntryWorker
from explorer.server.search.fields import Vocabulary
from explorer.server.search.index import SearchIndex
from explorer.server.search.layers import DiskIndex
from explorer.server.search.query import SearchQuery
from explorer.server.search.terms import Terms

COUNT = 400


def state_of(name: str, usage: float = 0.0, **aspects: Any) -> EntityState:
    urn = str(Urn.dataset("hive", name, "PROD"))
    values = StoredValues(urn, ((aspect, dumps(value)) for aspect, value in aspects.items()))
    return EntityState(urn, values, {}, usage)


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
def states() -> list[EntityState]:
    def columns(number: int) -> list[dict[str, object]]:
        return [
            {"fieldPath": f"customer_id_{number}", "type": {}, "description": "Größe – ½ °C"},
            {"fieldPath": "struct.inner", "type": {}},
        ]

    return [
        state_of(
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


def worker(index: SearchIndex) -> EntryWorker:
    return index._layers._worker


def load(index: SearchIndex, states: list[EntityState], first: int = 1) -> None:
    for begin in range(0, len(states), 40):
        index.apply(first + begin, states[begin : begin + 40])


def are_indexed(index: SearchIndex, states: list[EntityState]) -> bool:
    return all(index.has_document(state.build(index.vocabulary.registry)) for state in states)


def found(index: SearchIndex, text: str) -> list[str]:
    page = index.search(SearchQuery(text, ("dataset",), Filter(), 0, 3))
    return [hit.urn for hit in page.hits]


def test_a_bulk_load_is_indexed_as_if_every_entry_was_made_here(
    index: SearchIndex, states: list[EntityState], registry: Registry
) -> None:
    load(index, states)
    index.flush()
    assert worker(index)._process is not None
    here = SearchIndex(None, registry)
    for state in states:
        here.apply(1, [state])
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
    assert are_indexed(index, states)
    assert index.committed_offset > 1


def test_an_entry_does_not_depend_on_those_that_were_made_before(registry: Registry) -> None:
    vocabulary = Vocabulary(registry)
    used = Terms(vocabulary)

    for value in ("Tier 1", "tier 1", True, 1.0, "1", 0.0, -0.0, "urn:li:tag:PII"):
        fields: dict[str, tuple[Scalar, ...]] = dict.fromkeys(
            ("structuredProperties.tier", "platform", "removed"), (value,)
        )
        document = Document("urn:li:dataset:a", "dataset", "a", removed=False, fields=fields)
        analysed = analyse(vocabulary, document)
        assert used.values(analysed) == Terms(vocabulary).values(analysed)


def test_what_is_loaded_is_found_at_once(index: SearchIndex, states: list[EntityState]) -> None:
    load(index, states)
    assert found(index, "customer_id_399") == [states[399].urn]
    assert found(index, "customer_id_278") == [states[278].urn]


@pytest.mark.nightly
def test_a_search_has_an_end_while_more_is_loaded_than_can_be_written(
    index: SearchIndex, states: list[EntityState], monkeypatch: pytest.MonkeyPatch
) -> None:
    put, is_found = DiskIndex.put, threading.Event()

    def put_slowly(self: DiskIndex, *given: Any) -> None:
        # Slower than changes come in.
        is_found.wait(0.005)
        put(self, *given)

    monkeypatch.setattr(DiskIndex, "put", put_slowly)

    def load_on() -> None:
        offset = 1_000
        while not is_found.is_set():
            for state in states[300:]:
                offset += 1
                index.apply(offset, [state])

    load(index, states[:300])
    loading = threading.Thread(target=load_on)
    loading.start()
    try:
        assert found(index, "customer_id_278") == [states[278].urn]
    finally:
        is_found.set()
        loading.join()


def test_a_process_that_is_killed_is_started_again(
    index: SearchIndex, states: list[EntityState], caplog: pytest.LogCaptureFixture
) -> None:
    load(index, states[:200])
    index.flush()
    process = worker(index)._process
    assert process is not None
    process.kill()
    load(index, states[200:], 201)
    index.flush()
    again = worker(index)._process
    assert again is not None
    assert again.pid != process.pid
    assert are_indexed(index, states)
    assert caplog.messages == []


def test_where_no_process_can_be_started_entries_are_made_here(
    index: SearchIndex,
    states: list[EntityState],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(entries, "_COMMAND", (sys.executable, "-c", "print('not a message')"))
    load(index, states)
    index.flush()
    assert are_indexed(index, states)
    assert [message.partition(" (")[0] for message in caplog.messages] == [
        "index entries cannot be built in another process"
    ]


def test_a_process_that_does_not_answer_is_ended(
    index: SearchIndex, states: list[EntityState], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "_COMMAND", (sys.executable, "-c", "import time; time.sleep(600)"))
    monkeypatch.setattr(entries, "_ANSWER_SECONDS", 0.2)
    load(index, states)
    index.flush()
    assert are_indexed(index, states)
    assert worker(index)._process is None


def test_text_that_cannot_be_encoded_keeps_only_its_own_document_out(
    index: SearchIndex, states: list[EntityState]
) -> None:
    bad = state_of("shop.bad")._replace(
        derived={"datasetProperties": {"description": "half a \ud83d pair"}}
    )
    load(index, [*states[:160], bad, *states[160:200]])
    index.flush()
    assert are_indexed(index, states[:200])
    assert worker(index).is_useful


def test_of_an_entity_that_changes_during_a_load_the_last_state_is_found(
    index: SearchIndex, states: list[EntityState]
) -> None:
    versions = [
        state_of("shop.changing", datasetProperties={"description": f"edition{number}"})
        for number in range(40)
    ]
    mixed = [state for pair in zip(states[200:240], versions, strict=True) for state in pair]
    load(index, [*states[:200], *mixed])
    index.flush()
    urn = versions[0].urn
    assert [text for text in ("edition0", "edition38", "edition39") if found(index, text)] == [
        "edition39"
    ]
    assert [*index.urns()].count(urn) == 1
    assert are_indexed(index, states[:240])


def test_a_stored_value_that_is_not_json_is_told_by_the_service_and_the_rest_is_found(
    index: SearchIndex, states: list[EntityState], caplog: pytest.LogCaptureFixture
) -> None:
    urn = str(Urn.dataset("hive", "shop.half", "PROD"))
    stored = [("schemaMetadata", b'{"fields": ['), ("datasetProperties", b'{"name": "halfway"}')]
    half = EntityState(urn, StoredValues(urn, stored), {})
    load(index, [*states[:160], half, *states[160:200]])
    index.flush()
    assert found(index, "halfway") == [urn]
    assert "the stored schemaMetadata of" in caplog.text


def test_the_process_ends_when_there_is_no_work(
    index: SearchIndex, states: list[EntityState], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = (
        "from explorer.server.search import entries; entries._IDLE_SECONDS = 0.2; entries.main()"
    )
    monkeypatch.setattr(entries, "_COMMAND", (sys.executable, "-c", short))
    load(index, states[:200])
    index.flush()
    process = worker(index)._process
    assert process is not None
    assert process.wait(30) == 0
    load(index, states[200:], 201)
    index.flush()
    assert are_indexed(index, states)


def test_the_process_prints_nothing() -> None:
    done = subprocess.run(
        entries._COMMAND, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=120
    )
    assert (done.stdout, done.stderr) == (b"", b"")


def test_the_process_ends_with_a_service_that_is_killed() -> None:
    program = """
import sys, time
from explorer.metadata import Urn, load_registry
from explorer.server.search.document import EntityState, StoredValues
from explorer.server.search.entries import EntryWorker
from explorer.server.search.fields import Vocabulary
from explorer.server.search.terms import Terms
registry = load_registry()
vocabulary = Vocabulary(registry)
worker = EntryWorker(Terms(vocabulary), vocabulary)
worker._off_until = 0.0
urn = str(Urn.dataset("hive", "a", "PROD"))
made = worker.make([EntityState(urn, StoredValues(urn, [("status", b"{}")]), {})])
print(worker._process.pid, len(made), flush=True)
time.sleep(600)
"""
    with subprocess.Popen(
        (sys.executable, "-c", program), stdout=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout is not None
        pid, made = map(int, service.stdout.readline().split())
        assert made == 1
        os.kill(pid, 0)
        service.kill()
    deadline = time.monotonic() + 60
    while is_running(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_interrupt_at_the_terminal_does_not_reach_the_process(
    index: SearchIndex, states: list[EntityState]
) -> None:
    load(index, states[:200])
    index.flush()
    process = worker(index)._process
    assert process is not None
    assert os.getpgid(process.pid) != os.getpgrp()


def is_running(pid: int) -> bool:
    """Whether a process runs, and is not only waiting for its parent to look at its end."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
