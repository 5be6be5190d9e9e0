"""`catalog reindex`: the search index made anew from what is stored."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import StorageFault
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.server.data_directory import open_catalog
from explorer.server.search.layers import DiskIndex
from tests.cli.conftest import Run


def fill(directory: Any, count: Any) -> Any:
    directory.mkdir()
    catalog = open_catalog(directory, load_registry())
    for n in range(count):
        change = catalog.intake.check(
            Proposal(Urn.of("tag", f"t{n}"), "tagProperties", {"name": f"t{n}"})
        )
        catalog.store.write(partial(catalog.intake.apply, change=change, now_millis=1)).result()
    return catalog


def test_an_index_that_lost_everything_is_made_anew(catalog: Run, tmp_path: Path) -> None:
    directory = tmp_path / "data"
    filled = fill(directory, 5)
    # It believes to hold all that the log has, and lacks two of it.
    filled.index.apply(filled.store.log_bounds().head, (), ("urn:li:tag:t1", "urn:li:tag:t2"))
    filled.close()
    broken = open_catalog(directory, load_registry())
    assert broken.index.total() == 3
    broken.close()
    ran = catalog("reindex", "--data-dir", str(directory), url=None)
    assert (ran.code, ran.out) == (0, ""), ran
    assert "5 entities" in ran.err
    mended = open_catalog(directory, load_registry())
    assert mended.index.total() == 5
    assert mended.index.committed_offset == mended.store.log_bounds().head
    mended.close()


def test_an_index_that_cannot_be_written_is_told(
    catalog: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StorageFault("cannot write the search index: No space left on device")

    directory = tmp_path / "data"
    fill(directory, 5).close()
    with monkeypatch.context() as patched:
        patched.setattr(DiskIndex, "commit", fail)
        ran = catalog("reindex", "--data-dir", str(directory), url=None)
    assert ran.code == 3, ran
    assert "error: cannot write the search index: No space left on device" in ran.err
    assert "rebuilt" not in ran.err
    again = open_catalog(directory, load_registry())
    assert again.index.total() == 5
    again.close()


def test_it_is_refused_while_somebody_serves_the_catalog(catalog: Run, tmp_path: Path) -> None:
    from explorer.instance import hold

    directory = tmp_path / "data"
    fill(directory, 2).close()
    with hold(directory) as held:
        held.announce("http://127.0.0.1:1", "0")
        ran = catalog("reindex", "--data-dir", str(directory), url=None)
    assert ran.code == 3
    assert "stop it, and then reindex" in ran.err
    kept = open_catalog(directory, load_registry())
    assert kept.index.total() == 2
    kept.close()


def test_a_directory_without_a_catalog_is_told(catalog: Run, tmp_path: Path) -> None:
    ran = catalog("reindex", "--data-dir", str(tmp_path), url=None)
    assert ran.code == 3
    assert "no catalog" in ran.err
