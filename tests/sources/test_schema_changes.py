"""`catalog impact --diff`: what commits change of tables, and what depends on it."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.sources.schema_changes import ChangedSchemas, NamedDatasets, read_changes
from tests.conftest import schema_metadata
from tests.sources.conftest import Run, dataset, execute

_PROJECT = "name: shop\nvars:\n  least: 10\n"
_STAGED = """\
{{ config(materialized='view') }}
with source as (select * from {{ source('raw', 'payments') }}),
renamed as (
    select id as payment_id, order_id, cast(cents as int) / 100.0 as amount,
        {{ cents('fee') }} as fee
    from source where cents > {{ var('least') }}
)
select * from renamed {# all of it #}
"""
_MACROS = "{% macro cents(column) %}cast({{ column }} as int){% endmacro %}\n"
_ORDERS = """\
select o.id, o.status, sum(p.amount) as paid
from {{ ref('raw_orders') }} o left join {{ ref('stg_payments') }} p on p.order_id = o.id
{% if is_incremental() %} where o.id > (select max(id) from {{ this }}) {% endif %}
group by 1, 2
"""


class Repository:
    """A git repository whose files are written and committed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "--quiet", "--initial-branch", "main")

    def git(self, *arguments: str) -> None:
        names = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(("git", "-C", str(self.root), *names, *arguments), check=True)

    def commit(self, files: Mapping[str, str | None]) -> None:
        """Commit files with these texts; None removes one."""
        for name, text in files.items():
            path = self.root / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "files")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A dbt project in a folder of a repository, with one commit."""
    found = Repository(tmp_path / "repository")
    found.commit(
        {
            "dbt/dbt_project.yml": _PROJECT,
            "dbt/models/staging/stg_payments.sql": _STAGED,
            "dbt/models/orders.sql": _ORDERS,
            "dbt/macros/money.sql": _MACROS,
            "dbt/seeds/raw_orders.csv": "id,status\n1,new\n",
            "ddl/views.sql": "create view paid as select id, paid from orders where paid > 0;\n",
        }
    )
    return found


@pytest.fixture
def warehouse(command: Run, tmp_path: Path) -> str:
    """The tables of the project in the catalog, and two views that read them."""
    path = tmp_path / "wh.sqlite"
    execute(
        path,
        """
        create table payments (id int, order_id int, cents int, fee int);
        create table stg_payments (payment_id int, order_id int, amount real, fee int);
        create table raw_orders (id int, status text);
        create table orders (id int, status text, paid real);
        create view paid as select id, paid from orders where paid > 0;
        create view report as select payment_id, amount * 2 as doubled from stg_payments;
        """,
    )
    assert command("add", str(path)).code == 0
    return "main"


def changes(found: ChangedSchemas) -> list[str]:
    """Return the changes as short texts, in their order."""
    return [
        " ".join(filter(None, (".".join(one.table), one.column, one.kind, one.before, one.after)))
        for one in found.changes
    ]


def read(repository: Repository, cat: Catalog, **more: Any) -> ChangedSchemas:
    return read_changes(repository.root / "dbt", "HEAD~1..HEAD", NamedDatasets(cat), **more)


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        (
            "staging/stg_payments",
            "order_id, cast",
            "cast",
            ["stg_payments order_id dropped"],
        ),
        (
            "staging/stg_payments",
            "id as payment_id",
            "id as payment_key",
            ["stg_payments payment_id renamed payment_id payment_key"],
        ),
        (
            "staging/stg_payments",
            "cast(cents as int) / 100.0 as amount",
            "cast(cents as decimal(10, 2)) as amount",
            ["stg_payments amount retyped double decimal(10, 2)"],
        ),
        (
            "staging/stg_payments",
            "order_id,",
            "order_id, source.currency,",
            ["stg_payments currency added"],
        ),
        # A filter and another way of writing the same change no column.
        ("staging/stg_payments", "cents >", "cents >=", []),
        ("staging/stg_payments", "{# all of it #}", "", []),
        # The columns behind the star are those that the catalog has of the source.
        (
            "staging/stg_payments",
            "select * from renamed",
            "select r.*, s.cents from renamed r, source s",
            ["stg_payments cents added"],
        ),
        (
            "orders",
            "sum(p.amount) as paid",
            "sum(p.amount) as total, max(p.amount) as paid",
            ["orders total added"],
        ),
        ("orders", "select o.id", "{{ config(enabled=false) }} select o.id", ["orders dropped"]),
    ],
)
def test_what_a_commit_changes_of_a_model_is_read_from_its_sql(
    repository: Repository,
    cat: Catalog,
    warehouse: str,
    file: str,
    old: str,
    new: str,
    expected: list[str],
) -> None:
    path = f"dbt/models/{file}.sql"
    before = (repository.root / path).read_text()
    assert old in before
    repository.commit({path: before.replace(old, new)})
    found = read(repository, cat)
    assert (changes(found), found.skipped) == (expected, [])


def test_models_that_use_a_changed_macro_seeds_and_contracts_are_compared(
    repository: Repository, cat: Catalog, warehouse: str
) -> None:
    contract = (
        "models:\n  - name: orders\n    columns:\n      - name: paid\n        data_type: {}\n"
    )
    repository.commit({"dbt/models/orders.yml": contract.format("numeric")})
    repository.commit(
        {
            "dbt/models/orders.yml": contract.format("bigint"),
            "dbt/macros/money.sql": _MACROS.replace("as int", "as bigint"),
            "dbt/seeds/raw_orders.csv": "id,state\n1,new\n",
        }
    )
    found = read(repository, cat)
    assert found.skipped == []
    assert sorted(changes(found)) == [
        "orders paid retyped numeric bigint",
        "raw_orders status renamed status state",
        "stg_payments fee retyped int bigint",
    ]


def test_a_model_that_only_dbt_can_render_is_told_or_taken_from_the_manifest(
    repository: Repository, cat: Catalog, warehouse: str
) -> None:
    path, raw = "dbt/models/orders.sql", "select {{ dbt_utils.star(ref('raw_orders')) }}"
    repository.commit({path: raw})
    found = read(repository, cat)
    assert changes(found) == []
    (skipped,) = found.skipped
    assert skipped.subject == path
    assert "dbt_utils" in skipped.reason
    assert "dbt compile" in skipped.reason
    node = {
        "resource_type": "model",
        "name": "orders",
        "raw_code": raw,
        "compiled_code": 'select "id", "status" from "wh"."main"."raw_orders"',
    }
    target = repository.root / "dbt/target"
    target.mkdir()
    manifest = {"metadata": {"adapter_type": "postgres"}, "nodes": {"model.shop.orders": node}}
    (target / "manifest.json").write_text(json.dumps(manifest))
    found = read(repository, cat)
    assert (changes(found), found.skipped) == (["orders paid dropped"], [])


def test_a_python_model_is_told_and_its_removal_found(
    repository: Repository, cat: Catalog, warehouse: str
) -> None:
    path = "dbt/models/orders.py"
    repository.commit({"dbt/models/orders.sql": None, path: "def model(dbt, session): ..."})
    (skipped,) = read(repository, cat).skipped
    assert skipped.subject == path
    assert "Python model" in skipped.reason
    repository.commit({path: None})
    found = read(repository, cat)
    assert (changes(found), found.skipped) == (["orders dropped"], [])


def test_only_what_the_branch_itself_changes_counts(
    repository: Repository, cat: Catalog, warehouse: str
) -> None:
    repository.git("checkout", "--quiet", "-b", "feature")
    repository.commit({"dbt/models/orders.sql": _ORDERS.replace("o.status, ", "")})
    repository.git("checkout", "--quiet", "main")
    repository.commit({"dbt/models/staging/stg_payments.sql": "select 1 as one"})
    found = read_changes(repository.root, "main..feature", NamedDatasets(cat))
    assert changes(found) == ["orders status dropped"]


def test_statements_of_other_files_are_compared_and_migrations_read(
    repository: Repository, cat: Catalog, warehouse: str
) -> None:
    repository.commit(
        {
            "ddl/views.sql": "create view paid as select id from orders where paid > 0;\n",
            "ddl/V2__less.sql": (
                "alter table orders drop column status;\n"
                "alter table orders rename column paid to total;\n"
                "alter table stg_payments alter column fee type bigint;\n"
                "create or replace view report as select payment_id from stg_payments;\n"
                "drop table raw_orders;\n"
                "create table fresh (id int);\n"
                "create table broken as select from;\n"
            ),
        }
    )
    found = read(repository, cat)
    assert sorted(changes(found)) == [
        "fresh added",
        "orders paid renamed paid total",
        "orders status dropped",
        "paid paid dropped",
        "raw_orders dropped",
        "report doubled dropped",
        "stg_payments fee retyped bigint",
    ]
    (skipped,) = found.skipped
    assert skipped.subject == "ddl/V2__less.sql: create table broken as select from"


def test_the_command_tells_what_depends_on_what_a_branch_changes(
    repository: Repository, command: Run, warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository.root / "dbt")
    repository.commit(
        {
            "dbt/models/orders.sql": _ORDERS.replace("sum(p.amount)", "count(*)"),
            "dbt/models/staging/stg_payments.sql": _STAGED.replace("id as payment_id, ", ""),
            "dbt/models/unknown.sql": "select 1 as one",
        }
    )
    ran = command("impact", "--diff", "HEAD~1..", "--fail-if-any", "--json")
    assert ran.code == 1, ran
    told = json.loads(ran.out)
    report = dataset("sqlite", "wh.report")
    of_payments = dataset("sqlite", "wh.stg_payments")
    assert [(one["change"], one["datasets"], one["affected"]) for one in told["changes"]] == [
        ("stg_payments.payment_id dropped", [of_payments], [report]),
        ("unknown added", [], []),
    ]
    assert "1 change affects 1 entity" in ran.err

    ran = command("impact", "--diff", "HEAD~1..HEAD", "--markdown")
    assert ran.code == 0, ran
    lines = ran.out.splitlines()
    assert lines[:2] == ["<!-- catalog impact -->", "### 1 change affects 1 entity"]
    assert "| stg_payments.payment_id dropped | 1 |  |  |" in lines
    assert any(one.startswith("| wh.report |") or "report" in one for one in lines[6:])
    assert "Nothing depends on: unknown added." in lines

    repository.commit({"dbt/models/orders.sql": _ORDERS})
    ran = command("impact", "--diff", "HEAD~1..HEAD", "--markdown", "--fail-if-any")
    assert (ran.code, ran.out.splitlines()[1]) == (0, "### No column or table is changed")


def test_a_model_of_dbt_counts_with_its_siblings(
    repository: Repository, cat: Catalog, command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, table = dataset("dbt", "wh.shop.orders"), dataset("postgres", "wh.shop.orders")
    of_model, of_table = dataset("dbt", "wh.shop.sums"), dataset("looker", "board")
    columns = schema_metadata({"id": None, "PAID": None})
    for urn in (model, table):
        cat.put(urn, "schemaMetadata", columns)
    cat.put(model, "siblings", {"siblings": [table], "primary": True})
    for below, above in ((of_model, model), (of_table, table)):
        cat.put(below, "upstreamLineage", {"upstreams": [{"dataset": above, "type": "VIEW"}]})
    monkeypatch.chdir(repository.root)
    repository.commit({"dbt/models/orders.sql": "select 1 as id"})
    ran = command("impact", "--diff", "HEAD~1..HEAD", "--json", "--no-usage")
    (change,) = [one for one in json.loads(ran.out)["changes"] if one["column"] == "paid"]
    assert sorted(change["datasets"]) == sorted((model, table))
    assert sorted(change["affected"]) == sorted((of_model, of_table))


def test_wrong_use_says_what_to_do(
    repository: Repository, command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository.root)
    told = command("impact", "--diff", "nowhere..HEAD").err
    assert "no commit 'nowhere'" in told
    assert "fetch-depth: 0" in told
    repository.git("checkout", "--quiet", "--orphan", "other")
    repository.commit({"dbt/models/orders.sql": "select 1 as id"})
    ran = command("impact", "--diff", "main..HEAD")
    assert (ran.code, "no commit in common" in ran.err) == (1, True), ran
    assert "--diff cannot be combined with" in command("impact", "--diff", "a..b", "--top", "3").err
    assert "give a URN, or" in command("impact").err
    assert "need --diff" in command("impact", "urn:li:tag:x", "--markdown").err
    assert "knows no SQL dialect 'x'" in command("impact", "--diff", "a..", "--dialect", "x").err
    monkeypatch.chdir(tmp_path)
    assert "not a git repository" in command("impact", "--diff", "main..HEAD").err


def test_the_workflow_is_a_workflow(command: Run) -> None:
    import yaml

    value = yaml.safe_load(command("impact", "--print-workflow").out)
    (job,) = value["jobs"].values()
    assert any("catalog impact --diff" in step.get("run", "") for step in job["steps"])
