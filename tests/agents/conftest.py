"""What agents get and do is tried on a real service."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from explorer.agents.proposing import AgentName
from explorer.agents.tools import Caller, call_tool
from explorer.client import AsyncCatalog, Catalog
from explorer.metadata import Proposal, Urn
from explorer.views.budget import DEFAULT_TOKENS, count_tokens
from tests.conftest import SampleAt, schema_metadata, serving_catalog

Call = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a service answers; each test makes its own tables."""
    with serving_catalog(tmp_path_factory.mktemp("agents")) as found:
        yield found


@pytest.fixture(scope="session")
def sample(sample_at: SampleAt, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A catalog that no test writes to."""
    with sample_at(tmp_path_factory.mktemp("agents") / "catalog") as directory:
        yield directory


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path / "mine"))


@pytest.fixture
async def catalog(address: str) -> AsyncIterator[AsyncCatalog]:
    async with AsyncCatalog(address) as client:
        yield client


def calling(catalog: AsyncCatalog, name: str = "assistant", **caller: Any) -> Call:
    """Return a function that calls a tool, and checks that the answer fits."""

    async def call(tool: str, /, **arguments: Any) -> dict[str, Any]:
        answer = await call_tool(Caller(catalog, AgentName(name, "1.0"), **caller), tool, arguments)
        budget = arguments.get("budget", DEFAULT_TOKENS)
        assert count_tokens(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) <= budget
        return answer

    return call


@pytest.fixture
def call(catalog: AsyncCatalog) -> Call:
    """Calls a tool on the service that tests write to."""
    return calling(catalog)


@pytest.fixture
async def ask(sample: Path) -> AsyncIterator[Call]:
    """Calls a tool on the sample."""
    async with AsyncCatalog(data_dir=sample) as client:
        yield calling(client)


async def pages(call: Call, tool: str, /, **arguments: Any) -> list[dict[str, Any]]:
    """Return all pages of an answer."""
    answers = [await call(tool, **arguments)]
    while "left" in answers[-1]:
        answers.append(await call(tool, **arguments, cursor=answers[-1]["left"]["cursor"]))
    return answers


@pytest.fixture
def make_table(
    address: str, request: pytest.FixtureRequest
) -> Callable[[Mapping[str, str | None]], Urn]:
    """Makes a table of this test with columns that have these ingested texts."""

    def make(columns: Mapping[str, str | None]) -> Urn:
        urn = Urn.dataset("hive", f"agents.{request.node.name}".replace("[", ".").strip("]"))
        with Catalog(address) as client:
            client.ingest(Proposal(urn, "schemaMetadata", schema_metadata(dict(columns))))
        return urn

    return make
