"""A page costs what is found, not what was asked for: an index that is asked for a thousand million
entries is not to make room for them."""

import subprocess
import sys

import pytest

ASKED = """
import resource, sys
from pathlib import Path

from explorer.metadata import load_registry
from explorer.query import Filter
from explorer.server.search.document import Document
from explorer.server.search.index import SearchIndex, SearchQuery
from explorer.server.search.query import SortBy

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
many, every = 10**9, Filter()
found = {
    "suggested": lambda: index.autocomplete("hut", ("tag",), every, 0, many),
    "best": lambda: index.search(SearchQuery("hut", ("tag",), every, 0, many)).hits,
    "sorted": lambda: index.search(
        SearchQuery("*", ("tag",), every, 0, many, sort=(SortBy("name"),))
    ).hits,
}[sys.argv[1]]()
print(len(found))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a bound on memory")
@pytest.mark.parametrize("asked", ["suggested", "best", "sorted"])
def test_pages_of_any_length_need_no_memory(asked: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", ASKED, asked], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.strip()) == (0, "3"), run.stderr
