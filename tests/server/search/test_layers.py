"""Memory in front of the disk: what is seen when, and what is left after a crash."""

import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.errors import Unusable
from explorer.metadata import Registry
from explorer.server.search.document import Document
from explorer.server.search.index import SearchIndex
from explorer.server.search.layers import IndexSnapshot, Layers
from explorer.server.search.query import FoundPage

Make = Callable[..., Document]
Names = Callable[..., list[str]]
Search = Callable[..., FoundPage]


def until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_change_is_found_at_once(index: SearchIndex, dataset: Make, names: Names) -> None:
    for at in range(20):
        index.apply(at, [dataset(f"novelty{at}")])
        assert names(index, f"novelty{at}") == [f"novelty{at}"]


def test_a_search_finds_all_that_it_was_told_to_be_fresh_with(
    index: SearchIndex, dataset: Make, names: Names
) -> None:
    """`before_read` notes how fresh an answer is: the answer may be newer, never older."""
    noted: list[str] = []

    def note() -> None:
        noted.append(f"fresh_{len(noted)}")
        index.apply(len(noted), [dataset(noted[-1])])

    index.before_read = note
    for text in ("fresh", "fresh zero", "frehs"):
        found = names(index, text, count=50)
        assert set(found) <= set(noted)
        if text == "fresh":
            assert sorted(found) == sorted(noted)
    assert len(noted) == 3


