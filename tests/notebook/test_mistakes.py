"""What a cell prints when what was asked for cannot be had."""

from typing import Any, cast

import pytest
from IPython.core.interactiveshell import InteractiveShell

from explorer import AsyncCatalog, Catalog
from explorer.errors import InvalidInput


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("cat['no such table']", "NotFound: nothing here is named 'no such table'"),
        ("cat.dataset('urn:li:tag:x')", "InvalidInput: urn:li:tag:x is a tag"),
        ("cat.search('', sort='nonsense')", "FilterSyntax: "),
        ("cat.search('', filter='nonsense:1')", "FilterSyntax: unknown field “nonsense”"),
        (
            "cat.search('orders', entity='table')",
            "InvalidInput: 'table' is a subtype of entities, not a type; filter by type:table",
        ),
        ("cat.search(None)", "InvalidInput: search takes a text, not None; '*' or '' finds"),
        ("cat.entity('urn:nonsense')", "InvalidUrn: "),
        ("cat['fct_orders'].schema['nope']", "UnknownName: "),
        ("cat['fct_orders'].usage(days=-1)", "InvalidInput: 'days' must be at least 1"),
        ("cat['fct_orders'].profile('status')", "InvalidInput: 'days' must be a number, or None"),
        ("cat['fct_orders'].usage(days=10**12)", "InvalidInput: 'days' must be at most 36,500, or"),
        ("cat['urn:li:tag:PII'].usage()", "InvalidInput: there are no usage statistics of a tag"),
        (
            "cat['urn:li:dashboard:(looker,dashboards.1)'].usage()",
            "InvalidInput: only datasets have this chart; cat.usage(urn) reads that of a dashboard",
        ),
        (
            "cat['urn:li:tag:PII'].profile()",
            "InvalidInput: only datasets have profiles; 'PII' is a",
        ),
        ("cat.search('orders')[0:2]", "InvalidInput: give an index, a name or a URN, not slice(0"),
        ("cat.search('orders')[None]", "InvalidInput: give an index, a name or a URN, not None"),
        ("cat.entity('no such table')", "NotFound: nothing here is named 'no such table'"),
        ("cat.dataset('no such table')", "NotFound: nothing here is named 'no such table'"),
        ("cat.describe('no such table', 'x')", "NotFound: nothing here is named 'no such table'"),
        ("cat.summaries(['no such table'])", "NotFound: nothing here is named 'no such table'"),
        ("cat.explore(urn='no such table')", "NotFound: nothing here is named 'no such table'"),
        (
            "cat['fct_orders'].describe('status', 'Where the order stands.')",
            "InvalidInput: 'status' is a column; the text comes first: describe(TEXT, COLUMN)",
        ),
        ("cat[3]", "InvalidInput: give a name or a URN, not 3"),
        ("cat['fct_orders'].schema[0]", "InvalidInput: give the path of a column, not 0"),
        ("cat['fct_orders'].lineage('upstream')", "InvalidInput: 'hops' must be a number, not 'up"),
        (
            "cat['fct_orders'].diff('editableSchemaMetadata', 1, 0)",
            "InvalidInput: give a version by its number, not 'editableSchemaMetadata': diff(1, 0, ",
        ),
        (
            "cat.search('orders', filter={'platform': 'snowflake'})",
            "InvalidInput: a filter is a text such as 'platform:snowflake', or a Filter, not {'pl",
        ),
        (
            "cat.stewardship.worklist('orders')",
            "InvalidUrn: 'orders' is not a URN; text='orders' searches for datasets",
        ),
        ("cat.stewardship.worklist(5)", "InvalidInput: give URNs of datasets, not 5"),
        ("cat.stewardship.concept(5)", "InvalidInput: give the name of a column"),
        ("cat.stewardship.review(5)", "InvalidInput: give a changeset, its file or its URN, not 5"),
        ("cat.entity(None)", "InvalidUrn: a URN is a text such as 'urn:li:tag:PII', not None"),
        ("cat.dataset(['x'])", "InvalidUrn: a URN is a text such as 'urn:li:tag:PII', not ['x']"),
        ("cat.search('orders', entity=5)", "InvalidInput: entity types are given by their names"),
        ("cat.search('orders', sort=5)", "InvalidInput: a sort order is a text such as '-created"),
        ("cat.new('tag', 5)", "InvalidInput: a tag needs a name; give a text that is not empty"),
        ("cat['fct_orders'].describe(None)", "InvalidInput: a description is a text, not None; ''"),
        ("cat['fct_orders'].describe('x', 5)", "InvalidInput: give the path of a column, not 5"),
        ("cat['fct_orders'].add_tags(5)", "InvalidInput: give names or URNs, not 5"),
        ("cat['fct_orders'].add_tags('PII', 5)", "InvalidInput: give the path of a column, not 5"),
        ("cat['fct_orders'].impact(5)", "InvalidInput: give the path of a column, not 5"),
        ("cat['fct_orders'].history(20)", "InvalidInput: give the name of an aspect, not 20"),
    ],
)
def test_a_mistake_in_a_cell_is_told_in_one_line(
    cat: Catalog, capsys: pytest.CaptureFixture[str], cell: str, said: str
) -> None:
    shell = InteractiveShell()
    shell.user_ns["cat"] = cat
    capsys.readouterr()
    assert not shell.run_cell(cell).success
    shown = capsys.readouterr().out.strip()
    assert shown.startswith(said)
    assert "\n" not in shown
    # On request there is all of it.
    shell.run_line_magic("tb", "")
    assert "Traceback (most recent call last)" in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["on", "", True, None])
def test_an_offline_mode_that_is_none_is_refused_with_those_that_are(
    mode: bool | str | None,
) -> None:
    for kind in (Catalog, AsyncCatalog):
        with pytest.raises(InvalidInput, match="'off', 'keep', 'fallback', 'only', not "):
            kind("http://127.0.0.1:9", offline=cast(Any, mode))
