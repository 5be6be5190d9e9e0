"""DataHub's command and SDK of several releases against one catalog."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import nightly
from tests.datahub.conftest import DataHub
from tests.datahub.environments import OLD_RELEASES, RELEASE, RELEASES

# The first test of a release may install it.
SCRIPT = Path(__file__).with_name("release_session.py")
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,released.orders,PROD)"
# Releases of 2023, which take minutes to install: only where somebody asks for them.
ASKED = RELEASES | (OLD_RELEASES if os.environ.get("DATAHUB_OLD_RELEASES") else {})


@pytest.mark.parametrize("release", [RELEASE, *nightly(*sorted(ASKED.keys() - {RELEASE}))])
def test_the_command_and_the_sdk_of_a_release_work(
    datahub_of: Callable[..., DataHub], release: Any
) -> None:
    datahub = datahub_of(release, *ASKED[release])
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
