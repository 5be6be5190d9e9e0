"""Every field of every type on entities of which next to nothing is stored, and every operation
with empty, null and odd inputs: the service answers or says what is wrong, and never fails."""

import json
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLUnionType,
    get_named_type,
)

from explorer.metadata.registry import load_registry, read_type
from explorer.metadata.validation import required_fields
from explorer.server.app import Service
from explorer.server.catalog import CatalogEngine
from explorer.server.data_directory import open_catalog
from explorer.server.graphql.object_types import SHAPES
from explorer.server.store import TimeseriesDocument, Write
from tests.conftest import nightly

REGISTRY = load_registry()
DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,whole,PROD)"
ACTOR = "urn:li:corpuser:walker"
URNS = {
    "dataset": DATASET,
    "schemaField": f"urn:li:schemaField:({DATASET},a)",
    "dataJob": "urn:li:dataJob:(urn:li:dataFlow:(airflow,whole,PROD),whole)",
    "dataPlatformInstance": "urn:li:dataPlatformInstance:(urn:li:dataPlatform:hive,whole)",
    "assertion": "urn:li:assertion:whole",
}
_NOW = time.time_ns() // 1_000_000
# Questions that are always refused, with a sentence that clients know.
REFUSED = {"semanticSearchAcrossEntities"}
_WRAPPERS = (GraphQLNonNull, GraphQLList)
_SAMPLES: dict[str, Any] = {
    "string": "urn:li:dataset:(urn:li:dataPlatform:hive,named,PROD)",
    "bytes": "",
    "boolean": True,
    "int": 1,
    "long": 1,
    "float": 1.5,
    "double": 1.5,
}
ODD_TEXTS = (
    "",
    " ",
    "\x00",
    "²",
    "--5",
    "9" * 5_000,
    "urn:li:",
    "urn:li:tag:",
    "urn:li:tag:unknown",
    "urn:li:dataset:(urn:li:dataPlatform:hive,unknown,PROD)",
    f"urn:li:schemaField:({DATASET},unknown)",
    "urn:li:nothing:of-the-kind",
    "urn:li:corpuser:" + "x" * 600,
    "{}",
    "\u202e\ud800",
)
ODD_NUMBERS: tuple[Any, ...] = (
    0,
    -1,
    2**31,
    2**53,
    2**63,
    -(2**63),
    2**64 - 1,
    1.5,
    "abc",
    "5",
    [1],
    {},
    True,
)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogEngine]:
    opened = open_catalog(tmp_path_factory.mktemp("whole"), REGISTRY)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def service(catalog: CatalogEngine) -> Service:
    return Service(catalog)


@pytest.fixture(scope="module")
def schema(service: Service) -> Any:
    return service.graphql.ready().schema


