"""Commands joined by a shell, as people join them."""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.conftest import nightly

FLOUR = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.flour,PROD)"

_STORIES = {
    "search": (
        "catalog search --filter platform:duckdb --entity dataset --csv"
        " | grep -o 'mill[.][fg][a-z]*,PROD' | sort",
        ["mill.flour,PROD", "mill.grain,PROD"],
    ),
    "get": (
        "catalog search flour --filter platform:duckdb --urns | head -1 | catalog get - --json"
        """ | tr -d ' \\n' | grep -o '"entityName":"[a-z]*"'""",
        ['"entityName":"dataset"'],
    ),
    "browse": (
        "catalog browse /mill/duckdb --urns | while read -r urn; do"
        ' catalog schema "$urn" --json | grep -c native_type; done',
        ["5", "3"],
    ),
    "schema": (
        "catalog search flour --filter platform:duckdb --urns | head -1"
        " | xargs -I{} catalog schema {} --csv | cut -d, -f1 | tr -d '\\r'",
        ["path", "sack_id", "weight", "origin", "origin.mill", "'=sum"],
    ),
    "usage": (
        f"catalog usage '{FLOUR}' --from 2026-01-01 --to 2026-01-31 --csv | tail -n +2"
        " | awk -F, '{ sum += $2 } END { print sum }'",
        ["12"],
    ),
    "profile-stats": (
        f"catalog profile-stats '{FLOUR}' --column weight --csv | cut -d, -f2 | tr -d '\\r'",
        ["rows", "90", "100"],
    ),
    "history": (
        f"catalog history '{FLOUR}' --aspect schemaMetadata --csv | tail -n +2 | wc -l | tr -d ' '",
        ["2"],
    ),
    "diff": (
        f"catalog diff '{FLOUR}' --aspect schemaMetadata | grep -c '^[-+~] fields'",
        ["3"],
    ),
}


@pytest.fixture
def run(mill: Run, served: str, command: tuple[str, ...], tmp_path: Path) -> Any:
    """Runs a line in a shell that finds `catalog` and the service."""
    program = tmp_path / "catalog"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)

    def in_shell(line: Any) -> Any:
        return subprocess.run(
            ("bash", "-c", f'PATH={shlex.quote(str(tmp_path))}:"$PATH"; set -o pipefail; {line}'),
            env={**os.environ, "CATALOG_URL": served},
            capture_output=True,
            timeout=120,
            check=False,
            text=True,
        )

    return in_shell


@pytest.mark.parametrize("name", ["get", *nightly(*sorted(_STORIES.keys() - {"get"}))])
def test_a_command_takes_part_in_a_pipe(run: Any, name: Any) -> None:
    line, expected = _STORIES[name]
    ran = run(line)
    assert ran.stdout.split() == expected, ran.stderr


def test_a_reader_that_leaves_early_is_no_fault_to_speak_of(run: Any) -> None:
    ran = run("catalog schema '" + FLOUR + "' --csv | head -1")
    assert ran.stdout.startswith("path,")
    assert "error" not in ran.stderr


def test_other_programs_get_rows_that_are_neither_wrapped_nor_cut(
    shop: Run, tmp_path: Path
) -> None:
    name = "longer_than_a_terminal_is_wide_" * 3
    urn = f"urn:li:dataset:(urn:li:dataPlatform:piped,{name},PROD)"
    text = "What is in it, in more words than fit. " * 3
    tags = {"tags": [{"tag": f"urn:li:tag:Piped{at}"} for at in range(9)]}
    loaded = [{"entityUrn": urn, "aspectName": "globalTags", "aspect": {"json": tags}}]
    assert shop("load", "-", stdin=json.dumps(loaded).encode()).code == 0
    more: Any = {"COLUMNS": "", "CATALOG_STATE_DIR": str(tmp_path)}
    assert shop("describe", urn, "--text", text, **more).code == 0
    tag_names = ", ".join(f"Piped{at}" for at in range(9))
    assert f"{name}  {tag_names}" in shop("tag", urn, **more).out.splitlines()
    found = shop("search", name, **more).out.splitlines()
    assert any(line.startswith(f"{name}  dataset  piped") for line in found), found
    assert f"  ✎ {text.strip()}" in found
    edits = shop("undo", "--list", **more).out.splitlines()
    assert edits[0].endswith(f" · description of {name}")
    assert edits[1] == f"  none → “{text.strip()}”"
    fitted = shop("tag", urn, **{**more, "COLUMNS": "60"}).out.splitlines()
    assert max(map(len, fitted)) <= 60


def test_a_pipe_gets_the_urns_of_what_has_all_words(mill: Run) -> None:
    shown = mill("search", "flour heavy sacks", "--filter", "platform:duckdb", "--json").json
    assert shown["complete"] == 0
    assert {"heavy", "sacks"} & {*shown["hits"][0]["lacks"]}
    ran = mill("search", "flour heavy sacks", "--filter", "platform:duckdb", "--urns")
    assert ran.out == ""
    assert "without some of the words, not printed" in ran.err
    assert mill("search", "flour", "--filter", "platform:duckdb", "--urns").out.strip() == FLOUR
