"""Entities that are given by their names instead of their URNs."""

import json

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


def test_a_name_that_nothing_has_does_not_stop_the_others(mill: Run) -> None:
    ran = mill("tag", "mill.flour", "nosuch", "mill.grain", "--json")
    assert ran.code == 1
    assert "nothing here is named 'nosuch'" in ran.err
    assert [one["urn"] for one in json.loads(ran.out)] == [FLOUR, FLOUR.replace("flour", "grain")]


def test_names_select_datasets_and_get_a_domain(mill: Run) -> None:
    for words in (
        ("coverage", "--json"),
        ("worklist", "--json"),
        ("docs", "export", "--format", "json"),
        ("domain", "--json"),
    ):
        by_urn, by_name = mill(*words, FLOUR), mill(*words, "mill.flour")
        assert (by_urn.code, by_name.out) == (0, by_urn.out), words
    made = mill("new", "domain", "Milling", "--id", "milling")
    assert made.code == 0, made.err
    assert mill("domain", "mill.flour", "milling").code == 0
    assert "milling" in mill("domain", FLOUR, "--json").out


def test_nothing_is_deleted_by_name(mill: Run) -> None:
    ran = mill("delete", "mill.flour", "--yes")
    assert ran.code != 0
    assert mill("get", FLOUR).code == 0
