"""What a shell offers for TAB: asked as the scripts ask, and in real shells on a terminal."""

import os
import pty
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

EVENTS = "urn:li:dataset:(urn:li:dataPlatform:kafka,shop.events,PROD)"
DEADLINE_SECONDS = 40.0


@pytest.fixture(scope="module")
def offers(shop: Run, process: Run, served: str) -> Any:
    """Asks for what a shell is offered for a line: kind, text and what is said of each."""

    def ask(line: Any, shell: str = "zsh", **variables: Any) -> Any:
        known = {"CATALOG_URL": served, "_CATALOG_COMPLETE": shell, "COMP_LINE": line}
        known["CATALOG_COMPLETION_SECONDS"] = "30"
        ran = process(url=None, **known | variables)
        assert (ran.code, ran.err) == (0, ""), ran
        return [row.split("\t") for row in ran.out.splitlines() if row]

    return ask


def texts(rows: Any) -> Any:
    return [row[1] for row in rows]


def test_commands_options_types_and_aspects_are_offered_without_a_server(offers: Any) -> None:
    nobody = {"CATALOG_URL": "http://127.0.0.1:9"}
    assert "schema" in texts(offers("catalog sch", **nobody))
    assert "--undocumented" in texts(offers("catalog schema --un", **nobody))
    types = texts(offers("catalog search --entity data", **nobody))
    assert "dataset" in types
    assert all(name.startswith("data") for name in types)
    aspects = texts(offers("catalog get urn:li:tag:x --aspect ", **nobody))
    assert "tagProperties" in aspects
    assert "schemaMetadata" not in aspects


def test_a_urn_is_found_by_the_name_of_what_it_is_of(offers: Any) -> None:
    rows = offers("catalog get event")
    assert ["named", EVENTS] in [row[:2] for row in rows]
    assert any("kafka" in row[2] for row in rows if row[1] == EVENTS)


def test_a_urn_is_completed_a_part_at_a_time(offers: Any) -> None:
    assert "urn:li:dataset:" in texts(offers("catalog get urn:li:data"))
    platforms = texts(offers("catalog get 'urn:li:dataset:"))
    assert "urn:li:dataset:(urn:li:dataPlatform:kafka," in platforms
    whole = offers("catalog get 'urn:li:dataset:(urn:li:dataPlatform:kafka,sh")
    assert texts(whole) == [EVENTS]


def test_filters_columns_and_folders_are_completed(offers: Any) -> None:
    assert "platform:" in texts(offers("catalog search --filter platf"))
    assert "tags:Finance" in texts(offers("catalog search --filter tags:F"))
    assert "--filter=tags:Finance" in texts(offers("catalog search --filter=tags:F"))
    columns = texts(offers(f"catalog history '{EVENTS}' --column "))
    assert "payload.kind" in columns
    assert "/prod" in texts(offers("catalog browse /p"))


def test_where_no_server_answers_nothing_is_offered_and_nothing_said(
    process: Run, tmp_path: Path
) -> None:
    environments: tuple[dict[str, Any], ...] = (
        {"CATALOG_URL": "http://127.0.0.1:9"},
        {"CATALOG_URL": "http://192.0.2.1:8080"},
        {"CATALOG_URL": "no address"},
        {"CATALOG_URL": "", "CATALOG_DATA_DIR": str(tmp_path / "none")},
    )
    for variables in environments:
        variables |= {"_CATALOG_COMPLETE": "zsh", "COMP_LINE": "catalog get ord"}
        ran = process(url=None, **variables)
        assert (ran.code, ran.out.strip(), ran.err) == (0, "", "")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "of nobody"])
def test_a_shell_is_told_of_no_error(catalog: Run, shell: str) -> None:
    ran = catalog(url=None, _CATALOG_COMPLETE=shell, COMP_LINE="catalog get --aspect", COMP_WORD="")
    assert (ran.code, ran.err) == (0, "")


