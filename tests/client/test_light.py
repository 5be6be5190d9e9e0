"""The client loads no front end, no frames and no graphs, and httpx with its first request only."""

import subprocess
import sys
from typing import Any

import pytest

FOREIGN = ("textual", "ipywidgets", "plotly", "IPython", "pandas", "networkx", "starlette")
ASKED = """
import sys
from explorer.client import Catalog, Retry
from explorer.errors import Unreachable

with Catalog({url!r}, token="t", retry=Retry(tries=1), timeout_seconds=5) as catalog:
    try:
        {call}
    except Unreachable:
        print("asked", *(name for name in {names!r} if name in sys.modules))
"""


def loaded(url: Any, call: Any, names: Any) -> Any:
    """Which of the packages a program has loaded that asked a server that is not there."""
    code = ASKED.format(url=url, call=call, names=names)
    done = subprocess.run(
        (sys.executable, "-c", code), capture_output=True, check=True, text=True, timeout=120
    )
    asked, *found = done.stdout.split()
    assert asked == "asked"
    return found


@pytest.mark.parametrize(
    "call",
    [
        "catalog.search('orders', filter='platform:hive', sort='name')",
        "catalog.entity('urn:li:tag:x')",
        "list(catalog.hits())",
        "catalog.describe('urn:li:tag:x', 'text')",
    ],
)
def test_asking_over_http_loads_nothing_heavy(call: str) -> None:
    assert loaded("http://127.0.0.1:9", call, FOREIGN) == []


def test_httpx_is_loaded_by_the_first_request() -> None:
    assert loaded("https://127.0.0.1:9", "raise Unreachable('')", ("httpx",)) == []
    assert loaded("https://127.0.0.1:9", "catalog.info()", ("httpx",)) == ["httpx"]
