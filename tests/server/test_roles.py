"""What a token of each role may do, through every route and every mutation."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLSchema,
    build_schema,
    get_named_type,
    is_list_type,
    is_required_argument,
    is_required_input_field,
)
from starlette.routing import Router

from explorer.metadata.registry import load_registry
from explorer.server.app import Service
from explorer.server.authentication import (
    ROLES,
    Gate,
    Keyring,
    Role,
    SharedKeyring,
    create_token,
    read_tokens,
)
from explorer.server.catalog import CatalogEngine
from explorer.server.data_directory import open_access, open_catalog
from explorer.server.graphql.mutations import ROLES as MUTATIONS
from explorer.server.graphql.mutations import guard
from explorer.server.oidc import Issuer, OidcSettings
from explorer.server.restli import Endpoint, Resource
from tests.conftest import nightly
from tests.oidc import AUDIENCE, running_issuer
from tests.server.examples import example_of

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_created,PROD)"
TAG = {
    "entityType": "tag",
    "entityUrn": "urn:li:tag:roles",
    "changeType": "UPSERT",
    "aspectName": "tagProperties",
    "aspect": {"value": '{"name":"roles"}'},
}
# Each removes something for good, or hands out the whole catalog.
FOR_ADMINS = [
    ("POST", "/entities?action=delete", {"urn": "urn:li:tag:roles"}),
    ("POST", "/entities?action=deleteReferences", {"urn": "urn:li:tag:roles"}),
    ("POST", "/entities?action=deleteReferences", {"urn": "urn:li:tag:roles", "dryRun": True}),
    ("POST", "/runs?action=rollback", {"runId": "r", "dryRun": False}),
    ("GET", "/export", None),
    (
        "POST",
        "/aspects?action=ingestProposal",
        {"proposal": {**TAG, "changeType": "DELETE", "aspectName": "tagKey"}},
    ),
    (
        "POST",
        "/aspects?action=ingestProposalBatch",
        {"proposals": [TAG, {**TAG, "changeType": "DELETE"}]},
    ),
]

Site = tuple[Service, dict[Role, httpx.Client]]
Made = tuple[CatalogEngine, Gate, dict[Role, str]]


@contextmanager
def tokens_in_a_file(request: pytest.FixtureRequest, folder: Path) -> Iterator[Made]:
    """The catalog of a directory, and tokens that the service keeps in a file."""
    file = folder / "tokens.json"
    tokens = {
        role: create_token(file, role, f"urn:li:corpuser:{role}", role=role)[0] for role in ROLES
    }
    yield request.getfixturevalue("catalog"), Gate(Keyring(file)), tokens


@contextmanager
def tokens_in_a_database(request: pytest.FixtureRequest, folder: Path) -> Iterator[Made]:
    """A catalog in PostgreSQL, and tokens in that database."""
    address = request.getfixturevalue("postgres").new_schema()
    with ExitStack() as held:
        catalog = open_catalog(folder, load_registry(), address)
        held.callback(catalog.close)
        shared = open_access(address)
        tokens = {
            role: create_token(shared, role, f"urn:li:corpuser:{role}", role=role)[0]
            for role in ROLES
        }
        keyring = SharedKeyring(shared)
        held.callback(keyring.close)
        yield catalog, Gate(keyring), tokens


@contextmanager
def tokens_of_an_issuer(request: pytest.FixtureRequest, _folder: Path) -> Iterator[Made]:
    """The catalog of a directory, and tokens that an OpenID Connect issuer signs."""
    with running_issuer() as issuer:
        taken = Issuer(OidcSettings(issuer.url, (AUDIENCE,), role_claim="roles"))
        tokens = {
            role: issuer.token(roles=[f"catalog-{role}"], exp=int(time.time()) + 3600)
            for role in ROLES
        }
        # One of whom the issuer says nothing reads, as one does whose role it does not name.
        tokens["reader"] = issuer.token(exp=int(time.time()) + 3600)
        yield request.getfixturevalue("catalog"), Gate(issuer=taken), tokens


@pytest.fixture(
    scope="module", params=[tokens_in_a_file, *nightly(tokens_in_a_database, tokens_of_an_issuer)]
)
def site(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    serve: Callable[[Service], str],
) -> Iterator[Site]:
    """A service that asks for tokens, and a client with a token of each role."""
    with request.param(request, tmp_path_factory.mktemp("roles")) as (catalog, gate, tokens):
        service = Service(catalog, gate=gate)
        address = serve(service)
        clients = {
            role: httpx.Client(
                base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=120
            )
            for role, token in tokens.items()
        }
        assert ingest(clients["admin"], TAG).status_code == 200
        yield service, clients
        for client in clients.values():
            client.close()


def written(service: Service) -> tuple[int, ...]:
    """What no write leaves as it was: the last offset of the change log, and in a database the
    number of transactions that wrote anything at all."""
    store = service.catalog.store
    head = store.log_bounds().head
    if not store.is_shared:
        return (head,)
    with psycopg.connect(store._address) as raw:  # type: ignore[attr-defined]
        count = raw.execute("SELECT count FROM writing").fetchone()
    assert count is not None
    return head, *count


def ingest(client: httpx.Client, proposal: dict[str, Any]) -> httpx.Response:
    return client.post("/aspects?action=ingestProposal", json={"proposal": proposal})


def may(role: Role, needed: Role) -> bool:
    return ROLES.index(role) >= ROLES.index(needed)


def status_of(client: httpx.Client, endpoint: Endpoint) -> tuple[int, str]:
    """How the example of an endpoint is answered; a stream is left at its beginning."""
    path, body = example_of(endpoint)
    with client.stream(endpoint.method, path, content=body) as answer:
        if answer.headers.get("content-type") == "text/event-stream":
            return answer.status_code, ""
        answer.read()
        return answer.status_code, answer.text


@pytest.mark.parametrize("role", ROLES)
def test_each_route_asks_for_the_role_it_declares(site: Site, role: Role) -> None:
    service, clients = site
    for endpoint in service.endpoints:
        before = written(service)
        status, text = status_of(clients[role], endpoint)
        if may(role, endpoint.role):
            assert status != 403, (endpoint.title, text)
        else:
            assert status == 403, endpoint.title
            message = json.loads(text)["message"]
            asks_more = role == "proposer" and endpoint.proposes
            what = "writing anything but a changeset of your own" if asks_more else endpoint.title
            assert f"{what} needs the role {endpoint.role}" in message
            assert f"this token has the role {role}" in message
        if not may(role, "editor"):
            assert written(service) == before, endpoint.title


@pytest.mark.parametrize("role", ROLES)
def test_each_mutation_asks_for_the_role_it_needs(site: Site, role: Role) -> None:
    service, clients = site
    schema = service.graphql.ready().schema
    mutations = schema.mutation_type
    assert mutations is not None
    assert len(mutations.fields) > 30
    before = written(service)
    for name in mutations.fields:
        answer = run(clients[role], f"mutation {{ {call_of(schema, name)} }}")
        codes = {error["extensions"]["code"] for error in answer.get("errors", ())}
        if not may(role, "editor"):
            assert codes == {403}, (name, answer)
            assert answer["errors"][0]["message"].startswith(
                f"the mutation {name} needs the role {MUTATIONS[name]}; "
                f"this token has the role {role}"
            )
        elif not may(role, MUTATIONS[name]):
            assert codes == {403}, (name, answer)
        else:
            assert 403 not in codes, (name, answer)
            assert 500 not in codes, (name, answer)
    if not may(role, "editor"):
        assert written(service) == before


@pytest.mark.parametrize(
    "document",
    [
        "mutation {{ a: {call} b: {call} }}",
        "mutation {{ ...F }} fragment F on Mutation {{ ...G }} fragment G on Mutation {{ {call} }}",
        "mutation {{ ... on Mutation {{ ... @include(if: true) {{ {call} }} }} }}",
        "query Q {{ __typename }} mutation M {{ {call} }}",
    ],
)
def test_a_reader_changes_nothing_however_a_mutation_is_put(site: Site, document: str) -> None:
    service, clients = site
    before = written(service)
    call = call_of(service.graphql.ready().schema, "createTag")
    operation = "M" if "mutation M" in document else None
    answer = run(clients["reader"], document.format(call=call), operation)
    assert {error["extensions"]["code"] for error in answer["errors"]} == {403}
    assert written(service) == before
    assert 403 not in {
        error["extensions"]["code"]
        for error in run(clients["editor"], document.format(call=call), operation).get("errors", ())
    }


@pytest.mark.parametrize(("method", "path", "body"), FOR_ADMINS)
def test_an_editor_removes_nothing_for_good(
    site: Site, method: str, path: str, body: dict[str, Any] | None
) -> None:
    service, clients = site
    assert ingest(clients["editor"], TAG).status_code == 200
    before = written(service)
    for role in ("reader", "editor"):
        for address in (path, path.replace("?", "/?")):
            answer = clients[role].request(method, address, json=body)
            assert answer.status_code == 403, answer.text
            assert "needs the role" in answer.json()["message"]
    assert "needs the role admin" in answer.json()["message"]
    assert written(service) == before
    assert clients["admin"].request(method, path, json=body).status_code == 200


def test_every_address_of_the_service_is_one_of_its_endpoints(site: Site) -> None:
    """So that the tests above, which go through the endpoints, forget no route."""
    service, clients = site
    found: list[Router] = []
    app: Any = service._app
    while app is not None:
        if isinstance(app, Router):
            found.append(app)
        app = getattr(app, "_app", None) or getattr(app, "app", None)
    (router,) = found
    assert all(isinstance(route.endpoint, Resource) for route in router.routes)  # type: ignore[attr-defined]
    held = [one for route in router.routes for one in route.endpoint._endpoints.values()]  # type: ignore[attr-defined]
    assert sorted(one.title for one in held) == sorted(one.title for one in service.endpoints)
    # Other methods than those of an endpoint reach nothing.
    before = written(service)
    for path in {one.path for one in service.endpoints}:
        for method in ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE"):
            status = clients["reader"].request(method, path, json={}).status_code
            assert status in (400, 403, 404, 405), (method, path)
    assert written(service) == before


def test_a_route_or_mutation_without_a_role_fails_at_once() -> None:
    with pytest.raises(TypeError, match="role"):
        Endpoint("GET", "/x", "x")  # type: ignore[call-arg]
    schema = build_schema("type Query { a: Int } type Mutation { forgotten: Int, createTag: Int }")
    assert schema.mutation_type is not None
    for field in schema.mutation_type.fields.values():
        field.resolve = lambda *_: 1
    with pytest.raises(KeyError, match="forgotten"):
        guard(schema)


def test_a_token_from_before_there_were_roles_is_an_admins(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    create_token(file, "a", "urn:li:corpuser:a", role="admin")
    kept = json.loads(file.read_text())
    kept["format"] = 1
    kept["tokens"][0].pop("role", None)
    file.write_text(json.dumps(kept))
    assert read_tokens(file)[0].role == "admin"
    # A release that knows no roles must not take a reader's token for an admin's.
    create_token(file, "b", "urn:li:corpuser:b", role="reader")
    assert json.loads(file.read_text())["format"] == 2


def run(client: httpx.Client, document: str, operation: str | None = None) -> dict[str, Any]:
    asked = {"query": document, "operationName": operation}
    answer = client.post("/api/graphql", json=asked)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def call_of(schema: GraphQLSchema, name: str) -> str:
    """A mutation with a value for all that it must be given."""
    assert schema.mutation_type is not None
    field = schema.mutation_type.fields[name]
    given = ", ".join(
        f"{argument}: {value_of(declared.type)}"
        for argument, declared in field.args.items()
        if is_required_argument(declared)
    )
    inner = get_named_type(field.type)
    return f"{name}({given}){' { __typename }' if hasattr(inner, 'fields') else ''}"


def value_of(kind: Any) -> str:
    inner = get_named_type(kind)
    nullable = getattr(kind, "of_type", kind)
    if isinstance(inner, GraphQLInputObjectType):
        parts = [
            f"{name}: {value_of(declared.type)}"
            for name, declared in inner.fields.items()
            if is_required_input_field(declared)
        ]
        value = "{" + ", ".join(parts) + "}"
    elif isinstance(inner, GraphQLEnumType):
        value = next(iter(inner.values))
    else:
        known = {"Boolean": "true", "Int": "1", "Long": "1", "Float": "1.0"}
        value = known.get(inner.name, json.dumps(DATASET))
    return f"[{value}]" if is_list_type(nullable) or is_list_type(kind) else value


def test_tokens_are_made_by_the_command_and_not_over_http(site: Site) -> None:
    create = """mutation { createAccessToken(input: {type: PERSONAL, actorUrn: "urn:li:corpuser:a",
      duration: ONE_DAY, name: "a"}) { accessToken metadata { id } } }"""
    documents = (
        create,
        'mutation { revokeAccessToken(tokenId: "a") }',
        "{ listAccessTokens(input: {start: 0, count: 1}) { total tokens { id name } } }",
    )
    for document in documents:
        (error,) = run(site[1]["admin"], document)["errors"]
        assert "catalog token create NAME" in error["message"]
        assert error["extensions"]["type"] == "BAD_REQUEST"
