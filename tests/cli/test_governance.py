"""Tags, terms, groups, domains and products: made, renamed, moved; the glossary as a file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def aspect(catalog: Run) -> Any:
    def read(urn: Any, name: Any) -> Any:
        return catalog("get", urn, "--aspect", name, "--json").json["aspects"][name]["value"]

    return read


@pytest.fixture(autouse=True)
def _own_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))


def test_a_term_is_made_renamed_moved_and_all_is_taken_back(catalog: Run) -> None:
    made = catalog("new", "group", "CliFinance")
    assert (made.code, made.out) == (0, "urn:li:glossaryNode:CliFinance\n")
    assert catalog("new", "group", "CliSales").code == 0
    words = ("new", "term", "Net revenue", "--in", "CliFinance", "--description", "After.")
    made = catalog(*words)
    urn = made.out.strip()
    assert urn == "urn:li:glossaryTerm:CliFinance.Net-revenue"
    again = catalog(*words)
    assert (again.code, again.out) != (0, made.out)
    assert "already exists; give another id" in again.err

    planned = catalog("rename", urn, "Revenue", "--dry-run", "--json").json
    assert planned["dry_run"]
    assert [planned["edits"][0][key] for key in ("what", "before", "after")] == [
        "name",
        "Net revenue",
        "Revenue",
    ]
    renamed = catalog("rename", urn, "Revenue", "--json").json
    assert renamed["edits"][0]["before"] == "Net revenue"
    assert "CliFinance → CliSales" in catalog("move", urn, "CliSales", "--dry-run").err
    moved = catalog("move", urn, "CliSales", "--json").json
    assert moved["edits"][0]["after"] == "urn:li:glossaryNode:CliSales"
    assert "→ the top" in catalog("move", urn, "--top").err
    assert "the top → CliSales" in catalog("undo", "--yes").err
    assert "→ CliFinance" in catalog("undo", "--yes").err
    assert "“Revenue” → “Net revenue”" in catalog("undo", "--yes").err
    assert catalog("undo", "--yes").code == 0
    assert catalog("get", urn).code != 0
    for kind in ("CliSales", "CliFinance"):
        assert catalog("delete", f"urn:li:glossaryNode:{kind}", "--hard", "--yes").code == 0


def test_a_second_of_the_same_name_is_created_only_with_an_id(catalog: Run) -> None:
    made = catalog("new", "domain", "CliWeb", "--id", "cli-web-1")
    assert made.code == 0
    again = catalog("new", "domain", "cliweb")
    assert (again.code, again.out) == (1, "")
    assert "a domain is named 'cliweb' already: urn:li:domain:cli-web-1; give an id" in again.err
    assert catalog("new", "domain", "CliWeb", "--id", "cli-web-2").code == 0
    # Glossary terms of different groups share names.
    assert catalog("new", "group", "CliOne").code == 0
    for group in ((), ("--in", "CliOne")):
        assert catalog("new", "term", "CliTerm", *group).code == 0
    urns = ("domain:cli-web-1", "domain:cli-web-2", "glossaryTerm:CliTerm")
    further = ("glossaryTerm:CliOne.CliTerm", "glossaryNode:CliOne")
    for urn in (*urns, *further):
        assert catalog("delete", f"urn:li:{urn}", "--hard", "--yes").code == 0


def test_what_cannot_be_moved_says_why(catalog: Run) -> None:
    assert "give the new parent" in catalog("move", "urn:li:domain:x").err
    assert "has no parent" in catalog("move", "urn:li:tag:x", "--top").err
    assert "cannot be edited" in catalog("rename", "urn:li:corpuser:x", "y").err


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_what_is_refused_is_refused_by_a_dry_run_too(catalog: Run, more: tuple[str, ...]) -> None:
    above, below = (f"CliDry{len(more)}{name}" for name in ("Above", "Below"))
    group = catalog("new", "group", above).out.strip()
    inside = catalog("new", "group", below, "--in", group).out.strip()
    ran = catalog("move", group, inside, *more)
    assert (ran.code, "below" in ran.err) == (1, True), ran
    for urn in (inside, group):
        assert catalog("delete", urn, "--hard", "--yes").code == 0


def test_a_parent_that_is_not_there_is_told_with_similar_ones(catalog: Run) -> None:
    assert catalog("new", "group", "Cli group", "--id", "cli-group").code == 0
    term = catalog("new", "term", "CliMoved").out.strip()
    said = "the glossary group Cli grup does not exist; did you mean cli-group (Cli group)?"
    for words in (
        ("move", term, "Cli grup"),
        ("move", term, "Cli grup", "--dry-run"),
        ("new", "term", "CliNew", "--in", "Cli grup"),
    ):
        ran = catalog(*words)
        assert (ran.code, said in ran.err) == (1, True), ran
    ran = catalog("new", "product", "CliProduct", "--in", "cliqqq")
    assert "“catalog new domain cliqqq” creates it" in ran.err
    for urn in (term, "urn:li:glossaryNode:cli-group"):
        assert catalog("delete", urn, "--hard", "--yes").code == 0


def test_a_parent_is_given_by_its_name(catalog: Run) -> None:
    group = catalog("new", "group", "Named group", "--id", "named-group").out.strip()
    term = catalog("new", "term", "NamedMoved").out.strip()
    planned = catalog("move", term, "named group", "--dry-run", "--json").json
    assert [edit["after"] for edit in planned["edits"]] == [group]
    assert catalog("move", term, "Named group").code == 0
    inside = catalog("new", "term", "NamedNew", "--in", "Named group").out.strip()
    parents = [
        catalog("get", urn, "--json").json["aspects"]["glossaryTermInfo"]["value"]["parentNode"]
        for urn in (term, inside)
    ]
    assert parents == [group, group]
    for urn in (term, inside, group):
        assert catalog("delete", urn, "--hard", "--yes").code == 0


def test_the_glossary_goes_out_is_compared_and_comes_back(catalog: Run, tmp_path: Path) -> None:
    file = tmp_path / "glossary.yml"
    file.write_text("nodes: [{name: CliFile, description: d, terms: [{name: A}, {name: B}]}]")
    rows = catalog("glossary", "diff", str(file), "--json").json
    assert [(one["name"], one["what"]) for one in rows] == [
        ("CliFile", "new"),
        ("A", "new"),
        ("B", "new"),
    ]
    tried = catalog("glossary", "import", str(file), "--dry-run")
    assert "nothing was written" in tried.err
    assert len(catalog("glossary", "diff", str(file), "--json").json) == 3
    done = catalog("glossary", "import", str(file))
    assert "3 edits made" in done.err
    out = tmp_path / "out.yml"
    assert "2 terms, 1 group" in catalog("glossary", "export", "-o", str(out)).err
    assert "--overwrite" in catalog("glossary", "export", "-o", str(out)).err
    same = catalog("glossary", "diff", "-", "--retire-missing", stdin=out.read_bytes())
    assert "the catalog has all of it already" in same.err
    out.write_text(out.read_text().replace("name: A", "name: Alpha"))
    outcome = json.loads(catalog("glossary", "import", str(out), "--json").out)
    assert [(one["what"], one["before"], one["after"]) for one in outcome["changes"]] == [
        ("name", "A", "Alpha")
    ]
    assert catalog("undo", "--yes").code == catalog("undo", "--yes").code == 0
    assert catalog("glossary", "export").out.count("name:") == 0
    nowhere = b"terms:\n  - name: CliNowhere\n    domain: No Such Domain"
    for words in (("diff", "-"), ("import", "-", "--dry-run")):
        ran = catalog("glossary", *words, stdin=nowhere)
        assert "line 3: no domain is named 'No Such Domain'" in ran.err
    assert ran.code == 1
    bad = catalog("glossary", "import", "-", stdin=b"terms: [{nam: x}]")
    assert bad.code != 0
    assert "has no name" in bad.err
