"""Front ends write through sessions only.

A write is what ends in a request that changes the catalog, and what puts changes aside to be
written later (a staged changeset). Drafts of what is being typed, what was read until when,
settings, profiles, saved searches and the journal are of this machine alone.

What writes is found in the code below the sessions: the methods of the client that send such a
request, and whatever calls them. Front ends hold a catalog by a few names, which is checked too, so
that no use of such a method is missed.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import explorer
from explorer.client import AsyncCatalog

ROOT: Final = Path(explorer.__file__).parent
FRONT_ENDS: Final = ("tui", "notebook", "cli", "agents")
CELLS: Final = {f"notebook/{name}.py" for name in ("catalog", "drafts", "entity", "magics")} | {
    "notebook/stewardship.py"
}
"""What a cell calls: the client, with a display. It writes in one step."""


class Place(NamedTuple):
    """A function of a module, or a method of a class."""

    owner: str
    name: str


CATALOG: Final = "AsyncCatalog"
STEWARDSHIP: Final = "AsyncStewardship"
UNKNOWN: Final = "unknown"
"""The owner of what may write anything: a document that is no query, a method without a name."""
ROOTS: Final = {Place(CATALOG, "_mutate"), Place(STEWARDSHIP, "stage")}
"""What sends a mutation, and what puts changes aside. Other requests that write say so themselves,
by `writes`."""

NAMES: Final = {"catalog": CATALOG, "core": CATALOG, "steward": STEWARDSHIP}
"""What a catalog is called, and a stewardship, with or without an underscore."""
MAKERS: Final = {
    **dict.fromkeys(("Catalog", "AsyncCatalog", "NotebookCatalog"), CATALOG),
    **dict.fromkeys(("Stewardship", "AsyncStewardship"), STEWARDSHIP),
}
_PARTS: Final = {cls.__name__ for cls in AsyncCatalog.__mro__}


def holder(node: ast.expr) -> str:
    """Return whether an expression is a catalog or a stewardship, by its name; "" for neither."""
    match node:
        case ast.Await(value):
            return holder(value)
        case ast.Call(ast.Name(name)) if name in MAKERS:
            return MAKERS[name]
        case ast.Call(ast.Attribute(_, name)) | ast.Attribute(_, name) | ast.Name(name):
            return NAMES.get(name.lstrip("_"), "")
    return ""


class Module:
    """A module: its functions and methods by their places, and what it imports by its names."""

    def __init__(self, file: Path, text: str) -> None:
        self.name = ".".join(file.relative_to(ROOT.parent).with_suffix("").parts)
        self.tree = ast.parse(text)
        self.imported: dict[str, Place] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("explorer."):
                for alias in node.names:
                    module = str(node.module)
                    self.imported[alias.asname or alias.name] = Place(module, alias.name)

    def functions(self) -> Iterator[tuple[Place, ast.AST]]:
        for node in self.tree.body:
            match node:
                case ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
                    yield Place(self.name, name), node
                case ast.ClassDef(owner, body=body):
                    for method in body:
                        match method:
                            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
                                yield Place(self.owner(owner), name), method
                            case ast.Assign([ast.Name(name)], value):
                                yield Place(self.owner(owner), name), value

    @staticmethod
    def owner(name: str) -> str:
        return CATALOG if name in _PARTS else name

    def uses(self, part: ast.AST, owner: str = "") -> Iterator[tuple[Place, int]]:
        """Yield the functions that code names and the methods of catalogs, with their lines; those
        of `self`, if it is of a class."""
        nodes = [*ast.walk(part)]
        local = {
            node.id if isinstance(node, ast.Name) else node.arg
            for node in nodes
            if isinstance(node, ast.arg)
            or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        }
        for node in nodes:
            match node:
                case ast.Attribute(ast.Name("self"), name, lineno=line) if owner:
                    yield Place(owner, name), line
                case ast.Call(ast.Attribute(value, "graphql"), [document, *_], lineno=line) if (
                    holder(value) and not ast.unparse(document).startswith("'query ")
                ):
                    yield Place(UNKNOWN, "graphql"), line
                case ast.Attribute(value, name, lineno=line) if held := holder(value):
                    yield Place(held, name), line
                case ast.Attribute(ast.Name(module), name, lineno=line) if module in self.imported:
                    yield Place(".".join(self.imported[module]), name), line
                case ast.Call(ast.Name("getattr"), [value, *_], lineno=line) if holder(value):
                    yield Place(UNKNOWN, "getattr"), line
                case ast.Name(name, lineno=line) if name in self.imported:
                    yield self.imported[name], line
                case ast.Name(name, lineno=line) if name not in local:
                    yield Place(self.name, name), line


def modules(*folders: str) -> Iterator[tuple[str, Module]]:
    """Yield the modules that have to do with a catalog, with their files."""
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            if "catalog" in text:
                yield str(file.relative_to(ROOT)), Module(file, text)


def says_that_it_writes(code: ast.AST) -> bool:
    return any(
        isinstance(node, ast.keyword)
        and node.arg == "writes"
        and ast.unparse(node.value) != "False"
        for node in ast.walk(code)
    )


@cache
def writing() -> frozenset[Place]:
    """Return what writes below the sessions."""
    used: dict[Place, set[Place]] = {}
    names = set(ROOTS)
    for _, module in modules("client", "stewardship", "sources"):
        for place, code in module.functions():
            used.setdefault(place, set()).update(name for name, _ in module.uses(code, place.owner))
            if module.name == "explorer.client.ingestion" and says_that_it_writes(code):
                names.add(place)
    while more := {place for place, called in used.items() if called & names} - names:
        names |= more
    return frozenset(names)


def writes_of(module: Module) -> Iterator[tuple[str, int]]:
    """Yield what a front end writes by itself, with the lines."""
    functions = {place.name: place.owner for place in writing()}
    for place, line in module.uses(module.tree):
        is_exported = functions.get(place.name, "").startswith(f"{place.owner}.")
        if place in writing() or is_exported or place.owner == UNKNOWN:
            yield place.name, line


FILES: Final = {file: module for file, module in modules(*FRONT_ENDS) if file not in CELLS}


def test_a_front_end_writes_through_sessions_only() -> None:
    found = [
        f"{file}:{line}: {name}"
        for file, module in FILES.items()
        for name, line in writes_of(module)
    ]
    assert found == []


def test_changes_are_put_aside_in_one_session() -> None:
    staging = {
        file
        for file, module in modules("sessions")
        for place, code in module.functions()
        for used, _ in module.uses(code, place.owner)
        if used in ROOTS or (used.owner, used.name) == (STEWARDSHIP, "stage")
    }
    assert staging == {"sessions/changesets.py"}


def is_made(value: ast.expr | None) -> bool:
    """Return whether an expression gives a catalog or a stewardship."""
    match value:
        case ast.Await(ast.Call(ast.Attribute(_, "catalog"))):
            return True
        case ast.Call(ast.Attribute(ast.Name("target"), "open")):
            return True
        case ast.Call(ast.Name(name)):
            return name in MAKERS
        case ast.Attribute(_, name):
            return name in NAMES
    return False


def catalogs_of(module: Module) -> Iterator[str]:
    """Yield the names that are given to catalogs and stewardships."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Assign([target], value) | ast.AnnAssign(target, value=value) if is_made(value):
                yield ast.unparse(target)
            case ast.withitem(value, target) if target is not None and is_made(value):
                yield ast.unparse(target)
            case ast.arg(name, annotation) if annotation is not None:
                words = ast.unparse(annotation).strip("'\"").split(" | ")
                if MAKERS.keys() & {word.rpartition(".")[2] for word in words}:
                    yield name


def test_a_catalog_is_called_so() -> None:
    otherwise = [
        f"{file}: {name}"
        for file, module in FILES.items()
        for name in catalogs_of(module)
        if name.rpartition(".")[2].lstrip("_") not in NAMES
    ]
    assert otherwise == []


def test_what_writes_is_found() -> None:
    methods = {place.name for place in writing() if place.owner == CATALOG}
    assert {"describe", "add_tags", "put", "restore", "roll_back", "undo_save"} <= methods
    assert not methods & {"search", "entity", "lineage", "suggest", "journal", "me"}
    functions = {place.name for place in writing()}
    assert {"apply_changes", "run_source", "refresh_propagated", "apply_glossary"} <= functions
    assert not functions & {"read_changeset", "read_propagated", "find_tables", "read_worklist"}
