"""Drafting: an external command suggests a description for a column or a table, for people to
review.

No command is run unless one is configured (`explorer.config.Drafting`) or given by the caller. Its
output is a suggestion, which is staged in a changeset for review or shown in the editor, and never
saved automatically. Unsaved text that people typed is something else: see `drafts`.

The command is run without a shell, once for each description, with the caller's environment. Its
standard input is one JSON object. Its standard output is the suggestion in UTF-8, stripped of white
space. An exit code other than 0 means that it has no suggestion; the last line of its standard
error is the reason. The fields of the object:

version       1; increased when the meaning of a field changes, not when one is added
about         "column" or "table"
description   the present description; usually empty
table         urn, name, platform, kind ("table", "view"), description, tags
column        path (exact), name, type, native_type, nullable, is_key, tags, terms; null for a table
neighbours    the other columns of the table, nearest in the schema first: path, name, type,
              description; at most 100; for a table its first 100 columns
upstream      what it is derived from, nearest first: table, urn, column, hops, found_by
              ("lineage", or "name" for a guess), description; for a table its upstream tables, with
              column null
same_name     descriptions of columns of this name elsewhere, most frequent first: description,
              columns (the number that have it), table, urn, column; empty for a table
usage         days, queries of the table, uses of the column (null if not counted); null if there
              are no usage statistics

Descriptions are cut after 2,000 characters.
"""

import asyncio
import os
import shlex
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from explorer.client.connection import gather_limited
from explorer.client.entity import Column, Entity
from explorer.errors import InvalidInput, Misconfigured, ServerFault
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.stewardship.coverage import Part
from explorer.stewardship.documentation import TEXT_ASPECTS, Progress, read_datasets
from explorer.stewardship.propagation import (
    ColumnKey,
    ColumnSearch,
    KnownTable,
    ReachedColumns,
    TableReader,
    name_of,
    read_upstream,
)
from explorer.stewardship.staging import StagedChangeset, StagedEdit, TextSource
from explorer.stewardship.worklist import TableUse, read_use

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.config import Drafting

DRAFTED: Final = "Drafted texts"
"""The title of a changeset of drafts."""

_ASPECTS: Final = (*TEXT_ASPECTS, "globalTags", "subTypes", "dataPlatformInstance")
_VERSION: Final = 1
_DAYS: Final = 30
_MOST_HOPS: Final = 5
_MOST_NEIGHBOURS: Final = 100
_MOST_UPSTREAM: Final = 20
_LONGEST_TEXT: Final = 2_000
_MOST_BYTES: Final = 64 * 1024
_KILLING_SECONDS: Final = 2.0
_KEPT_OF_ERRORS: Final = 4 * 1024
_LONGEST_REASON: Final = 300
_TABLES_AT_ONCE: Final = 50
_READS_AT_ONCE: Final = 4
_AT_ONCE: Final = 4
# The control characters that a suggestion may contain.
_ALLOWED: Final = frozenset("\t\n")


