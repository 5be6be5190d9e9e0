"""`catalog serve --print-systemd`: a unit that serves as the command would."""

import configparser
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from explorer.cli.command import catalog


def unit_of(*arguments: str, **environment: str | None) -> str:
    ran = CliRunner().invoke(
        catalog, ("serve", "--print-systemd", *arguments), env=environment, prog_name="catalog"
    )
    assert ran.exit_code == 0, ran.output
    return str(ran.output)


def read(unit: str) -> Any:
    found = configparser.RawConfigParser(strict=False, comment_prefixes=("#",))
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read_string(unit)
    return found["Service"]


def test_it_serves_with_the_options_given_and_the_store_stands_in_no_command_line() -> None:
    service = read(
        unit_of(
            *("--host", "0.0.0.0", "--allow-host", "a b", "--allow-host", "c$d", "--allow-open"),
            *("--keep-changes", "all", "--store", "postgresql://u:p%40w@db/catalog"),
            CATALOG_PORT="9002",
            CATALOG_DATA_DIR=None,
        )
    )
    words = service["ExecStart"]
    assert words.split(" serve ", 1)[1] == (
        '--host 0.0.0.0 --port 9002 --allow-open --allow-host "a b" --allow-host c$$d '
        "--keep-changes all --data-dir /var/lib/catalog"
    )
    assert service["Environment"] == "CATALOG_STORE=postgresql://u:p%%40w@db/catalog"
    assert service["StateDirectory"] == "catalog"


def test_a_directory_that_is_named_is_taken(tmp_path: Path) -> None:
    assert f"--data-dir {tmp_path}\n" in unit_of("--data-dir", str(tmp_path))


@pytest.mark.parametrize("name", ["catalog", "catalog-two", "team/catalog"])
def test_systemd_makes_the_directory_that_the_service_writes(name: str) -> None:
    service = read(unit_of("--data-dir", f"/var/lib/{name}"))
    assert service["StateDirectory"] == name
    assert service["DynamicUser"] == "yes"


def test_a_directory_elsewhere_is_served_by_its_owner_and_may_be_written(tmp_path: Path) -> None:
    service = read(unit_of("--data-dir", str(tmp_path)))
    assert service["User"] == tmp_path.owner()
    assert service["ReadWritePaths"] == str(tmp_path)
    assert "StateDirectory" not in service
    assert "DynamicUser" not in service


def test_a_directory_elsewhere_that_is_not_there_is_refused_with_how_to_make_it(
    tmp_path: Path,
) -> None:
    words = ("serve", "--print-systemd", "--data-dir", str(tmp_path / "new"))
    ran = CliRunner().invoke(catalog, words, prog_name="catalog")
    assert ran.exit_code == 2
    assert f"install -d -m 700 -o USER {tmp_path / 'new'}" in ran.output


def test_files_are_named_by_their_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = read(unit_of("--data-dir", ".", "--token-file", "tokens.json"))["ExecStart"]
    assert f"--token-file {tmp_path / 'tokens.json'}" in words
    assert f"--data-dir {tmp_path}" in words


def test_a_port_of_the_system_may_be_listened_on() -> None:
    assert (
        read(unit_of("--port", "80", CATALOG_DATA_DIR=None))["AmbientCapabilities"]
        == "CAP_NET_BIND_SERVICE"
    )
    assert "AmbientCapabilities" not in read(unit_of("--port", "8080", CATALOG_DATA_DIR=None))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_it(tmp_path: Path) -> None:
    unit = tmp_path / "catalog.service"
    unit.write_text(unit_of("--allow-host", "a b", "--port", "80", CATALOG_DATA_DIR=None))
    done = subprocess.run(
        ("systemd-analyze", "verify", str(unit)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
