"""The files of a dbt project are written from the terminal, and what they say is taken in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual import events

from explorer import instance
from explorer.client import Catalog
from explorer.client.http import HttpTransport
from explorer.metadata import Proposal, Urn
from explorer.tui.screens.dbt import DbtProjectScreen
from explorer.tui.screens.review import ChangesetsScreen, ReviewScreen
from explorer.tui.state import TerminalState
from tests.conftest import schema_metadata
from tests.tui.conftest import OpenTerminal, Reader

pytestmark = pytest.mark.anyio

SCHEMA = """\
version: 2   # of the format
models:
  - name: lynx_orders   # all of them
    description: "All orders."
    columns:
      - name: id
        description: '{{ doc("key") }}'
      - name: total
        description: In cents   # net
      - name: city
  - name: nowhere
    description: In no catalog.
"""
ORDERS = Urn.dataset("dbt", "dev.core.lynx_orders")
STOCK = Urn.dataset("dbt", "dev.core.lynx_stock")


@pytest.fixture
def catalog(desk: Path) -> Iterator[Catalog]:
    """The catalog, in which people described the total of the orders and nothing else."""
    schema = schema_metadata({"id": "The key.", "total": "In cents", "city": ""})
    # What is said of one column takes nothing back of another's.
    blank = [{"fieldPath": path, "description": ""} for path in ("id", "total", "city")]
    with Catalog(data_dir=desk) as found:
        found.put("urn:li:corpuser:lynx", "corpUserInfo", {"active": True, "displayName": "Lynx"})
        found.put("urn:li:tag:lynxes", "tagProperties", {"name": "lynxes"})
        for urn in (ORDERS, STOCK):
            aspects = {
                "schemaMetadata": schema,
                "datasetProperties": {"description": "All orders." if urn == ORDERS else ""},
                "editableDatasetProperties": {"description": ""},
                "editableSchemaMetadata": {"editableSchemaFieldInfo": blank},
                "globalTags": {"tags": [{"tag": "urn:li:tag:PII"}]},
                "ownership": {
                    "owners": [],
                    "lastModified": {"time": 0, "actor": "urn:li:corpuser:a"},
                },
            }
            found.ingest_batch(Proposal(urn, name, value) for name, value in aspects.items())
        found.describe(ORDERS, "Net: in cents", column="total")
        yield found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "models").mkdir(parents=True)
    (root / "dbt_project.yml").write_text("name: shop\n")
    (root / "models/schema.yml").write_text(SCHEMA)
    for name in ("lynx_orders", "nowhere", "lynx_stock"):
        (root / f"models/{name}.sql").write_text("select 1")
    return root


def schema_of(project: Path) -> str:
    return (project / "models/schema.yml").read_text()


async def name_project(reader: Reader, project: Path | str) -> None:
    """Name the folder of a project in the list of changesets."""
    await reader.press("V")
    await reader.until(lambda: isinstance(reader.app.screen, ChangesetsScreen))
    await reader.press("d")
    await reader.sees("A dbt project", "the folder with dbt_project.yml")
    reader.app.post_message(events.Paste(str(project)))
    await reader.press("enter")
    await reader.until(lambda: isinstance(reader.app.screen, DbtProjectScreen))


async def narrow(reader: Reader, words: str) -> None:
    await reader.press("f")
    await reader.type(words)
    await reader.press("enter")


async def test_what_writing_would_change_is_listed_and_only_those_lines_are_written(
    at: OpenTerminal, desk: Path, catalog: Catalog, project: Path
) -> None:
    catalog.describe(STOCK, "What is there.")
    async with at(desk) as reader:
        await name_project(reader, project)
        await reader.sees("dbt project shop", "2 changes in 1 file", "1 new", "1 changed")
        await reader.sees("models/schema.yml  lynx_orders · total", "- In cents", "+ Net: in cents")
        await reader.sees("model nowhere", "there is no dataset nowhere")
        await reader.press("ctrl+s")
        await reader.sees("Write 2 changes in 1 file of", "models/schema.yml: 2 changes")
        assert schema_of(project) == SCHEMA
        await reader.press("escape")
        assert schema_of(project) == SCHEMA
        await reader.press("ctrl+s")
        await reader.press("ctrl+s")
        await reader.sees("Written: 2 changes in 1 file.", "there is nothing to write")
    added = "  - name: lynx_stock\n    description: What is there.\n"
    assert schema_of(project) == SCHEMA.replace("In cents ", '"Net: in cents" ') + added


@pytest.mark.nightly
async def test_what_is_left_says_why_and_conflicts_are_replaced_when_that_is_wanted(
    at: OpenTerminal, desk: Path, catalog: Catalog, project: Path
) -> None:
    catalog.describe(ORDERS, "The id.", column="id")
    gross = SCHEMA.replace("In cents", "Gross")
    (project / "models/schema.yml").write_text(gross)
    (project / "models/broken.yml").write_text("models: [\n")
    async with at(desk) as reader:
        await name_project(reader, project)
        await reader.sees("there is nothing to write", "1 conflict", "1 template", "not read")
        await narrow(reader, "conflict")
        await reader.sees("1 of 4 listed", "the project has a text that the catalog does not know")
        await reader.sees("- Gross", "+ Net: in cents", "conflicts are left")
        await reader.press("escape")
        await narrow(reader, "template")
        await reader.sees("the description is a template", "- {{ doc(", "+ The id.")
        await reader.press("escape")
        await narrow(reader, "broken")
        await reader.sees("models/broken.yml")
        # There is nothing to write, so nothing is asked.
        await reader.press("escape", "ctrl+s")
        assert isinstance(reader.app.screen, DbtProjectScreen)
        await reader.press("c")
        await reader.sees("conflicts are replaced", "1 change in 1 file", "1 template")
        await reader.press("ctrl+s")
        await reader.press("ctrl+s")
        await reader.sees("Written: 1 change in 1 file.")
    assert schema_of(project) == gross.replace("Gross ", '"Net: in cents" ')


async def test_tags_and_owners_are_written_when_they_are_asked_for(
    at: OpenTerminal, desk: Path, catalog: Catalog, project: Path
) -> None:
    catalog.add_owners(STOCK, ["lynx"])
    async with at(desk) as reader:
        await name_project(reader, project)
        assert "PII" not in await reader.sees("writes descriptions ·", "1 change in 1 file")
        await reader.press("t")
        await reader.sees("writes descriptions and tags", "3 changes", "tags: PII")
        await reader.press("O")
        await reader.sees("writes descriptions, tags and owners", "4 changes", "owner: lynx")
        await reader.press("t")
        assert "PII" not in await reader.sees("writes descriptions and owners", "2 changes")
        await reader.press("ctrl+s")
        await reader.press("ctrl+s")
        await reader.sees("Written: 2 changes in 1 file.")
    assert "owner: lynx" in schema_of(project)
    assert "PII" not in schema_of(project)


async def test_what_the_project_says_is_reviewed_and_then_written_into_the_catalog(
    at: OpenTerminal, desk: Path, catalog: Catalog, project: Path
) -> None:
    said = SCHEMA.replace(
        '"All orders."',
        '"Orders of lynxes."\n    config: {tags: [lynxes, unheard], meta: {owner: lynx}}',
    ).replace("In cents", "Gross")
    (project / "models/schema.yml").write_text(said)
    async with at(desk) as reader:
        await name_project(reader, project)
        await reader.sees("1 conflict")
        await reader.press("t", "O")
        await reader.sees("writes descriptions, tags and owners")
        await reader.press("i")
        await reader.until(lambda: isinstance(reader.app.screen, ReviewScreen))
        await reader.sees("dbt project shop", "3 open", "Orders of lynxes.", "+lynxes", "+Lynx")
        await reader.sees("Not taken in:", "1 conflict", "(unheard)", "Press c first")
        assert catalog.entity(ORDERS).description == "All orders."
        await reader.press("A")
        await reader.press("ctrl+s")
        await reader.press("ctrl+s")
        await reader.press("ctrl+s")
        await reader.sees("Written: 3 changes.")
        found = catalog.entity(ORDERS)
        assert found.description == "Orders of lynxes."
        assert {urn.name for urn in found.tags} == {"PII", "lynxes"}
        assert [one.owner for one in found.owners] == ["urn:li:corpuser:lynx"]
        # The list is read again, and what was taken in differs no more.
        await reader.press("escape")
        await reader.sees("writes descriptions, tags and owners", "2 unchanged", "lynxes, unheard")
        await reader.press("c", "i")
        await reader.until(lambda: isinstance(reader.app.screen, ReviewScreen))
        await reader.sees("1 open", "- Net: in cents", "+ Gross")
        await reader.press("a", "ctrl+s")
        await reader.press("ctrl+s")
        await reader.sees("Written: 1 change.")
        column = catalog.entity(ORDERS).schema.column("total")
        assert column is not None
        assert column.edited == "Gross"
        await reader.press("escape")
        await reader.until(lambda: isinstance(reader.app.screen, DbtProjectScreen))
        await reader.press("i")
        await reader.sees("The project has nothing that the catalog lacks.", "(unheard)")
    assert schema_of(project) == said


async def test_a_folder_that_is_no_project_is_told_and_another_is_named(
    at: OpenTerminal, desk: Path, catalog: Catalog, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/dbt_project.yml").write_text("name: [\n")
    kept = TerminalState()
    async with at(desk, remembered=kept) as reader:
        await name_project(reader, tmp_path)
        await reader.sees("is not a dbt project: it has", "d opens another folder")
        assert "write files" not in reader.screen()
        assert kept.setting("dbt_project") is None
        await reader.press("d")
        reader.app.post_message(events.Paste(str(tmp_path / "other")))
        await reader.press("enter")
        await reader.sees("other/dbt_project.yml: ")
        await reader.press("d")
        reader.app.post_message(events.Paste(str(project)))
        await reader.press("enter")
        await reader.sees("dbt project shop", "1 change in 1 file")
        # It is the one that is offered the next time.
        assert kept.setting("dbt_project") == str(project)
        await reader.press("q")
        await reader.press("V")
        await reader.press("d")
        await reader.sees("A dbt project", "/shop")
        await reader.press("enter")
        await reader.sees("dbt project shop")


async def test_the_project_one_works_in_is_offered(
    at: OpenTerminal,
    desk: Path,
    catalog: Catalog,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(project)
    async with at(desk) as reader:
        await reader.press("V")
        await reader.sees("changeset")
        await reader.press("d")
        await reader.press("enter")
        await reader.sees("dbt project shop", "1 change in 1 file")


async def test_a_file_that_changed_since_it_was_read_stays_and_is_read_again(
    at: OpenTerminal, desk: Path, catalog: Catalog, project: Path
) -> None:
    meanwhile = SCHEMA.replace("# all of them", "# all but the old")
    async with at(desk, (240, 36)) as reader:
        await name_project(reader, project)
        await reader.sees("1 change in 1 file")
        (project / "models/schema.yml").write_text(meanwhile)
        await reader.press("ctrl+s")
        await reader.press("ctrl+s")
        await reader.sees("models/schema.yml was changed since it was read, and is left alone")
        assert schema_of(project) == meanwhile
        await reader.sees("1 change in 1 file")
        await reader.press("ctrl+s")
        await reader.press("ctrl+s")
        await reader.sees("Written: 1 change in 1 file.")
    assert schema_of(project) == meanwhile.replace("In cents ", '"Net: in cents" ')


async def test_a_project_without_any_dataset_is_told_with_what_helps(
    at: OpenTerminal, desk: Path, catalog: Catalog, project: Path
) -> None:
    for name in ("lynx_orders", "lynx_stock"):
        (project / f"models/{name}.sql").unlink()
    (project / "models/schema.yml").write_text(SCHEMA.replace("lynx_orders", "nobodys"))
    async with at(desk) as reader:
        await name_project(reader, project)
        await reader.sees("no dataset was found for the project's 2 resources; dbt parse writes")
        await reader.sees("model nobodys", "there is no dataset nobodys")
        await reader.press("i")
        await reader.sees("The project has nothing that the catalog lacks.")


async def test_files_are_written_also_where_the_catalog_is_opened_to_be_read_only(
    at: OpenTerminal, desk: Path, catalog: Catalog, project: Path
) -> None:
    wire = HttpTransport(instance.ensure(desk).address, 30)
    async with at(None, transport=wire, read_only=True) as reader:
        await name_project(reader, project)
        await reader.sees("1 change in 1 file", "write files")
        await reader.press("ctrl+s")
        await reader.press("ctrl+s")
        await reader.sees("Written: 1 change in 1 file.")
    assert "Net: in cents" in schema_of(project)


async def test_a_folder_that_went_away_is_told_and_nothing_is_written(
    at: OpenTerminal, desk: Path, catalog: Catalog, project: Path
) -> None:
    async with at(desk, (240, 36)) as reader:
        await name_project(reader, project)
        await reader.sees("1 change in 1 file")
        (project / "models").rename(project / "elsewhere")
        (project / "models").write_text("")
        await reader.press("ctrl+s")
        await reader.press("ctrl+s")
        await reader.sees("was changed since it was read")
    assert (project / "elsewhere/schema.yml").read_text() == SCHEMA


async def test_what_others_write_meanwhile_is_told_and_the_page_of_a_row_is_opened(
    at: OpenTerminal, desk: Path, catalog: Catalog, project: Path
) -> None:
    async with at(desk) as reader:
        await name_project(reader, project)
        await reader.sees("1 change in 1 file")
        catalog.describe(ORDERS, "Where it went.", column="city")
        await reader.sees("the catalog changed: r refreshes")
        await reader.press("r")
        assert "r refreshes" not in await reader.sees("2 changes in 1 file", "Where it went.")
        await narrow(reader, "lynx_orders city")
        await reader.press("o")
        await reader.until(lambda: len(reader.app.screen_stack) == 1)
        await reader.sees("dataset · dbt", "3 of 3 documented")


EVIL = "\x1b]2;owned\x07\x9b31m[@click=app.quit]x[/] [bold red]y[/] \u202eabc\u2066"


@pytest.mark.paints
async def test_hostile_text_is_shown_and_never_obeyed(
    at: OpenTerminal, desk: Path, catalog: Catalog, project: Path
) -> None:
    catalog.describe(ORDERS, f"Net {EVIL}", column="total")
    name = "shop \\x1b]2;owned\\x07[@click=app.quit]x[/]"
    (project / "dbt_project.yml").write_text(f'name: "{name}"\n')
    evil_file = project / "models/[red]x[@click=app.quit].yml"
    evil_file.write_text("models: [\n")
    async with at(desk) as reader:
        await name_project(reader, project)
        shown = await reader.sees(
            "dbt project shop ]2;owned[@click=app.quit]x[/]",
            "[@click=app.quit]x[/] [bold red]y[/]",
            "models/[red]x[@click=app.quit].yml",
            "characters in it cannot be seen",
        )
        await reader.press("ctrl+s")
        shown += await reader.sees("Write 1 change in 1 file")
        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2066"} & set(shown)
        await reader.press("ctrl+s")
        await reader.sees("Written: 1 change in 1 file.")
        await reader.press("i")
        await reader.sees("The project has nothing that the catalog lacks.")
