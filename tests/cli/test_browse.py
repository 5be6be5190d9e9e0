"""Walking the folders of a catalog, as a table, as a tree and for programs."""

import csv
import io

from tests.cli.conftest import Run

FLOUR = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.flour,PROD)"
GRAIN = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.grain,PROD)"
SACKS = "urn:li:chart:(metabase,mill.1)"


def test_the_top_has_the_folders_of_every_type_with_their_counts(mill: Run) -> None:
    ran = mill("browse")
    assert ran.code == 0
    rows = [line.split() for line in ran.out.splitlines()]
    assert rows[0] == ["name", "type", "entities"]
    assert ["mill/", "dataset", "2"] in rows
    assert ["mill/", "chart", "1"] in rows
    assert "shown" in ran.err


def test_folders_come_before_entities_with_kind_and_description(mill: Run) -> None:
    above = mill("browse", "/mill")
    assert [line.split()[0] for line in above.out.splitlines()[1:]] == ["duckdb/", "boards/"]
    ran = mill("browse", "mill/duckdb/")
    assert [line.split()[:2] for line in ran.out.splitlines()] == [
        ["name", "type"],
        ["flour", "dataset"],
        ["grain", "dataset"],
    ]
    assert "One row a sack." in ran.out
    assert "As it left" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "2 shown; 2 entities in and below /mill/duckdb" in ran.err


def test_only_so_many_are_shown_when_so_many_are_asked_for(mill: Run) -> None:
    ran = mill("browse", "/mill/duckdb", "--urns", "--count", "1")
    assert ran.out.splitlines() == [FLOUR]
    assert "1 of 2 shown; --all shows all" in ran.err
    assert mill("browse", "/mill/duckdb", "--urns", "--all").out.splitlines() == [FLOUR, GRAIN]


def test_programs_read_json_and_csv(mill: Run) -> None:
    found = mill("browse", "/mill", "--json").json
    assert (found["path"], found["total"], found["shown"]) == ("/mill", 2, 2)
    assert found["folders"][1] == {
        "path": "/mill/boards",
        "name": "boards",
        "type": "chart",
        "entities": 1,
    }
    boards = mill("browse", "/mill/boards/sacks", "--entity", "chart", "--json").json
    (chart,) = boards["entities"]
    assert (chart["urn"], chart["name"], chart["platform"]) == (SACKS, "Sacks a day", "metabase")
    rows = list(csv.DictReader(io.StringIO(mill("browse", "/mill/duckdb", "--csv").out)))
    assert [row["urn"] for row in rows] == [FLOUR, GRAIN]
    assert rows[0]["description"] == "One row a sack."


def test_a_tree_is_drawn_as_deep_as_asked_for(mill: Run) -> None:
    lines = mill("browse", "/mill", "--tree", "1").out.splitlines()
    assert lines == ["duckdb/  2 · dataset", "boards/  1 · chart"]
    deeper = mill("browse", "/mill", "--tree", "2", "--entity", "chart")
    assert deeper.out.splitlines() == ["boards/  1", "└── sacks/  1"]
    assert "2 folders" in deeper.err
    (boards,) = mill("browse", "/mill", "--tree", "2", "--entity", "chart", "--json").json
    assert [one["path"] for one in boards["folders"]] == ["/mill/boards/sacks"]


def test_a_folder_that_is_not_there_is_said(mill: Run) -> None:
    ran = mill("browse", "/mill/wind")
    assert (ran.code, ran.out) == (1, "")
    assert "there is no folder /mill/wind" in ran.err


def test_options_that_exclude_each_other_are_refused(mill: Run) -> None:
    for words in (
        ("--json", "--csv"),
        ("--count", "2", "--all"),
        ("--tree", "2", "--urns"),
        ("--tree", "0"),
    ):
        ran = mill("browse", *words)
        assert (ran.code, ran.out) == (2, ""), words
