"""DataHub's command and SDK of several releases against one catalog."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.datahub.conftest import DataHub

# The first test of a release may install it.
pytestmark = pytest.mark.timeout(900)

SCRIPT = Path(__file__).with_name("release_session.py")
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,released.orders,PROD)"
# By release what it needs beside itself on a current Python.
CURRENT = {"0.14.1.12": (), "1.0.0.3": (), "1.7.0.17": ()}
OLD = {"0.10.5.5": ("setuptools<80",), "0.12.1.5": ("setuptools<80", "pydantic<2")}
# Releases of 2023, which take minutes to install: only where somebody asks for them.
RELEASES = CURRENT | (OLD if os.environ.get("DATAHUB_OLD_RELEASES") else {})


@pytest.mark.parametrize("release", RELEASES)
def test_the_command_and_the_sdk_of_a_release_work(
    datahub_of: Callable[..., DataHub], release: Any
) -> None:
    datahub = datahub_of(release, *RELEASES[release])
    said = datahub.python(SCRIPT)
    assert said["commands"] == {
        "get": True,
        "exists": True,
        "exists not": True,
        **({} if release.startswith("0.10") else {"dataset get": True}),
        "hidden": True,
        "gone": True,
    }
    found = said["sdk"]
    assert found["aspect"] == "One row an order"
    assert found["no aspect"] is None
    assert found["semityped"]
    assert found["exists"] == [True, False]
    assert ORDERS in found["found"]
    assert found["rows"] == [True, 0]
    assert found["hidden though never there"]
