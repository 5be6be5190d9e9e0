"""Stewardship is light to import, has one face for each way of asking, and names its extra."""

import inspect
import re
import subprocess
import sys
from typing import Any

import pytest

from explorer.errors import MissingExtra
from explorer.stewardship import AsyncStewardship, Row, Stewardship, read_rows, write_rows

HEAVY = ("networkx", "openpyxl", "pandas", "textual", "httpx")


def test_importing_it_loads_nothing_heavy() -> None:
    script = f"""
import sys
from explorer.stewardship import Row, Stewardship, read_rows, write_rows
for form in ("csv", "json", "md"):
    read_rows(write_rows([Row("u", "t", "c", "", "", "x")], form), form)
print(*(name for name in {HEAVY} if name in sys.modules))
"""
    done = subprocess.run(
        (sys.executable, "-c", script), capture_output=True, check=True, timeout=120
    )
    assert done.stdout.split() == []


def test_both_faces_have_the_same_methods() -> None:
    asynchronous = {
        name: inspect.signature(member)
        for name, member in inspect.getmembers(AsyncStewardship, inspect.iscoroutinefunction)
    }
    assert {"apply", "concept", "coverage", "worklist"} <= set(asynchronous)
    for name, signature in asynchronous.items():
        assert inspect.signature(getattr(Stewardship, name)) == signature


EXAMPLE = re.compile(r"Example:\s+`([^`]+)`")


@pytest.mark.parametrize("name", ["concept", "propose_descriptions"])
def test_the_example_of_a_method_runs(steward: Any, named: Any, name: str) -> None:
    (example,) = EXAMPLE.findall(inspect.getdoc(getattr(Stewardship, name)) or "")
    assert eval(example, {"steward": steward, "urn": named("mart")})


def test_a_workbook_without_its_package_is_an_error_that_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"\[files\]"):
        write_rows([Row("u", "t", "c", "", "", "x")], "xlsx")
    with pytest.raises(MissingExtra, match=r"\[files\]"):
        read_rows(b"", "xlsx")


@pytest.mark.anyio
async def test_asked_without_waiting_the_answers_are_the_same(catalog: Any, steward: Any) -> None:
    from explorer.client import AsyncCatalog

    async with AsyncCatalog(catalog.address) as client:
        asked = AsyncStewardship(client)
        assert await asked.coverage(by="owner") == steward.coverage(by="owner")
        assert await asked.worklist() == steward.worklist()
        assert await asked.documentation() == steward.documentation()