@dataclass(frozen=True, slots=True)
class DraftingCommand:
    """A command as a list of words, and its time limit for one suggestion."""

    words: tuple[str, ...]
    timeout_seconds: float = 60.0

    @classmethod
    def parse(cls, text: str, timeout_seconds: float = 60.0) -> Self:
        """Split a command line as a shell would.

        Raises `InvalidInput` if it cannot be split, or its program does not exist.
        """
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise InvalidInput(f"{text!r} is not a valid command: {error}") from error
        if not words:
            raise InvalidInput("the drafting command is empty; give a program")
        if not timeout_seconds > 0:
            raise InvalidInput("the time limit for a draft must be more than 0 seconds")
        program = str(Path(words[0]).expanduser()) if words[0].startswith("~") else words[0]
        if shutil.which(program) is None:
            raise InvalidInput(f"the drafting program {words[0]!r} does not exist")
        return cls((program, *words[1:]), timeout_seconds)

    @classmethod
    def configured(cls, drafting: "Drafting") -> Self | None:
        """Return the command configured for a server, or `None`.

        Raises `Misconfigured` if it cannot be run.
        """
        if not drafting.command:
            return None
        try:
            return cls.parse(drafting.command, drafting.timeout_seconds)
        except InvalidInput as error:
            raise Misconfigured(f"{error}; it comes from {drafting.source}") from error

    async def suggest(self, request: Mapping[str, Any]) -> str:
        """Run the command for a request and return its suggestion.

        Raises `Misconfigured` with the reason if there is none: the command cannot be run, fails,
        prints nothing, more than 64 kB or invalid text, or takes too long. A command that takes too
        long, prints too much or is cancelled is killed with all processes it started.
        """
        loop = asyncio.get_running_loop()
        run = _CommandRun(loop.create_future())
        try:
            transport, _ = await loop.subprocess_exec(
                lambda: run, *self.words, start_new_session=True
            )
        except OSError as error:
            raise Misconfigured(f"{self.words[0]} cannot be run: {error.strerror}") from error
        process = transport.get_pid()
        is_ended = False
        try:
            run.feed(transport, orjson.dumps(request))
            async with asyncio.timeout(self.timeout_seconds):
                await run.ended
            is_ended = not run.is_too_long
        except TimeoutError:
            raise Misconfigured(
                f"the command took longer than {self.timeout_seconds:g} s and was killed"
            ) from None
        finally:
            if not is_ended:
                # The command was started as the leader of a process group.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process, signal.SIGKILL)
            transport.close()
            with suppress(TimeoutError):
                await asyncio.wait_for(run.exited.wait(), _KILLING_SECONDS)
        return run.text(transport.get_returncode())


def chosen_command(
    drafting: "Drafting", text: str | None = None, timeout_seconds: float | None = None
) -> DraftingCommand:
    """Return the command given as text, or the configured one.

    Raises `Misconfigured` if there is neither, with instructions to configure one, and what `parse`
    raises.
    """
    if text is not None:
        return DraftingCommand.parse(text, timeout_seconds or drafting.timeout_seconds)
    command = DraftingCommand.configured(drafting)
    if command is None:
        raise Misconfigured(
            "no drafting command is configured; set one with catalog profile draft-with COMMAND or "
            "in CATALOG_DRAFTING_COMMAND"
        )
    return replace(command, timeout_seconds=timeout_seconds or command.timeout_seconds)


class _CommandRun(asyncio.SubprocessProtocol):
    """One run of a command and its output so far.

    `exited` is set when the process has ended. `ended` is done when it has also closed its output,
    or has printed too much.
    """

    def __init__(self, ended: "asyncio.Future[None]") -> None:
        self.ended = ended
        self.exited = asyncio.Event()
        self.is_too_long = False
        self._printed = bytearray()
        self._errors = bytearray()
        self._open = {1, 2}

    def feed(self, transport: asyncio.SubprocessTransport, request: bytes) -> None:
        """Send the command its input. A command may exit with a suggestion without reading it."""
        stdin = transport.get_pipe_transport(0)
        if isinstance(stdin, asyncio.WriteTransport):
            stdin.write(request)
            stdin.write_eof()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._printed += data
            if len(self._printed) > _MOST_BYTES:
                self.is_too_long = True
                self._end()
        else:
            self._errors += data
            del self._errors[:-_KEPT_OF_ERRORS]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        del exc
        self._open.discard(fd)
        self._end_if_over()

    def process_exited(self) -> None:
        self.exited.set()
        self._end_if_over()

    def text(self, code: int | None) -> str:
        """Return the output, given the exit code. Raises `Misconfigured` if it is not a valid
        suggestion."""
        if self.is_too_long:
            raise Misconfigured(
                f"the command printed more than {_MOST_BYTES // 1024} kB and was killed"
            )
        if code:
            how = f"failed with exit code {code}" if code > 0 else f"was ended by signal {-code}"
            raise Misconfigured(f"the command {how}{self._reason()}")
        try:
            text = self._printed.decode()
        except UnicodeDecodeError as error:
            raise Misconfigured(
                f"the command's output is not UTF-8, at byte {error.start + 1:,}"
            ) from error
        text = text.replace("\r\n", "\n").strip()
        if not text:
            raise Misconfigured(f"the command printed nothing{self._reason()}")
        odd = next(
            (character for character in text if not (character >= " " or character in _ALLOWED)),
            None,
        )
        if odd is not None:
            raise Misconfigured(f"the command printed a control character, U+{ord(odd):04X}")
        return text

    def _reason(self) -> str:
        """Return a colon and the last line of standard error, empty if there is none."""
        lines = self._errors.decode(errors="replace").split("\n")
        last_line = next((line.strip() for line in reversed(lines) if line.strip()), "")
        reason = "".join(character if character.isprintable() else " " for character in last_line)[
            :_LONGEST_REASON
        ]
        return f": {reason}" if reason else ""

    def _end_if_over(self) -> None:
        if self.exited.is_set() and not self._open:
            self._end()

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


