"""What the command line takes and refuses before any server is asked."""

from collections.abc import Iterator
from typing import Any

import click
import pytest
from click.testing import CliRunner

from explorer import __version__
from explorer.cli.command import catalog

COMMANDS = (
    *("search", "get", "describe", "load", "sample load", "sample remove", "serve"),
    *("lineage", "impact", "path", "relationships"),
    *("browse", "schema", "usage", "profile-stats", "history", "diff"),
)


def invoke(*arguments: Any) -> Any:
    return CliRunner().invoke(catalog, arguments, prog_name="catalog")


def test_the_version_is_the_packages() -> None:
    assert __version__ in invoke("--version").output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_teaches_itself_with_an_example(name: Any) -> None:
    shown = invoke(*name.split(), "--help")
    assert shown.exit_code == 0
    example = shown.output.partition("Example")[2]
    assert f"catalog {name}" in example


def every_command(command: click.Command, *names: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command and of all below it."""
    yield names
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            yield from every_command(found, *names, name)


def test_help_fits_into_eighty_columns() -> None:
    wide = {
        " ".join(names): line
        for names in every_command(catalog)
        for line in invoke(*names, "--help").output.splitlines()
        if len(line) > 80
    }
    assert wide == {}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "serve"])
def test_every_command_can_be_told_which_catalog_but_no_token_on_the_command_line(
    name: Any,
) -> None:
    shown = invoke(*name.split(), "--help").output
    assert "--url URL" in shown
    assert "--data-dir DIRECTORY" in shown
    token = next(line for line in shown.splitlines() if "--token" in line)
    assert "TEXT" not in token


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["get"], "Missing argument 'URN|NAME'"),
        (["get", "urn:li:tag:x", "--version", "1"], "exactly one --aspect"),
        (["load"], "Missing argument 'FILE...'"),
        (["search", "--count", "0"], "0 is not in the range"),
        (["search", "--url", "http://x", "--data-dir", "/tmp/x"], "two catalogs"),
        (["serve", "--base-path", "x"], "starts with /"),
        (["serve", "--port", "0", "--store", "x.db"], "a store is given as postgresql://"),
        (["sample", "remove"], "--yes"),
        (["serach"], "serach"),
        (["--data-dir", "/tmp/x", "search"], "--data-dir here: options stand after the command"),
        (["search", "or\udcffders"], "not UTF-8"),
        (["describe", "urn:li:tag:x", "--text", "\udcff"], "not UTF-8"),
    ],
)
def test_wrong_use_is_exit_2_and_a_sentence(arguments: Any, words: str) -> None:
    shown = invoke(*arguments)
    assert shown.exit_code == 2
    assert words in shown.output
