"""Descriptions go into a dbt project and come back from it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.metadata import Proposal, Urn
from tests.cli.conftest import Run
from tests.conftest import schema_metadata, serving_catalog

ORDERS = str(Urn.dataset("dbt", "dev.core.orders"))
STOCK = str(Urn.dataset("dbt", "dev.core.stock"))
SCHEMA = """\
version: 2
models:
  - name: orders   # all of them
    description: "All orders."
    columns:
      - name: id
        description: '{{ doc("key") }}'
      - name: total
        description: In cents   # net
  - name: nowhere
    description: In no catalog.
"""
DOCS = "{% docs key %}The key.{% enddocs %}"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Where a service with two tables of dbt answers."""
    with serving_catalog(tmp_path_factory.mktemp("catalog")) as found:
        with Catalog(found) as client:
            client.put("urn:li:corpuser:ann", "corpUserInfo", {"active": True})
            for tag in ("daily", "money"):
                client.put(f"urn:li:tag:{tag}", "tagProperties", {"name": tag})
            schema = schema_metadata({"id": "The key.", "total": "In cents"})
            for urn in (ORDERS, STOCK):
                properties = {"description": "All orders." if urn == ORDERS else ""}
                client.ingest_batch(
                    [
                        Proposal(Urn.parse(urn), "schemaMetadata", schema),
                        Proposal(Urn.parse(urn), "datasetProperties", properties),
                        Proposal(
                            Urn.parse(urn), "globalTags", {"tags": [{"tag": "urn:li:tag:PII"}]}
                        ),
                    ]
                )
        yield found


@pytest.fixture
def site(address: Any) -> Any:
    """The same, where people described the total of the orders and nothing else."""
    with Catalog(address) as client:
        for urn in (ORDERS, STOCK):
            client.describe(urn, "", force=True)
            client.describe(urn, "", column="id", force=True)
            text = "Net: in cents" if urn == ORDERS else ""
            client.describe(urn, text, column="total", force=True)
    return address


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "models").mkdir(parents=True)
    (root / "dbt_project.yml").write_text("name: shop\n")
    (root / "models/schema.yml").write_text(SCHEMA)
    (root / "models/docs.md").write_text(DOCS)
    for name in ("orders", "nowhere", "stock"):
        (root / f"models/{name}.sql").write_text("select 1")
    return root


@pytest.fixture
def docs(catalog: Run, site: Any, tmp_path: Path) -> Any:
    """Runs `catalog docs` against that service, with a journal of its own."""

    def run(*arguments: Any) -> Any:
        words = map(str, arguments)
        return catalog("docs", *words, url=site, CATALOG_STATE_DIR=str(tmp_path / "state"))

    return run


def test_a_dry_run_shows_the_diff_and_writes_nothing(docs: Any, project: Path) -> None:
    ran = docs("dbt-export", project, "--dry-run")
    assert ran.code == 0, ran
    assert "models/schema.yml  orders · total  changed" in ran.out
    assert "-In cents" in ran.out
    assert "+Net: in cents" in ran.out
    assert "dry run of 1 change in 1 file: nothing was written" in ran.err
    assert "1 resource of the project without a dataset" in ran.err
    assert (project / "models/schema.yml").read_text() == SCHEMA


def test_the_export_changes_one_line_and_nothing_is_left_to_do(docs: Any, project: Path) -> None:
    ran = docs("dbt-export", project)
    assert ran.code == 0, ran
    after = (project / "models/schema.yml").read_text()
    assert after == SCHEMA.replace("In cents ", '"Net: in cents" ')
    assert "1 change in 1 file written" in ran.err
    again = docs("dbt-export", project)
    assert "there is nothing to write" in again.err
    ran = docs("dbt-import", project)
    assert ran.code == 0, ran
    assert "there is nothing to write" in ran.err


def test_what_is_left_ends_with_1_and_says_why(docs: Any, project: Path, site: Any) -> None:
    with Catalog(site) as client:
        client.describe(ORDERS, "The id.", column="id")
        client.describe(STOCK, "What is there.")
    (project / "models/schema.yml").write_text(SCHEMA.replace("In cents", "Gross"))
    ran = docs("dbt-export", project, "--json", "--tags")
    assert ran.code == 1
    found = ran.json
    assert found["counts"] == {"new": 3, "conflict": 1, "template": 1}
    kinds = {(one["resource"], one["column"], one["property"]): one for one in found["updates"]}
    assert kinds["orders", "id", "description"]["before"] == '{{ doc("key") }}'
    assert kinds["orders", "total", "description"]["why"]
    assert kinds["stock", None, "tags"]["after"] == "PII"
    assert found["files"] == [
        {"file": "models/schema.yml", "made": False},
    ]
    assert [one["resource"] for one in found["unmatched"]] == ["nowhere"]
    ran = docs("dbt-export", project)
    assert ran.code == 1
    assert "the project has a text that the catalog does not know of" in ran.out
    assert "in the project (-), in the catalog (+):" in ran.out
    assert "-Gross\n" in ran.out
    assert "+Net: in cents\n" in ran.out


