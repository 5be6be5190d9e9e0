"""The texts of a catalog in the properties files of a dbt project, and back."""

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from explorer.client.entity import AspectRead, Entity
from explorer.errors import Conflict, InvalidInput
from explorer.metadata import Urn
from explorer.stewardship import compare
from explorer.stewardship.dbt import (
    Held,
    Matches,
    ProjectChanges,
    ProjectLabel,
    ProjectPlan,
    Property,
    entries_of,
    match,
    plan,
    stage_project,
)
from explorer.stewardship.dbt_project import Project, escape_jinja, read_project
from explorer.stewardship.yaml_document import load
from tests.conftest import schema_metadata
from tests.stewardship.test_yaml_document import changed_lines, hostile

SETTINGS = """\
name: shop
version: "1.0"
model-paths: ["models"]
models:
  shop:
    # where properties go
    marts:
      +dbt-osmosis: "_{model}.yml"
      finance:
        +dbt-osmosis: "/finance/{parent}_{node.name}"
"""
STAGING = """\
version: 2   # of the format

# All of staging.
models:
  - name: stg_orders   # from the shop
    description: "Raw orders."
    columns:
      - name: id
        description: The key.   # short
        tests: [ unique, not_null ]
      - {name: total, description: 'In cents', tests: []}
      - name: note
        description: >
          As typed
          by people.

      # - name: old
      - name: city
        description: "{{ doc('city') }}"

  - &shared
    name: stg_stock
    description: &text |
      Stock.
    columns: []
  - name: stg_returns
    description: *text
"""
SOURCES = """\
sources:
- name: raw
  schema: landing
  tables:
  - name: orders
    identifier: orders_v3
    columns:
    - name: id
"""
DOCS = "{% docs city %}\nWhere it *goes*.\n{% enddocs %}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project of two files and models without any."""
    return make_project(tmp_path / "shop")


