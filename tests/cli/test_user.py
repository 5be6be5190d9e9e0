"""Edits in the catalog of this machine are by the person who works on it."""

import getpass
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer import instance
from explorer.client import Catalog
from explorer.metadata import Urn
from tests.cli.conftest import Run

TABLE = Urn.dataset("hive", "users.edited")


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Opens the catalog of a directory, its service started anew as the user of that name."""
    directory = tmp_path / "catalog"

    def as_user(name: Any) -> Any:
        if name is None:
            monkeypatch.delenv("CATALOG_USER", raising=False)
        else:
            monkeypatch.setenv("CATALOG_USER", name)
        return Catalog(data_dir=directory)

    yield as_user
    found = instance.find(directory)
    if found is not None:
        os.kill(found.pid, signal.SIGTERM)


@pytest.mark.parametrize(
    ("name", "actor"),
    [
        ("Nina Weber", "urn:li:corpuser:Nina Weber"),
        ("urn:li:corpuser:nina", "urn:li:corpuser:nina"),
        (None, f"urn:li:corpuser:{getpass.getuser()}"),
    ],
)
def test_an_edit_is_by_who_works_here(local: Any, name: str | None, actor: str) -> None:
    with local(name) as catalog:
        assert catalog.info().user == actor
        catalog.put(TABLE, "datasetProperties", {"name": "edited"})
        catalog.describe(TABLE, "by hand")
        versions = catalog.versions(TABLE, "editableDatasetProperties")
        assert {str(one.created.actor) for one in versions} == {actor}


def test_who_works_here_is_named_by_a_profile_while_the_service_runs(
    local: Any, catalog: Run, tmp_path: Path
) -> None:
    directory = tmp_path / "catalog"
    with local("before") as opened:
        opened.put(TABLE, "datasetProperties", {"name": "edited"})
        own: dict[str, Any] = {"url": None, "CATALOG_CONFIG_DIR": str(tmp_path / "config")}
        catalog("profile", "add", "mine", "--data-dir", str(directory), **own)
        done = catalog("profile", "use", "mine", "--user", "Ada", **own)
        assert (done.code, done.err.splitlines()[0]) == (
            0,
            "edits are recorded as urn:li:corpuser:Ada",
        )
        assert opened.info().user == "urn:li:corpuser:Ada"
        opened.describe(TABLE, "by Ada")
        versions = opened.versions(TABLE, "editableDatasetProperties")
        assert str(next(iter(versions)).created.actor) == "urn:li:corpuser:Ada"
        assert "by Ada" in catalog("profile", "list", **own).out
        refused = catalog("profile", "use", "mine", "--user", "urn:li:tag:x", **own)
        assert refused.code != 0
        assert "is not a user" in refused.err
        served = catalog("profile", "add", "far", "--url", "http://x", "--user", "Ada", **own)
        assert "a server identifies users by their access tokens" in " ".join(served.err.split())