def test_a_search_reads_one_snapshot_throughout(
    index: SearchIndex, dataset: Make, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots = 0
    view_now = Layers._view_now

    def count(layers: Layers) -> IndexSnapshot:
        nonlocal snapshots
        snapshots += 1
        # As a load does.
        index.apply(snapshots + 1, [dataset(f"order_{snapshots}")])
        return view_now(layers)

    index.apply(1, [dataset("order_items")])
    monkeypatch.setattr(Layers, "_view_now", count)
    assert "order_items" in names(index, "order items")
    assert snapshots == 1


def test_a_renamed_entity_is_not_found_by_its_old_name(
    index: SearchIndex, dataset: Make, names: Names
) -> None:
    for offset, name in enumerate(("alpha", "beta", "gamma")):
        index.apply(offset, [dataset("t", editableDatasetProperties={"name": name})])
        if offset != 1:
            index.flush()
    assert names(index, "alpha") == names(index, "beta") == []
    assert names(index, "gamma") == ["t"]
    index.apply(3, [dataset("t", editableDatasetProperties={"name": "delta"})])
    assert names(index, "gamma") == []
    assert names(index, "delta") == names(index, "*") == ["t"]


def test_what_is_gone_is_not_found(index: SearchIndex, dataset: Make, names: Names) -> None:
    index.apply(1, [dataset("a"), dataset("b")])
    index.flush()
    index.apply(2, [dataset("c")], [dataset("a").urn, "urn:li:tag:never-was"])
    assert names(index, "*") == ["b", "c"]
    index.apply(3, [dataset("a")], [dataset("c").urn])
    assert names(index, "*") == ["a", "b"]
    index.flush()
    assert names(index, "*") == ["a", "b"]


def test_a_removed_entity_comes_back(index: SearchIndex, dataset: Make, names: Names) -> None:
    for offset, removed in enumerate((False, True, False)):
        index.apply(offset, [dataset("t", status={"removed": removed})])
        assert names(index, "t") == ([] if removed else ["t"])
        index.flush()
        assert names(index, "t") == ([] if removed else ["t"])


@pytest.mark.nightly
def test_changes_reach_the_disk_by_themselves(
    tmp_path: Path, registry: Registry, dataset: Make, names: Names
) -> None:
    index = SearchIndex(tmp_path, registry)
    index.apply(7, [dataset("orders")])
    until(lambda: index.committed_offset == 7)
    index.close()
    again = SearchIndex(tmp_path, registry)
    assert again.committed_offset == 7
    assert names(again, "orders") == ["orders"]
    again.close()


def test_what_was_not_flushed_is_replayed_from_the_offset(
    tmp_path: Path, registry: Registry, dataset: Make, names: Names
) -> None:
    log = [dataset(f"t{at}") for at in range(10)]
    index = SearchIndex(tmp_path, registry)
    index.apply(6, log[:6])
    index.flush()
    index.apply(10, log[6:])
    index.close()
    again = SearchIndex(tmp_path, registry)
    # The drainer may have been there first.
    assert again.committed_offset in (6, 10)
    again.apply(10, log[again.committed_offset :])
    assert len(names(again, "*")) == 10
    again.close()


def test_an_offset_without_changes_is_kept(tmp_path: Path, registry: Registry) -> None:
    index = SearchIndex(tmp_path, registry)
    index.apply(12, [])
    index.flush()
    index.close()
    again = SearchIndex(tmp_path, registry)
    assert again.committed_offset == 12
    again.close()


WRITER = """
    import sys
    from pathlib import Path
    from explorer.metadata import Urn, load_registry
    from explorer.server.search.document import build_document
    from explorer.server.search.index import SearchIndex

    registry = load_registry()
    index = SearchIndex(Path(sys.argv[1]), registry)
    for offset in range(index.committed_offset + 1, 100_000):
        urn = Urn.dataset("hive", f"t{offset:06}")
        index.apply(offset, [build_document(registry, urn, {})])
        if offset % 40 == 0:
            index.flush()
            print(offset, flush=True)
"""


def test_a_killed_process_loses_nothing_up_to_the_offset(
    tmp_path: Path, registry: Registry, names: Names
) -> None:
    told = 0
    for _ in range(2):
        command = [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(3):
                told = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
        index = SearchIndex(tmp_path, registry)
        committed = index.committed_offset
        assert committed >= told
        found = names(index, "*", count=10_000)
        assert found[:committed] == [f"t{at:06}" for at in range(1, committed + 1)]
        index.close()


@pytest.mark.parametrize("damage", ["cut", "empty", "gone", "meta", "no meta", "noted", "format"])
def test_a_damaged_index_is_made_anew(
    tmp_path: Path, registry: Registry, dataset: Make, names: Names, damage: str
) -> None:
    index = SearchIndex(tmp_path, registry)
    index.apply(5, [dataset("orders"), dataset("customers")])
    index.flush()
    index.close()
    (tmp_path / "notes.txt").write_text("mine")
    segment = next(tmp_path.glob("*.idx"))
    meta, noted = tmp_path / "meta.json", tmp_path / "index.json"
    match damage:
        case "cut":
            segment.write_bytes(segment.read_bytes()[:-20])
        case "empty":
            segment.write_bytes(b"")
        case "gone":
            segment.unlink()
        case "meta":
            meta.write_text("{")
        case "no meta":
            meta.unlink()
        case "noted":
            noted.write_text("nonsense")
        case "format":
            noted.write_text(noted.read_text().replace('"format":', '"format":9'))
    again = SearchIndex(tmp_path, registry)
    assert again.committed_offset == 0
    assert names(again, "*") == []
    again.apply(5, [dataset("orders")])
    again.flush()
    assert again.committed_offset == 5
    assert names(again, "orders") == ["orders"]
    again.close()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_an_index_of_another_registry_is_made_anew(
    tmp_path: Path, registry: Registry, dataset: Make
) -> None:
    index = SearchIndex(tmp_path, registry)
    index.apply(5, [dataset("orders")])
    index.flush()
    index.close()
    aspects = {name: aspect for name, aspect in registry.aspects.items() if name != "domains"}
    other = SearchIndex(tmp_path, Registry(registry.entities, aspects, registry.records))
    assert other.committed_offset == 0
    other.close()


def test_one_index_has_one_writer(tmp_path: Path, registry: Registry) -> None:
    index = SearchIndex(tmp_path, registry)
    index.flush()
    with pytest.raises(Unusable, match="another process"):
        SearchIndex(tmp_path, registry)
    index.close()
    SearchIndex(tmp_path, registry).close()


def test_a_place_that_is_no_directory_is_refused(tmp_path: Path, registry: Registry) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unusable, match="cannot store the search index"):
        SearchIndex(tmp_path / "file" / "index", registry)


def test_readers_see_every_document_once_while_others_write(
    index: SearchIndex, dataset: Make, search: Search
) -> None:
    """Changes wander from memory to disk under the readers' eyes."""
    count = 60
    index.apply(0, [dataset(f"t{at:02}", usage=1) for at in range(count)])
    wrong: list[object] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            page = search(index, "*", count=count * 2)
            urns = {hit.urn for hit in page.hits}
            types = {facet.name: facet.counts for facet in page.facets}["_entityType"]
            if not (page.total == len(page.hits) == len(urns) == types["dataset"] == count):
                wrong.append((page.total, len(page.hits), len(urns), types))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for offset in range(1, 60):
        index.apply(offset, [dataset(f"t{offset % count:02}", usage=offset)])
        if offset % 3 == 0:
            index.flush()
    is_over.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_what_comes_in_while_the_index_is_flushed_is_found_once(
    index: SearchIndex, dataset: Make, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The flush has begun, and writes what came in since along with the rest."""
    index.apply(1, [dataset("before")])
    write = Layers._write_made
    late = [dataset("late")]

    def come_in_first(layers: Layers) -> None:
        if late:
            coming = threading.Thread(target=index.apply, args=(2, [late.pop()]))
            coming.start()
            coming.join()
        write(layers)

    monkeypatch.setattr(Layers, "_write_made", come_in_first)
    index.flush()
    assert names(index, "*") == ["before", "late"]
    index.flush()
    assert names(index, "*") == ["before", "late"]


def test_what_cannot_be_written_is_found_all_the_same(
    tmp_path: Path, registry: Registry, dataset: Make, names: Names
) -> None:
    place = tmp_path / "index"
    index = SearchIndex(place, registry)
    index.apply(1, [dataset("first")])
    index.flush()
    shutil.rmtree(place)
    index.apply(2, [dataset("second")])
    with pytest.raises(Unusable, match="cannot write the search index"):
        index.flush()
    assert index.committed_offset == 1
    assert names(index, "*") == ["first", "second"]
    index.apply(3, [dataset("third")], [dataset("first").urn])
    assert names(index, "*") == ["second", "third"]
    index.close()
    again = SearchIndex(place, registry)
    assert again.committed_offset == 0
    again.close()


def test_the_first_search_after_a_bulk_load_finds_all_of_it(
    tmp_path: Path, registry: Registry, dataset: Make, names: Names
) -> None:
    """More than goes into an index in memory at once: it is on disk once it was found."""
    index = SearchIndex(tmp_path, registry)
    loaded = [dataset(f"t{at:03}") for at in range(301)]
    index.apply(301, loaded)
    assert len(names(index, "*", count=1_000)) == len(loaded)
    assert index.committed_offset == 301
    index.apply(302, [dataset("later")], [loaded[0].urn])
    assert names(index, "later") == ["later"]
    assert names(index, "t000") == []
    index.close()


def test_a_bulk_load_is_found_where_the_index_cannot_be_written(
    tmp_path: Path, registry: Registry, dataset: Make, names: Names
) -> None:
    place = tmp_path / "index"
    index = SearchIndex(place, registry)
    index.apply(1, [dataset("first")])
    index.flush()
    shutil.rmtree(place)
    index.apply(2, [dataset(f"t{at:03}") for at in range(301)])
    assert len(names(index, "*", count=1_000)) == 302
    assert index.committed_offset == 1
    index.close()
