"""`catalog mcp` and `catalog agents`, but for the protocol, which `tests/agents` tries."""

import json
import re
import shlex
import tomllib
from typing import Any

import click
import pytest

from explorer.agents.settings import ASSISTANTS
from explorer.cli.command import catalog as root
from tests.cli.conftest import Run

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"


def entry_of(settings: dict[str, Any]) -> dict[str, Any]:
    (inner,) = settings.values()
    (entry,) = inner.values()
    return dict(entry)


@pytest.mark.parametrize("name", sorted(ASSISTANTS))
def test_the_settings_of_an_assistant_start_the_catalog_that_was_named(
    catalog: Run, name: str
) -> None:
    ran = catalog("mcp", "--profile", "team", "--allow-writes", "--print-config", name, url=None)
    assert ran.code == 0, ran
    if name == "claude-code":
        command = ran.out.partition(" -- ")[2]
        words = shlex.split(command)
    else:
        settings = tomllib.loads(ran.out) if name == "codex" else json.loads(ran.out)
        entry = entry_of(settings)
        words = [entry["command"], *entry["args"]]
    assert words[-4:] == ["mcp", "--profile", "team", "--allow-writes"]


def test_all_settings_are_printed_with_their_files_and_an_unknown_assistant_is_told(
    catalog: Run,
) -> None:
    ran = catalog("mcp", "--print-config", url=None)
    for assistant in ASSISTANTS.values():
        assert f"# {assistant.title}: {assistant.place}" in ran.out
    refused = catalog("mcp", "--print-config", "cursr", url=None)
    assert refused.code == 1
    assert "did you mean cursor?" in refused.err


def test_every_command_that_the_skill_teaches_exists_with_its_options(catalog: Run) -> None:
    page = catalog("mcp", "--print-skill", url=None).out
    assert page.startswith("---\nname: catalog\n")
    assert len(page.splitlines()) < 60
    taught = [text for text in re.findall(r"`(catalog [^`]+)`", page) if "COMMAND" not in text]
    assert len(taught) > 12
    with click.Context(root, info_name="catalog") as context:
        for text in taught:
            command: click.Command = root
            words = shlex.split(text)[1:]
            while isinstance(command, click.Group):
                found = command.get_command(context, words.pop(0))
                assert found is not None, text
                command = found
            options = {name for parameter in command.params for name in parameter.opts}
            assert {word for word in words if word.startswith("--")} <= options | {"--help"}, text


def test_a_script_proposes_and_people_see_whose_it_is(shop: Run) -> None:
    change = {"urn": ORDERS, "what": "description", "text": "Orders of the shop.", "why": "the ERD"}
    proposal = {"changes": [change], "why": "no text", "agent": "nightly", "model": "small"}
    ran = shop("agents", "--propose", "-", stdin=json.dumps(proposal).encode())
    assert ran.code == 0, ran
    name = ran.json["id"]
    (listed,) = shop("docs", "proposals", "--agent", "nightly", "--json").json
    assert (listed["id"], listed["agent"]) == (name, "nightly (small)")
    assert shop("docs", "proposals", "--agent", "someone", "--json").json == []
    (record,) = shop("agents", "--json").json
    assert (record["agent"], record["open"]) == ("nightly", 1)
    assert "nightly" in shop("agents").out
    reviewed = shop("docs", "review", name, "--accept-all", "--apply")
    assert reviewed.code == 0, reviewed
    assert "proposed by nightly (small)" in shop("get", ORDERS).out
    (record,) = shop("agents", "--json").json
    assert (record["accepted"], record["share"]) == (1, "100%")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "not JSON"),
        (b"[]", "must be a JSON object"),
        (b'{"changes": []}', "missing required field"),
        (b'{"changes": [], "why": "x"}', "give from 1 to 1,000 changes"),
    ],
)
def test_what_is_no_proposal_is_told(shop: Run, content: bytes, words: str) -> None:
    ran = shop("agents", "--propose", "-", stdin=content)
    assert ran.code == 1
    assert words in ran.err