@dataclass(frozen=True, slots=True)
class DraftingFailure:
    """A column, or a table if `column` is `None`, for which the command had no suggestion, and
    why."""

    urn: str
    table: str
    column: str | None
    why: str


@dataclass(frozen=True, slots=True)
class DraftingOutcome:
    """The result of drafting: edits to stage in the order requested, and failures.

    `beyond_limit` is the number that was not requested because of a limit. `changeset` is where the
    edits were staged.
    """

    edits: tuple[StagedEdit, ...] = ()
    failures: tuple[DraftingFailure, ...] = ()
    beyond_limit: int = 0
    changeset: StagedChangeset | None = None


@dataclass(slots=True)
class _Drafted:
    """The edits and failures so far, by position."""

    edits: dict[int, StagedEdit] = field(default_factory=dict)
    failures: dict[int, DraftingFailure] = field(default_factory=dict)


async def draft_descriptions(
    catalog: "AsyncCatalog",
    urns: Sequence[Urn],
    command: DraftingCommand,
    *,
    parts: Iterable[Part] = ("columns", "tables"),
    limit: int | None = None,
    at_once: int = _AT_ONCE,
    drafted: "Callable[[StagedEdit], object] | None" = None,
    progress: Progress | None = None,
) -> DraftingOutcome:
    """Run a command for each undocumented column and table of the datasets that exist, at most
    `limit`.

    Soft-deleted datasets are left out. Nothing is written. Up to `at_once` commands run
    concurrently; a failure does not stop the others. `drafted` is called with each edit as it is
    made, so that an interrupted caller keeps the edits made so far; `progress` with the number
    requested so far and the total. Costs the requests of `drafting_requests`, for 50 tables at a
    time. Raises `InvalidInput` if `limit` or `at_once` is below 1.
    """
    if at_once < 1 or (limit is not None and limit < 1):
        raise InvalidInput("limit and at_once must be at least 1")
    outcomes = _Drafted()
    tasks = await _read_undocumented(catalog, urns, parts)
    chosen_tasks = tasks[:limit]

    async def ask(at: int, entity: Entity, path: str | None, request: Mapping[str, Any]) -> None:
        try:
            text = await command.suggest(request)
        except Misconfigured as error:
            outcomes.failures[at] = DraftingFailure(str(entity.urn), entity.name, path, str(error))
        else:
            outcomes.edits[at] = _edit(entity, path, text)
            if drafted is not None:
                drafted(outcomes.edits[at])
        if progress is not None:
            progress(len(outcomes.edits) + len(outcomes.failures), len(chosen_tasks))

    first_number = 0
    for stretch in _by_tables(chosen_tasks):
        requests = await drafting_requests(catalog, stretch)
        questions = enumerate(zip(stretch, requests, strict=True), first_number)
        work = (ask(at, *place, request) for at, (place, request) in questions)
        await gather_limited(work, at_once)
        first_number += len(stretch)
    return DraftingOutcome(
        tuple(outcomes.edits[at] for at in sorted(outcomes.edits)),
        tuple(outcomes.failures[at] for at in sorted(outcomes.failures)),
        len(tasks) - len(chosen_tasks),
    )


async def undocumented_requests(
    catalog: "AsyncCatalog",
    urns: Sequence[Urn],
    *,
    parts: Iterable[Part] = ("columns", "tables"),
    limit: int | None = None,
) -> list[dict[str, Any]]:
    """Return the requests that `draft_descriptions` would pass to the command, in its order."""
    tasks = await _read_undocumented(catalog, urns, parts)
    stretches = [await drafting_requests(catalog, stretch) for stretch in _by_tables(tasks[:limit])]
    return [request for stretch in stretches for request in stretch]


async def _read_undocumented(
    catalog: "AsyncCatalog", urns: Sequence[Urn], parts: Iterable[Part]
) -> list[tuple[Entity, str | None]]:
    chosen_parts = frozenset(parts)
    return [
        (entity, path)
        async for entity in read_datasets(catalog, urns, _ASPECTS)
        for path in _places_to_draft(entity, chosen_parts)
    ]


