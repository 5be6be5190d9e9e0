"""Questions about the sample whose answers are known, and the calls that a client makes that
follows only what the tools say of themselves.

    python -m tests.agents.tasks [--datahub COMMAND]

prints a table of the calls and tokens for each kind of question, of our tools and, with the command
of DataHub's own server, of those on the same service. It makes a catalog with the sample.
"""

import argparse
import asyncio
import json
import os
import shlex
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from explorer.agents.proposing import AgentName
from explorer.agents.tools import Caller, call_tool, describe_error
from explorer.client import AsyncCatalog
from explorer.errors import CatalogError
from explorer.views.budget import count_tokens

MOST_CALLS = 4
MOST_TOKENS = 8_000

Ask = Callable[[str, dict[str, Any]], Awaitable[str]]
Step = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Task:
    """A question, what it is about, and the facts that its answer has."""

    kind: str
    question: str
    subject: Mapping[str, Any]
    facts: tuple[str, ...]


TASKS = [
    Task(task["kind"], task["question"], task["subject"], tuple(task["facts"]))
    for task in json.loads(Path(__file__).with_name("tasks.json").read_text(encoding="utf-8"))
]


@dataclass
class Effort:
    """What an answer took, and which facts it lacks."""

    calls: int = 0
    tokens: int = 0
    lacks: list[str] = field(default_factory=list)


def our_steps(task: Task) -> list[Step]:
    """Return the calls of our tools, of which later ones continue the first."""
    name = task.subject["name"]
    match task.kind:
        case "owners of what feeds":
            hops = task.subject["hops"]
            return [("lineage", {"urn": name, "direction": "up", "hops": hops})]
        case "personal and undocumented":
            return [("columns", {"table": name, "labels": ["PII"], "undocumented": True})]
        case "impact":
            column = task.subject["column"]
            return [("lineage", {"urn": name, "column": column, "direction": "impact"})]
        case "join":
            return [("joins", {"left": name, "right": task.subject["right"]})]
        case "meaning":
            return [("glossary", {"term": name})]
        case "find":
            return [("search", {"text": task.question, "types": ["dataset"]})]
        case "column":
            return [("columns", {"table": name, "match": task.subject["column"]})]
        case "made from":
            return [("lineage", {"urn": name, "direction": "up", "hops": 1})]
        case _:
            return [("entity", {"urn": name})]


def datahub_steps(task: Task) -> Iterator[Step]:
    """Yield the calls of DataHub's tools, which need a URN first."""
    urn, name = task.subject["urn"], task.subject["name"]
    yield "search", {"query": task.question if task.kind == "find" else name}
    match task.kind:
        case "owners of what feeds":
            hops = task.subject["hops"]
            yield "get_lineage", {"urn": urn, "upstream": True, "max_hops": hops}
        case "personal and undocumented":
            yield "list_schema_fields", {"urn": urn, "keywords": ["PII"]}
        case "impact":
            column = task.subject["column"]
            yield "get_lineage", {"urn": urn, "column": column, "upstream": False, "max_hops": 3}
        case "join":
            yield "get_entities", {"urns": [urn, task.subject["right_urn"]]}
        case "find":
            pass
        case "column":
            yield "list_schema_fields", {"urn": urn, "keywords": [task.subject["column"]]}
        case "made from":
            yield "get_lineage", {"urn": urn, "upstream": True, "max_hops": 1}
        case _:
            yield "get_entities", {"urns": [urn]}


def _continue(task: Task, step: Step, answer: str) -> Step | None:
    """Return the call that reads on, if an answer says that something is left, or that names what
    was meant by its URN, if several have the name."""
    try:
        document = json.loads(answer)
        left = document.get("left")
    except (json.JSONDecodeError, AttributeError):
        return None
    tool, given = step
    if left:
        return tool, {**given, "cursor": left["cursor"]}
    for name, urn in (("name", "urn"), ("right", "right_urn")):
        if task.subject.get(urn) in document.get("like", ()):
            meant = task.subject[urn]
            named = task.subject[name]
            return tool, {key: meant if value == named else value for key, value in given.items()}
    return None


async def work(task: Task, steps: list[Step], ask: Ask) -> Effort:
    """Call tools until all facts are there, or nothing is left to call."""
    effort = Effort(lacks=[*task.facts])
    waiting = [*steps]
    while waiting and effort.lacks and effort.calls < MOST_CALLS:
        step = waiting.pop(0)
        answer = await ask(*step)
        effort.calls += 1
        effort.tokens += count_tokens(answer)
        text = json.dumps(answer, ensure_ascii=False) + answer
        effort.lacks = [fact for fact in effort.lacks if fact not in text]
        if not waiting and (further := _continue(task, step, answer)):
            waiting.append(further)
    return effort


def asking(catalog: AsyncCatalog) -> Ask:
    """Return a function that calls our tools."""

    async def ask(tool: str, arguments: dict[str, Any]) -> str:
        try:
            answer = await call_tool(Caller(catalog, AgentName("scripted")), tool, arguments)
        except CatalogError as error:
            answer = describe_error(error)
        return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))

    return ask


async def _measure(address: str, datahub: str) -> None:
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    efforts: dict[str, dict[str, list[Effort]]] = defaultdict(lambda: defaultdict(list))
    async with AsyncCatalog(address) as catalog:
        for task in TASKS:
            efforts[task.kind]["ours"].append(await work(task, our_steps(task), asking(catalog)))
    if datahub:
        command, *arguments = shlex.split(datahub)
        environment = {**os.environ, "DATAHUB_GMS_URL": address, "DATAHUB_TELEMETRY_ENABLED": "0"}
        parameters = StdioServerParameters(command=command, args=arguments, env=environment)
        async with Client(parameters, mode="legacy") as client:
            tools = (await client.list_tools()).tools
            described = [tool.model_dump_json(exclude_none=True) for tool in tools]
            print(f"descriptions of theirs: {count_tokens(''.join(described)):,} tokens")

            async def ask(tool: str, given: dict[str, Any]) -> str:
                result = await client.call_tool(tool, given)
                return "".join(getattr(part, "text", "") for part in result.content)

            for task in TASKS:
                found = await work(task, [*datahub_steps(task)], ask)
                efforts[task.kind]["DataHub's"].append(found)
    print("| question | server | answered | calls | tokens, mean | tokens, most |")
    print("|---|---|---|---|---|---|")
    for kind, by_server in efforts.items():
        for server, results in by_server.items():
            answered = sum(not effort.lacks for effort in results)
            tokens = [effort.tokens for effort in results]
            calls = sum(effort.calls for effort in results) / len(results)
            print(
                f"| {kind} | {server} | {answered} of {len(results)} | {calls:.1f} "
                f"| {sum(tokens) / len(tokens):,.0f} | {max(tokens):,} |"
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--datahub", default="", help="the command of DataHub's server")
    given = parser.parse_args()
    from datetime import UTC, datetime

    from explorer.sample import sample_proposals
    from tests.conftest import serving_catalog

    with ExitStack() as held:
        folder = held.enter_context(tempfile.TemporaryDirectory())
        address = held.enter_context(serving_catalog(Path(folder)))
        asyncio.run(_load(address, sample_proposals(datetime.now(UTC).date())))
        asyncio.run(_measure(address, given.datahub))


async def _load(address: str, proposals: Any) -> None:
    async with AsyncCatalog(address) as catalog:
        report = await catalog.ingest_batch(proposals)
        if report.refused:
            raise CatalogError(report.refused[0].reason)


if __name__ == "__main__":
    main()