def test_an_import_writes_what_the_project_says_more(docs: Any, project: Path, site: Any) -> None:
    text = SCHEMA.replace("All orders.", "All orders of the shop.")
    text = text.replace("In cents", "Gross").replace("'{{ doc(\"key\") }}'", "The key, once.")
    (project / "models/schema.yml").write_text(text)
    ran = docs("dbt-import", project, "--dry-run")
    assert "+All orders of the shop." in ran.out
    ran = docs("dbt-import", project, "--json")
    assert ran.code == 1
    assert ran.json["counts"] == {"new": 2, "conflict": 1}
    assert {one["column"]: one["after"] for one in ran.json["applied"]} == {
        None: "All orders of the shop.",
        "id": "The key, once.",
    }
    with Catalog(site) as client:
        assert client.entity(ORDERS).description == "All orders of the shop."
    forced = docs("dbt-import", project, "--force-conflicts")
    assert forced.code == 0, forced
    assert docs("dbt-import", project, "--json").json["counts"] == {"unchanged": 3}


def test_tags_and_owners_are_added_and_undone_with_the_texts(
    docs: Any, catalog: Run, project: Path, site: Any, tmp_path: Path
) -> None:
    text = SCHEMA.replace(
        '"All orders."',
        '"Orders."\n    config: {tags: [PII, daily, unheard], meta: {owner: ann}}',
    ).replace("# net", "\n        tags: money")
    (project / "models/schema.yml").write_text(text)
    assert docs("dbt-import", project, "--json", "--dry-run").json["labels"] == []
    ran = docs("dbt-import", project, "--tags", "--owners", "--dry-run")
    assert ran.code == 0, ran
    assert "orders  tags  +daily" in ran.out
    assert "orders · total  tags  +money" in ran.out
    assert "orders  owner  +ann" in ran.out
    ran = docs("dbt-import", project, "--tags", "--owners", "--json")
    # One that the catalog does not know stops no other.
    assert ran.code == 1, ran
    assert {one["label"].rpartition(":")[2]: one["added"] for one in ran.json["labels"]} == {
        "daily": True,
        "unheard": False,
        "money": True,
        "ann": True,
    }
    assert "not written: orders  tags: " in ran.err
    with Catalog(site) as client:
        found = client.entity(ORDERS)
        assert {urn.name for urn in found.tags} == {"PII", "daily"}
        assert [one.owner for one in found.owners] == ["urn:li:corpuser:ann"]
        assert found.description == "Orders."
    again = docs("dbt-import", project, ORDERS, "--tags", "--owners", "--json").json
    assert [one["label"] for one in again["labels"]] == ["urn:li:tag:unheard"]
    ran = docs("dbt-export", project, ORDERS, "--tags", "--owners", "--dry-run", "--json")
    assert ran.code == 0, ran
    plan = ran.json
    assert [(one["column"], one["property"]) for one in plan["updates"]] == [
        ("total", "description")
    ]
    ran = catalog("undo", "--yes", url=site, CATALOG_STATE_DIR=str(tmp_path / "state"))
    assert ran.code == 0, ran
    with Catalog(site) as client:
        found = client.entity(ORDERS)
        assert {urn.name for urn in found.tags} == {"PII"}
        assert found.owners == ()
        assert found.description == "All orders."


def test_several_datasets_are_named_and_a_choice_helps(docs: Any, project: Path, site: Any) -> None:
    other = Urn.dataset("dbt", "other.core.orders")
    with Catalog(site) as client:
        client.ingest_batch([Proposal(other, "datasetProperties", {"description": ""})])
    try:
        ran = docs("dbt-export", project)
        assert ran.code == 1
        assert "several datasets match" in ran.err
        assert str(other) in ran.err
        assert docs("dbt-export", project, ORDERS).code == 0
    finally:
        with Catalog(site) as client:
            client.delete(other)


def test_what_is_no_project_or_has_no_dataset_says_so(docs: Any, project: Path) -> None:
    ran = docs("dbt-export", project / "models")
    assert ran.code == 1
    assert "no dbt_project.yml" in ran.err
    for name in ("orders", "stock"):
        (project / f"models/{name}.sql").unlink()
    (project / "models/schema.yml").unlink()
    ran = docs("dbt-import", project)
    assert ran.code == 1
    assert "no dataset was found for the project's 1 resource" in ran.err
    assert "dbt parse" in ran.err


def test_a_file_that_cannot_be_read_is_said(docs: Any, project: Path) -> None:
    (project / "models/broken.yml").write_text("models: [")
    ran = docs("dbt-export", project)
    assert ran.code == 1
    assert "not read: models/broken.yml: it is not valid YAML" in ran.err
    assert "1 change in 1 file written" in ran.err


@pytest.mark.parametrize("name", ["dbt-export", "dbt-import"])
def test_the_help_has_examples_and_fits(docs: Any, name: str) -> None:
    shown = docs(name, "--help").out
    assert f"catalog docs {name} ~/shop" in shown
    assert max(map(len, shown.splitlines())) <= 80
