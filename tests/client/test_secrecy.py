"""A token is shown to the server and to nobody else: not in any file that a client leaves behind,
nor in anything that it or its errors say."""

import logging
import pickle
import traceback
from pathlib import Path
from typing import Any

import orjson
import pytest

import explorer
from explorer.client import Answer, Catalog, Retry
from explorer.client.http import HttpTransport
from explorer.errors import CatalogError
from explorer.metadata import Urn
from explorer.views.search import entities_table, search_table
from explorer.views.table import to_csv
from tests.client.conftest import Site

TOKEN = "s3cret-of-the-secretive"
PASSWORD = "s3cret-password"
TABLE = Urn.dataset("hive", "secrecy.orders")


class Forwarding:
    """Hands everything on to the real service, and refuses what it is told to with an echo of all
    that it was shown."""

    def __init__(self, carrier: Any) -> None:
        self.carrier = carrier
        self.shown: set[str] = set()
        self.refuses = False

    async def send(self, request: Any) -> Any:
        if request.signature is not None:
            self.shown.add(request.signature.header)
        if self.refuses:
            said = f"no {request.signature.header if request.signature else TOKEN}"
            return Answer(500, orjson.dumps({"message": said}))
        return await self.carrier.send(request)

    async def close(self) -> None:
        await self.carrier.close()


@pytest.fixture
def left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"CATALOG_{name}_DIR", str(tmp_path / name.lower()))
    return tmp_path


def use(catalog: Any, path: Any) -> Any:
    """A little of everything that leaves something behind."""
    catalog.put(TABLE, "datasetProperties", {"description": "x"})
    catalog.keep_journal(path / "journal.jsonl")
    edits = [catalog.describe(TABLE, "written"), catalog.add_link(TABLE, "https://x", "x")]
    entity = catalog.entity(TABLE)
    page = catalog.search("secrecy")
    (path / "frame.csv").write_text(to_csv(search_table(page)) + to_csv(entities_table([entity])))
    (path / "given.pickle").write_bytes(pickle.dumps((edits, entity, page)))
    return repr((edits, entity, page, catalog, catalog.core, vars(catalog)))


def test_no_file_and_no_text_that_a_client_leaves_holds_its_token(
    left_behind: Any, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    wire = Forwarding(HttpTransport(site.address))
    said = []
    with (
        caplog.at_level(logging.DEBUG),
        Catalog(
            f"http://jdoe:{PASSWORD}@secrecy.example",
            token=TOKEN,
            offline="keep",
            retry=Retry(1),
            transport=wire,
        ) as catalog,
    ):
        said.append(use(catalog, left_behind))
        wire.refuses = True
        for ask in (catalog.info, lambda: catalog.graphql("{ a }"), lambda: catalog.search("x")):
            with pytest.raises(CatalogError) as caught:
                ask()
            trace = traceback.TracebackException.from_exception(caught.value)
            said += ["".join(trace.format()), repr(vars(caught.value))]
            said.append(str(pickle.dumps(caught.value)))
    assert wire.shown == {f"Bearer {TOKEN}"}
    files = [path for path in left_behind.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".jsonl", ".csv", ".pickle"}
    assert any("cache" in path.parts for path in files)
    for path in files:
        held = path.read_bytes()
        assert TOKEN.encode() not in held, path
        assert PASSWORD.encode() not in held, path
    assert TOKEN not in "".join(said) + caplog.text
    assert PASSWORD not in "".join(said) + caplog.text


def test_an_asynchronous_catalog_of_a_notebook_shows_no_password() -> None:
    catalog = explorer.AsyncCatalog(f"http://jdoe:{PASSWORD}@secrecy.example", token=TOKEN)
    text = repr((catalog, catalog.blocking, vars(catalog), vars(catalog.blocking)))
    catalog.blocking.close()
    assert PASSWORD not in text
    assert TOKEN not in text