def make_project(root: Path, staging: str = STAGING) -> Path:
    files = {
        "dbt_project.yml": SETTINGS,
        "models/staging/staging.yml": staging,
        "models/staging/sources.yaml": SOURCES,
        "models/staging/docs.md": DOCS,
        "models/staging/stg_new.sql": "select 1",
        "models/staging/stg_orders.sql": "select 1",
        "models/marts/orders.sql": "select 1",
        "models/marts/finance/revenue.sql": "select 1",
        "models/lonely/alone.py": "def model(dbt, session): ...",
        "seeds/countries.csv": "code\n",
        "snapshots/history.sql": "{% snapshot orders_history %}{% endsnapshot %}",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return root


def dataset(name: str, platform: str = "dbt", origin: str = "PROD") -> Urn:
    return Urn.dataset(platform, name, origin)


def entity(
    urn: Urn,
    edited: str = "",
    columns: Mapping[str, tuple[str, str]] | None = None,
    *,
    ingested: str = "",
    tags: tuple[str, ...] = (),
    owners: tuple[str, ...] = (),
) -> Entity:
    """A dataset with an edited text and for each column the ingested and the edited one."""
    columns = columns or {}
    infos = [
        {"fieldPath": path, "description": text} for path, (_, text) in columns.items() if text
    ]
    aspects: dict[str, Any] = {
        "datasetProperties": {"description": ingested},
        "editableDatasetProperties": {"description": edited},
        "schemaMetadata": schema_metadata({path: text for path, (text, _) in columns.items()}),
        "editableSchemaMetadata": {"editableSchemaFieldInfo": infos},
        "globalTags": {"tags": [{"tag": f"urn:li:tag:{tag}"} for tag in tags]},
        "ownership": {"owners": [{"owner": owner, "type": "DATAOWNER"} for owner in owners]},
    }
    return Entity(urn, {name: AspectRead(name, 0, value) for name, value in aspects.items()})


def planned(root: Path, *entities: Entity, **options: Any) -> ProjectPlan:
    project = read_project(root)
    matches = match(project.resources, [one.urn for one in entities])
    return plan(project, matches, {one.urn: Held.of(one) for one in entities}, **options)


def imported(root: Path, *entities: Entity) -> Any:
    project = read_project(root)
    matches = match(project.resources, [one.urn for one in entities])
    lines = tuple(entries_of(matches, {one.urn: Held.of(one) for one in entities}))
    return compare(lines, {one.urn: one for one in entities})


def label(name: str, what: Property = "tags", column: str | None = None) -> ProjectLabel:
    """A label that the project gives the orders."""
    urn = name if name.startswith("urn:") else f"urn:li:tag:{name}"
    return ProjectLabel("a.yml", "stg_orders", what, str(ORDERS), column, urn)


def kinds(found: ProjectPlan) -> dict[str, str]:
    """The kinds of a plan by what they are of."""
    return {
        f"{one.resource}{f'.{one.column}' if one.column else ''}": one.kind for one in found.updates
    }


ORDERS = dataset("dev.staging.stg_orders")


def test_only_changed_lines_change(root: Path) -> None:
    texts = {
        "id": ("The key.", "The key: unique # of all"),
        "total": ("In cents", "In cents, net"),
        "note": ("As typed by people.\n", "As typed\n\nby *people*"),
        "fresh": ("", "Not in the file yet"),
    }
    found = planned(root, entity(ORDERS, "Orders.", texts, ingested="Raw orders."))
    assert [one.name for one in found.files] == ["models/staging/staging.yml"]
    found.write()
    after = (root / "models/staging/staging.yml").read_text()
    gone, come = changed_lines(STAGING, after)
    assert gone == [
        '    description: "Raw orders."',
        "        description: The key.   # short",
        "      - {name: total, description: 'In cents', tests: []}",
        "        description: >",
        "          by people.",
    ]
    assert come == [
        '    description: "Orders."',
        '        description: "The key: unique # of all"   # short',
        "      - {name: total, description: 'In cents, net', tests: []}",
        "        description: |-",
        "",
        "          by *people*",
        "      - name: fresh",
        "        description: Not in the file yet",
    ]
    assert kinds(found) == {
        "stg_orders": "changed",
        "stg_orders.id": "changed",
        "stg_orders.total": "changed",
        "stg_orders.note": "changed",
        "stg_orders.fresh": "new",
    }


def test_what_says_the_same_already_writes_nothing(root: Path) -> None:
    file = root / "models/staging/staging.yml"
    os.utime(file, ns=(1, 1))
    held = entity(ORDERS, "Raw orders.", {"id": ("", "The key."), "other": ("only ingested", "")})
    found = planned(root, held)
    assert found.counts() == {"unchanged": 2}
    assert found.files == ()
    found.write()
    assert file.stat().st_mtime_ns == 1
    assert file.read_bytes() == STAGING.encode()


def test_a_text_of_the_project_is_not_overwritten_unless_forced(root: Path) -> None:
    held = entity(ORDERS, "Orders.", {"id": ("Key, once.", "The key!")}, ingested="Older.")
    found = planned(root, held)
    assert kinds(found) == {"stg_orders": "conflict", "stg_orders.id": "conflict"}
    assert found.files == ()
    forced = planned(root, held, force_conflicts=True)
    assert set(kinds(forced).values()) == {"changed"}
    forced.write()
    assert planned(root, held).counts() == {"unchanged": 2}


def test_templates_are_never_replaced_and_read_as_dbt_renders_them(root: Path) -> None:
    held = entity(ORDERS, columns={"city": ("Where it *goes*.", "Elsewhere.")})
    found = planned(root, held, force_conflicts=True)
    assert kinds(found) == {"stg_orders.city": "template"}
    assert found.files == ()
    same = planned(root, entity(ORDERS, columns={"city": ("", "Where it *goes*.")}))
    assert same.counts() == {"unchanged": 1}
    changes = imported(root, entity(ORDERS, columns={"city": ("", "")}))
    city = changes.changes[-1]
    assert (city.column, city.kind) == ("city", "new")
    assert city.mine == "Where it *goes*."


def test_a_template_that_nothing_renders_is_said_and_not_imported(root: Path) -> None:
    file = root / "models/staging/staging.yml"
    file.write_text(STAGING.replace("doc('city')", "var('city')"))
    changes = imported(root, entity(ORDERS, columns={"city": ("", "")}))
    (city,) = changes.of("unreadable")
    assert "var('city')" in city.why
    # A manifest knows.
    node = {"description": "", "columns": {"city": {"description": "Rendered."}}}
    write_manifest(root, {"model.shop.stg_orders": model("stg_orders", **node)})
    changes = imported(root, entity(ORDERS, columns={"city": ("", "")}))
    city = changes.changes[-1]
    assert (city.column, city.kind) == ("city", "new")
    assert city.mine == "Rendered."


def model(name: str, **more: Any) -> Any:
    return {
        "resource_type": "model",
        "package_name": "shop",
        "name": name,
        "alias": name,
        "database": "dev",
        "schema": "staging",
        "original_file_path": f"models/staging/{name}.sql",
        **more,
    }


def write_manifest(root: Path, nodes: Any, sources: Any = None) -> None:
    (root / "target").mkdir(exist_ok=True)
    value = {"nodes": nodes, "sources": sources or {}, "docs": {}}
    (root / "target/manifest.json").write_text(json.dumps(value))


def test_what_an_anchor_shares_is_left_alone_and_said(root: Path) -> None:
    stock, returns = dataset("dev.staging.stg_stock"), dataset("dev.staging.stg_returns")
    found = planned(root, entity(stock, "All stock.", ingested="Stock.\n"))
    assert kinds(found) == {"stg_stock": "shared"}
    assert found.files == ()
    # An alias is a place of its own.
    found = planned(root, entity(returns, "Back again.", ingested="Stock.\n"))
    assert kinds(found) == {"stg_returns": "changed"}
    found.write()
    gone, come = changed_lines(STAGING, (root / "models/staging/staging.yml").read_text())
    assert gone == ["    description: *text"]
    assert come == ["    description: Back again."]


def test_what_is_shared_stops_nothing_else_in_its_file(root: Path) -> None:
    held = [
        entity(dataset("dev.staging.stg_stock"), "All stock.", ingested="Stock.\n"),
        entity(ORDERS, "Orders.", {"id": ("", "Id.")}, ingested="Raw orders."),
    ]
    found = planned(root, *held, force_conflicts=True)
    assert kinds(found) == {
        "stg_orders": "changed",
        "stg_orders.id": "changed",
        "stg_stock": "shared",
    }
    assert len(found.files) == 1


def test_columns_that_are_one_by_an_anchor_change_where_all_agree(tmp_path: Path) -> None:
    text = """\
models:
- name: a
  columns: &columns
  - name: id
    description: x
- name: b
  columns: *columns
"""
    root = make_project(tmp_path, text)
    both = [entity(dataset(f"d.s.{name}"), columns={"id": ("x", "The id.")}) for name in ("a", "b")]
    assert kinds(planned(root, both[0])) == {"a.id": "shared"}
    found = planned(root, *both)
    assert kinds(found) == {"a.id": "changed", "b.id": "changed"}
    found.write()
    after = (root / "models/staging/staging.yml").read_text()
    assert after == text.replace("description: x", "description: The id.")


def test_what_is_merged_in_gets_a_description_of_its_own(tmp_path: Path) -> None:
    text = """\
defaults:
  key: &key {name: id, description: The key., tests: [unique]}
models:
- name: a
  columns:
  - <<: *key
  - <<: *key   # again
    name: other
- {name: b, columns: [{name: id, description}, {name: x, description: ~}]}
"""
    root = make_project(tmp_path, text)
    held = [
        entity(dataset("d.s.a"), columns={"other": ("The key.", "Another: key")}),
        entity(dataset("d.s.b"), columns={"id": ("", "a, b"), "x": ("", "{x}"), "z1": ("", "Z")}),
    ]
    found = planned(root, *held)
    assert set(kinds(found).values()) == {"new", "changed"}
    found.write()
    gone, come = changed_lines(text, (root / "models/staging/staging.yml").read_text())
    assert gone == ["- {name: b, columns: [{name: id, description}, {name: x, description: ~}]}"]
    assert come == [
        '    description: "Another: key"',
        '- {name: b, columns: [{name: id, description: "a, b"}, '
        '{name: x, description: "{x}"}, {name: z1, description: Z}]}',
    ]
    assert planned(root, *held).counts() == {"unchanged": 4}


def test_sources_are_found_by_their_identifier_and_described(root: Path) -> None:
    urn = dataset("dev.landing.orders_v3", "snowflake")
    found = planned(root, entity(urn, "As it landed.", {"ID": ("", "The key.")}))
    assert kinds(found) == {"raw.orders": "new", "raw.orders.id": "new"}
    found.write()
    gone, come = changed_lines(SOURCES, (root / "models/staging/sources.yaml").read_text())
    assert gone == []
    assert come == [
        "    description: As it landed.",
        "      description: The key.",
    ]


def test_new_files_are_where_dbt_osmosis_puts_them(root: Path) -> None:
    held = [
        entity(dataset("d.s.orders"), "Orders.", {"id": ("", "a\nb")}),
        entity(dataset("d.s.revenue"), "Revenue."),
        entity(dataset("d.s.alone"), "Alone."),
        entity(dataset("d.s.stg_new"), columns={"id": ("", "New.")}),
        entity(dataset("d.s.countries"), "Countries."),
        entity(dataset("d.s.orders_history"), "Then."),
    ]
    found = planned(root, *held)
    assert {one.name: one.before is None for one in found.files} == {
        "models/marts/_orders.yml": True,
        "models/finance/finance_revenue.yml": True,
        "models/lonely/_alone.yml": True,
        "models/staging/staging.yml": False,
        "seeds/_countries.yml": True,
        "snapshots/_orders_history.yml": True,
    }
    found.write()
    assert (
        (root / "models/marts/_orders.yml").read_text()
        == """\
version: 2

models:
  - name: orders
    description: Orders.
    columns:
      - name: id
        description: |-
          a
          b
"""
    )
    assert load((root / "seeds/_countries.yml").read_text())["seeds"][0]["name"] == "countries"
    gone, come = changed_lines(STAGING, (root / "models/staging/staging.yml").read_text())
    assert gone == []
    assert come == [
        "  - name: stg_new",
        "    columns:",
        "      - name: id",
        "        description: New.",
    ]
    assert planned(root, *held).counts() == {"unchanged": 7}


def test_a_path_of_dbt_osmosis_out_of_the_project_is_refused(root: Path) -> None:
    file = root / "dbt_project.yml"
    file.write_text(SETTINGS.replace('"_{model}.yml"', '"../../../x"'))
    found = planned(root, entity(dataset("d.s.orders"), "Orders."))
    assert kinds(found) == {"orders": "unwritable"}
    assert "outside the project" in (found.updates[0].why or "")
    file.write_text(SETTINGS.replace("_{model}.yml", "{node.config[materialized]}/{model}"))
    found = planned(root, entity(dataset("dev.staging.orders"), "Orders."))
    assert "needs target/manifest.json" in (found.updates[0].why or "")
    node = model("orders", config={"materialized": "view"})
    write_manifest(root, {"model.shop.orders": node})
    found = planned(root, entity(dataset("dev.staging.orders"), "Orders."))
    assert [one.name for one in found.files] == ["models/marts/view/orders.yml"]


def test_tags_and_owners_are_added_where_they_are_wanted(root: Path) -> None:
    held = entity(ORDERS, tags=("PII", "dbt:daily"), owners=("urn:li:corpuser:ann",))
    assert planned(root, held).updates == ()
    found = planned(root, held, properties=("tags", "owner"))
    assert [(one.property, one.kind, one.after) for one in found.updates] == [
        ("tags", "new", "PII, daily"),
        ("owner", "new", "ann"),
    ]
    found.write()
    gone, come = changed_lines(STAGING, (root / "models/staging/staging.yml").read_text())
    assert gone == []
    assert come == [
        "    config:",
        "      tags: [PII, daily]",
        "      meta:",
        "        owner: ann",
    ]
    assert planned(root, held, properties=("tags", "owner")).counts() == {"unchanged": 2}
    more = entity(ORDERS, tags=("x: y",), owners=("urn:li:corpuser:bob",))
    found = planned(root, more, properties=("tags", "owner"))
    assert [(one.property, one.kind, one.after) for one in found.updates] == [
        ("tags", "changed", "PII, daily, x: y"),
        ("owner", "conflict", "bob"),
    ]


def test_a_model_is_found_by_the_alias_in_its_sql(root: Path) -> None:
    sql = "{{ config(materialized='table',\n    alias='orders_wide') }}\nselect 1"
    (root / "models/marts/orders.sql").write_text(sql)
    found = planned(root, entity(dataset("d.s.orders_wide"), "All orders."))
    assert [(one.resource, one.kind) for one in found.updates] == [("orders", "new")]


def test_an_owner_with_a_name_and_an_address_is_the_one_of_that_address(root: Path) -> None:
    file = root / "models/staging/staging.yml"
    meta = "    config:\n      meta:\n        owner: Ann Lee (ann@example.com)\n"
    lines = file.read_text().splitlines(keepends=True)
    at = next(at for at, one in enumerate(lines) if "name: stg_orders" in one) + 1
    file.write_text("".join((*lines[:at], meta, *lines[at:])))
    held = entity(ORDERS, owners=("urn:li:corpuser:ann@example.com",))
    assert planned(root, held, properties=("owner",)).counts() == {"unchanged": 1}


def test_a_new_model_gets_its_tags_and_owners_too(root: Path) -> None:
    owners = ("urn:li:corpuser:ann", "urn:li:corpGroup:data")
    held = entity(dataset("d.s.orders"), "Orders.", tags=("PII",), owners=owners)
    planned(root, held, properties=("description", "tags", "owner")).write()
    (found,) = load((root / "models/marts/_orders.yml").read_text())["models"]
    assert found == {
        "name": "orders",
        "description": "Orders.",
        "config": {"tags": ["PII"], "meta": {"owner": ["ann", "urn:li:corpGroup:data"]}},
    }


VERSIONED = """\
models:
  - name: orders
    description: All.
    columns:
      - name: id
        description: x
    versions:
      - v: 1
      - v: 2
        columns:
          - include: all
          - name: extra
"""


def test_versions_of_a_model(tmp_path: Path) -> None:
    root = make_project(tmp_path, VERSIONED)
    (root / "models/marts/orders_v1.sql").write_text("select 1")
    assert "orders_v1" not in {one.name for one in read_project(root).resources}
    columns = {"id": ("x", "Id."), "extra": ("", "More.")}
    second = entity(dataset("d.s.orders_v2"), "Second.", columns, ingested="All.")
    found = planned(root, second)
    assert kinds(found) == {
        "orders.v2": "changed",
        "orders.v2.id": "shared",
        "orders.v2.extra": "new",
    }
    first = entity(dataset("d.s.orders_v1"), columns={"id": ("x", "Id.")})
    found = planned(root, second, first)
    assert kinds(found)["orders.v2.id"] == kinds(found)["orders.v1.id"] == "changed"
    found.write()
    gone, come = changed_lines(VERSIONED, (root / "models/staging/staging.yml").read_text())
    assert gone == ["        description: x"]
    assert come == [
        "        description: Id.",
        "        description: Second.",
        "            description: More.",
    ]
    assert planned(root, second, first).counts() == {"unchanged": 4}


# Which dataset a resource is.


def matched(root: Path, *urns: Urn) -> tuple[dict[str, list[Urn]], dict[str, int], Matches]:
    found = match(read_project(root).resources, urns)
    return (
        {resource.name: list(datasets.all) for resource, datasets in found.found},
        {one.resource.name: len(one.candidates) for one in found.unmatched if one.candidates},
        found,
    )


def test_the_dataset_on_dbt_goes_before_its_siblings(root: Path) -> None:
    sibling = dataset("dev.staging.stg_orders", "snowflake")
    elsewhere = dataset("prod.staging.stg_orders", "snowflake")
    found, ambiguous, _ = matched(root, elsewhere, sibling, ORDERS)
    assert found == {"stg_orders": [ORDERS, sibling]}
    assert ambiguous == {}


def test_several_datasets_of_a_name_are_listed_and_none_is_taken(root: Path) -> None:
    here, there = (dataset(f"{name}.stg_orders", "hive") for name in ("a", "b"))
    found, ambiguous, matches = matched(root, here, there)
    assert found == {}
    assert ambiguous == {"stg_orders": 2}
    assert len(matches.unmatched) == len(read_project(root).resources)
    both = dataset("dev.staging.stg_orders", origin="DEV")
    assert matched(root, ORDERS, both)[1] == {"stg_orders": 2}


def test_one_dataset_is_not_two_resources(root: Path) -> None:
    (root / "models/marts/stg_orders_copy.sql").write_text("select 1")
    (root / "models/marts/orders_v3.sql").write_text("select 1")
    urn = dataset("dev.landing.orders_v3", "hive")
    found, ambiguous, _ = matched(root, urn)
    # The source says more of its name than the model.
    assert found == {"raw.orders": [urn]}
    assert ambiguous == {}


def test_with_a_manifest_a_dataset_of_another_name_is_not_taken(root: Path) -> None:
    node = model("stg_orders", alias="Orders", schema="core", database='"DB"')
    write_manifest(root, {"model.shop.stg_orders": node})
    assert matched(root, ORDERS)[0] == {}
    instance = dataset("prod_instance.db.core.orders")
    assert matched(root, ORDERS, instance)[0] == {"stg_orders": [instance]}
    assert matched(root, dataset("x.core.orders", "hive"))[0] == {}
    short = dataset("core.orders", "hive")
    found, _, matches = matched(root, short)
    assert found == {"stg_orders": [short]}
    reasons = {one.resource.name: one.why for one in matches.unmatched}
    assert "dbt parse" in reasons["stg_stock"]


def test_texts_of_siblings_that_differ_are_a_conflict(root: Path) -> None:
    sibling = dataset("dev.staging.stg_orders", "snowflake")
    held = [
        entity(ORDERS, "This.", ingested="Raw orders."),
        entity(sibling, "That."),
    ]
    assert kinds(planned(root, *held, force_conflicts=True)) == {"stg_orders": "conflict"}
    only = planned(root, entity(ORDERS, ingested="Raw orders."), held[1])
    assert kinds(only) == {"stg_orders": "changed"}


# Into the catalog.


def test_descriptions_are_compared_with_what_was_ingested_and_edited(root: Path) -> None:
    columns = {
        "id": ("The key.", "Edited since."),
        "total": ("", ""),
        "note": ("", "Mine."),
    }
    changes = imported(root, entity(ORDERS, columns=columns, ingested="Raw orders."))
    assert {change.column: change.kind for change in changes.changes} == {
        None: "unchanged",
        "id": "unchanged",
        "total": "new",
        "note": "conflict",
        "city": "unknown column",
    }


def test_nested_columns_and_types_in_paths(tmp_path: Path) -> None:
    text = "models:\n- name: a\n  columns:\n  - name: Address.zip\n    description: Zip.\n"
    root = make_project(tmp_path, text)
    path = "[version=2.0].[type=struct].[type=string].address.[type=string].zip"
    changes = imported(root, entity(dataset("d.s.a"), columns={path: ("", "")}))
    assert [(one.column, one.kind) for one in changes.changes] == [(path, "new")]


def test_a_file_that_is_no_yaml_is_a_problem_and_stops_nothing(root: Path) -> None:
    (root / "models/broken.yml").write_text("models: [\n")
    (root / "models/latin.yml").write_bytes(b"models: []  # caf\xe9\n")
    project = read_project(root)
    problems = dict(project.problems)
    assert set(problems) == {"models/broken.yml", "models/latin.yml"}
    assert {one.name for one in project.resources} >= {"stg_orders", "raw.orders", "alone"}
    with pytest.raises(InvalidInput, match="not a dbt project"):
        read_project(root / "models")


def test_nothing_is_created_for_what_a_file_that_cannot_be_read_may_describe(root: Path) -> None:
    file = "models/staging/staging.yml"
    (root / file).write_text(STAGING.replace("    columns:\n", "   columns:\n", 1))
    held = (
        entity(ORDERS, "Orders.", ingested="Raw orders."),
        entity(dataset("dev.core.alone"), "Alone.", {"id": ("", "The key.")}),
        entity(dataset("dev.landing.orders_v3"), "As they come."),
    )
    found = planned(root, *held)
    why = f"{file} cannot be read and may describe it; correct that file first"
    assert {(one.resource, one.column, one.kind, one.why) for one in found.left_out} == {
        (name, column, "unwritable", why)
        for name, column in (("stg_orders", None), ("alone", None), ("alone", "id"))
    }
    assert [one.resource for one in found.writes] == ["raw.orders"]
    assert [one.name for one in found.files] == ["models/staging/sources.yaml"]
    # With the indent corrected the model has the one entry that it had.
    (root / file).write_text(STAGING)
    files = {one.name: one.after.decode() for one in planned(root, *held).files}
    assert set(files) == {file, "models/staging/sources.yaml", "models/lonely/_alone.yml"}
    assert files[file].count("stg_orders") == 1


def test_what_is_described_twice_is_neither_read_nor_written(root: Path) -> None:
    (root / "models/again.yml").write_text("models: [{name: stg_orders, description: x}]\n")
    held = entity(ORDERS, "Orders.")
    found = planned(root, held)
    assert found.updates == ()
    reasons = {one.resource.name: one.why for one in found.unmatched}
    assert reasons["stg_orders"] == "it is described in several places"


# There and back.

texts = st.one_of(
    hostile, st.sampled_from(["{{ doc('x') }}", "{% raw %}", "{#", "}}", "{", "a{{\n", "'{{'"])
)


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(table=texts, column=texts, flow=texts, folded=texts, fresh=texts, crlf=st.booleans())
@example(table="{{ '{{' }}\n", column="{{{", flow="{%\r", folded="{\n", fresh="a}}\n\n", crlf=True)
def test_what_is_exported_is_imported_without_a_change(
    table: str, column: str, flow: str, folded: str, fresh: str, *, crlf: bool
) -> None:
    staging = STAGING.replace("\n", "\r\n") if crlf else STAGING
    with tempfile.TemporaryDirectory() as directory:
        root = make_project(Path(directory), ("\ufeff" if crlf else "") + staging)
        columns = {"id": column, "total": flow, "note": folded, "fresh": fresh}
        held = [
            entity(ORDERS, table, {name: ("", text) for name, text in columns.items()}),
            entity(dataset("d.s.orders"), fresh, {"id": ("", table)}),
        ]
        found = planned(root, *held, force_conflicts=True)
        assert set(kinds(found).values()) <= {"new", "changed", "unchanged"}
        found.write()
        assert set(imported(root, *held).counts()) == {"unchanged", "unknown column"}
        again = planned(root, *held)
        assert again.counts() == {"unchanged": 7}
        assert again.files == ()


@settings(deadline=None)
@given(text=texts)
def test_jinja_renders_an_escaped_text_to_the_text(text: str) -> None:
    escaped = escape_jinja(text)
    # As dbt does it, which leaves alone what holds no sign of Jinja.
    if any(sign in escaped for sign in ("{{", "{%", "{#", "}}", "%}", "#}")):
        escaped = jinja2.Environment().from_string(escaped).render()
    assert escaped == text


def test_a_line_end_at_the_end_of_a_file_is_not_lost_to_dbt(tmp_path: Path) -> None:
    # dbt strips what it reads.
    root = make_project(tmp_path, "models:\n- name: a\n- name: b\n  description: |\n    x\n")
    file = root / "models/staging/staging.yml"
    held = [
        entity(dataset("d.s.a"), "All\nof it.\n", ingested="x"),
        entity(dataset("d.s.b"), "More\nof it.\n", ingested="x"),
    ]
    found = planned(root, *held)
    found.write()
    models = load(file.read_text().strip())["models"]
    assert [one["description"] for one in models] == ["All\nof it.\n", "More\nof it.\n"]
    assert planned(root, *held).counts() == {"unchanged": 2}
    # What was lost before stops nothing.
    root = make_project(tmp_path, "models:\n- name: b\n- name: a\n  description: |\n    x\n")
    planned(root, entity(dataset("d.s.a"), columns={"id": ("", "Id.")})).write()
    assert load(file.read_text())["models"][1]["columns"] == [{"name": "id", "description": "Id."}]


def test_half_a_surrogate_pair_is_said_and_not_written(root: Path) -> None:
    found = planned(root, entity(ORDERS, "a\ud800b", ingested="Raw orders."))
    assert kinds(found) == {"stg_orders": "unwritable"}


# Writing.


def test_modes_and_links_are_kept(root: Path) -> None:
    file = root / "models/staging/staging.yml"
    real = root / "real.yml"
    file.rename(real)
    file.symlink_to(real)
    real.chmod(0o640)
    planned(root, entity(ORDERS, "Orders.", ingested="Raw orders.")).write()
    assert file.is_symlink()
    assert "Orders." in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in root.iterdir() if "part" in path.name] == []


