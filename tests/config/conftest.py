"""A reader's home of its own for every test: no profile, no variable, no file of DataHub's."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest

DATA = Path(__file__).parent / "data"
VARIABLES = ("CATALOG_DATA_DIR", "DATAHUB_SKIP_CONFIG", "XDG_DATA_HOME")


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


@pytest.fixture
def own_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A keyring that works, in the place of the machine's; gives the file it keeps things in."""
    monkeypatch.setenv("OWN_KEYRING", str(tmp_path / "keyring.json"))
    spec = importlib.util.spec_from_file_location("own_keyring", DATA / "own_keyring.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    before = keyring.get_keyring()
    keyring.set_keyring(module.Keyring())
    yield tmp_path / "keyring.json"
    keyring.set_keyring(before)
