"""What the commands that write have in common, and each of them in a shell, as people use it."""

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
EVENTS = "urn:li:dataset:(urn:li:dataPlatform:kafka,shop.events,PROD)"

WRITES = {
    "describe": ["describe", ORDERS, "--text", "x"],
    "describe --stdin": ["describe", ORDERS, "--stdin"],
    "describe --edit": ["describe", ORDERS, "--edit"],
    "tag": ["tag", ORDERS, "--add", "Finance"],
    "term": ["term", ORDERS, "--remove", "Revenue"],
    "own": ["own", ORDERS, "--add", "mara"],
    "domain": ["domain", ORDERS, "--none"],
    "link": ["link", ORDERS, "add", "https://x", "--label", "x"],
    "deprecate": ["deprecate", ORDERS, "--note", "x"],
    "delete --soft": ["delete", ORDERS, "--soft"],
    "delete --hard": ["delete", ORDERS, "--hard", "--yes"],
    "restore": ["restore", ORDERS],
    "undo": ["undo"],
}
COMMANDS = sorted({name.split()[0] for name in WRITES})


@pytest.mark.parametrize("arguments", WRITES.values(), ids=WRITES)
def test_a_read_only_profile_refuses_before_anything_is_asked(
    catalog: Run, tmp_path: Path, arguments: Any
) -> None:
    places: dict[str, Any] = {
        "CATALOG_CONFIG_DIR": str(tmp_path / "config"),
        "CATALOG_STATE_DIR": str(tmp_path / "state"),
    }
    # Nobody answers there: whatever was sent would be exit 3.
    nobody = "http://127.0.0.1:1"
    added = catalog("profile", "add", "museum", "--url", nobody, "--read-only", url=None, **places)
    assert added.code == 0, added
    editor = f"touch {tmp_path}/opened"
    for named in (["--profile", "museum"], ["--url", nobody]):
        ran = catalog(*arguments, *named, url=None, stdin=b"x\n", VISUAL=editor, **places)
        assert (ran.code, ran.out) == (1, ""), ran
        assert "the profile museum is read-only" in ran.err
    assert not (tmp_path / "state").exists()
    assert not (tmp_path / "opened").exists()


def test_a_read_only_profile_still_shows(shop: Run, served: str, tmp_path: Path) -> None:
    config: dict[str, Any] = {"CATALOG_CONFIG_DIR": str(tmp_path)}
    shop("profile", "add", "museum", "--url", served, "--read-only", url=None, **config)
    for command in ("describe", "tag", "term", "own", "domain", "link", "deprecate"):
        ran = shop(command, ORDERS, "--profile", "museum", url=None, **config)
        assert ran.code == 0, ran


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_and_fits_eighty_columns(catalog: Run, name: Any) -> None:
    ran = catalog(name, "--help", url=None)
    assert ran.code == 0
    assert f"catalog {name}" in ran.out.partition("Examples")[2]
    assert max(map(len, ran.out.splitlines())) <= 80


