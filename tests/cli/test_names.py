"""Entities that are given by their names instead of their URNs."""

from tests.cli.conftest import Run

FLOUR = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.flour,PROD)"


def test_a_name_that_only_one_entity_has_stands_for_its_urn(mill: Run) -> None:
    for words in (("get",), ("schema", "--json"), ("lineage", "--down")):
        command, *more = words
        by_urn = mill(command, FLOUR, *more)
        assert by_urn.code == 0
        for name in ("mill.flour", "MILL.Flour"):
            assert mill(command, name, *more).out == by_urn.out
    assert mill("tag", "mill.flour", "mill.grain").code == 0


def test_a_name_that_nothing_has_is_told_with_what_is_like_it(mill: Run) -> None:
    ran = mill("get", "mill")
    assert ran.code == 1
    assert "nothing here is named 'mill'" in ran.err
    assert "flour" in ran.err
    assert ran.out == ""


def test_nothing_is_deleted_by_name(mill: Run) -> None:
    ran = mill("delete", "mill.flour", "--yes")
    assert ran.code != 0
    assert mill("get", FLOUR).code == 0
