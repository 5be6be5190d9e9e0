"""A command of the reader's drafts descriptions into a changeset, and nothing else is written."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.client import Catalog
from explorer.metadata import Proposal, Urn
from explorer.stewardship import StagedChangeset
from tests.cli.conftest import Run, environment
from tests.conftest import schema_metadata, serving_catalog

URN = str(Urn.dataset("hive", "drafted"))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a service with one table answers, none of whose columns is described but `key`."""
    columns = {"key": "The key.", "a": None, "b": None}
    with serving_catalog(tmp_path_factory.mktemp("catalog")) as found:
        with Catalog(found) as client:
            schema = schema_metadata(columns, "int", "Number")
            client.ingest_batch([Proposal(Urn.parse(URN), "schemaMetadata", schema)])
        yield found


@pytest.fixture
def drafts(tmp_path: Path) -> str:
    """A command that has a text for everything but the column b."""
    path = tmp_path / "drafts"
    path.write_text(
        "#!/usr/bin/env python3\n"
        "import json, sys\n"
        'asked = json.load(sys.stdin)["column"]\n'
        'name = asked["name"] if asked else "table"\n'
        'sys.exit("no idea") if name == "b" else print("About", name)\n'
    )
    path.chmod(0o755)
    return str(path)


def test_drafts_are_proposed_in_a_file_and_failures_are_told(
    catalog: Run, address: str, drafts: str, tmp_path: Path
) -> None:
    path = tmp_path / "one.changes.jsonl"
    arguments = ("docs", "draft", URN, "--with", drafts, "--propose", str(path))
    ran = catalog(*arguments, url=address)
    assert ran.code == 1
    assert "no draft for drafted.b: the command failed with exit code 1: no idea" in ran.err
    assert "2 of 3 drafted" in ran.err
    assert f"catalog docs review {path}" in ran.err
    edits = [item.edit for item in StagedChangeset.open(path).items]
    assert [(one.column, one.text) for one in edits] == [(None, "About table"), ("a", "About a")]
    assert "already exists" in catalog(*arguments, url=address).err
    with Catalog(address) as client:
        assert client.entity(URN).schema.documented == 1
    ran = catalog("docs", "draft", URN, "--only", "tables", "--with", "echo T.", url=address)
    assert ran.code == 0


def test_drafts_are_told_as_json_and_csv(
    catalog: Run, address: str, drafts: str, tmp_path: Path
) -> None:
    state = str(tmp_path / "state")
    ran = catalog(
        *("docs", "draft", URN, "--json"),
        url=address,
        CATALOG_DRAFTING_COMMAND=drafts,
        CATALOG_STATE_DIR=state,
    )
    told = ran.json
    assert told["counts"] == {"command": 2}
    assert [edit["column"] for edit in told["edits"]] == [None, "a"]
    assert [(one["column"], one["table"]) for one in told["failures"]] == [("b", "drafted")]
    assert told["file"].startswith(state)
    assert told["left"] == 0
    ran = catalog("docs", "draft", URN, "--with", "echo T.", "--csv", "--limit", "1", url=address)
    assert "T." in ran.out
    assert "2 more left out because of --limit" in ran.err


def test_what_the_command_would_be_given_is_shown_and_nothing_is_run(
    catalog: Run, address: str
) -> None:
    ran = catalog("docs", "draft", URN, "--request", "--only", "columns", url=address)
    asked = [json.loads(line) for line in ran.out.splitlines()]
    assert [one["column"]["path"] for one in asked] == ["a", "b"]
    help_text = catalog("docs", "draft", "--help", url=None).out
    for name in (*asked[0], *asked[0]["table"], *asked[0]["column"], *asked[0]["neighbours"][0]):
        assert name in help_text


def test_without_a_command_nothing_is_run_and_it_is_said_how_to_name_one(
    catalog: Run, address: str
) -> None:
    ran = catalog("docs", "draft", URN, url=address)
    assert "catalog profile draft-with COMMAND" in ran.err
    assert ran.code == 3
    ran = catalog("docs", "draft", URN, "--with", "no-such-program", url=address)
    assert (ran.code, "does not exist" in ran.err) == (1, True)
    with Catalog(address) as client:
        client.describe(URN, "Written.")
    ran = catalog("docs", "draft", URN, "--only", "tables", "--with", "true", url=address)
    assert (ran.code, "nothing to draft" in ran.err) == (1, True)
    with Catalog(address) as client:
        client.describe(URN, "")


def test_what_was_drafted_before_an_interrupt_is_in_the_file(
    command: tuple[str, ...], address: str, tmp_path: Path
) -> None:
    path, mark = tmp_path / "one.changes.jsonl", tmp_path / "second"
    drafter = tmp_path / "drafts"
    drafter.write_text(
        f"#!/bin/sh\nif mkdir {mark}.1 2>/dev/null; then echo First.; exit; fi\n"
        f"touch {mark}; sleep 300\n"
    )
    drafter.chmod(0o755)
    words = ("docs", "draft", URN, "--with", str(drafter), "--propose", str(path), "--at-once", "1")
    with subprocess.Popen(
        (*command, *words, "--url", address), env=environment(), stderr=subprocess.PIPE
    ) as process:
        deadline = time.monotonic() + 120
        while not mark.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"1 drafted before the interrupt" in told
    assert [item.edit.text for item in StagedChangeset.open(path).items] == ["First."]


def test_a_command_is_kept_for_all_servers_or_for_one(catalog: Run, tmp_path: Path) -> None:
    def profile(*words: str) -> tuple[int, str, str]:
        ran = catalog(
            *("profile", *words), url=None, CATALOG_CONFIG_DIR=str(tmp_path), CATALOG_DATA_DIR=""
        )
        return ran.code, ran.out.strip(), ran.err

    assert "no drafting command is set" in profile("draft-with")[2]
    assert profile("draft-with", "echo 'All of it'", "--timeout", "5")[0] == 0
    assert profile("draft-with")[1] == "echo 'All of it'"
    assert "5 s" in profile("draft-with")[2]
    url = "https://catalog.example.com"
    assert profile("add", "prod", "--url", url, "--drafting-command", "")[0] == 0
    assert "no drafting command" in profile("draft-with", "--for", "prod")[2]
    assert profile("draft-with", "--for", "prod", "echo Own")[0] == 0
    assert profile("draft-with", "--for", "prod")[1] == "echo Own"
    # What else is kept stays.
    assert profile("use", "prod")[0] == 0
    assert profile("draft-with")[1] == "echo Own"
    _, out, err = profile("list")
    assert "drafting command: echo Own" in " ".join(out.split())
    assert "echo 'All of it'" in err
    assert profile("draft-with", "--none")[0] == 0
    assert profile("remove", "prod", "--yes")[0] == 0
    assert "no drafting command is set" in profile("draft-with")[2]
    assert profile("draft-with", "'open")[0] == 1
    assert profile("draft-with", "x", "--none")[0] == 2
    assert profile("draft-with", "x", "--for", "embedded")[0] == 1