@pytest.fixture(scope="module")
def ask(service: Service, serve: Any) -> Iterator[Any]:
    # A client with more comfort takes longer than the service to answer some ten thousand times.
    with closing(HTTPConnection(urlsplit(serve(service)).netloc, timeout=120)) as http:

        def send(query: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
            body = json.dumps({"query": query, "variables": variables or {}})
            http.request("POST", "/api/graphql", body, {"content-type": "application/json"})
            answer = http.getresponse()
            text = answer.read()
            if answer.status == 400 and variables:
                # A body that is no JSON for this service is refused before a document is read.
                return {"data": None, "errors": []}
            assert answer.status == 200, (answer.status, text, query, variables)
            found: dict[str, Any] = orjson.loads(text)
            return found

        yield send


def urn_of(entity_type: str) -> str:
    known = URNS.get(entity_type)
    if known is not None:
        return known
    fields = REGISTRY.key_fields(entity_type)
    if len(fields) == 1:
        return f"urn:li:{entity_type}:whole"
    parts = [
        "urn:li:dataPlatform:hive" if "latform" in name else f"whole{at}"
        for at, name in enumerate(fields)
    ]
    return f"urn:li:{entity_type}:({','.join(parts)})"


def hollow(record: str) -> Any:
    """Every field of a record, with records within that hold nothing."""
    return {name: _hollowed(field.base) for name, field in REGISTRY.records[record].fields.items()}


def _hollowed(expression: str) -> Any:
    kind, arguments = read_type(expression)
    if kind == "array":
        return [_hollowed(arguments[0])]
    if kind == "map":
        return {"key": _hollowed(arguments[0])}
    if kind == "union":
        return {arguments[0]: _hollowed(arguments[0])}
    return _SAMPLES.get(arguments[0], {}) if arguments[0] in _SAMPLES else {}


def least(expression: str, *, deep: bool, depth: int = 0) -> Any:
    """A value of a type of the registry with what the validator asks for and nothing else; `deep`
    adds one of everything that may be left out, itself with the least."""
    kind, arguments = read_type(expression)
    if kind == "array":
        return [least(arguments[0], deep=deep, depth=depth)] if depth < 6 else []
    if kind == "map":
        return {"key": least(arguments[0], deep=deep, depth=depth)} if depth < 6 else {}
    if kind == "union":
        return {arguments[0]: least(arguments[0], deep=deep, depth=depth)}
    name = arguments[0]
    if name in _SAMPLES:
        return _SAMPLES[name]
    record = REGISTRY.records.get(name)
    if record is None:
        return {}
    if record.symbols:
        return "OF_A_NEWER_MODEL"
    wanted = record.fields if deep and depth < 4 else required_fields(name, record)
    return {field: least(record.fields[field].base, deep=deep, depth=depth + 1) for field in wanted}


def store(catalog: CatalogEngine, entity_type: str, how: str) -> None:
    """Keep every aspect of an entity past the validator, as an older release or a damaged file
    may have left it."""
    urn = urn_of(entity_type)

    def job(transaction: Any) -> None:
        for aspect in REGISTRY.aspects_of(entity_type):
            declared = REGISTRY.aspects[aspect]
            match how:
                case "empty":
                    value = {}
                case "hollow":
                    value = hollow(declared.record)
                case _:
                    value = least(declared.record, deep=how == "one of each")
            if declared.timeseries:
                value = {**value, "timestampMillis": _NOW}
                stamp = (_NOW, ACTOR)
                point = TimeseriesDocument(
                    urn, entity_type, aspect, _NOW, "", orjson.dumps(value), *stamp, b"{}"
                )
                transaction.append(point)
            else:
                edges = ()
                stamp = (_NOW, ACTOR)
                transaction.put(
                    Write(urn, entity_type, aspect, orjson.dumps(value), *stamp, b"{}", None, edges)
                )

    catalog.store.write(job).result()


def argument_texts(field: Any) -> str:
    """The arguments that a field cannot be without, written out."""
    needed = [
        f"{name}: {literal(argument.type)}"
        for name, argument in field.args.items()
        if isinstance(argument.type, GraphQLNonNull)
    ]
    return f"({', '.join(needed)})" if needed else ""


def literal(kind: Any) -> str:
    match kind:
        case GraphQLNonNull():
            return literal(kind.of_type)
        case GraphQLList():
            return "[]"
        case GraphQLEnumType():
            return str(next(iter(kind.values)))
        case GraphQLInputObjectType():
            inner = ", ".join(
                f"{name}: {literal(field.type)}"
                for name, field in kind.fields.items()
                if isinstance(field.type, GraphQLNonNull)
            )
            return "{" + inner + "}"
        case GraphQLScalarType():
            return {"String": '""', "Boolean": "false"}.get(kind.name, "0")
    raise AssertionError(kind)


def selection(schema: Any, kind: Any, entities_left: int, above: tuple[str, ...] = ()) -> str:
    """Every field of a type, down to where entities have been entered so many times."""
    kind = get_named_type(kind)
    if not isinstance(kind, GraphQLObjectType | GraphQLInterfaceType | GraphQLUnionType):
        return ""
    if isinstance(kind, GraphQLInterfaceType | GraphQLUnionType):
        if kind.name == "Entity":
            return "{ __typename urn type }"
        inner = " ".join(
            f"... on {one.name} {selection(schema, one, entities_left, above)}"
            for one in schema.get_possible_types(kind)
        )
        return "{ __typename " + inner + " }"
    is_entity = any(one.name == "Entity" for one in kind.interfaces)
    if is_entity and not entities_left:
        return "{ __typename urn type }"
    if kind.name in above:
        return "{ __typename }"
    left = entities_left - is_entity
    fields = [
        f"{name}{argument_texts(field)} {selection(schema, field.type, left, (*above, kind.name))}"
        for name, field in kind.fields.items()
    ]
    return "{ __typename " + " ".join(fields) + " }"


def failures(answer: dict[str, Any]) -> list[Any]:
    return [
        (error["message"], error.get("path"))
        for error in answer.get("errors", ())
        if error["extensions"]["type"] == "SERVER_ERROR"
    ]


@pytest.mark.parametrize("how", ["empty", "hollow", "least", "one of each"])
@pytest.mark.parametrize("entity_type", sorted(REGISTRY.entities))
def test_every_field_of_an_entity_is_answered_whatever_its_aspects_lack(
    catalog: CatalogEngine, ask: Any, schema: Any, entity_type: str, how: str
) -> None:
    store(catalog, entity_type, how)
    shape = SHAPES.get(entity_type)
    object_type = shape.object_type if shape else "GenericEntity"
    kind = schema.type_map[object_type]
    fields = " ".join(
        f"{name}{argument_texts(field)} {selection(schema, field.type, 0, (object_type,))}"
        for name, field in kind.fields.items()
    )
    entity = f"entity(urn: $urn) {{ ... on {object_type} {{ {fields} }} }}"
    query = f"query one($urn: String!) {{ {entity} }}"
    answer = ask(query, {"urn": urn_of(entity_type)})
    assert not failures(answer)
    assert answer["data"] is not None, answer
    assert answer["data"]["entity"] is not None, answer


def valid(name: str, kind: Any) -> Any:
    """An input that an operation takes, as far as its type and its name tell."""
    match kind:
        case GraphQLNonNull():
            return valid(name, kind.of_type)
        case GraphQLList():
            return [valid(name, kind.of_type)]
        case GraphQLEnumType():
            return next(iter(kind.values))
        case GraphQLInputObjectType():
            return {field: valid(field, one.type) for field, one in kind.fields.items()}
    match kind.name:
        case "Boolean":
            return True
        case "Int" | "Long" | "Float":
            return 1
    for ending, entity_type in NAMED.items():
        if name.lower().endswith(ending):
            return urn_of(entity_type)
    return "a"


NAMED = {
    "tagurn": "tag",
    "tagurns": "tag",
    "termurn": "glossaryTerm",
    "termurns": "glossaryTerm",
    "ownershiptypeurn": "ownershipType",
    "ownerurn": "corpuser",
    "ownerurns": "corpuser",
    "owner": "corpuser",
    "author": "corpuser",
    "domainurn": "domain",
    "parentdomain": "domain",
    "parentnode": "glossaryNode",
    "urn": "dataset",
    "urns": "dataset",
    "replacement": "dataset",
}


def odd_inputs(given: Any, kind: Any) -> Iterator[Any]:
    """An input with one of its values replaced, for every value and every odd one."""
    if isinstance(kind, GraphQLNonNull):
        kind = kind.of_type
    else:
        yield None
    match kind:
        case GraphQLList():
            yield []
            yield [given[0]] * 3
            for one in odd_inputs(given[0], kind.of_type):
                yield [one]
        case GraphQLEnumType():
            yield from kind.values
        case GraphQLInputObjectType():
            for name, field in kind.fields.items():
                if not isinstance(field.type, GraphQLNonNull):
                    yield {key: value for key, value in given.items() if key != name}
                for one in odd_inputs(given[name], field.type):
                    yield {**given, name: one}
        case GraphQLScalarType(name="Boolean"):
            yield False
        case GraphQLScalarType(name="String"):
            yield from ODD_TEXTS
        case _:
            yield from ODD_NUMBERS


def required_only(given: Any, kind: Any) -> Any:
    """An input with only what it cannot be without."""
    if isinstance(kind, GraphQLNonNull):
        kind = kind.of_type
    if isinstance(kind, GraphQLInputObjectType):
        return {
            name: required_only(given[name], field.type)
            for name, field in kind.fields.items()
            if isinstance(field.type, GraphQLNonNull)
        }
    return given


def asked(field: Any) -> Iterator[dict[str, Any]]:
    """Arguments for a field: usual ones, the least, and those with one odd value."""
    usual = {name: valid(name, one.type) for name, one in field.args.items()}
    yield usual
    yield {name: required_only(usual[name], one.type) for name, one in field.args.items()}
    for name, one in field.args.items():
        yield from ({**usual, name: odd} for odd in odd_inputs(usual[name], one.type))


def arguments(field: Any) -> tuple[str, str]:
    """The variables of a document for all arguments of a field, declared and passed on."""
    declared = ", ".join(f"${name}: {one.type}" for name, one in field.args.items())
    return declared, ", ".join(f"{name}: ${name}" for name in field.args)


@pytest.mark.parametrize("how", ["empty", *nightly("hollow")])
def test_no_mutation_fails_whatever_its_inputs_are(
    catalog: CatalogEngine, ask: Any, schema: Any, how: str
) -> None:
    """Odd inputs are refused alike, whatever is stored: over empty aspects there are but two of
    each mutation, the usual one and the least."""
    failed: list[Any] = []
    edited: set[str] = set()
    most = 2 if how == "empty" else None
    for name, field in schema.mutation_type.fields.items():
        for entity_type in sorted(set(NAMED.values())):
            store(catalog, entity_type, how)
        declared, passed = arguments(field)
        inner = "{ urn }" if isinstance(field.type, GraphQLObjectType) else ""
        query = f"mutation one({declared}) {{ {name}({passed}) {inner} }}"
        for variables in islice(asked(field), most):
            answer = ask(query, variables)
            failed += [(name, variables, failure) for failure in failures(answer)]
            edited |= set() if answer.get("errors") else {name}
    assert not failed, failed[:20]
    assert edited == set(schema.mutation_type.fields) or how == "empty"


@pytest.mark.parametrize("most", [3, *nightly(None)])
def test_no_question_fails_whatever_its_arguments_are(
    catalog: CatalogEngine, ask: Any, schema: Any, most: int | None
) -> None:
    """`most` is how many of the arguments of each field are tried."""
    for entity_type in REGISTRY.entities:
        store(catalog, entity_type, "one of each")
    failed: list[Any] = []
    answered: set[str] = set()
    for name, field in schema.query_type.fields.items():
        declared, passed = arguments(field)
        inner = "{ __typename }" if selection(schema, field.type, 0) else ""
        query = f"query one({declared}) {{ {name}({passed}) {inner} }}"
        for variables in islice(asked(field), most) if field.args else ():
            answer = ask(query, variables)
            failed += [(name, variables, failure) for failure in failures(answer)]
            answered |= set() if answer.get("errors") else {name}
    for shape in (SHAPES["dataset"], SHAPES["domain"]):
        for name, field in schema.type_map[shape.object_type].fields.items():
            declared, passed = arguments(field)
            inner = selection(schema, field.type, 0)
            for at, variables in enumerate(islice(asked(field), most) if field.args else ()):
                # Everything within is asked for where the arguments are usual, or the least.
                within = inner if at < 2 else inner and "{ __typename }"
                query = (
                    f"query one($of: String!, {declared}) "
                    f"{{ {shape.query}(urn: $of) {{ {name}({passed}) {within} }} }}"
                )
                answer = ask(query, {"of": urn_of(shape.entity_type), **variables})
                failed += [(name, variables, failure) for failure in failures(answer)]
                answered |= set() if answer.get("errors") else {name}
    assert not failed, failed[:20]
    asked_for = {name for name, field in schema.query_type.fields.items() if field.args}
    assert answered >= asked_for - REFUSED or most
    assert answered >= {"usageStats", "operations", "lineage", "relationships", "aspects"}


NUMBERS = ("²", "--5", "-", "5" * 5_000, "٣", "1e400", "0x10", "１２")


@pytest.mark.parametrize("text", NUMBERS)
def test_a_text_that_looks_like_a_number_is_a_text(ask: Any, text: str) -> None:
    query = "query one($s: String = %s) { search(input: {type: DATASET, query: $s}) { total } }"
    answer = ask(query % json.dumps(text, ensure_ascii=False))
    assert not failures(answer)
    assert "errors" not in answer


@pytest.mark.parametrize("digits", ["5" * 5_000, "-" + "5" * 5_000, "5" * 30, "1e999", "1.5"])
@pytest.mark.parametrize(
    "document",
    [
        '{ searchAcrossEntities(input: {query: "", count: %s}) { total } }',
        "query one($n: Int = %s) { listDomains(input: {count: $n}) { total } }",
        'query one($n: Long = %s) { dataset(urn: "%s") { schemaMetadata(version: $n) { name } } }',
        '{ dataset(urn: "%s") { usageStats(startTimeMillis: %s) { buckets { bucket } } } }',
        '{ dataset(urn: "%s") { operations(limit: %s) { timestampMillis } } }',
    ],
)
def test_a_number_out_of_bounds_is_refused_or_answered(
    ask: Any, document: str, digits: str
) -> None:
    parts = document.split("%s")
    if len(parts) == 3:
        first = DATASET if document.startswith("{") else digits
        document = document % (first, digits if first is DATASET else DATASET)
    else:
        document = document % digits
    assert not failures(ask(document))
