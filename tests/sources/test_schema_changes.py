"""`catalog impact --diff`: what commits change of tables, and what depends on it."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from explorer.cli.commands.lineage import read_schema_changes
from explorer.client import Catalog
from explorer.query.filters import Filter
from explorer.sources.location import open_source
from explorer.sources.run import plan_run, run_source
from explorer.sources.schema_changes import ChangedSchemas, NamedDatasets, read_changes
from explorer.sources.source import SourceOptions
from explorer.views.lineage import change_text
from tests.conftest import schema_metadata, serving_catalog
from tests.sources.conftest import Run, dataset, execute, quiet

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
        " ".join(
            filter(
                None,
                (".".join(one.table), one.column, one.kind, one.part, one.before, one.after),
            )
        )
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
        # A filter changes no column, and another way of writing the same changes nothing.
        ("staging/stg_payments", "cents >", "cents >=", ["stg_payments logic filter"]),
        ("staging/stg_payments", "{# all of it #}", "", []),
        # The columns behind the star are those that the catalog has of the source.
        (
            "staging/stg_payments",
            "select * from renamed",
            "select r.*, s.cents from renamed r, source s",
            ["stg_payments cents added", "stg_payments logic join"],
        ),
        (
            "orders",
            "sum(p.amount) as paid",
            "sum(p.amount) as total, max(p.amount) as paid",
            ["orders total added", "orders paid logic expression"],
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
    assert changes(found) == ["orders status dropped", "orders logic grouping"]


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


def test_changed_logic_of_views_in_other_files_is_told(
    repository: Repository, cat: Catalog, warehouse: str
) -> None:
    table = "create table fresh (id int {});\n"
    view = "create view big as select id, paid {} as paid from orders where paid > {};\n"
    repository.commit({"ddl/more.sql": table.format("") + view.format("", 9)})
    repository.commit({"ddl/more.sql": table.format("not null") + view.format("* 2", 10)})
    found = read(repository, cat)
    assert changes(found) == ["big paid logic expression", "big logic filter"]


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
    of_payments, of_orders = (dataset("sqlite", f"wh.{one}") for one in ("stg_payments", "orders"))
    assert [(one["change"], one["datasets"], one["affected"]) for one in told["changes"]] == [
        ("stg_payments.payment_id dropped", [of_payments], [report]),
        ("unknown added", [], []),
        ("orders.paid: expression changed", [of_orders], [dataset("sqlite", "wh.paid")]),
    ]
    told_of_logic = "expression, filter or join changed in 1 table"
    assert f"1 change affects 1 entity; {told_of_logic}" in ran.err

    ran = command("impact", "--diff", "HEAD~1..HEAD", "--markdown")
    assert ran.code == 0, ran
    lines = ran.out.splitlines()
    title = f"### 1 change affects 1 entity; {told_of_logic}"
    assert lines[:2] == ["<!-- catalog impact -->", title]
    assert "- orders.paid: expression changed (read by paid)" in lines
    assert "| stg_payments.payment_id dropped | 1 |  |  |" in lines
    assert any(one.startswith("| wh.report |") or "report" in one for one in lines[6:])
    assert "Nothing depends on: unknown added." in lines

    repository.commit({"dbt/models/orders.sql": _ORDERS})
    ran = command("impact", "--diff", "HEAD~1..HEAD", "--markdown", "--fail-if-any")
    title = f"### No column or table is changed; {told_of_logic}"
    assert (ran.code, ran.out.splitlines()[1]) == (0, title)


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


_SHOP = {
    ".gitignore": "target/\n",
    "dbt_project.yml": "name: shop\n",
    "macros/m.sql": "{% macro cents(c) %}max({{ scaled(c) }}){% endmacro %}\n",
    "macros/s.sql": "{% macro scaled(c) %}{{ c }} / 100{% endmacro %}\n",
    "models/src.yml": (
        "version: 2\nsources:\n  - name: raw\n    tables: [{name: orders}, {name: customers}]\n"
    ),
    "models/stg_orders.sql": (
        "with source as (select * from {{ source('raw', 'orders') }})\n"
        "select\n    id as order_id,\n    cust_id as customer_id,\n    amount,\n    status,\n"
        "    created_at,\n    note\nfrom source\n"
    ),
    "models/stg_customers.sql": (
        "select id as customer_id, name, region from {{ source('raw', 'customers') }}\n"
    ),
    "models/int_orders.sql": (
        "select o.order_id, o.amount, o.status, o.created_at, c.region\n"
        "from {{ ref('stg_orders') }} o left join {{ ref('stg_customers') }} c\n"
        "on c.customer_id = o.customer_id\nwhere o.status <> 'x'\n"
    ),
    "models/mart_daily.sql": (
        "select created_at as day, region, {{ cents('amount') }} as total\n"
        "from {{ ref('int_orders') }} group by 1, 2\n"
    ),
    "models/mart_pivot.sql": (
        "select order_id{% for s in ['new','paid'] %},\n"
        "    case when status = '{{ s }}' then amount end as {{ s }}_amount{% endfor %}\n"
        "from {{ ref('int_orders') }}\n"
    ),
    "models/mart_notes.sql": (
        "{{ config(alias='notes') }}\nselect order_id, note from {{ ref('stg_orders') }}\n"
    ),
    "models/mart_all.sql": "select * from {{ ref('stg_orders') }}\n",
}
_SOURCES = {
    "orders": ("id", "cust_id", "amount", "status", "created_at", "note"),
    "customers": ("id", "name", "region"),
}


def shop_manifest() -> dict[str, Any]:
    """Return what dbt parse tells of that project, and an exposure that shows `mart_daily`."""
    about = {"package_name": "shop", "database": "wh", "columns": {}}
    sources = {
        f"source.shop.raw.{name}": {
            **about,
            "resource_type": "source",
            "unique_id": f"source.shop.raw.{name}",
            "source_name": "raw",
            "schema": "raw",
            "name": name,
            "columns": {one: {"name": one, "data_type": "int"} for one in columns},
        }
        for name, columns in _SOURCES.items()
    }
    texts = {Path(file).stem: text for file, text in _SHOP.items() if file.endswith(".sql")}
    nodes = {
        f"model.shop.{name}": {
            **about,
            "resource_type": "model",
            "unique_id": f"model.shop.{name}",
            "schema": "main",
            "name": name,
            "alias": "notes" if "alias='notes'" in text else name,
            "raw_code": text,
            "depends_on": {
                "nodes": [
                    *(f"model.shop.{one}" for one in re.findall(r"ref\('(\w+)'\)", text)),
                    *(f"source.shop.raw.{one}" for one in re.findall(r"'raw', '(\w+)'", text)),
                ]
            },
        }
        for name, text in texts.items()
        if f"models/{name}.sql" in _SHOP
    }
    macros = {
        f"macro.shop.{name}": {"package_name": "shop", "macro_sql": texts[name]} for name in "ms"
    }
    board = {
        "resource_type": "exposure",
        "name": "board",
        "depends_on": {"nodes": ["model.shop.mart_daily"]},
    }
    metadata = {"adapter_type": "duckdb"}
    exposures = {"exposure.shop.board": board}
    parts = {"nodes": nodes, "sources": sources, "macros": macros, "exposures": exposures}
    return {"metadata": metadata, **parts}


@pytest.fixture(scope="module")
def shop_catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Repository, str]]:
    """A repository with that project, and the address of a catalog that has nothing else."""
    folder = tmp_path_factory.mktemp("labelled")
    repository = Repository(folder / "repository")
    repository.commit(_SHOP)
    (repository.root / "target").mkdir()
    (repository.root / "target/manifest.json").write_text(json.dumps(shop_manifest()))
    (folder / "catalog").mkdir()
    with serving_catalog(folder / "catalog") as address, Catalog(address) as catalog:
        source = open_source(str(repository.root), SourceOptions())
        plan = plan_run(catalog, "shop", source, SourceOptions(), quiet)
        assert plan.inventory.skipped == []
        run_source(catalog, plan, quiet)
        yield repository, address


_OF_ORDERS = ["board", "mart_daily", "mart_pivot"]
_OF_AMOUNT = ["board", "int_orders", "mart_all", *_OF_ORDERS[1:]]
_OF_REGION = ["board", "int_orders", "mart_daily"]


@pytest.mark.parametrize(
    ("label", "edits", "expected"),
    [
        (
            "a column is dropped",
            {"models/stg_orders.sql": ("created_at,\n    note", "created_at")},
            {"stg_orders.note dropped": ["mart_all", "mart_notes"]},
        ),
        (
            "a column of a model with an alias is dropped",
            {"models/mart_notes.sql": (", note", "")},
            {"mart_notes.note dropped": []},
        ),
        (
            "a column is renamed",
            {"models/stg_customers.sql": (", region from", ", region as area from")},
            {"stg_customers.region renamed to area": _OF_REGION},
        ),
        (
            "a column is cast",
            {"models/stg_orders.sql": ("    amount,", "    cast(amount as double) as amount,")},
            {"stg_orders.amount changed to double": _OF_AMOUNT},
        ),
        (
            "a comment and white space",
            {"models/stg_orders.sql": ("with source", "-- hi\n\nwith   source")},
            {},
        ),
        (
            "a column is added",
            {"models/stg_orders.sql": ("    amount,", "    amount, 1 as one,")},
            {"stg_orders.one added": []},
        ),
        (
            "a model is deleted",
            {"models/int_orders.sql": None},
            {"int_orders dropped": _OF_ORDERS},
        ),
        (
            "a model is renamed",
            {
                "models/stg_customers.sql": None,
                "models/stg_cust.sql": _SHOP["models/stg_customers.sql"],
                "models/int_orders.sql": ("stg_customers", "stg_cust"),
            },
            {"stg_customers renamed to stg_cust": ["board", "int_orders", *_OF_ORDERS[1:]]},
        ),
        (
            "an expression",
            {"models/stg_orders.sql": ("    amount,", "    amount * 2 as amount,")},
            {"stg_orders.amount: expression changed": _OF_AMOUNT},
        ),
        (
            "a filter",
            {"models/int_orders.sql": ("<> 'x'", "= 'y'")},
            {"int_orders: filter changed": _OF_ORDERS},
        ),
        (
            "a join",
            {"models/int_orders.sql": ("left join", "join")},
            {"int_orders: join changed": _OF_ORDERS},
        ),
        (
            "the same in another form",
            {
                "models/stg_orders.sql": (
                    _SHOP["models/stg_orders.sql"],
                    "with a as (select * from {{ source('raw', 'orders') }}), b as (select id as "
                    "order_id, cust_id as customer_id, amount, status, created_at, note from a) "
                    "select * from b",
                )
            },
            {},
        ),
        (
            "a column of a loop",
            {"models/mart_pivot.sql": ("['new','paid']", "['new']")},
            {"mart_pivot.paid_amount dropped": []},
        ),
        (
            "a macro that a macro calls",
            {"macros/s.sql": ("100", "1000")},
            {"mart_daily.total: expression changed": ["board"]},
        ),
        (
            "an alias",
            {
                "models/int_orders.sql": (
                    "select o.order_id",
                    "{{ config(alias='orders_wide') }}\nselect o.order_id",
                )
            },
            {"int_orders renamed to orders_wide": _OF_ORDERS},
        ),
        (
            "a description",
            {"models/d.yml": "version: 2\nmodels: [{name: mart_all, description: x}]\n"},
            {},
        ),
        (
            "all columns of a source",
            {
                "models/stg_customers.sql": (
                    "id as customer_id, name, region",
                    "*, id as customer_id",
                )
            },
            {"stg_customers.id added": []},
        ),
        (
            "a schema",
            {
                "models/int_orders.sql": (
                    "select o.order_id",
                    "{{ config(schema='fin') }}\nselect o.order_id",
                )
            },
            {"int_orders moved from the default schema to fin": _OF_ORDERS},
        ),
        (
            "a model is disabled",
            {
                "models/int_orders.sql": (
                    "select o.order_id",
                    "{{ config(enabled=false) }}\nselect o.order_id",
                )
            },
            {"int_orders dropped": _OF_ORDERS},
        ),
        (
            "a source is renamed",
            {
                "models/src.yml": ("name: customers", "name: clients"),
                "models/stg_customers.sql": ("'customers'", "'clients'"),
            },
            {
                "raw.customers renamed to clients": [
                    *("board", "int_orders", "mart_daily", "mart_pivot", "stg_customers")
                ]
            },
        ),
        ("upper case", {"models/mart_notes.sql": ("select", "SELECT")}, {}),
        (
            "a schema of a folder",
            {"dbt_project.yml": "name: shop\nmodels:\n  shop: {mart_notes: {+schema: x}}\n"},
            {"mart_notes moved from the default schema to x": []},
        ),
        (
            "settings in a properties file",
            {
                "models/d.yml": (
                    "models:\n  - {name: mart_all, config: {enabled: false}}\n"
                    "  - {name: mart_notes, config: {alias: never, schema: x}}\n"
                )
            },
            {"mart_all dropped": [], "mart_notes moved from the default schema to x": []},
        ),
        (
            "a table of a source is gone",
            {"models/src.yml": (", {name: customers}", "")},
            {
                "raw.customers dropped": [
                    *("board", "int_orders", "mart_daily", "mart_pivot", "stg_customers")
                ]
            },
        ),
    ],
)
def test_each_change_of_a_dbt_project_is_told_and_no_other(
    shop_catalog: tuple[Repository, str],
    label: str,
    edits: dict[str, Any],
    expected: dict[str, list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repository, address = shop_catalog
    repository.git("checkout", "--quiet", "-B", "change", "main")
    files: dict[str, str | None] = {}
    for file, edit in edits.items():
        if isinstance(edit, tuple):
            text = (repository.root / file).read_text()
            assert edit[0] in text, label
            files[file] = text.replace(*edit)
        else:
            files[file] = edit
    repository.commit(files)
    monkeypatch.chdir(repository.root)
    with Catalog(address) as catalog:
        view = read_schema_changes(catalog, "main..change", None, filter=Filter(), with_usage=False)
    told = {
        change_text(impact.change): sorted(affected.name for affected in impact.affected)
        for impact in view.impacts
    }
    assert (told, view.notes) == (expected, ())
    is_breaking = any(below and ": " not in text for text, below in expected.items())
    assert view.may_break is is_breaking


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
