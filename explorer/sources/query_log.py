"""Read lineage and usage from SQL that was run: a script, or an export of a query history.

They are recorded for tables in the catalog. Tables that the statements create and that are not in
the catalog are left out, but lineage is followed through them. Statements that differ only in
literals are parsed once. Memory use is about 200 bytes per statement, and one text for each group
of statements that differ only in literals.
"""

import csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self

import orjson
from cachetools import LRUCache

from explorer.client import Catalog
from explorer.encoding import SAMPLE_BYTES, check_encoding, find_encoding, undecodable
from explorer.errors import InvalidInput
from explorer.metadata.files import decompress
from explorer.metadata.proposal import Proposal, millis_of
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.sources.duckdb_file import import_duckdb
from explorer.sources.script_lineage import (
    CatalogTables,
    Change,
    DatabaseSession,
    Procedures,
    Resolved,
    StatementLineage,
    platform_of,
    read_tables,
    uncalled_procedures,
)
from explorer.sources.source import (
    STATEMENTS,
    ColumnSources,
    Inventory,
    Location,
    Progress,
    SkippedPart,
    Source,
    SourceOptions,
    lineage_aspect,
)
from explorer.sources.sql_lineage import (
    LITERALS,
    SHARD,
    KnownTables,
    open_statement,
    require_sqlglot,
    sql_dialect,
)
from explorer.sources.sql_lineage import Path as TablePath
from explorer.sources.sql_statements import separate_parameters, split_statements

Format = Literal["sql", "csv", "tsv", "json", "parquet", "postgresql"]

_FORMATS: Final[dict[str, Format]] = {
    ".sql": "sql",
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".log": "postgresql",
}
# The columns of query histories in Snowflake, BigQuery, Redshift, Databricks and PostgreSQL, in
# lower case; the first that has a value is used.
_TEXT: Final = (
    "query_text",
    "statement_text",
    "querytxt",
    "query",
    "sql_text",
    "statement",
    "sql",
    "configuration.query.query",
)
_USER: Final = ("user_name", "user_email", "executed_by", "usename", "username", "user")
_TIME: Final = (
    *("start_time", "creation_time", "starttime", "log_time", "query_start", "timestamp"),
    "statistics.creationtime",
)
_SESSION: Final = ("session_id", "session_info.session_id", "statistics.sessioninfo.sessionid")
_PROCESS: Final = ("pid", "process_id")
_DATABASE: Final = ("database_name", "database", "catalog_name", "catalog", "datname")
_SCHEMA: Final = (
    *("schema_name", "schema", "default_schema"),
    "configuration.query.defaultdataset.datasetid",
)
# The project of a job in BigQuery, which also applies to tables named without a project.
_PROJECT: Final = ("project_id", "jobreference.projectid")
# The table that BigQuery wrote the result of a query to, and the fields with parts of its name.
_DESTINATIONS: Final = (
    tuple(f"destination_table.{name}" for name in ("project_id", "dataset_id", "table_id")),
    tuple(
        f"configuration.query.destinationtable.{name}"
        for name in ("projectid", "datasetid", "tableid")
    ),
)
_STATE: Final = (
    "execution_status",
    "status.state",
    "status",
    "query_status",
    "state",
    "error_severity",
)
_ERROR: Final = ("error_code", "error_result", "status.errorresult", "error_message", "aborted")
_DONE: Final = frozenset(
    ("", "success", "succeeded", "finished", "done", "completed", "ok", "log", "info", "cached")
)
_NO_ERROR: Final = frozenset(("", "0", "none", "null", "false", "nan"))
# The columns of PostgreSQL's csvlog, which has no header.
_CSVLOG: Final = (
    *("log_time", "user_name", "database_name", "process_id", "connection_from", "session_id"),
    *("session_line_num", "command_tag", "session_start_time", "virtual_transaction_id"),
    *("transaction_id", "error_severity", "sql_state_code", "message", "detail", "hint"),
    *("internal_query", "internal_query_pos", "context", "failed_query"),
)
_CSVLOG_WIDTH: Final = range(22, 28)
# A line of PostgreSQL's log: the prefix (log_line_prefix), the severity, and the message.
_LOG_LINE: Final = re.compile(
    r"(?P<prefix>.*?)\b(?P<severity>LOG|ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|DEBUG\d?|STATEMENT"
    r"|DETAIL|HINT|CONTEXT|QUERY|LOCATION):  (?P<message>.*)",
    re.DOTALL,
)
# The fields in the prefix, in any order.
_PREFIX: Final = (
    re.compile(r"(?P<log_time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: ?[+-]\d\d(?::?\d\d)?)?)"),
    re.compile(r"\b(?P<session_id>[0-9a-f]{8}\.[0-9a-f]+)\b"),
    re.compile(r"\[(?P<process_id>\d+)(?:-\d+)?\]"),
    re.compile(r"(?P<user_name>[^\s@\[\]:,=]+)@(?P<database_name>[^\s@\[\]:,=]+)"),
    re.compile(r"\buser=(?P<user_name>[^\s,]+)"),
    re.compile(r"\b(?:db|database)=(?P<database_name>[^\s,]+)"),
)
# Types of tokens after which a string is a name.
_BEFORE_NAMES: Final = frozenset(
    ("VAR", "IDENTIFIER", "R_PAREN", "ALIAS", "FROM", "JOIN", "INTO", "END", "TABLE", "USE")
)
# Types of tokens after which the literals in parentheses name columns or tables.
_PIVOTS: Final = frozenset(("PIVOT", "UNPIVOT"))
_MOST_QUERIES: Final = 10
_MOST_QUERY: Final = 4_000
_ROWS: Final = 10_000
# The numbers of cached texts and parsed statements, and the length from which a text is not
# cached.
_MOST_HELD: Final = 10_000
_LONG: Final = 10_000


