"""What is written is compared with what the server has now, never with what was kept of it."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from explorer.client import Answer, Catalog, Retry
from explorer.client.http import HttpTransport
from explorer.errors import Unreachable
from explorer.metadata import Urn
from tests.client.conftest import Site

TABLE = Urn.dataset("hive", "offline.orders")
URL = "http://half-there.example"


class HalfThere:
    """The real service, of which reads may be out of reach while writes would still arrive."""

    def __init__(self, address: Any) -> None:
        self._http = HttpTransport(address)
        self.reads_are_lost = False
        self.writes: list[Any] = []

    async def send(self, request: Any) -> Any:
        if not request.writes:
            if self.reads_are_lost:
                raise Unreachable("the line is down")
            return await self._http.send(request)
        self.writes.append(request)
        if self.reads_are_lost:
            # As a server would that takes whatever comes.
            return Answer(200, orjson.dumps({"data": {"updateDataset": {"urn": str(TABLE)}}}))
        return await self._http.send(request)

    async def close(self) -> None:
        await self._http.close()


EDITS = {
    "a text from what was started from": lambda c: c.describe(TABLE, "new", instead_of="old"),
    "a text whatever there is": lambda c: c.describe(TABLE, "new", force=True),
    "a tag": lambda c: c.add_tags(TABLE, "PII"),
    "a link": lambda c: c.add_link(TABLE, "https://x", "x"),
    "an owner less": lambda c: c.remove_owners(TABLE, "jdoe"),
    "a soft deletion": lambda c: c.soft_delete(TABLE),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=list(EDITS))
def test_no_edit_is_made_from_a_kept_answer(
    site: Site, edit: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CATALOG_CACHE_DIR", str(tmp_path))
    settings: dict[str, Any] = {"offline": "fallback", "retry": Retry(1)}
    with Catalog(URL, transport=HalfThere(site.address), **settings) as catalog:
        catalog.put(TABLE, "datasetProperties", {"description": "x"})
        catalog.put("urn:li:tag:PII", "tagProperties", {"name": "PII"})
        catalog.put(TABLE, "status", {"removed": False})
        catalog.describe(TABLE, "old", force=True)
        # All that this reads is kept by now, and would do for the same edit again.
        edit(catalog)
        catalog.describe(TABLE, "old", force=True)
        catalog.restore(TABLE)
        catalog.entity(TABLE)
    wire = HalfThere(site.address)
    wire.reads_are_lost = True
    with Catalog(URL, transport=wire, **settings) as catalog:
        assert catalog.entity(TABLE).as_of is not None
        with pytest.raises(Unreachable):
            edit(catalog)
    assert wire.writes == []
    with Catalog(site.address) as catalog:
        catalog.delete(TABLE)
