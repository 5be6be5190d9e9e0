"""Descriptions go out as files and come in again: nothing is lost, nothing is overwritten."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.errors import Unreachable
from explorer.metadata import Proposal, Urn
from explorer.stewardship import Stewardship, read_rows
from explorer.views.documentation import FileOutcome
from tests.cli.conftest import Run
from tests.conftest import schema_metadata, serving_catalog

ORDERS = str(Urn.dataset("hive", "shop.orders"))
STOCK = str(Urn.dataset("hive", "shop.stock"))
FORMATS = ("csv", "json", "md", "xlsx")


def schema(*paths: str) -> Any:
    texts = {path: f"{path} of the source" for path in paths}
    return schema_metadata(texts, "int", "Number")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Where a service with two tables answers."""
    with serving_catalog(tmp_path_factory.mktemp("catalog")) as found:
        with Catalog(found) as client:
            client.ingest_batch(
                [
                    Proposal(Urn.parse(ORDERS), "schemaMetadata", schema("id", "total", "=odd")),
                    Proposal(Urn.parse(STOCK), "schemaMetadata", schema("sku")),
                ]
            )
        yield found


@pytest.fixture
def site(address: Any) -> Any:
    """The same, where people have described two columns of the orders and nothing else."""
    texts = {"total": "=1+1, said\r\nso", "id": "The key.", "=odd": ""}
    infos = [{"fieldPath": path, "description": text} for path, text in texts.items()]
    with Catalog(address) as client:
        client.put(ORDERS, "editableSchemaMetadata", {"editableSchemaFieldInfo": infos})
    return address


@pytest.fixture
def docs(catalog: Run, site: Any, tmp_path: Path) -> Any:
    """Runs `catalog docs` against that service, with a journal of its own."""

    def run(*arguments: Any, stdin: bytes = b"") -> Any:
        return catalog(
            "docs", *arguments, url=site, stdin=stdin, CATALOG_STATE_DIR=str(tmp_path / "state")
        )

    return run


@pytest.fixture
def held(site: Any) -> Any:
    """What people wrote of a column of the orders, as the service has it now."""

    def read(column: Any) -> Any:
        with Catalog(site) as client:
            found = client.entity(ORDERS).schema.column(column)
            assert found is not None
            return found.edited

    return read


def edited(path: Any, **texts: Any) -> Any:
    """An exported CSV file with other texts for these columns."""
    lines = list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))
    for row in lines:
        row["edited"] = texts.get(row["column"], row["edited"])
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    return str(path)


@pytest.fixture
def exported(docs: Any, tmp_path: Path) -> Any:
    path = tmp_path / "orders.csv"
    assert docs("export", ORDERS, "--output", str(path)).code == 0
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_exported_is_imported_without_a_change(
    docs: Any, tmp_path: Path, form: Any
) -> None:
    path = str(tmp_path / f"all.{form}")
    ran = docs("export", "-o", path)
    assert ran.code == 0, ran
    assert "2 tables, 4 columns" in ran.err
    assert docs("diff", path, "--json").json["counts"] == {"unchanged": 6}
    ran = docs("import", path)
    assert ran.code == 0
    assert "nothing to write" in ran.err


def test_the_exact_texts_are_in_the_file(docs: Any) -> None:
    ran = docs("export", ORDERS, "--format", "json")
    rows = {row["column"]: row for row in ran.json["rows"]}
    assert list(rows) == ["", "id", "total", "=odd"]
    assert rows["total"]["edited"] == "=1+1, said\r\nso"
    assert rows["total"]["ingested"] == "total of the source"
    assert rows["=odd"]["edited"] == ""


def test_urns_come_from_standard_input_too(docs: Any) -> None:
    ran = docs("export", "-", "--format", "json", stdin=f"{STOCK}\n{STOCK}\n".encode())
    assert [row["column"] for row in ran.json["rows"]] == ["", "sku"]


def test_a_file_that_is_there_is_kept_unless_it_may_be_replaced(docs: Any, exported: Any) -> None:
    before = exported.read_bytes()
    refused = docs("export", STOCK, "-o", str(exported))
    assert refused.code == 1
    assert "--overwrite" in refused.err
    assert exported.read_bytes() == before
    assert docs("export", STOCK, "-o", str(exported), "--overwrite").code == 0
    assert exported.read_bytes() != before


def test_a_changed_file_is_shown_and_written_and_then_holds_nothing_new(
    docs: Any, exported: Any, held: Any
) -> None:
    path = edited(exported, id="The number.", **{"'=odd": "Odd."})
    shown = docs("diff", path)
    assert shown.code == 0
    assert "  -The key." in shown.out
    assert "  +The number." in shown.out
    assert held("id") == "The key."
    assert "1 new, 1 changed, 2 unchanged" in shown.err
    tried = docs("import", path, "--dry-run")
    assert (tried.code, held("id")) == (0, "The key.")
    done = docs("import", path, "--json")
    assert done.code == 0
    assert [(one["column"], one["before"], one["after"]) for one in done.json["applied"]] == [
        ("id", "The key.", "The number."),
        ("=odd", "", "Odd."),
    ]
    assert (held("id"), held("=odd"), held("total")) == ("The number.", "Odd.", "=1+1, said\r\nso")
    assert docs("diff", path, "--json").json["counts"] == {"unchanged": 4}


