"""Sessions are tried on a real service, without a screen."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.client.http import HttpTransport
from explorer.client.transport import Answer, Request
from explorer.errors import Unreachable
from explorer.metadata import Proposal, Urn
from explorer.sessions.base import Session
from tests.conftest import SampleAt, schema_metadata, serving_catalog


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a service answers; each test makes its own tables."""
    with serving_catalog(tmp_path_factory.mktemp("sessions")) as found:
        yield found


@pytest.fixture(scope="session")
def sample(sample_at: SampleAt, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A catalog that no test writes to."""
    with sample_at(tmp_path_factory.mktemp("sessions") / "catalog") as directory:
        yield directory


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path / "mine"))


@pytest.fixture
async def catalog(address: str) -> AsyncIterator[AsyncCatalog]:
    """A client of the service."""
    async with AsyncCatalog(address) as client:
        yield client


@pytest.fixture
def make_table(
    address: str, request: pytest.FixtureRequest
) -> Callable[[Mapping[str, str | None]], Urn]:
    """Makes a table of this test with columns that have these ingested texts."""

    def make(columns: Mapping[str, str | None]) -> Urn:
        urn = Urn.dataset("hive", f"sessions.{request.node.name}".replace("[", ".").strip("]"))
        with Catalog(address) as client:
            client.ingest(Proposal(urn, "schemaMetadata", schema_metadata(dict(columns))))
        return urn

    return make


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Another machine, for a block: a state directory of its own."""

    @contextmanager
    def move() -> Iterator[None]:
        with monkeypatch.context() as other:
            other.setenv("CATALOG_STATE_DIR", str(tmp_path / "theirs"))
            yield

    return move


class Cut(HttpTransport):
    """A line whose answers are lost once it `is_cut`."""

    is_cut = False

    async def send(self, request: Request) -> Answer:
        answer = await super().send(request)
        if self.is_cut:
            raise Unreachable("the answer was lost")
        return answer


async def until(session: Session[Any], is_so: Callable[[Any], bool]) -> None:
    """Wait until something is so of the state."""
    happened = asyncio.Event()
    end = session.subscribe(lambda state: happened.set() if is_so(state) else None)
    if not is_so(session.state):
        await happened.wait()
    end()