async def drafting_requests(
    catalog: "AsyncCatalog", places: Sequence[tuple[Entity, str | None]]
) -> list[dict[str, Any]]:
    """Return the requests for columns of datasets, or for datasets if the path is `None`, in order.

    The module's docstring describes their form. Costs the requests of `AsyncCatalog.entities` for
    the datasets and those upstream, one for the usage of each dataset, and for columns those of
    `TableReader.read_elsewhere`. Raises `InvalidInput` for an entity that is not a dataset, or a
    column that does not exist.
    """
    for entity, path in places:
        if entity.entity_type != "dataset":
            raise InvalidInput(
                f"{entity.urn} is not a dataset; only datasets and columns can be drafted"
            )
        if path is not None and entity.schema.column(path) is None:
            raise InvalidInput(f"{entity.name} has no column {path}")
    reader = TableReader(catalog, None)
    urns = list(dict.fromkeys(str(entity.urn) for entity, _ in places))
    columns = [(str(entity.urn), path) for entity, path in places if path is not None]
    await reader.read(urns, is_lineage_followed=True)
    search = ColumnSearch(reader.tables, _MOST_HOPS)
    upstream_columns = await read_upstream(reader, search, columns)
    await reader.read(_directly_upstream(urns, reader.tables))
    await reader.read_elsewhere(path for _, path in columns)
    same_name = search.sources_by_name()
    use_by_urn = dict(
        zip(
            urns,
            await gather_limited((read_use(catalog, urn, _DAYS) for urn in urns), _READS_AT_ONCE),
            strict=True,
        )
    )
    requests = []
    for entity, path in places:
        urn = str(entity.urn)
        column = None if path is None else entity.schema.column(path)
        if column is None:
            neighbours = list(map(_neighbour, entity.schema.columns[:_MOST_NEIGHBOURS]))
            uppers = reader.tables[urn].upstreams[:_MOST_UPSTREAM]
            upstream = [_upstream_table(reader.tables[upper]) for upper in uppers]
            others_of_name = []
        else:
            key = (urn, column.path.raw)
            neighbours = list(_neighbours(entity, column))
            upstream = list(_upstream(key, upstream_columns[key], reader.tables))[:_MOST_UPSTREAM]
            named_so = same_name.get(name_of(column.path.raw), ())
            others_of_name = [
                _same_name_record(source, reader.tables)
                for source in named_so
                if (source.urn, source.column) != key
            ]
        requests.append(
            {
                "version": _VERSION,
                "about": "table" if column is None else "column",
                "description": _cut((entity if column is None else column).description),
                "table": _table(entity),
                "column": None if column is None else _column(column),
                "neighbours": neighbours,
                "upstream": upstream,
                "same_name": others_of_name,
                "usage": _usage(use_by_urn[urn], column),
            }
        )
    return requests


def _directly_upstream(urns: Iterable[str], tables: Mapping[str, KnownTable]) -> list[str]:
    """Return the first upstream tables of each table, and the tables its columns are derived
    from."""
    upstream_urns: dict[str, None] = {}
    for urn in urns:
        table = tables[urn]
        upstream_urns |= dict.fromkeys(table.upstreams[:_MOST_UPSTREAM])
        upstream_urns |= dict.fromkeys(
            source for keys in table.made_from.values() for source, _ in keys
        )
    return list(upstream_urns)


def _places_to_draft(entity: Entity, parts: frozenset[Part]) -> Iterator[str | None]:
    """Yield `None` for a dataset without a description, then the paths of its undocumented
    columns."""
    try:
        if entity.removed:
            return
        if "tables" in parts and not entity.description.strip():
            yield None
        if "columns" in parts:
            paths = (column.path.raw for column in entity.schema if not column.documented)
            yield from dict.fromkeys(paths)
    except ServerFault:
        # An aspect does not fit its record. The worklist also leaves out such datasets.
        return