def is_query_file(path: Path) -> bool:
    """Return whether a file has a suffix of the supported query logs, before an optional `.gz`."""
    return _format(path) is not None


def _format(path: Path) -> Format | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and (suffixes[-1] == ".gz" or suffixes[-1][1:].isdigit()):
        # Logs that were rotated have a number at the end.
        suffixes.pop()
    return _FORMATS.get(suffixes[-1]) if suffixes else None


def statement_key(sql: str, dialect: str) -> str:
    """Return a key that is equal for statements which differ only in literals.

    It is the statement on one line, without comments, with `?` in place of each literal and of each
    list of literals. Literals that name a column or table are kept.
    """
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import SqlglotError

    try:
        tokens = list(Dialect.get_or_raise(dialect).tokenize(sql))
    except (SqlglotError, ValueError):
        return " ".join(sql.split())
    parts: list[str] = []
    end, before, in_list = 0, "", False
    depth, naming = 0, list[int]()
    for at, token in enumerate(tokens):
        kind = token.token_type.name
        is_name = kind != "NUMBER" and before in _BEFORE_NAMES
        text = sql[token.start : token.end + 1]
        if kind in LITERALS and not naming and not is_name:
            text = "?"
        after = tokens[at + 1].token_type.name if at + 1 < len(tokens) else ""
        if kind in _PIVOTS or (text.upper() == "IDENTIFIER" and after == "L_PAREN"):
            # Without parentheses it extends to the end of the enclosing query.
            naming.append(depth + 1 if after == "L_PAREN" else depth)
        if kind == "R_PAREN":
            in_list = False
            depth -= 1
            while naming and naming[-1] > depth:
                naming.pop()
        elif kind == "L_PAREN":
            depth += 1
            in_list = in_list or before == "IN"
        gap = " " if token.start > end and parts else ""
        end = token.end + 1
        if in_list and text == "?" and parts[-2:] == ["?", ","]:
            parts.pop()
        else:
            # White space between the values of a list is left out.
            parts += (gap, text) if gap and not (in_list and text in ",?") else (text,)
        before = kind
    return "".join(parts).rstrip("; ")


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement that was run.

    `place` is its line in a script, or its number in a log. `user`, `at` (the time) and `session`
    are set if they are known, and `near` has the database and schema in use. If `destination` is
    set, the result of the query was written to that table. A statement without a session is read in
    a session of its own.
    """

    text: str
    place: int
    user: str | None = None
    at: datetime | None = None
    session: str | None = None
    near: TablePath = ()
    destination: TablePath | None = None


@dataclass(frozen=True, slots=True)
class QueryLog(Source):
    """A source of lineage and usage for tables that other sources have added."""

    path: Path
    options: SourceOptions
    kind: str = "sql-queries"

    is_supplement: ClassVar[bool] = True

    @classmethod
    def open(cls, location: Location, options: SourceOptions, password: str | None) -> Self | None:
        """Return the source of any file or folder, if the options have a dialect."""
        del password
        if location.path is None or options.dialect is None:
            return None
        return cls(location.path, options)

    @property
    def location(self) -> str:
        """The file or folder."""
        return str(self.path.resolve())

    @property
    def default_name(self) -> str:
        """The name of the file or folder, up to the first dot."""
        return self.path.resolve().name.partition(".")[0]

    def read(self, progress: Progress) -> Inventory:
        """Raise `InvalidInput`: a log has no tables of its own."""
        del progress
        raise InvalidInput(
            "a query log can only be read into a catalog that already has its tables"
        )

    def read_for(self, catalog: Catalog, progress: Progress) -> Inventory:
        """Return the lineage and usage of the catalog's tables on the dialect's platform.

        Makes one request per 2,500 datasets of the platform, and one per 150 of those whose names
        occur in the log. Statements that are not understood are listed as skipped. Raises
        `InvalidInput` if the file is not a query log, or if none of its tables is in the catalog,
        and `MissingExtra` without sqlglot.
        """
        dialect_name = self.options.dialect or ""
        require_sqlglot(dialect_name)
        dialect = sql_dialect(dialect_name)
        inventory = Inventory()
        log = _read_log(self.path.resolve(), dialect, self.options.encoding, inventory, progress)
        urns = _platform_urns(catalog, platform_of(dialect_name), self.options.env)
        instance = self.options.instance
        if instance is not None:
            urns = [urn for urn in urns if urn.name.startswith(f"{instance}.")]
        words_in = _words_in(log.texts, dialect)
        words_in |= {
            statement.destination[-1].casefold()
            for statement, _ in log.statements
            if statement.destination is not None
        }
        starts = tuple(word.removesuffix("*") for word in words_in if word.endswith("*"))
        words_in |= {shard[1] for word in words_in if (shard := SHARD.fullmatch(word))}
        tables = read_tables(
            catalog,
            [
                urn
                for urn in urns
                if (name := _last_name(urn)) in words_in or name.startswith(starts)
            ],
        )
        if not tables.urns:
            where = f"and in {self.options.env}" + (f", {instance}" if instance else "")
            raise InvalidInput(
                f"the catalog has none of the tables that {self.path} names, on the platform "
                f"{platform_of(dialect_name).rpartition(':')[2]} {where}: "
                "add their database first, or give another --dialect, --env or --instance"
            )
        reader = _Reader(dialect, tables)
        for done, (statement, key) in enumerate(log.statements):
            if done % 1_000 == 0:
                progress("statements", done, len(log.statements))
            reader.read(statement, key, log.texts[key])
        progress("statements", len(log.statements), len(log.statements))
        for part in uncalled_procedures(reader.procedures):
            inventory.skipped.append(
                SkippedPart(f"statement {part.line}", f"{part.problem} ({part.text})")
            )
        inventory.proposals = list(reader.proposals())
        inventory.count("statement", len(log.statements))
        inventory.count("different statement", len(log.texts))
        for key, (place, problem, text) in reader.problems.items():
            times = log.times[key]
            often = f"; {times:,} times" if times > 1 else ""
            inventory.skipped.append(
                SkippedPart(f"statement {place}", f"{problem} ({text}){often}")
            )
        return inventory


def _platform_urns(catalog: Catalog, platform: str, env: str) -> list[Urn]:
    criteria = (Criterion("platform", (platform,)), Criterion("origin", (env,)))
    return list(catalog.urns("dataset", filter=Filter((criteria,))))


def _last_name(urn: Urn) -> str:
    return urn.name.rpartition(".")[2].casefold()


def _words_in(texts: Mapping[str, str], dialect: str) -> set[str]:
    """Return the words in statements that may be table names, in lower case."""
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import SqlglotError

    words: set[str] = set()
    tokenizer = Dialect.get_or_raise(dialect)
    for text in texts.values():
        try:
            for token in tokenizer.tokenize(text):
                if token.token_type.name not in LITERALS:
                    words.add(token.text.rpartition(".")[2].casefold())
        except (SqlglotError, ValueError):
            continue
    return words


@dataclass(slots=True)
class _Log:
    """The statements of a log in the order in which they ran, each with its key. `texts` has the
    first text of each key, and `times` the number of its runs."""

    statements: list[tuple[_Statement, str]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    times: Counter[str] = field(default_factory=Counter)


def _read_log(
    path: Path, dialect: str, encoding: str | None, inventory: Inventory, progress: Progress
) -> _Log:
    log = _Log()

    def parts_of(text: str) -> list[tuple[int, str, str]]:
        # Most texts are one statement and need not be tokenised twice.
        if ";" in text:
            parts = list(split_statements(text, dialect))
        else:
            parts = [(1, separate_parameters(text, dialect))]
        return [(line, part, statement_key(part, dialect)) for line, part in parts]

    wrapper = lru_cache(_MOST_HELD)(parts_of)
    if path.is_dir():
        files = sorted(path for path in path.rglob("*") if path.is_file() and is_query_file(path))
    else:
        files = [path]
    if not files:
        raise InvalidInput(f"{path} has no files of queries: SQL, CSV, JSON lines or Parquet")
    for file in files:
        for number, statement in enumerate(_statements(file, inventory, dialect, encoding)):
            if number % _ROWS == 0:
                progress("queries", number, None)
            for line, text, key in (wrapper if len(statement.text) < _LONG else parts_of)(
                statement.text
            ):
                log.texts.setdefault(key, text)
                log.times[key] += 1
                # The text is stored once per key.
                place = statement.place + line - 1 if _format(file) == "sql" else statement.place
                destination = statement.destination if text == statement.text else None
                log.statements.append(
                    (replace(statement, text="", place=place, destination=destination), key)
                )
    if all(statement.at for statement, _ in log.statements):
        # Some exports begin with the newest statement.
        log.statements.sort(key=lambda pair: pair[0].at or datetime.min.replace(tzinfo=UTC))
    return log


def _statements(
    path: Path, inventory: Inventory, dialect: str = "", encoding: str | None = None
) -> Iterator[_Statement]:
    """Yield the successful statements of a log; of a script, yield the whole text as one. The
    statements of a script share a session. Raises `InvalidInput` if the file does not have the
    expected format, or no column with the text of statements."""
    kind = _format(path)
    lines = _Lines(path, encoding)
    if kind == "sql":
        script = "".join(lines)
        if lines.damage is not None:
            # Only a part of the last statement is in the file.
            script = script[: script.rfind(";") + 1]
        yield _Statement(script, 1, session=str(path))
        lines.report(inventory)
        return
    readers: Mapping[str | None, Callable[[], Iterable[Mapping[str, Any]]]] = {
        "csv": lambda: _csv_rows(lines, ","),
        "tsv": lambda: _csv_rows(lines, "\t"),
        "json": lambda: _json_rows(lines),
        "parquet": lambda: _parquet_rows(path),
        "postgresql": lambda: _log_rows(lines),
    }
    if kind not in readers:
        raise InvalidInput(f"{path} is neither SQL, CSV, JSON, Parquet nor a log of PostgreSQL")
    failed = 0
    for place, row in _without_failed(enumerate(readers[kind](), start=1)):
        if not _has_text(row, path):
            continue
        if not _is_done(row):
            failed += 1
            continue
        text = _text_of(row)
        if text:
            yield _statement(row, text, place, dialect)
    inventory.count("failed statement", failed)
    lines.report(inventory)


class _Lines:
    """The lines of a text file; those of a compressed file up to the place where it is cut off or
    damaged.

    `number` is the number of the last line read. `damage` is the error that ended the file; it is
    `None` before the end, and for an intact file. The encoding is detected unless it is given.
    """

    def __init__(self, path: Path, encoding: str | None) -> None:
        self.path = path
        self.number = 0
        self.damage: Exception | None = None
        self.encoding = "utf-8"
        self._given_encoding = encoding

    def __iter__(self) -> Iterator[str]:
        if self._given_encoding is None:
            with self.path.open("rb") as file:
                self.encoding = find_encoding(decompress(file)[0].read(SAMPLE_BYTES))
        else:
            self.encoding = check_encoding(self._given_encoding)
        with self.path.open("rb") as file:
            stream, source = decompress(file)
            errors = "replace" if self._given_encoding is None else "strict"
            lines = io.TextIOWrapper(stream, self.encoding, errors=errors, newline="")
            last: str | None = None
            try:
                for line in lines:
                    if last is not None:
                        self.number += 1
                        yield last
                    last = line if last is not None else line.removeprefix("\ufeff")
            except UnicodeDecodeError as error:
                reason = undecodable(self.encoding, error, is_given=True)
                raise InvalidInput(f"{self.path}: {reason}") from None
            # Decompression reads ahead of the requested line.
            self.damage = None if source is None else source.damage
            if last is not None:
                self.number += 1
                yield last

    def report(self, inventory: Inventory) -> None:
        """Add notes to an inventory: the encoding, if it is not UTF-8, and the place where the file
        is cut off or damaged. Raises `InvalidInput` if nothing of the file could be read."""
        if self.encoding not in ("utf-8", "utf-8-sig"):
            inventory.notes.append(f"{self.path.name}: read as {self.encoding}")
        if self.damage is None:
            return
        if not self.number:
            raise InvalidInput(f"{self.path} is cut off or damaged: {self.damage}")
        reason = (
            f"it is cut off or damaged at line {self.number:,} ({self.damage}); what comes before "
            "was read"
        )
        inventory.skipped.append(SkippedPart(self.path.name, reason))


def _csv_rows(lines: _Lines, delimiter: str) -> Iterator[Mapping[str, Any]]:
    csv.field_size_limit(sys.maxsize)
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        names = next(rows, [])
        folded = [name.strip().casefold() for name in names]
        if len(names) in _CSVLOG_WIDTH and _moment(names[0]) is not None:
            folded = list(_CSVLOG)
            yield dict(zip(folded, names, strict=False))
        for row in rows:
            # In a damaged file it is the last one, which may be incomplete.
            if lines.damage is None:
                yield dict(zip(folded, row, strict=False))
    except csv.Error as error:
        raise InvalidInput(f"{lines.path}, line {rows.line_num} cannot be read: {error}") from error


def _json_rows(lines: _Lines) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a file that has one object per line, or is a list of objects."""
    each_line = iter(lines)
    for line in each_line:
        if line.lstrip().startswith("["):
            yield from _json_list(lines, each_line, line)
            return
        if not line.strip() or (lines.damage is not None and not line.endswith("\n")):
            continue
        place = f"{lines.path}, line {lines.number}"
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InvalidInput(f"{place} is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise InvalidInput(f"{place} is not an object with a query")
        yield _fold(row)


def _json_list(lines: _Lines, rest: Iterator[str], first: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list that begins with the line `first`, up to the place where it is
    cut off."""
    text = f"{first}{''.join(rest)}"
    decoder, at = json.JSONDecoder(), text.index("[") + 1
    while (at := _after_separators(text, at)) < len(text) and text[at] != "]":
        try:
            row, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if lines.damage is not None:
                return
            raise InvalidInput(f"{lines.path} is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise InvalidInput(f"{lines.path} is not a list of objects with a query")
        yield _fold(row)


def _after_separators(text: str, at: int) -> int:
    while at < len(text) and (text[at].isspace() or text[at] == ","):
        at += 1
    return at


def _log_rows(lines: _Lines) -> Iterator[Mapping[str, Any]]:
    """Yield the messages of PostgreSQL's log, each with the fields in its prefix (log_line_prefix).
    Raises `InvalidInput` if no line has a severity."""
    entry: list[str] = []
    has_entry = False
    for line in lines:
        if _LOG_LINE.match(line) is None:
            # A message of several lines continues.
            entry.append(line.removeprefix("\t"))
            continue
        if has_entry:
            yield _log_row("".join(entry))
        entry, has_entry = [line], True
    if has_entry:
        yield _log_row("".join(entry))
    elif entry:
        raise InvalidInput(
            f"{lines.path} is not a log of PostgreSQL: no line has LOG: and a message after it"
        )


def _log_row(entry: str) -> dict[str, Any]:
    match = _LOG_LINE.match(entry)
    row: dict[str, Any] = {"error_severity": "", "message": ""}
    if match is not None:
        for pattern in _PREFIX:
            if found := pattern.search(match["prefix"]):
                row |= {name: value for name, value in found.groupdict().items() if value}
        is_text = match["severity"] == "STATEMENT"
        row |= {
            "error_severity": match["severity"],
            "message": match["message"].rstrip(),
            "failed_query": match["message"].strip() if is_text else None,
        }
    return row


def _without_failed(
    rows: Iterable[tuple[int, Mapping[str, Any]]],
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows of a log with their places, without failed statements. PostgreSQL logs a
    statement before running it; if it fails, the same process logs an error that quotes it."""
    waiting: dict[Any, tuple[int, Mapping[str, Any]]] = {}
    for place, row in rows:
        if "error_severity" not in row:
            yield place, row
            continue
        process = _first(row, (*_PROCESS, *_SESSION))
        failed = row.get("failed_query")
        if failed:
            before = waiting.get(process)
            if before is not None and _text_of(before[1]) == str(failed).strip():
                del waiting[process]
        text = _text_of(row)
        if str(row["error_severity"]).casefold() in ("statement", "detail", "hint", "context"):
            # They belong to the message before them.
            continue
        if text is None:
            yield place, row
            continue
        if process in waiting:
            yield waiting.pop(process)
        if process is None or str(row["message"]).startswith("duration:"):
            yield place, row
        else:
            waiting[process] = place, row
    yield from sorted(waiting.values(), key=lambda pair: pair[0])


def _parquet_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    duckdb = import_duckdb("reading Parquet")
    try:
        with duckdb.connect(":memory:") as connection:
            cursor = connection.execute("select * from read_parquet($1)", [str(path)])
            names = [str(column[0]) for column in cursor.description]
            while rows := cursor.fetchmany(_ROWS):
                for row in rows:
                    yield _fold(dict(zip(names, row, strict=True)))
    except duckdb.Error as error:
        raise InvalidInput(f"{path} cannot be read: {' '.join(str(error).split())}") from error


def _fold(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its field names in lower case. Values in nested objects are added with
    dotted names."""
    folded_row: dict[str, Any] = {}
    for name, value in row.items():
        folded_row[name.casefold()] = value
        if isinstance(value, dict):
            folded_row |= {
                f"{name.casefold()}.{inner}": element for inner, element in _fold(value).items()
            }
    return folded_row


def _first(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _has_text(row: Mapping[str, Any], path: Path) -> bool:
    if "message" in row and "error_severity" in row:
        return True
    if "jobreference" in row and "configuration.query.query" not in row:
        # A job of BigQuery that loads, copies or extracts.
        return False
    if not any(name in row for name in _TEXT):
        raise InvalidInput(
            f"{path} has no column with the text of queries; known are {', '.join(_TEXT)}, and "
            "PostgreSQL's csvlog"
        )
    return True


def _text_of(row: Mapping[str, Any]) -> str | None:
    """Return the statement in a row, or `None` if the row has none; many lines of PostgreSQL's log
    have none."""
    first = _first(row, _TEXT)
    if first is None and "message" in row:
        # `duration: 1.2 ms  statement: …`, `execute <unnamed>: …`
        message = str(row["message"])
        if message.startswith("duration:"):
            message = message.partition("ms")[2].lstrip()
        start, colon, text = message.partition(": ")
        is_statement = start == "statement" or start.startswith("execute ")
        first = text if colon and is_statement else None
    return str(first).strip() or None if first is not None else None


def _is_done(row: Mapping[str, Any]) -> bool:
    state = str(_first(row, _STATE) or "").strip().casefold()
    error = str(_first(row, _ERROR) or "").strip().casefold()
    return state in _DONE and error in _NO_ERROR


def _statement(row: Mapping[str, Any], text: str, place: int, dialect: str) -> _Statement:
    user, at = _first(row, _USER), _moment(_first(row, _TIME))
    session, process = _first(row, _SESSION), _first(row, _PROCESS)
    if session is None or dialect == "redshift":
        # Process ids, which identify Redshift's sessions, are reused, so the date is added. Without
        # an id, the statements of a user on one day are taken to be a session.
        whose = session or process or user
        session = None if whose is None else f"{whose} {at.date() if at else ''}"
    database, schema = _first(row, _DATABASE), _first(row, _SCHEMA)
    # An empty name stands for an unknown database.
    if dialect == "bigquery" and database is None:
        database = _first(row, _PROJECT)
    near = () if schema is None else (str(schema),)
    near = near if database is None and not near else (str(database or ""), *near)
    return _Statement(
        text,
        place,
        None if user is None else sys.intern(str(user).strip()),
        at,
        None if session is None else sys.intern(str(session)),
        tuple(map(sys.intern, near)),
        _destination(row),
    )


def _destination(row: Mapping[str, Any]) -> TablePath | None:
    """Return the table that a query's result was written to, or `None`. The temporary tables that
    BigQuery creates for every result, in datasets whose names begin with `_`, do not count."""
    for names in _DESTINATIONS:
        path = tuple(str(row[name]).partition("$")[0] for name in names if row.get(name))
        if len(path) == len(names) and not path[1].startswith("_"):
            return path
    return None


def _moment(value: Any) -> datetime | None:
    """Return a time in UTC from a datetime, a text or a number since 1970, or `None` if the value
    is not a time. A time without a zone is taken to be in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    text = str(value).strip()
    if isinstance(value, int | float) or (text.isdigit() and len(text) >= len("1000000000")):
        number = float(text)
        while number > 1e11:
            # It is in milliseconds, microseconds or nanoseconds.
            number /= 1_000
        try:
            return datetime.fromtimestamp(number, UTC)
        except (ValueError, OverflowError, OSError):
            return None
    day, _, rest = text.replace("T", " ", 1).partition(" ")
    # `12:00:00.123456789 UTC` or `12:00:00 -0800`: names of zones are ignored.
    clock, _, zone = rest.strip().partition(" ")
    seconds, dot, fraction = clock.partition(".")
    digits = fraction[: len(fraction) - len(fraction.lstrip("0123456789"))]
    clock = f"{seconds}.{digits[:6]:0<6}{fraction[len(digits) :]}" if dot else seconds
    zone = zone if zone[:1] in ("+", "-") else ""
    try:
        moment = datetime.fromisoformat(f"{day} {clock or '00:00:00'}{zone}")
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(slots=True)
class _Origins:
    """The upstream tables of a table, and the upstream columns of each of its columns."""

    tables: dict[TablePath, None] = field(default_factory=dict)
    columns: dict[str, dict[tuple[TablePath, str], None]] = field(default_factory=dict)
    is_view: bool = False

    def add(self, other: "_Origins") -> None:
        self.tables |= other.tables
        for name, sources in other.columns.items():
            self.columns.setdefault(name, {}).update(sources)


@dataclass(slots=True)
class _Day:
    """The usage of a table on one day: the number of queries by user, by column and by statement
    key. `checksum` is computed from the statements, regardless of their order."""

    users: Counter[str] = field(default_factory=Counter)
    fields: Counter[str] = field(default_factory=Counter)
    queries: Counter[str] = field(default_factory=Counter)
    checksum: int = 0


@dataclass(slots=True)
class _Reading:
    """The result of reading a statement: its parts, the container in use after it, and the tables
    that it created or dropped. `settled` has the indices of the parts whose lineage need not be
    recorded again if the statement is repeated."""

    parts: list[StatementLineage]
    near: TablePath
    changes: list[Change]
    settled: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Reader:
    """Collects lineage and usage from the statements of a log, which are read in order."""

    dialect: str
    catalog_tables: CatalogTables
    problems: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    procedures: Procedures = field(default_factory=dict)
    _made: KnownTables = field(init=False)
    _sessions: dict[str, DatabaseSession] = field(default_factory=dict)
    _names: dict[str, tuple[TablePath, ...]] = field(default_factory=dict)
    _readings: LRUCache[tuple[str, TablePath, Resolved], _Reading] = field(
        default_factory=lambda: LRUCache(_MOST_HELD)
    )
    _alone: int | None = None
    _lineage: dict[TablePath, _Origins] = field(default_factory=dict)
    _of_made: dict[tuple[str | None, TablePath], _Origins] = field(default_factory=dict)
    _use: dict[TablePath, dict[datetime, _Day]] = field(default_factory=dict)
    _open_queries: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._made = KnownTables(below=self.catalog_tables.tables)

    def read(self, statement: _Statement, key: str, text: str) -> None:
        """Record the tables that a statement reads and writes. It is parsed only if the cache has
        no earlier statement with the same key whose names referred to the same tables."""
        name = statement.session or ""
        if name not in self._sessions or (not name and statement.place != self._alone):
            self._sessions[name] = DatabaseSession(
                self.dialect, self._made, procedures=self.procedures
            )
            self._alone = None if name else statement.place
        session = self._sessions[name]
        if statement.near:
            session.near = statement.near
        near, names = session.near, self._names.get(key)
        is_result = statement.destination is not None
        at = None if names is None or is_result else (key, near, session.resolve(names))
        reading = None if at is None else self._readings.get(at)
        if at is not None and reading is not None:
            session.repeat(reading.near, reading.changes)
        else:
            parts = session.read(text, statement.place, statement.destination)
            reading = _Reading(parts, session.near, list(session.changes))
            if session.references is not None:
                self._names[key], resolved = session.references
                self._readings[key, near, resolved] = reading
        for number, part in enumerate(reading.parts):
            if (reason := part.problem) is not None:
                self.problems.setdefault(key, (statement.place, reason, part.text))
            if number not in reading.settled and self._note_made(part, session, name):
                reading.settled.add(number)
            if statement.at is not None and not part.is_called:
                self._note_use(part, session, statement, statement.at, key)
        for path, columns, is_own in reading.changes:
            if columns is None:
                self._of_made.pop((name if is_own else None, path), None)

    def _is_made(self, path: TablePath, session: DatabaseSession) -> bool:
        return path in session.tables or path not in self.catalog_tables.urns

    def _owner(self, path: TablePath, session: DatabaseSession, name: str) -> str | None:
        """Return the session that owns a created table if it is temporary, otherwise `None`."""
        return name if path in session.tables else None

    def _note_made(self, part: StatementLineage, session: DatabaseSession, name: str) -> bool:
        """Record the lineage of a statement. Return whether recording it again would change
        nothing, which is so if it involves only tables of the catalog."""
        if part.target is None:
            return True
        lineage, origins = part.lineage, _Origins(is_view=part.is_view)
        of_made: dict[TablePath, _Origins] = {}
        for path in lineage.tables:
            if self._is_made(path, session):
                of_made[path] = made_from = self._of_made.get(
                    (self._owner(path, session, name), path), _Origins()
                )
                origins.tables |= made_from.tables
            else:
                origins.tables[path] = None
        if part.lineage.problem is None:
            for column, sources in zip(part.target_columns, lineage.columns, strict=True):
                into = origins.columns.setdefault(column, {})
                for path, source in sources:
                    if path in of_made:
                        into |= of_made[path].columns.get(source, {})
                    else:
                        into[path, source] = None
        if self._is_made(part.target, session):
            owner = self._owner(part.target, session, name)
            if part.is_new:
                self._of_made[owner, part.target] = origins
            else:
                self._of_made.setdefault((owner, part.target), _Origins()).add(origins)
            return False
        self._lineage.setdefault(part.target, _Origins(is_view=part.is_view)).add(origins)
        return not of_made

    def _note_use(
        self,
        part: StatementLineage,
        session: DatabaseSession,
        statement: _Statement,
        at: datetime,
        key: str,
    ) -> None:
        day = at.replace(hour=0, minute=0, second=0, microsecond=0)
        identity = f"{at.timestamp()} {statement.user} {key}".encode()
        checksum = int.from_bytes(blake2b(identity, digest_size=8).digest())
        for path in part.lineage.tables:
            if self._is_made(path, session):
                continue
            use = self._use.setdefault(path, {}).setdefault(day, _Day())
            use.queries[key] += 1
            use.checksum = (use.checksum + checksum) % 2**64
            if statement.user is not None:
                use.users[statement.user] += 1
            use.fields.update(list(part.lineage.used.get(path, ())))

    def proposals(self) -> Iterator[Proposal]:
        """Yield the lineage and usage of the catalog's tables; the proposals of a table are
        adjacent."""
        for path in sorted({*self._lineage, *self._use}):
            urn = self.catalog_tables.urns[path]
            if path in self._lineage:
                yield from self._lineage_of(path, urn)
            for day, use in sorted(self._use.get(path, {}).items()):
                yield Proposal(
                    urn,
                    "datasetUsageStatistics",
                    self._use_of(path, day, use),
                    system={"properties": {STATEMENTS: f"{use.checksum:016x}"}},
                )

    def _lineage_of(self, path: TablePath, urn: Urn) -> Iterator[Proposal]:
        origins = self._lineage[path]
        tables = [
            self.catalog_tables.urns[table] for table in sorted(origins.tables) if table != path
        ]
        columns = (
            ColumnSources(
                self.catalog_tables.field(path, name),
                tuple(
                    (self.catalog_tables.urns[table], self.catalog_tables.field(table, column))
                    for table, column in sorted(sources)
                    if table != path
                ),
            )
            for name, sources in sorted(origins.columns.items())
        )
        if tables:
            kind = "VIEW" if origins.is_view else "TRANSFORMED"
            yield Proposal(urn, "upstreamLineage", lineage_aspect(urn, tables, columns, kind))

    def _top_queries(self, queries: Counter[str]) -> list[str]:
        """Return the ten queries that were run most often, without their literals, each cut after
        4,000 characters."""
        counts = Counter[str]()
        for key, number in queries.items():
            if key not in self._open_queries:
                self._open_queries[key] = open_statement(key, self.dialect)
            if (query := self._open_queries[key]) is not None:
                counts[query[:_MOST_QUERY]] += number
        return [query for query, _ in _rank(counts)[:_MOST_QUERIES]]

    def _use_of(self, path: TablePath, day: datetime, use: _Day) -> dict[str, Any]:
        users = Counter[str]()
        mails: dict[str, str] = {}
        for name, number in use.users.items():
            user = str(Urn.of("corpuser", name.partition("@")[0].casefold()))
            users[user] += number
            if "@" in name:
                mails[user] = name.casefold()
        return {
            "timestampMillis": millis_of(day),
            "eventGranularity": {"unit": "DAY", "multiple": 1},
            "totalSqlQueries": use.queries.total(),
            "uniqueUserCount": len(users),
            "topSqlQueries": self._top_queries(use.queries),
            "userCounts": [
                {"user": user, "count": number}
                | ({"userEmail": mails[user]} if user in mails else {})
                for user, number in _rank(users)
            ],
            "fieldCounts": [
                {"fieldPath": self.catalog_tables.field(path, name), "count": number}
                for name, number in _rank(use.fields)
            ],
        }


def _rank(counted: Counter[str]) -> Sequence[tuple[str, int]]:
    return sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
