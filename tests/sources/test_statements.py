"""Statements whose lineage was worked out by hand: it is exact, or the statement is told as not
understood; it is never another."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from explorer.sources.script_lineage import StatementLineage, read_script
from explorer.sources.sql_lineage import KnownTables

_FILE = Path(__file__).with_name("statements.txt")
_LEAST_EXACT = 0.98
_UNKNOWN = re.compile(r"it reads (\S+), which is not known")


@dataclass(frozen=True, slots=True)
class Block:
    """Statements of a dialect, and what each of them is made from."""

    dialect: str
    sql: str
    expected: list[str]


def blocks() -> Iterator[Block]:
    """Yield the blocks of the file."""
    for text in _FILE.read_text("utf-8").split("\n## ")[1:]:
        dialect, _, rest = text.partition("\n")
        lines = [line for line in rest.splitlines() if line and not line.startswith("#")]
        expected = [line[2:] for line in lines if line.startswith("> ")]
        yield Block(dialect, "\n".join(one for one in lines if one[:2] != "> "), expected)


def tables() -> KnownTables:
    """Return the tables that the head of the file lists; names with a dot are fields of structs."""
    known = KnownTables()
    lines = re.findall(r"^# (\w+)\.(\w+) ([\w. ]+)$", _FILE.read_text("utf-8"), re.MULTILINE)
    for schema, name, columns in lines:
        names = columns.split()
        fields = [name for name in names if "." in name]
        known.add(("wh", schema, name), [name for name in names if "." not in name], fields)
    return known


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement writes and reads, and the columns that each column is made from; with `?`
    among these, there is a reason why they are not all known."""

    target: str
    tables: frozenset[str]
    columns: dict[str, frozenset[str]]

    def __str__(self) -> str:
        made = (f"{name} = {' '.join(sorted(of))}" for name, of in self.columns.items())
        return f"{self.target} < {' '.join(sorted(self.tables))}: {', '.join(made)}"


def expected_answer(line: str) -> Answer:
    """Return what a line of the file says."""
    head, _, rest = line.partition(": ")
    target, _, read = head.rstrip(":").partition("<")
    columns = [part.partition("=") for part in rest.split(",") if part.strip()]
    made = {name.strip(): frozenset(of.split()) for name, _, of in columns}
    return Answer(target.strip(), frozenset(read.split()), made)


def traced_answer(statement: StatementLineage) -> Answer:
    """Return what was found out of a statement."""
    lineage = statement.lineage
    columns = zip(statement.target_columns, lineage.columns, strict=True)
    made = {
        name: frozenset(
            (
                *(f"{path[-1]}.{column}" for path, column in sources),
                *(["?"] if at in lineage.gaps else ()),
            )
        )
        for at, (name, sources) in enumerate(columns)
    }
    unknown = [match[1] for note in lineage.notes if (match := _UNKNOWN.match(note))]
    tables = frozenset((*(path[-1] for path in lineage.tables), *(f"{name}?" for name in unknown)))
    return Answer(statement.target[-1] if statement.target else "-", tables, made)


def verdict(statement: StatementLineage, expected: Answer) -> str:
    """Return whether what was found out is exact, listed with a reason, silent or wrong."""
    if statement.lineage.problem is not None:
        return "listed"
    traced = traced_answer(statement)
    if traced == expected:
        return "exact"
    if traced.target != expected.target or list(traced.columns) != list(expected.columns):
        return "wrong"
    verdicts = {"listed"}
    if traced.tables != expected.tables:
        verdicts.add("wrong")
    for name, sources in traced.columns.items():
        if sources == expected.columns[name]:
            continue
        if "?" in sources and sources - {"?"} <= expected.columns[name]:
            continue
        verdicts.add("wrong" if sources else "silent")
    return next(word for word in ("wrong", "silent", "listed") if word in verdicts)


def test_statements_are_traced_as_worked_out_by_hand() -> None:
    counts = Counter[str]()
    differences: dict[str, list[str]] = {word: [] for word in ("wrong", "silent", "listed")}
    for block in blocks():
        results = list(read_script(block.sql, block.dialect, tables()))
        if len(results) != len(block.expected):
            differences["wrong"].append(
                f"{block.dialect}: {block.sql}\n  {len(results)} statements"
            )
            continue
        for result, line in zip(results, block.expected, strict=True):
            if line == "?":
                word = "wrong" if result.lineage.problem is None else "exact"
            else:
                word = verdict(result, expected_answer(line))
            counts[word] += 1
            if word != "exact":
                got = result.lineage.problem or f"{traced_answer(result)}\n  {result.problem}"
                differences[word].append(f"{block.dialect}: {block.sql}\n  {got}\n  not {line}")
    share = counts["exact"] / (counts.total() + len(differences["wrong"]) - counts["wrong"])
    print(f"{share:.1%} exact: {dict(counts)}", *differences["listed"], sep="\n")
    assert not differences["wrong"], "\n".join(differences["wrong"])
    assert not differences["silent"], "\n".join(differences["silent"])
    assert share >= _LEAST_EXACT, f"only {share:.1%} exact:\n" + "\n".join(differences["listed"])


def test_there_are_many_statements_in_many_dialects() -> None:
    statements = [line for block in blocks() for line in block.expected]
    assert len(statements) >= 300
    assert len({block.dialect for block in blocks()}) >= 8
