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
        ("cat.search(None)", "InvalidInput: search takes a text, not None; '*' or '' finds"),
        ("cat.entity('urn:nonsense')", "InvalidUrn: "),
        ("cat['fct_orders'].schema['nope']", "UnknownName: "),
        ("cat['fct_orders'].usage(days=-1)", "InvalidInput: 'days' must be at least 1"),
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
