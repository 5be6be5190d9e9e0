"""What the page of an entity shows is the same in the terminal, the notebook and the shell."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer import Catalog
from explorer.metadata.urn import Urn
from explorer.tui.content import Times
from explorer.tui.screens.entity.overview import PageLayout, lay_out
from explorer.views.entity import detail_parts, entity_parts
from explorer.views.parts import Fact, Heading, Part

URN = Urn.dataset("hive", "shop.parity")


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parity")


@pytest.fixture(scope="module")
def catalog(data_dir: Path) -> Iterator[Catalog]:
    """A catalog with an entity that has aspects of many kinds."""
    with Catalog(data_dir=data_dir) as found:
        aspects = {
            "datasetProperties": {"name": "parity", "customProperties": {"refreshed": "hourly"}},
            "viewProperties": {
                "materialized": True,
                "viewLogic": "select answer from universe",
                "viewLanguage": "SQL",
            },
            "siblings": {"siblings": [str(Urn.dataset("dbt", "shop.parity"))], "primary": True},
        }
        for name, value in aspects.items():
            found.put(URN, name, value)
        yield found


def words_of(parts: list[Part]) -> list[str]:
    """Every title and label, which every front end shows as it is."""
    titles = [part.words for part in parts if isinstance(part, Heading)]
    return titles + [part.label for part in parts if isinstance(part, Fact) and part.label]


def pages_of(catalog: Catalog, data_dir: Path) -> dict[str, str]:
    """The page of the entity in each front end, as text."""
    entity = catalog.entity(URN)
    lines = lay_out(entity_parts(entity), PageLayout(100, {}, Times()))
    command = (sys.executable, "-m", "explorer.cli", "get", str(URN), "--data-dir", str(data_dir))
    shell = subprocess.run(command, capture_output=True, text=True, check=True)
    return {
        "terminal": "\n".join(line.text.plain for line in lines),
        "notebook": repr(entity),
        "shell": shell.stdout,
    }


def test_every_front_end_shows_every_aspect(catalog: Catalog, data_dir: Path) -> None:
    entity = catalog.entity(URN)
    wanted = words_of(detail_parts(entity))
    assert {"Properties", "refreshed", "View", "Siblings", "materialized"} <= set(wanted)
    for front_end, page in pages_of(catalog, data_dir).items():
        assert [word for word in wanted if word not in page] == [], front_end
        assert "select answer from universe" in page, front_end
        assert "hourly" in page, front_end