def test_an_edit_of_an_import_can_be_taken_back(
    docs: Any, exported: Any, held: Any, catalog: Run, site: Any, tmp_path: Path
) -> None:
    docs("import", edited(exported, id="The number."))
    state = str(tmp_path / "state")
    ran = catalog("undo", "--yes", url=site, CATALOG_STATE_DIR=state)
    assert ran.code == 0, ran
    assert held("id") == "The key."


def test_an_empty_cell_keeps_the_text_unless_it_is_said_that_it_clears(
    docs: Any, exported: Any, held: Any
) -> None:
    path = edited(exported, id="")
    kept = docs("import", path)
    assert (kept.code, held("id")) == (0, "The key.")
    assert "1 emptied" in kept.err
    cleared = docs("import", path, "--clear-empty")
    assert (cleared.code, held("id")) == (0, "")


def test_the_sign_for_clearing_needs_no_option(docs: Any, exported: Any, held: Any) -> None:
    assert docs("import", edited(exported, id="!clear")).code == 0
    assert held("id") == ""


def test_a_conflict_is_left_and_reported_and_written_only_by_force(
    docs: Any, exported: Any, held: Any, site: Any, tmp_path: Path
) -> None:
    with Catalog(site) as client:
        client.describe(ORDERS, "theirs", column="id")
    path, report = edited(exported, id="mine", total="Sum."), tmp_path / "left.csv"
    ran = docs("import", path, "--report", str(report))
    assert ran.code == 1
    assert (held("id"), held("total")) == ("theirs", "Sum.")
    assert "conflict" in ran.out
    (left,) = csv.DictReader(io.StringIO(report.read_text(encoding="utf-8-sig")))
    assert (left["column"], left["kind"], left["theirs"], left["edited"]) == (
        "id",
        "conflict",
        "theirs",
        "mine",
    )
    assert docs("diff", str(report), "--json").json["counts"] == {"conflict": 1}
    assert docs("import", path, "--force-conflicts").code == 0
    assert held("id") == "mine"


def test_lines_that_fit_nowhere_stop_nothing_and_fail_the_command(
    docs: Any, exported: Any, held: Any
) -> None:
    text = (
        exported.read_text(encoding="utf-8-sig") + f'"{STOCK}",,gone,,,x,,\r\nrubbish,,,,,y,,\r\n'
    )
    exported.write_text(text, encoding="utf-8", newline="")
    path = edited(exported, id="The number.")
    ran = docs("import", path, "--json")
    assert ran.code == 1
    assert held("id") == "The number."
    assert [change["kind"] for change in ran.json["changes"]] == [
        "changed",
        "unknown column",
        "unknown table",
    ]


def test_the_diff_is_also_a_table_for_programs(docs: Any, exported: Any) -> None:
    ran = docs("diff", edited(exported, id="=new"), "--csv")
    (row,) = csv.DictReader(io.StringIO(ran.out))
    assert (row["kind"], row["theirs"], row["mine"]) == ("changed", "The key.", "'=new")


def test_hostile_text_reaches_no_terminal(docs: Any, exported: Any) -> None:
    ran = docs("diff", edited(exported, id="\x1b]0;owned\x07 [red]x[/]"))
    assert "\x1b" not in ran.out
    assert "[red]x[/]" in ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["export", ORDERS], 2, "--format"),
        (["export", ORDERS, "-o", "x.ods"], 1, ".xlsx"),
        (["export", ORDERS, "--folder", "/", "--format", "csv"], 2, "give only one"),
        (["export", "urn:li:tag:x", "--format", "csv"], 1, "not a dataset"),
        (["export", ORDERS.replace("orders", "none"), "--format", "csv"], 1, "none of these"),
        (["export", "--search", "zzqq", "--format", "csv"], 1, "no dataset matches"),
        (["diff", "-", "--format", "json"], 1, "not valid JSON"),
        (["diff", "nowhere.csv"], 2, "nowhere.csv"),
    ],
)
def test_wrong_use_is_said_in_a_sentence(docs: Any, arguments: Any, code: int, words: str) -> None:
    ran = docs(*arguments)
    assert ran.code == code, ran
    assert words in ran.err


def test_what_the_json_of_a_file_says_is_one_value(docs: Any, exported: Any) -> None:
    told = json.loads(docs("import", str(exported), "--json", "--dry-run").out)
    assert set(told) == {
        "file", "counts", "changes", "dry_run", "applied", "failed", "untried", "stopped",
    }  # fmt: skip


def test_what_was_not_written_before_the_server_went_is_in_the_report(
    exported: Any, site: Any, tmp_path: Path
) -> None:
    """Also that which would have been written; a second import finds it again."""
    path = edited(exported, id="The number.", total="Sum.")
    with Catalog(site) as client:
        steward = Stewardship(client)
        found = steward.changeset(read_rows(Path(path).read_bytes(), "csv"))
        first, second = found.to_apply()
        applied = steward.apply([first])
    gone = replace(applied, untried=(second,), ended_by=Unreachable("gone"))
    outcome = FileOutcome(path, found, gone, (first, second), dry_run=False)
    (left,) = outcome.unapplied
    assert (left.column, left.mine, outcome.fails) == ("total", "Sum.", True)
    assert left.why is not None
    assert "stopped" in left.why
