"""`catalog mcp`, which serves the catalog to an assistant, and `catalog agents`, which shows the
proposals of agents and makes proposals for agents that use the command line."""

import shutil
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from explorer.cli.options import (
    WORDS,
    OutputFormat,
    Target,
    catalog_options,
    format_options,
)
from explorer.cli.sections import AGENTS

if TYPE_CHECKING:
    from explorer.client import Catalog

_MCP_EPILOG = """
\b
Examples
  catalog mcp                                (what an assistant starts)
  catalog mcp --print-config                 (for all assistants known)
  catalog mcp --profile team --print-config cursor
  catalog mcp --print-skill > ~/.claude/skills/catalog/SKILL.md

\b
Tools
  search, entity, columns, lineage, joins, glossary   read
  propose     changes that a person reviews; nothing is written before
  proposals   what became of them

Every answer fits a budget of tokens, 4,000 unless the assistant asks for
another, and says what is left and how to get it. A team's catalog has the
same tools at /mcp of its address, for the tokens of catalog token create;
one with --role proposer may read and propose, and no more.

People review proposals with catalog docs proposals and catalog docs review,
in the terminal app (V), and in notebooks.
"""


@AGENTS.command(epilog=_MCP_EPILOG)
@click.option(
    "--allow-writes",
    is_flag=True,
    help="Let the assistant write without a review, as far as your token allows; catalog undo "
    "reverts it.",
)
@click.option(
    "--print-config",
    "assistant",
    is_flag=False,
    flag_value="all",
    type=WORDS,
    metavar="[ASSISTANT]",
    help="Print the settings of an assistant or editor, or of all, and exit.",
)
@click.option(
    "--print-skill",
    is_flag=True,
    help="Print a page that teaches an assistant these commands, and exit.",
)
@catalog_options
def mcp(target: Target, assistant: str | None, *, allow_writes: bool, print_skill: bool) -> None:
    """Serve the catalog to an assistant, over the Model Context Protocol.

    The assistant starts this command, and speaks with it over standard input and output.
    """
    from explorer.cli.output import print_exactly

    if print_skill:
        print_exactly(_SKILL.read_text(encoding="utf-8"))
        return
    if assistant is not None:
        from explorer.agents.settings import settings_for

        click.echo(settings_for(assistant, _command(target, allow_writes=allow_writes)))
        return
    from explorer.agents.endpoint import missing_sdk

    try:
        from explorer.agents.server import serve_stdio
    except ModuleNotFoundError as error:
        raise missing_sdk() from error
    with target.open() as catalog:
        _keep_journal(catalog)
        catalog.wait(serve_stdio(catalog.core, may_write=allow_writes))


_SKILL: Final = Path(__file__).parents[2] / "agents" / "skill.md"


def _keep_journal(catalog: "Catalog") -> None:
    from explorer.cli import edits

    if not catalog.read_only:
        edits.keep_journal(catalog)


def _command(target: Target, *, allow_writes: bool) -> list[str]:
    """Return a command line that serves the same catalog, and works from any directory."""
    own = shutil.which("catalog")
    command = [own] if own else [sys.executable, "-m", "explorer.cli"]
    command.append("mcp")
    for option, value in (
        ("--url", target.url),
        ("--profile", target.profile),
        ("--data-dir", target.data_dir.absolute() if target.data_dir else None),
    ):
        command += [option, str(value)] if value else []
    if allow_writes:
        command.append("--allow-writes")
    return command


_AGENTS_EPILOG = """
\b
Examples
  catalog agents
  catalog agents --json
  catalog agents --propose changes.json
  catalog docs proposals --agent claude-code

\b
--propose reads an object, from standard input if FILE is -:
  changes   a list of {urn, what, column, text, add, remove, instead_of, why}
            what: description (give text), tags, terms, owners, domain (give
            add or remove)
  why       a sentence that a person decides by
  agent, model, title   who proposes it, and what it is called
Nothing is written: a person reviews it.

\b
--json prints a list of objects:
  agent, model, changesets, edits, open, refused, accepted, share
"""


@AGENTS.command(epilog=_AGENTS_EPILOG)
@click.option(
    "--propose",
    "file",
    type=click.File("rb"),
    help="Propose the changes in this JSON file; - reads standard input.",
)
@format_options("json", "csv")
@catalog_options
def agents(target: Target, file: "IO[bytes] | None", shown_as: OutputFormat | None) -> None:
    """Show what agents proposed, and how much of it was accepted."""
    from explorer.cli.output import print_json, show
    from explorer.stewardship.proposals import shared_changesets
    from explorer.views.stewardship import agents_report

    with target.open() as catalog:
        if file is not None:
            print_json(_propose(catalog, file.read()))
            return
        queue = catalog.wait(shared_changesets(catalog.core))
    show(agents_report(queue), shown_as)


def _propose(catalog: "Catalog", content: bytes) -> object:
    import orjson

    from explorer.agents.proposing import AgentName
    from explorer.agents.tools import Caller, call_tool
    from explorer.errors import InvalidInput

    try:
        arguments = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"the changes are not JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise InvalidInput("the changes must be a JSON object with changes and why")
    return catalog.wait(call_tool(Caller(catalog.core, AgentName()), "propose", arguments))
