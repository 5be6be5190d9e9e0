"""Suggestions cost what is found, not what was asked for: an index that is asked for a thousand
million is not to make room for them."""

import subprocess
import sys

import pytest

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
