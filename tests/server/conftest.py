"""A catalog on a real socket, and the few calls that most tests make of it."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import uvicorn

from explorer.metadata.registry import load_registry
from explorer.server import catalog as catalog_module
from explorer.server.app import Service
from explorer.server.catalog import CatalogEngine
from explorer.server.coverage import DAY_MILLIS
from explorer.server.data_directory import open_catalog
from explorer.server.process import ConnectionLimits, connection_factory, listen_on_tcp
from tests.conftest import schema_of

ACTOR = "urn:li:corpuser:jdoe"
STAMP = {"time": 0, "actor": ACTOR}


class Caller:
    """Calls of the resource API and GraphQL over one connection."""

    def __init__(self, http: httpx.Client, catalog: CatalogEngine) -> None:
        self.http = http
        self.catalog = catalog

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.http.get(path, headers=headers)

    def post(self, path: str, body: Any, **headers: str) -> httpx.Response:
        return self.http.post(path, json=body, headers=headers)

    def proposal(self, urn: str, aspect: str, value: Any, change: str = "UPSERT") -> dict[str, Any]:
        wire: dict[str, Any] = {
            "entityType": urn.split(":")[2],
            "entityUrn": urn,
            "changeType": change,
            "aspectName": aspect,
        }
        if value is not None:
            wire["aspect"] = {"value": json.dumps(value), "contentType": "application/json"}
        return wire

    def send(
        self, urn: str, aspect: str, value: Any, change: str = "UPSERT", /, **more: Any
    ) -> Any:
        body = {"proposal": self.proposal(urn, aspect, value, change) | more, "async": "false"}
        return self.post("/aspects?action=ingestProposal", body)

    def ingest(
        self, urn: str, aspect: str, value: Any, change: str = "UPSERT", /, **more: Any
    ) -> str:
        answer = self.send(urn, aspect, value, change, **more)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["value"])

    def batch(self, *proposals: dict[str, Any]) -> httpx.Response:
        return self.post("/aspects?action=ingestProposalBatch", {"proposals": proposals})

    def entity(self, urn: str, query: str = "") -> dict[str, Any]:
        answer = self.get(f"/entitiesV2/{quote(urn, safe='')}{query}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def value(self, urn: str, aspect: str) -> Any:
        found = self.entity(urn)["aspects"].get(aspect)
        return found["value"] if found else None

    def version(self, urn: str, aspect: str, version: int) -> httpx.Response:
        return self.get(f"/aspects/{quote(urn, safe='')}?aspect={aspect}&version={version}")

    def exists(self, urn: str) -> bool:
        return bool(self.post("/entities?action=exists", {"urn": urn}).json()["value"])

    def browse(self, path: str, entity: str = "dataset", start: int = 0, limit: int = 100) -> Any:
        body = {"path": path, "entity": entity, "start": start, "limit": limit}
        answer = self.post("/entities?action=browse", body)
        assert answer.status_code == 200, answer.text
        return answer.json()["value"]

    def search(self, text: str, entity: str = "dataset", **more: Any) -> Any:
        body = {"input": text, "entity": entity, "start": 0, "count": 10} | more
        answer = self.post("/entities?action=search", body)
        assert answer.status_code == 200, answer.text
        return answer.json()["value"]

    def graphql(self, query: str, **variables: Any) -> dict[str, Any]:
        answer = self.post("/api/graphql", {"query": query, "variables": variables})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


class Site:
    """A service that listens in a thread of this process."""

    def __init__(self, service: Service, limits: ConnectionLimits) -> None:
        self._listener = listen_on_tcp("127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        config = uvicorn.Config(
            service,
            http=connection_factory(limits),  # type: ignore[arg-type]  # it calls it as a class
            lifespan="off",
            log_config=None,
            ws="none",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True
        )
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., str]]:
    """Serve an application on a port of its own until the tests end; gives its address."""
    sites: list[Site] = []

    def start(service: Service, limits: ConnectionLimits | None = None) -> str:
        sites.append(Site(service, limits or ConnectionLimits()))
        return sites[-1].address

    yield start
    for site in sites:
        site.stop()


@pytest.fixture(scope="session")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogEngine]:
    """One catalog for every test that names its own entities."""
    opened = open_catalog(tmp_path_factory.mktemp("catalog"), load_registry())
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def caller(catalog: CatalogEngine, serve: Callable[[Service], str]) -> Iterator[Caller]:
    """Calls that catalog over a real socket."""
    with httpx.Client(base_url=serve(Service(catalog)), timeout=120) as http:
        yield Caller(http, catalog)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Callable[[], CatalogEngine]]:
    """Open the catalog of this test's own directory; opened again, it is the same one."""
    opened: list[CatalogEngine] = []
    (tmp_path / "data").mkdir()

    def reopen() -> CatalogEngine:
        if opened:
            opened.pop().close()
        opened.append(open_catalog(tmp_path / "data", load_registry()))
        return opened[-1]

    yield reopen
    for one in opened:
        one.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the day (since 1970) on which the catalog writes."""
    hour = iter(range(1_000_000))

    def turn(day: int) -> None:
        moment = day * DAY_MILLIS + 3_600_000 + next(hour)
        monkeypatch.setattr(catalog_module, "_now_millis", lambda: moment)

    return turn


@pytest.fixture
def dataset(request: pytest.FixtureRequest) -> str:
    """A dataset's URN that no other test uses."""
    name = re.sub(r"\W+", "_", request.node.name)
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


@pytest.fixture
def schema() -> Callable[..., dict[str, Any]]:
    """A schemaMetadata value with these columns, each a path or (path, description)."""

    def make(*columns: str | tuple[str, str]) -> dict[str, Any]:
        fields = []
        for column in columns:
            path, description = column if isinstance(column, tuple) else (column, None)
            field: dict[str, Any] = {
                "fieldPath": path,
                "nativeDataType": "varchar",
                "type": {"type": {"com.linkedin.schema.StringType": {}}},
            }
            fields.append(field | ({"description": description} if description else {}))
        return schema_of(fields, name="test")

    return make