def _by_tables(
    tasks: Sequence[tuple[Entity, str | None]],
) -> Iterator[Sequence[tuple[Entity, str | None]]]:
    """Yield slices of the tasks that concern at most 50 tables each."""
    start = 0
    tables: set[Urn] = set()
    for at, (entity, _) in enumerate(tasks):
        if entity.urn not in tables and len(tables) == _TABLES_AT_ONCE:
            yield tasks[start:at]
            start = at
            tables.clear()
        tables.add(entity.urn)
    if start < len(tasks):
        yield tasks[start:]


def _edit(entity: Entity, path: str | None, text: str) -> StagedEdit:
    if path is None:
        # Not `edited_description`, which ignores a description of only white space.
        description = (entity.raw("editableDatasetProperties") or {}).get("description")
        before, ingested = (
            description if isinstance(description, str) else "",
            entity.ingested_description,
        )
    else:
        column = entity.schema.column(path)
        before, ingested = (column.edited or "", column.ingested or "") if column else ("", "")
    return StagedEdit(
        str(entity.urn),
        entity.name,
        path,
        before=before,
        text=text,
        ingested=ingested,
        sources=(TextSource("command"),),
    )


def _usage(use: TableUse, column: Column | None) -> dict[str, int | None] | None:
    if not use.queries and not use.columns:
        return None
    uses: int | None = None
    if column is not None and use.columns is not None:
        uses = use.columns.get(column.path.raw, use.columns.get(column.path.simple, 0))
    return {"days": _DAYS, "queries": use.queries, "uses": uses}


def _table(entity: Entity) -> dict[str, Any]:
    return {
        "urn": str(entity.urn),
        "name": entity.name,
        "platform": entity.platform,
        "kind": entity.kind,
        "description": _cut(entity.description),
        "tags": [Urn.label(str(tag)) for tag in entity.tags],
    }


def _column(column: Column) -> dict[str, Any]:
    return {
        "path": column.path.raw,
        "name": column.path.simple,
        "type": column.type,
        "native_type": column.native_type,
        "nullable": column.nullable,
        "is_key": column.is_key,
        "tags": [Urn.label(str(tag)) for tag in column.tags],
        "terms": [Urn.label(str(term)) for term in column.terms],
    }


def _neighbour(column: Column) -> dict[str, str]:
    return {
        "path": column.path.raw,
        "name": column.path.simple,
        "type": column.native_type or column.type,
        "description": _cut(column.description),
    }


def _neighbours(entity: Entity, column: Column) -> Iterator[dict[str, str]]:
    """Yield the other columns of a table, nearest in the schema first."""
    columns = entity.schema.columns
    place = columns.index(column)
    nearest = sorted(range(len(columns)), key=lambda at: abs(at - place))
    neighbours = (columns[at] for at in nearest if columns[at].path.raw != column.path.raw)
    return map(_neighbour, islice(neighbours, _MOST_NEIGHBOURS))


def _upstream(
    key: ColumnKey, reached: ReachedColumns, tables: Mapping[str, KnownTable]
) -> Iterator[dict[str, Any]]:
    """Yield the columns that a column is derived from, also undocumented ones, then documented ones
    further upstream."""
    urn, path = key
    passed = {key}
    for source, source_path in tables[urn].made_from.get(path, ()):
        table = tables.get(source)
        exact = (source, table.paths.exact(source_path) if table else source_path)
        if table is not None and exact not in passed:
            passed.add(exact)
            yield _column_record(exact, tables) | {"hops": 1, "found_by": "lineage"}
    nearest = sorted(reached.columns.items(), key=lambda pair: (pair[1], pair[0]))
    for upper, hops in nearest:
        if upper not in passed:
            yield _column_record(upper, tables) | {"hops": hops, "found_by": reached.source}


def _upstream_table(table: KnownTable) -> dict[str, Any]:
    return {
        "table": table.name,
        "urn": table.urn,
        "column": None,
        "description": _cut(table.description),
        "hops": 1,
        "found_by": "lineage",
    }


def _same_name_record(source: TextSource, tables: Mapping[str, KnownTable]) -> dict[str, Any]:
    return _column_record((source.urn, source.column), tables) | {"columns": source.agreeing}


def _column_record(key: ColumnKey, tables: Mapping[str, KnownTable]) -> dict[str, Any]:
    table = tables[key[0]]
    return {
        "table": table.name,
        "urn": table.urn,
        "column": FieldPath(key[1]).simple,
        "description": _cut(table.texts.get(key[1], "")),
    }


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