@pytest.fixture
def shell(shop: Run, command: tuple[str, ...], served: str, tmp_path: Path) -> Iterator[Any]:
    """Runs lines in bash, where `catalog` is the command and $T a table of this test's own."""
    urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,story.{tmp_path.name},PROD)"
    upstream = {"upstreams": [{"dataset": ORDERS, "type": "TRANSFORMED"}]}
    changes = [
        (urn, "datasetProperties", {"name": "story", "description": "From the pipeline."}),
        (urn, "upstreamLineage", upstream),
        ("urn:li:tag:Story", "tagProperties", {"name": "Story"}),
        ("urn:li:glossaryTerm:Story", "glossaryTermInfo", {"definition": "", "termSource": "x"}),
        ("urn:li:domain:story", "domainProperties", {"name": "Story"}),
    ]
    loaded = [
        {"entityUrn": entity, "aspectName": name, "aspect": {"json": value}}
        for entity, name, value in changes
    ]
    assert shop("load", "-", stdin=json.dumps(loaded).encode()).code == 0

    def run(lines: Any) -> Any:
        begin = f'set -eo pipefail\ncatalog() {{ {shlex.join(command)} "$@"; }}\n'
        done = subprocess.run(
            ["bash", "-c", begin + lines],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            env={
                "PATH": "/usr/bin:/bin",
                "CATALOG_URL": served,
                "CATALOG_STATE_DIR": str(tmp_path / "state"),
                "CATALOG_CONFIG_DIR": str(tmp_path / "config"),
                "DATAHUB_SKIP_CONFIG": "true",
                "T": urn,
            },
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout.splitlines()

    yield run
    shop("delete", urn, "--hard", "--yes")


def test_a_steward_rewrites_a_description_in_an_editor_and_thinks_better_of_it(shell: Any) -> None:
    shown = shell(
        """
        printf '#!/bin/sh\\necho "One row an order." > "$1"\\n' > mine; chmod +x mine
        EDITOR=./mine catalog describe "$T" --edit --dry-run
        EDITOR=./mine catalog describe "$T" --edit
        catalog describe "$T" --json | grep -o '"edited": ".*"'
        catalog undo --yes
        catalog describe "$T" --json | grep -o '"edited": null'
        """
    )
    assert shown[-2:] == ['"edited": "One row an order."', '"edited": null']
    assert "+One row an order." in shown


def test_a_script_tags_what_a_list_names(shell: Any) -> None:
    shown = shell(
        """
        printf '%s\\nurn:li:tag:Nowhere\\n' "$T" > urns.txt
        catalog tag - --add Story < urns.txt && exit 9 || test $? = 1
        catalog tag "$T" --urns
        """
    )
    assert shown == ["urn:li:tag:Story"]


@pytest.mark.nightly
def test_a_term_is_put_on_and_taken_off(shell: Any) -> None:
    shown = shell(
        """
        catalog term "$T" --add Story
        catalog term "$T" --urns
        catalog term "$T" --remove urn:li:glossaryTerm:Story
        catalog term "$T" --urns
        """
    )
    assert shown == ["urn:li:glossaryTerm:Story"]


@pytest.mark.nightly
def test_a_table_changes_hands(shell: Any) -> None:
    shown = shell(
        """
        catalog own "$T" --add mara:DATA_STEWARD
        catalog own "$T" --csv
        catalog own "$T" --remove mara
        catalog own "$T" --urns
        """
    )
    assert '"[""urn:li:corpuser:mara DATA_STEWARD""]"' in shown[1]
    assert len(shown) == 2


def test_what_is_made_from_a_table_moves_into_a_domain(shell: Any) -> None:
    shown = shell('catalog domain "$T" story; echo "$T" | catalog domain - --urns')
    assert shown == ["urn:li:domain:story"]


@pytest.mark.nightly
def test_a_link_is_added_and_the_old_one_removed(shell: Any) -> None:
    shown = shell(
        """
        catalog link "$T" add https://x.org/old --label Old
        catalog link "$T" add https://x.org/new --label New
        catalog link "$T" remove https://x.org/old
        catalog link "$T"
        """
    )
    assert [line.split() for line in shown] == [["label", "url"], ["New", "https://x.org/new"]]


@pytest.mark.nightly
def test_a_table_is_deprecated_and_saved_by_undo(shell: Any) -> None:
    shown = shell(
        """
        catalog deprecate "$T" --note "Stops in June." --until 2030-06-30 --json | grep -c Stops
        catalog undo --yes
        catalog deprecate "$T" --json | grep -o '"deprecation": null'
        """
    )
    assert shown == ["1", '"deprecation": null']


def test_a_table_is_hidden_brought_back_and_deleted_for_good(shell: Any) -> None:
    shown = shell(
        """
        catalog delete "$T" --hard < /dev/null && exit 9 || test $? = 2
        catalog delete "$T" --soft
        catalog restore "$T"
        echo "$T" | catalog delete - --hard --yes --json | grep '"done"'
        catalog get "$T" && exit 9 || test $? = 1
        """
    )
    assert [line.strip() for line in shown] == ['"done": true,']
