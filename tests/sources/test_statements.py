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
    """Return the tables that the head of the file lists."""
    found = re.findall(r"^# (\w+)\.(\w+) ([\w ]+)$", _FILE.read_text("utf-8"), re.MULTILINE)
    return KnownTables((("wh", schema, name), columns.split()) for schema, name, columns in found)


def normal(line: str) -> str:
    """Return what a line says, with tables and sources in their order by name."""
    head, _, rest = line.partition(":")
    target, _, read = head.partition("<")
    columns = [one.partition("=") for one in rest.lstrip(":").split(",") if one.strip()]
    made = ", ".join(f"{name.strip()} = {' '.join(sorted(of.split()))}" for name, _, of in columns)
    return f"{target.strip()} < {' '.join(sorted(read.split()))}: {made}"


def told(found: StatementLineage) -> str:
    """Return what was found out, as the file has it."""
    columns = zip(found.target_columns, found.lineage.columns, strict=True)
    made = ", ".join(
        f"{name} = {' '.join(f'{path[-1]}.{column}' for path, column in sources)}"
        for name, sources in columns
    )
    read = " ".join(path[-1] for path in found.lineage.tables)
    return normal(f"{found.target[-1] if found.target else '-'} < {read}: {made}")


def test_statements_are_traced_as_worked_out_by_hand() -> None:
    counts, wrong, missing = Counter[str](), list[str](), list[str]()
    for block in blocks():
        results = list(read_script(block.sql, block.dialect, tables()))
        if len(results) != len(block.expected):
            wrong.append(f"{block.dialect}: {block.sql}\n  {len(results)} statements")
            continue
        for found, line in zip(results, block.expected, strict=True):
            problem = found.lineage.problem
            if line == "?":
                counts["open"] += 1
                if problem is None:
                    wrong.append(f"{block.dialect}: {block.sql}\n  understood: {told(found)}")
            elif problem is not None:
                counts["not understood"] += 1
                missing.append(f"{block.dialect}: {block.sql}\n  {problem}")
            elif told(found) == normal(line):
                counts["exact"] += 1
            else:
                wrong.append(f"{block.dialect}: {block.sql}\n  {told(found)}\n  not {normal(line)}")
    share = counts["exact"] / (counts["exact"] + counts["not understood"] + len(wrong))
    print(f"{share:.1%} exact: {dict(counts)}, {len(wrong)} wrong", *missing, sep="\n")
    assert not wrong, "\n".join(wrong)
    assert share >= _LEAST_EXACT, f"only {share:.1%} are exact:\n" + "\n".join(missing)