@pytest.mark.parametrize("linked", ["models/staging/staging.yml", "models/staging", "models"])
def test_nothing_is_written_through_a_link_out_of_the_project(
    root: Path, tmp_path: Path, linked: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (root / linked).rename(elsewhere)
    (root / linked).symlink_to(elsewhere)
    found = planned(root, entity(ORDERS, "Orders.", ingested="Raw orders."))
    (update,) = found.left_out
    assert (update.kind, found.files) == ("unwritable", ())
    assert update.why == "models/staging/staging.yml is a link out of the project"


def test_a_file_that_became_a_link_out_of_the_project_is_not_written(
    root: Path, tmp_path: Path
) -> None:
    found = planned(root, entity(ORDERS, "Orders.", ingested="Raw orders."))
    file, elsewhere = root / "models/staging/staging.yml", tmp_path / "elsewhere.yml"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    with pytest.raises(Conflict, match="is a link out of the project"):
        found.write()
    assert elsewhere.read_text() == STAGING


def test_a_file_that_changed_since_is_not_overwritten(root: Path) -> None:
    found = planned(root, entity(ORDERS, "Orders.", ingested="Raw orders."))
    file = root / "models/staging/staging.yml"
    file.write_text(STAGING + "# mine\n")
    with pytest.raises(Conflict, match="was changed"):
        found.write()
    assert file.read_text() == STAGING + "# mine\n"


EVENTS = ("open", "os.rename", "os.chmod", "os.mkdir", "os.remove", "os.truncate")


def killed_at(event: int, work: ProjectPlan) -> bool:
    """Write in a process that is killed at its nth change of the file system; whether it was."""
    child = os.fork()
    if not child:
        left = [event]

        def count(name: str, given: Any) -> None:
            if name in EVENTS:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        try:
            work.write()
        except BaseException:  # noqa: BLE001 - a forked process never returns to pytest
            os._exit(9)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_killed_at_any_moment_every_file_is_whole(root: Path, tmp_path: Path) -> None:
    held = [
        entity(ORDERS, "Orders.", ingested="Raw orders."),
        entity(dataset("dev.landing.orders_v3"), "As it landed."),
        entity(dataset("d.s.orders"), "Orders."),
    ]
    copy = tmp_path / "copy"
    event = 0
    is_killed = True
    written = set()
    while is_killed:
        event += 1
        shutil.copytree(root, copy)
        found = planned(copy, *held)
        assert len(found.files) == 3
        is_killed = killed_at(event, found)
        states = []
        for one in found.files:
            path = copy / one.name
            now = path.read_bytes() if path.exists() else None
            assert now in (one.before, one.after)
            states.append(now == one.after)
        written.add(tuple(states))
        shutil.rmtree(copy)
    assert written == {
        (False, False, False),
        (True, False, False),
        (True, True, False),
        (True, True, True),
    }


def test_what_a_project_changes_is_staged_and_conflicts_only_by_force(root: Path) -> None:
    held = entity(ORDERS, "", {"id": ("", "Ours."), "total": ("", "")}, ingested="Raw orders.")
    changes = ProjectChanges(imported(root, held), (), (), ())
    (new,) = stage_project(changes, {}).edits
    assert (new.name, new.column, new.before, new.text) == ("stg_orders", "total", "", "In cents")
    assert [one.found_by for one in new.sources] == ["file"]
    forced = {one.column: one for one in stage_project(changes, {}, force_conflicts=True).edits}
    assert set(forced) == {"id", "total"}
    # What is replaced is what stands there now.
    assert (forced["id"].before, forced["id"].text) == ("Ours.", "The key.")


def test_labels_of_one_place_are_one_edit_and_unknown_ones_are_left() -> None:
    ann, club = "urn:li:corpuser:ann", "urn:li:corpGroup:club"
    labels = (
        *(label(name) for name in ("daily", "unheard", "money", "daily")),
        label("daily", column="id"),
        *(label(name, "owner") for name in (ann, club)),
    )
    called = {f"urn:li:tag:{name}": name.upper() for name in ("daily", "money")}
    called |= {ann: "Ann", club: "The club"}
    found = stage_project(ProjectChanges(compare([], {}), labels, (), ()), called)
    assert [(one.what, one.column, one.add) for one in found.edits] == [
        ("tags", None, ("urn:li:tag:daily", "urn:li:tag:money")),
        ("tags", "id", ("urn:li:tag:daily",)),
        ("owners", None, (f"{ann} TECHNICAL_OWNER", f"{club} TECHNICAL_OWNER")),
    ]
    assert found.edits[0].label_names == {"urn:li:tag:daily": "DAILY", "urn:li:tag:money": "MONEY"}
    assert [one.label for one in found.unknown] == ["urn:li:tag:unheard"]


def test_a_project_is_read_whole(root: Path) -> None:
    project: Project = read_project(root)
    assert project.name == "shop"
    assert [(one.kind, one.name, one.file) for one in project.resources] == [
        ("source", "raw.orders", "models/staging/sources.yaml"),
        ("model", "stg_orders", "models/staging/staging.yml"),
        ("model", "stg_stock", "models/staging/staging.yml"),
        ("model", "stg_returns", "models/staging/staging.yml"),
        ("model", "alone", None),
        ("model", "orders", None),
        ("model", "revenue", None),
        ("model", "stg_new", None),
        ("seed", "countries", None),
        ("snapshot", "orders_history", None),
    ]
