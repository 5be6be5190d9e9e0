"""A reader's home of its own for every test: no profile, no variable, no file of DataHub's."""

from pathlib import Path
from typing import Any

import pytest

VARIABLES = (
    "CATALOG_DATA_DIR",
    "CATALOG_TIMEOUT_SECONDS",
    "DATAHUB_SKIP_CONFIG",
    "XDG_DATA_HOME",
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The reader's home, empty."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("CATALOG_CONFIG_DIR", str(home / "config"))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return home
