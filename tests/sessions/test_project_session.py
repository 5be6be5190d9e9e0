"""A dbt project is compared with the catalog, written, and taken in, without any front end."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.client import AsyncCatalog
from explorer.errors import CatalogError, Conflict
from explorer.metadata import Proposal, Urn
from explorer.sessions.dbt import ProjectSession
from tests.conftest import schema_metadata

pytestmark = pytest.mark.anyio

MakeTable = Callable[[Mapping[str, str | None]], Urn]
SCHEMA = """\
models:
  - name: {name}
    columns:
      - name: total   # net
        description: In cents
      - name: city
        description: Where it went.
"""


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """The model of this test."""
    return str(request.node.name)


@pytest.fixture
async def table(catalog: AsyncCatalog, name: str) -> Urn:
    """Its dataset, of which people described one column."""
    urn = Urn.dataset("dbt", f"dev.core.{name}")
    schema = schema_metadata({"total": "In cents", "city": None})
    await catalog.ingest(Proposal(urn, "schemaMetadata", schema))
    await catalog.describe(urn, "Net, in cents", column="total")
    return urn


@pytest.fixture
def project(tmp_path: Path, name: str) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "dbt_project.yml").write_text("name: shop\n")
    (root / "models").mkdir()
    (root / "models/schema.yml").write_text(SCHEMA.format(name=name))
    (root / f"models/{name}.sql").write_text("select 1")
    return root


@pytest.fixture
async def session(catalog: AsyncCatalog, table: Urn, project: Path) -> ProjectSession:
    opened = ProjectSession(catalog, project)
    await opened.read()
    return opened


def texts(project: Path) -> str:
    return (project / "models/schema.yml").read_text()


async def test_a_file_that_changed_since_is_left_alone_and_read_again(
    session: ProjectSession, project: Path
) -> None:
    plan = session.state.plan
    assert plan is not None
    assert [item.kind for item in session.state.listed] == ["changed"]
    changed = texts(project).replace("# net", "# gross")
    (project / "models/schema.yml").write_text(changed)
    with pytest.raises(Conflict):
        await session.write(plan)
    assert texts(project) == changed
    await session.settle()
    assert session.state.plan is not None
    await session.write(session.state.plan)
    await session.settle()
    assert texts(project) == changed.replace("In cents", "Net, in cents")
    assert session.why_not("write") == "There is nothing to write."
    assert session.state.instead == "There is nothing to write."


async def test_what_the_catalog_lacks_is_staged_and_conflicts_only_if_they_are_chosen(
    session: ProjectSession, project: Path
) -> None:
    (project / "models/schema.yml").write_text(texts(project).replace("In cents", "Gross"))
    await session.read()
    taken_in = await session.take_in()
    assert taken_in is not None
    assert taken_in.changeset is not None
    assert [item.edit.text for item in taken_in.changeset.items] == ["Where it went."]
    assert (taken_in.leaves_conflicts, taken_in.remark) == (True, "Not taken in: 1 conflict.")
    await session.choose(replace(session.state.options, conflicts=True))
    taken_in = await session.take_in()
    assert taken_in is not None
    assert taken_in.changeset is not None
    assert len(taken_in.changeset.items) == 2
    assert not taken_in.leaves_conflicts


async def test_a_folder_without_a_project_is_told_and_another_one_is_opened(
    session: ProjectSession, project: Path, table: Urn, tmp_path: Path
) -> None:
    with pytest.raises(CatalogError):
        await session.open_folder(tmp_path / "nowhere")
    state = session.state
    assert (state.listed, state.comparison, state.work) == ((), None, None)
    assert state.instead == str(state.failure)
    await session.open_folder(project)
    assert session.state.root == project
    session.follow([table])
    assert session.state.is_outdated
    await session.read()
    assert not session.state.is_outdated