def test_a_token_is_never_asked_for(process: Run, served: str, tmp_path: Path) -> None:
    (tmp_path / "profiles.toml").write_text(
        f'[profiles.team]\nurl = "{served}"\ntoken = "ask"\n', encoding="utf-8"
    )
    ran = process(
        url=None,
        CATALOG_CONFIG_DIR=str(tmp_path),
        _CATALOG_COMPLETE="zsh",
        COMP_LINE="catalog get --profile team ord",
    )
    assert (ran.code, ran.out.strip(), ran.err) == (0, "", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_says_how_to_keep_it(catalog: Run, shell: str) -> None:
    ran = catalog("completion", shell, url=None)
    assert ran.code == 0
    assert f"catalog completion {shell}" in ran.out.splitlines()[0] + ran.out.splitlines()[1]


class Terminal:
    """A shell on a terminal, whose `catalog` keeps the words it was called with."""

    def __init__(self, words: Any, directory: Any, **variables: Any) -> None:
        self._said = directory / "said"
        programs = directory / "bin"
        programs.mkdir()
        program = programs / "catalog"
        program.write_text(
            "#!/bin/sh\n"
            f'if [ -n "$_CATALOG_COMPLETE" ] || [ "$1" = completion ]; then\n'
            f'  exec {sys.executable} -m explorer.cli "$@"\nfi\n'
            f"printf '%s\\n' \"$@\" > {self._said}.new\n"
            f"mv {self._said}.new {self._said}\n",
            encoding="utf-8",
        )
        program.chmod(0o755)
        home = directory / "home"
        home.mkdir()
        environment = {
            **os.environ,
            "HOME": str(home),
            "ZDOTDIR": str(home),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "TERM": "xterm",
            "CATALOG_COMPLETION_SECONDS": "30",
            **variables,
        }
        self._process, self._screen = pty.fork()
        if self._process == 0:
            os.execvpe(words[0], words, environment)

    def type(self, text: Any) -> None:
        os.write(self._screen, text.encode())

    def read_until(self, done: Any) -> Any:
        """What the terminal shows until something holds."""
        shown = b""
        end = time.monotonic() + DEADLINE_SECONDS
        while not done(shown):
            assert time.monotonic() < end, shown.decode(errors="replace")
            if select.select([self._screen], [], [], 0.05)[0]:
                shown += os.read(self._screen, 65_536)
        return shown.decode(errors="replace")

    def called(self, typed: Any) -> Any:
        """The words that `catalog` is called with once a line with TABs in it is typed."""
        self._said.unlink(missing_ok=True)
        self.type(f"{typed}\n")
        self.read_until(lambda _: self._said.exists())
        return self._said.read_text(encoding="utf-8").splitlines()

    def close(self) -> None:
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._screen)


@pytest.fixture
def terminal(shop: Run, served: str, tmp_path: Path) -> Iterator[Any]:
    opened = []

    def open_terminal(name: Any, *options: Any) -> Any:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed here")
        found = Terminal((name, *options), tmp_path, CATALOG_URL=served)
        opened.append(found)
        return found

    yield open_terminal
    for one in opened:
        one.close()


def test_bash_completes_names_urns_and_filters_on_a_terminal(terminal: Any) -> None:
    shell = terminal("bash", "--norc", "--noprofile", "-i")
    shell.type('PS1="ready> "; eval "$(catalog completion bash)"; echo lo""aded\n')
    shell.read_until(lambda shown: b"loaded" in shown)
    assert shell.called("catalog schem\tshop.event\t") == ["schema", EVENTS]
    assert shell.called("catalog get 'urn:li:dataset:(urn:li:dataPlatform:ka\t") == [
        "get",
        EVENTS,
    ]
    assert shell.called("catalog get urn:li:datas\t\\(urn:li:dataPlatform:ka\t") == [
        "get",
        EVENTS,
    ]
    assert shell.called("catalog search --filter tags:Fin\t") == [
        "search",
        "--filter",
        "tags:Finance",
    ]


def test_bash_lists_several_and_leaves_what_was_typed(terminal: Any) -> None:
    shell = terminal("bash", "--norc", "--noprofile", "-i")
    shell.type('PS1="ready> "; eval "$(catalog completion bash)"; echo lo""aded\n')
    shell.read_until(lambda shown: b"loaded" in shown)
    shell.type("catalog get shop\t\t")
    shown = shell.read_until(lambda shown: b"type more of the name" in shown)
    assert EVENTS in shown
    assert shell.called("_nothing_more") == ["get", "shop_nothing_more"]


@pytest.mark.nightly
def test_zsh_completes_names_urns_and_filters_on_a_terminal(terminal: Any) -> None:
    shell = terminal("zsh", "-f", "-i")
    shell.type('PS1="ready> "; eval "$(catalog completion zsh)"; echo lo""aded\n')
    shell.read_until(lambda shown: b"loaded" in shown)
    assert shell.called("catalog schem\tshop.event\t") == ["schema", EVENTS]
    assert shell.called("catalog get 'urn:li:datas\t(urn:li:dataPlatform:ka\t") == [
        "get",
        EVENTS,
    ]
    assert shell.called("catalog search --filter tags:Fin\t") == [
        "search",
        "--filter",
        "tags:Finance",
    ]
