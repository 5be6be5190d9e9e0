"""What a package offers is what it lists: neither more nor less, and in order."""

import ast
import inspect
import typing
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from explorer import metadata, query
from explorer.client import AsyncCatalog, Catalog
from explorer.graph import AsyncGraphs, Graphs
from explorer.metadata import aspects

PUBLIC = (
    "explorer",
    "explorer.client",
    "explorer.config",
    "explorer.graph",
    "explorer.graph.export",
    "explorer.metadata",
    "explorer.query",
    "explorer.notebook",
    "explorer.stewardship",
)


def bound(statements: Any) -> Iterator[Any]:
    """The names that statements bind, and whether each comes from a module of ours."""
    for statement in statements:
        match statement:
            case ast.ImportFrom(module=module, names=names):
                is_ours = (module or "").partition(".")[0] == "explorer"
                yield from ((one.asname or one.name, is_ours) for one in names)
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name, True
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name, True
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body):
                yield from bound(body)


def offered(module: Any) -> Any:
    """The public names of a module: its own, and those that it gathers: in a package whatever it
    imports, elsewhere what it lists."""
    path = Path(module.__file__)
    body = ast.parse(path.read_text()).body
    own = [one for one in body if not isinstance(one, ast.ImportFrom | ast.If)]
    listed = {name for name, is_ours in bound(body) if is_ours} & set(module.__all__)
    return listed | {
        name
        for name, is_ours in bound(body if path.name == "__init__.py" else own)
        if is_ours and (not name.startswith("_") or name == "__version__")
    }


def in_order(name: Any) -> Any:
    """Constants, then classes, then the rest."""
    return (not name.isupper(), not name[0].isupper(), name)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_module_offers_exactly_what_it_lists(name: Any) -> None:
    module = import_module(name)
    assert offered(module) == set(module.__all__)
    for one in module.__all__:
        assert getattr(module, one, None) is not None, one
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_listed_is_sorted_and_listed_once(name: Any) -> None:
    listed = import_module(name).__all__
    assert list(listed) == sorted(set(listed), key=in_order)


def test_the_client_offers_every_record_it_gives() -> None:
    client, records = import_module("explorer.client"), import_module("explorer.client.records")
    own = {
        name: kind
        for name, kind in vars(records).items()
        if isinstance(kind, type)
        and not name.startswith("_")
        and kind.__module__ == records.__name__
    }
    assert own
    assert set(own) <= set(client.__all__)
    assert all(getattr(client, name) is kind for name, kind in own.items())


def parts_of(annotation: Any) -> Iterator[Any]:
    yield annotation
    for part in typing.get_args(annotation):
        yield from parts_of(part)


def functions_of(kind: Any) -> Iterator[Any]:
    """Its public methods, its properties, and how it is made."""
    for name, member in inspect.getmembers(kind):
        function = member.fget if isinstance(member, property) else member
        if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_")):
            yield name, function


@pytest.mark.parametrize("kind", [AsyncCatalog, Catalog, AsyncGraphs, Graphs])
def test_every_type_in_a_signature_can_be_imported_from_a_public_place(kind: Any) -> None:
    client, graph = import_module("explorer.client"), import_module("explorer.graph")
    places = (client, graph, metadata, aspects, query)
    known = {
        name: getattr(place, name)
        for place in places
        for name in getattr(place, "__all__", vars(place))
    }
    known["nx"] = import_module("networkx")
    for name, function in functions_of(kind):
        for hint in typing.get_type_hints(function, localns=known).values():
            for part in parts_of(hint):
                is_ours = getattr(part, "__module__", "").startswith("explorer.")
                if is_ours and not isinstance(part, typing.TypeVar):
                    origin = typing.get_origin(part) or part
                    assert any(origin is one for one in known.values()), f"{name}: {part}"
