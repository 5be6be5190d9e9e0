"""Field paths in both forms: shown simply, kept exactly, parents found without cutting names."""

from typing import Any

import pytest

from explorer.metadata import FieldPath

NESTED = "[version=2.0].[key=True].[type=struct].[type=array].[type=struct].lines.[type=string].sku"


@pytest.mark.parametrize(
    ("raw", "names", "version", "key"),
    [
        ("order_id", ("order_id",), 1, False),
        ("address.zip", ("address", "zip"), 1, False),
        ("[version=2.0].[type=boolean].field_bar", ("field_bar",), 2, False),
        (NESTED, ("lines", "sku"), 2, True),
    ],
)
def test_a_path_tells_its_names_and_form(raw: Any, names: Any, version: int, key: bool) -> None:
    path = FieldPath(raw)
    assert (path.names, path.version, path.is_key) == (names, version, key)
    assert str(path) == raw
    assert path.simple == ".".join(names)


def test_a_path_without_names_is_shown_as_it_is() -> None:
    assert FieldPath("[version=2.0].[type=string]").name == "[version=2.0].[type=string]"


def test_ancestors_are_the_cuts_outside_brackets_nearest_first() -> None:
    assert list(FieldPath("a.b.c").ancestors()) == ["a.b", "a"]
    parent = "[version=2.0].[key=True].[type=struct].[type=array].[type=struct].lines"
    cuts = list(FieldPath(NESTED).ancestors())
    assert parent in cuts
    assert not any(cut.count("[") != cut.count("]") for cut in cuts)
