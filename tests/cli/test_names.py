"""Entities that are given by their names instead of their URNs."""

import json

from tests.cli.conftest import Run

FLOUR = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.flour,PROD)"


def test_a_name_that_only_one_entity_has_stands_for_its_urn(mill: Run) -> None:
    for words in (("get",), ("schema", "--json"), ("lineage", "--down")):
        command, *more = words
        by_urn = mill(command, FLOUR, *more)
        assert by_urn.code == 0
        for name in ("mill.flour", "MILL.Flour", " mill.flour "):
            assert mill(command, name, *more).out == by_urn.out
    assert mill("tag", "mill.flour", "mill.grain").code == 0


def test_a_name_or_urn_on_standard_input_stands_for_the_entity(mill: Run) -> None:
    for command in ("get", "schema", "lineage", "impact", "relationships"):
        by_urn = mill(command, FLOUR)
        assert by_urn.code == 0
        for given in (FLOUR, "mill.flour"):
            piped = mill(command, "-", stdin=f"{given}\n".encode())
            assert (piped.out, piped.code) == (by_urn.out, 0), (command, given)
    several = mill("impact", "-", stdin=f"{FLOUR}\n{FLOUR}2\n".encode())
    assert "2 URNs on standard input; give exactly one" in several.err
    empty = mill("get", "")
    assert (empty.code, empty.err) == (1, "error: give a name or a URN\n")


def test_a_name_is_given_as_it_is_not_as_it_is_encoded_in_the_urn(mill: Run) -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.sacks%2Cnew %28kg%29,PROD)"
    name = {"name": "sacks,new (kg)", "qualifiedName": "mill.sacks,new (kg)"}
    aspect = {"value": json.dumps(name)}
    change = {"entityUrn": urn, "aspectName": "datasetProperties", "aspect": aspect}
    assert mill("load", "-", stdin=json.dumps(change).encode()).code == 0
    for given in ("mill.sacks,new (kg)", "mill.sacks%2Cnew %28kg%29", "sacks,new (kg)"):
        ran = mill("get", given, "--json")
        assert ran.code == 0, ran
        assert ran.json["urn"] == urn
    assert mill("delete", urn, "--hard", "--yes").code == 0


def test_a_table_is_found_by_the_end_of_its_full_name(mill: Run) -> None:
    urns = [
        f"urn:li:dataset:(urn:li:dataPlatform:duckdb,{name},PROD)"
        for name in ("works.attic.chaff", "works.cellar.chaff")
    ]
    for urn in urns:
        aspect = {"value": json.dumps({"name": "chaff"})}
        change = {"entityUrn": urn, "aspectName": "datasetProperties", "aspect": aspect}
        assert mill("load", "-", stdin=json.dumps(change).encode()).code == 0
    for given in ("cellar.chaff", "Cellar.CHAFF", "works.cellar.chaff"):
        ran = mill("get", given, "--json")
        assert (ran.code, ran.code or ran.json["urn"]) == (0, urns[1]), ran.err
    assert all(urn in mill("get", "chaff").err for urn in urns)
    assert "nothing here is named 'llar.chaff'" in mill("get", "llar.chaff").err
    for urn in urns:
        assert mill("delete", urn, "--hard", "--yes").code == 0


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


def test_the_type_of_an_entity_is_told_in_words(mill: Run) -> None:
    assert mill("new", "term", "Bread").code == 0
    assert mill("get", "Bread").out.splitlines()[:2] == ["Bread", "glossary term"]


def test_nothing_is_deleted_by_name(mill: Run) -> None:
    ran = mill("delete", "mill.flour", "--yes")
    assert ran.code != 0
    assert mill("get", FLOUR).code == 0


def test_a_urn_in_another_case_is_told_with_the_one_there_is(mill: Run) -> None:
    for command in ("lineage", "impact", "relationships", "get"):
        ran = mill(command, FLOUR.replace("mill.flour", "mill.FLOUR"))
        assert (ran.code, f"did you mean {FLOUR}?" in ran.err) == (1, True), ran
