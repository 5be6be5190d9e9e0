"""What the command line takes and refuses before any server is asked."""

import pytest
from click.testing import CliRunner

from explorer import __version__
from explorer.cli.command import catalog
from explorer.cli.filters import read_filters
from explorer.errors import InvalidInput
from explorer.metadata.registry import load_registry

COMMANDS = ("search", "get", "describe", "load", "sample load", "sample remove", "serve")


def invoke(*arguments):
    return CliRunner().invoke(catalog, arguments, prog_name="catalog")


def test_the_version_is_the_packages():
    assert __version__ in invoke("--version").output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_teaches_itself_with_an_example(name):
    shown = invoke(*name.split(), "--help")
    assert shown.exit_code == 0
    example = shown.output.partition("Example")[2]
    assert f"catalog {name}" in example
    assert max(map(len, shown.output.splitlines())) <= 80


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "serve"])
def test_every_command_can_be_told_which_catalog_but_no_token_on_the_command_line(name):
    shown = invoke(*name.split(), "--help").output
    assert "--url URL" in shown
    assert "--data-dir DIRECTORY" in shown
    token = next(line for line in shown.splitlines() if "--token" in line)
    assert "TEXT" not in token


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["get"], "Missing argument 'URN'"),
        (["get", "urn:li:tag:x", "--version", "1"], "exactly one --aspect"),
        (["load"], "Missing argument 'FILE...'"),
        (["search", "--count", "0"], "0 is not in the range"),
        (["search", "--url", "http://x", "--data-dir", "/tmp/x"], "two catalogs"),
        (["serve", "--base-path", "x"], "starts with /"),
        (["sample", "remove"], "--yes"),
        (["serach"], "serach"),
        (["search", "or\udcffders"], "not UTF-8"),
        (["describe", "urn:li:tag:x", "--text", "\udcff"], "not UTF-8"),
    ],
)
def test_wrong_use_is_exit_2_and_a_sentence(arguments, words):
    shown = invoke(*arguments)
    assert shown.exit_code == 2
    assert words in shown.output


def test_a_filter_takes_bare_names_for_urns():
    read = read_filters(
        ["platform=hive", "tags=PII", "tags=Finance", "owners=mara", "origin!=DEV"],
        load_registry(),
    )
    ((platform, tags, owners, origin),) = read.any_of
    assert platform.values == ("urn:li:dataPlatform:hive",)
    assert tags.values == ("urn:li:tag:PII", "urn:li:tag:Finance")
    assert set(owners.values) == {"urn:li:corpuser:mara", "urn:li:corpGroup:mara"}
    assert (origin.values, origin.negated) == (("DEV",), True)


def test_a_filter_keeps_whole_urns_and_values_with_signs_in_them():
    urn = "urn:li:dataPlatform:hive"
    ((platform, properties),) = read_filters(
        [f"platform={urn}", "customProperties=team=a, b"], load_registry()
    ).any_of
    assert platform.values == (urn,)
    assert properties.values == ("team=a, b",)


@pytest.mark.parametrize("text", ["hive", "=hive", "platform=", "a b=c"])
def test_a_filter_of_another_form_is_refused(text):
    with pytest.raises(InvalidInput, match="FIELD=VALUE"):
        read_filters([text], load_registry())
