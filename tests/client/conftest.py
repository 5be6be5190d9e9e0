"""The client in all its forms against one real service: either face, over a socket or in process,
with answers in the specification's shapes or in those of a current DataHub.

`client` is one of them; what it does is awaited, so that a test reads the same for both faces.
"""

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import ExitStack
from contextvars import copy_context
from typing import Any, NamedTuple

import orjson
import pytest

from explorer import client as package
from explorer.metadata.registry import load_registry
from explorer.server.app import Service
from explorer.server.data_directory import open_catalog
from tests.conftest import serving

# Every two of a face, a carrier and a dialect meet.
FORMS = (
    "async process plain",
    "async socket datahub",
    "blocking process datahub",
    "blocking socket plain",
)


class Site(NamedTuple):
    """A service: as an application, and where it listens."""

    service: Service
    address: str


class InProcess:
    """Carries requests to an application without a socket."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def send(self, request: Any) -> Any:
        path, _, query = request.path.partition("?")
        body = b"" if request.body is None else orjson.dumps(request.body)
        names = {"content-type": "application/json", "host": "127.0.0.1"} | dict(request.headers)
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), text.encode()) for name, text in names.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        told, parts = [], []

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                told.append(message["status"])
            else:
                parts.append(message.get("body", b""))

        await self._application(scope, receive, send)
        return told[0], b"".join(parts)

    async def close(self) -> None:
        self.closed = True


class Asked:
    """A client whose every answer is there when the call returns, whichever its face."""

    def __init__(self, client: Any, runner: Any) -> None:
        self.client = client
        self._runner = runner

    def __getattr__(self, name: Any) -> Any:
        member = getattr(self.client, name)
        if not callable(member):
            return member

        def call(*args: Any, **kwargs: Any) -> Any:
            given = member(*args, **kwargs)
            if inspect.isawaitable(given):
                return self._runner.run(given, context=copy_context())
            return Drawn(given, self._runner) if hasattr(given, "__anext__") else given

        return call


class Drawn:
    """One thing after another out of an asynchronous iterator."""

    def __init__(self, source: Any, runner: Any) -> None:
        self.source = source
        self._runner = runner

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        try:
            return self._runner.run(anext(self.source))
        except StopAsyncIteration:
            raise StopIteration from None

    def __getattr__(self, name: Any) -> Any:
        member = getattr(self.source, name)
        if not callable(member):
            return member

        def call(*args: Any, **kwargs: Any) -> Any:
            given = member(*args, **kwargs)
            return self._runner.run(_awaited(given)) if inspect.isawaitable(given) else given

        return call


async def _awaited(given: Any) -> Any:
    # What closes an asynchronous generator is awaitable, and no coroutine.
    return await given


@pytest.fixture(scope="session")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Site]]:
    """The one catalog, served in either dialect: `sites["plain"]`, `sites["datahub"]`."""
    catalog = open_catalog(tmp_path_factory.mktemp("catalog"), load_registry())
    found = {}
    with ExitStack() as running:
        for dialect in ("plain", "datahub"):
            service = Service(catalog, dialect=dialect)
            found[dialect] = Site(service, running.enter_context(serving(service)))
        yield found
    catalog.close()


@pytest.fixture(scope="module", params=FORMS)
def client(request: pytest.FixtureRequest, sites: dict[str, Site]) -> Iterator[Any]:
    """A client in one of its forms; every test that asks for it runs over all of them."""
    face, carrier, dialect = request.param.split()
    site = sites[dialect]
    where = (
        {"transport": InProcess(site.service)} if carrier == "process" else {"url": site.address}
    )
    with asyncio.Runner() as runner:
        kind = package.AsyncCatalog if face == "async" else package.Catalog
        made = Asked(kind(**where), runner)
        yield made
        made.close()


@pytest.fixture(scope="session")
def site(sites: dict[str, Site]) -> Site:
    """The service in the specification's dialect."""
    return sites["plain"]
