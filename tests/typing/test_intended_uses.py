"""What is meant to be written passes a strict type checker, and what is a mistake does not."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.client.blocking_face import BlockingFace
from explorer.graph import AsyncGraphs, Graphs

HERE = Path(__file__).parent
FOUND = re.compile(r"(?P<file>\w+\.py):(?P<line>\d+): error: .*\[(?P<code>[\w-]+)\]$")
MARKED = re.compile(r"  # error: (?P<code>[\w-]+)$")
# What a function of api.py calls its client, and what kind that is by the function's own argument.
KINDS = {
    ("AsyncCatalog", "catalog"): AsyncCatalog,
    ("AsyncCatalog", "graphs"): AsyncGraphs,
    ("Catalog", "catalog"): Catalog,
    ("Catalog", "graphs"): Graphs,
}


@pytest.fixture(scope="module")
def told() -> Any:
    """The errors that are found in both files, as (file, line, kind)."""
    done = subprocess.run(
        (
            *(sys.executable, "-m", "mypy", "--strict", "--no-error-summary"),
            *(HERE / "api.py", HERE / "wrong.py"),
        ),
        check=False,
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        timeout=110,
    )
    lines = [line for line in done.stdout.splitlines() if ": note: " not in line]
    found = [FOUND.search(line) for line in lines]
    assert done.stderr == ""
    assert None not in found, lines
    return {(one["file"], int(one["line"]), one["code"]) for one in found if one}


def test_intended_uses_are_clean(told: Any) -> None:
    assert not [error for error in told if error[0] == "api.py"]


def test_every_mistake_is_told_as_what_it_is_and_nothing_else(told: Any) -> None:
    marked = set()
    for number, line in enumerate((HERE / "wrong.py").read_text().splitlines(), 1):
        mark = MARKED.search(line)
        if mark:
            marked.add(("wrong.py", number, mark["code"]))
    assert len(marked) > 40
    assert {error for error in told if error[0] == "wrong.py"} == marked


def name_of(argument: ast.arg) -> str:
    assert isinstance(argument.annotation, ast.Name)
    return argument.annotation.id


def uses() -> Any:
    """What api.py takes from each kind of client, and the keywords it calls methods with."""
    taken: dict[type, set[str]] = {kind: set() for kind in KINDS.values()}
    keywords: dict[str, set[str | None]] = {}
    for function in ast.parse((HERE / "api.py").read_text()).body:
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        face = next((name_of(arg) for arg in function.args.args if arg.arg == "catalog"), None)
        if face is None:
            face = "AsyncCatalog" if isinstance(function, ast.AsyncFunctionDef) else "Catalog"
        for node in ast.walk(function):
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                    if (face, name) in KINDS:
                        taken[KINDS[face, name]].add(attribute)
            match node:
                case ast.Call(func=ast.Attribute(attr=method), keywords=given):
                    keywords.setdefault(method, set()).update(one.arg for one in given)
    return taken, keywords


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.__name__)
def test_every_public_method_is_among_the_intended_uses(kind: Any) -> None:
    taken, _ = uses()
    # How waiting is done is for whoever makes a face, not for whoever uses one.
    public = {name for name in dir(kind) if not name.startswith("_")} - set(dir(BlockingFace))
    assert public - taken[kind] == set()


@pytest.mark.parametrize("kind", [AsyncCatalog, AsyncGraphs], ids=lambda kind: kind.__name__)
def test_every_argument_that_has_to_be_named_is_among_the_intended_uses(kind: Any) -> None:
    _, keywords = uses()
    for name, member in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_"):
            parameters = inspect.signature(member).parameters.values()
            named = {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}
            assert named - keywords.get(name, set()) == set(), name
