"""Searches cost what is found, not what was asked for: an index that is asked for a thousand
million suggestions is not to make room for them, and one that is asked much keeps little of it."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from explorer.metadata import Registry
from explorer.query import Filter
from explorer.server.search.document import Document
from explorer.server.search.index import SearchIndex
from explorer.server.search.query import SearchQuery

ASKED = """
import resource
from pathlib import Path

from explorer.metadata import load_registry
from explorer.query import Filter
from explorer.server.search.document import Document
from explorer.server.search.index import SearchIndex

index = SearchIndex(None, load_registry())
huts = [Document(urn=f"urn:li:tag:hut{n}", entity_type="tag", name=f"hut{n}", removed=False,
                 fields={"name": (f"hut{n}",)}, usage=0.0)
        for n in range(3)]
index.apply(1, huts)
index.flush()
held = next(line for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith("VmSize"))
most = int(held.split()[1]) * 1024 + 2**31
resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
print(len(index.autocomplete("hut", ("tag",), Filter(), 0, 10**9)))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a bound on memory")
def test_suggestions_of_any_number_need_no_memory() -> None:
    run = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.strip()) == (0, "3"), run.stderr


def test_searches_for_the_beginning_of_many_words_are_kept_within_the_bytes(
    registry: Registry, dataset: Callable[..., Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of such a search lists all these words, several times."""
    monkeypatch.setattr("explorer.server.search.index._PLANS_BYTES", 400_000)
    index = SearchIndex(None, registry)
    index.apply(1, [dataset(f"barn_{number}") for number in range(200)])
    for number in range(20):
        index.search(SearchQuery(f"barn_{number}", ("dataset",), Filter(), 0, 10))
    assert 1 <= len(index._plans) < 10
    index.close()
