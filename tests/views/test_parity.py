"""What is shown of a thing is the same in the terminal, the notebook and the shell."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer import Catalog
from explorer.client.folders import FolderEntry, TypesSource
from explorer.metadata.urn import Urn
from explorer.notebook.explorer import columns
from explorer.notebook.explorer_search import page_state, tree_rows
from explorer.sessions.browse import Branch, OutlineRow
from explorer.sessions.search import Query, SearchSession
from explorer.tui.content import Times
from explorer.tui.screens.browse import folder_row
from explorer.tui.screens.columns import ColumnDrawing, column_lines
from explorer.tui.screens.overview import PageLayout, lay_out
from explorer.tui.screens.search_results import draw_result, draw_value
from explorer.views.columns import column_row
from explorer.views.entity import detail_parts, entity_parts
from explorer.views.parts import Fact, Part, Title
from explorer.views.search import facet_groups, result_rows
from tests.conftest import schema_of

URN = Urn.dataset("hive", "shop.parity")
TABLE = Urn.dataset("hive", "shop.columns")
FOLDERS = {"S1", "s2", "s10"}
SCHEMA: dict[str, dict[str, Any]] = {
    "schemaMetadata": schema_of(
        [
            {
                "fieldPath": "order_id",
                "type": {"type": {"com.linkedin.schema.NumberType": {}}},
                "nativeDataType": "bigint",
                "nullable": True,
                "isPartOfKey": True,
                "description": "as it came",
                "globalTags": {"tags": [{"tag": "urn:li:tag:PII"}]},
            }
        ],
        name="parity",
    ),
    "editableSchemaMetadata": {
        "editableSchemaFieldInfo": [{"fieldPath": "order_id", "description": "as written"}]
    },
}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parity")


@pytest.fixture(scope="module")
def catalog(data_dir: Path) -> Iterator[Catalog]:
    """A catalog with an entity that has aspects of many kinds."""
    with Catalog(data_dir=data_dir) as found:
        aspects: dict[str, dict[str, Any]] = {
            "datasetProperties": {
                "name": "parity",
                "description": "All of it.\n\nMore.",
                "customProperties": {"refreshed": "hourly"},
            },
            "viewProperties": {
                "materialized": True,
                "viewLogic": "select answer from universe",
                "viewLanguage": "SQL",
            },
            "subTypes": {"typeNames": ["View"]},
            "deprecation": {
                "deprecated": True,
                "note": "use another",
                "actor": "urn:li:corpuser:a",
            },
            "siblings": {"siblings": [str(Urn.dataset("dbt", "shop.parity"))], "primary": True},
        }
        for name, value in aspects.items():
            found.put(URN, name, value)
        for name, value in SCHEMA.items():
            found.put(TABLE, name, value)
        yield found


def run(data_dir: Path, *arguments: str) -> str:
    """What a command prints."""
    command = (sys.executable, "-m", "explorer.cli", *arguments, "--data-dir", str(data_dir))
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def words_of(parts: list[Part]) -> list[str]:
    """Every title and label, which every front end shows as it is."""
    titles = [part.text for part in parts if isinstance(part, Title)]
    return titles + [part.label for part in parts if isinstance(part, Fact) and part.label]


def pages_of(catalog: Catalog, data_dir: Path) -> dict[str, str]:
    """The page of the entity in each front end, as text."""
    entity = catalog.entity(URN)
    lines = lay_out(entity_parts(entity), PageLayout(100, {}, Times()))
    return {
        "terminal": "\n".join(line.text.plain for line in lines),
        "notebook": repr(entity),
        "shell": run(data_dir, "get", str(URN)),
    }


def explorer_page(catalog: Catalog) -> dict[str, Any]:
    """What the explorer widget draws of a search."""
    session = SearchSession(catalog.core, size=20, values=40)
    catalog.wait(session.search(Query("parity", "platform:hive")))
    catalog.wait(session.read_measures())
    assert session.state.results is not None
    return page_state(session.state.results, ())


def test_every_front_end_shows_every_aspect(catalog: Catalog, data_dir: Path) -> None:
    entity = catalog.entity(URN)
    wanted = words_of(detail_parts(entity))
    assert {"Properties", "refreshed", "View", "Siblings", "materialized"} <= set(wanted)
    for front_end, page in pages_of(catalog, data_dir).items():
        assert [word for word in wanted if word not in page] == [], front_end
        assert "select answer from universe" in page, front_end
        assert "hourly" in page, front_end
        assert ":" not in [line.strip() for line in page.splitlines()], front_end


def test_every_front_end_shows_the_same_of_a_search_result(
    catalog: Catalog, data_dir: Path
) -> None:
    page = catalog.search("parity", filter="platform:hive")
    (row,) = result_rows(page, page.summaries, page.measures)
    assert (row.name, row.kind, row.states) == ("parity", "View", ("deprecated",))
    assert row.first_line == "All of it."
    (hit,) = explorer_page(catalog)["hits"]
    shown = {
        "terminal": "\n".join(line.plain for line in draw_result(row, "parity", 120)),
        "notebook": repr(page),
        "explorer": json.dumps(hit),
        "shell": run(data_dir, "search", "parity", "--filter", "platform:hive"),
    }
    for front_end, text in shown.items():
        for value in (row.name, row.kind, row.platform, row.first_line, *row.states):
            assert str(value) in text, front_end


def test_every_front_end_counts_the_same_of_a_facet(catalog: Catalog, data_dir: Path) -> None:
    page = catalog.search("parity", filter="platform:hive")
    groups = facet_groups(page.facets)
    values = {(one.field, row.value): row for one in groups for row in one.rows}
    platform = values["_entityType", "dataset"]
    assert (platform.label, platform.count) == ("dataset", 1)
    assert draw_value(platform, 0, 30).plain.split() == ["dataset", "1"]
    told = explorer_page(catalog)["facets"]
    assert [(one["field"], one["label"]) for one in told] == [
        (one.field, one.label) for one in groups
    ]
    assert repr(page).count("\n  Type: dataset 1\n") == 1
    found = json.loads(run(data_dir, "search", "parity", "--filter", "platform:hive", "--json"))
    assert found["facets"]["_entityType"] == {"dataset": 1}


def test_every_front_end_shows_the_same_folders_in_the_same_order(
    catalog: Catalog, data_dir: Path
) -> None:
    for folder in ("s2", "s10", "S1"):
        paths = {"paths": [f"/parity/{folder}/t"]}
        catalog.put(Urn.dataset("hive", f"shop.{folder}"), "browsePaths", paths)

    def read(entry: FolderEntry, name: str) -> FolderEntry:
        assert entry.below is not None
        page = catalog.wait(entry.below.read(catalog.core, 0, 50))
        return next(one for one in (*page.head, *page.entries) if one.name == name)

    parity = read(read(FolderEntry("", below=TypesSource()), "datasets"), "parity")
    assert parity.below is not None
    page = catalog.wait(parity.below.read(catalog.core, 0, 50))
    branch = Branch(parity, parity.below)
    branch.take(0, page)
    lines = [folder_row(OutlineRow(branch, at, 0), 40, None).plain for at in range(3)]
    shown = {
        "terminal": "\n".join(lines),
        "explorer": "\n".join(f"{one['name']} {one['count']}" for one in tree_rows(branch)),
        "notebook": repr(catalog.browse("/parity")).replace("/", " "),
        "shell": run(data_dir, "browse", "/parity", "--entity", "dataset").replace("/", " "),
    }
    for front_end, text in shown.items():
        rows = [row.split() for row in text.splitlines()]
        folders = [row for row in rows if FOLDERS & set(row)]
        assert [(FOLDERS & set(row)).pop() for row in folders] == ["S1", "s2", "s10"], front_end
        assert [row[-1] for row in folders] == ["1", "1", "1"], front_end


def test_every_front_end_shows_the_same_of_a_column(catalog: Catalog, data_dir: Path) -> None:
    entity = catalog.entity(TABLE)
    row = column_row(entity.schema.columns[0])
    assert (row.label, row.type, row.tags) == ("order_id", "number", ("PII",))
    assert (row.description, row.replaced_description) == ("as written", "as it came")
    line = ColumnDrawing.of(entity.schema, (), 0).draw(row, " ", 120).plain
    shown = {
        "terminal": f"{line}\n{column_lines(row, Times(), 5, 120).plain}",
        "notebook": f"{entity.schema!r}\n{entity.schema['order_id']!r}",
        "explorer": json.dumps(columns(entity, {}), ensure_ascii=False),
        "shell": run(data_dir, "schema", str(TABLE)) + run(data_dir, "get", str(TABLE)),
    }
    for front_end, text in shown.items():
        for value in (
            row.label,
            row.type,
            *row.tags,
            "✎",
            row.description,
            row.replaced_description,
        ):
            assert value in text, (front_end, value)


def test_every_front_end_narrows_columns_by_the_same_words(catalog: Catalog) -> None:
    entity = catalog.entity(TABLE)
    for text, found in (("tag:pii", 1), ("order written", 1), ("is:undocumented", 0)):
        assert len(columns(entity, {"text": text})["columns"]) == found, text
