"""Render the lineage of SQL statements as text and JSON."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from explorer.cli.output import line_text, note, print_json, results
from explorer.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from explorer.sources.script_lineage import CatalogTables, StatementLineage
    from explorer.sources.sql_lineage import Path as TablePath

__all__ = ["print_as_json", "print_problems", "print_statements", "read_script_file"]


def read_script_file(name: str) -> str:
    """Return the text of a file, or of standard input for `-`. Raises `InvalidInput` if it cannot
    be read or is not UTF-8."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"cannot read {name}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8") from None


def print_statements(found: "Sequence[StatementLineage]", known: "CatalogTables") -> None:
    """Print the target, upstream tables and column lineage of each statement that was parsed."""
    console = results()
    for one in found:
        if one.lineage.problem is not None:
            continue
        target = ".".join(one.target) if one.target else "query"
        upstreams = ", ".join(_name(path, known) for path in one.lineage.tables) or "nothing"
        line = Text(f"{one.line:>5} ", "dim")
        console.print(line, line_text(target, "bold"), Text("from"), line_text(upstreams))
        for name, sources in zip(one.target_columns, one.lineage.columns, strict=True):
            read = ", ".join(f"{path[-1]}.{column}" for path, column in sources)
            console.print(
                Text("      "), line_text(name), Text("←", "dim"), line_text(read or "no column")
            )


def _name(path: "TablePath", known: "CatalogTables") -> str:
    return ".".join(path) + ("" if path in known.urns else " (created by the script)")


def print_as_json(found: "Sequence[StatementLineage]", known: "CatalogTables") -> None:
    """Print a JSON list with one object per statement."""
    print_json([_value(one, known) for one in found])


def _value(one: "StatementLineage", known: "CatalogTables") -> dict[str, Any]:
    columns = zip(one.target_columns, one.lineage.columns, strict=False)
    return {
        "line": one.line,
        "text": one.text,
        "target": _label(one.target, known) if one.target else None,
        "upstreams": [_label(path, known) for path in one.lineage.tables],
        "columns": {
            name: [{"urn": _label(path, known), "column": column} for path, column in sources]
            for name, sources in columns
        },
        "problem": one.lineage.problem,
    }


def _label(path: "TablePath", known: "CatalogTables") -> str:
    return str(known.urns.get(path) or ".".join(path))


def print_problems(found: "Sequence[StatementLineage]") -> int:
    """Print the statements that could not be parsed, and return their number."""
    problems = [one for one in found if one.lineage.problem is not None]
    for one in problems:
        note(line_text(f"line {one.line}: cannot be parsed: {one.lineage.problem} ({one.text})"))
    count = f"{len(found) - len(problems):,} of {len(found):,} statements parsed"
    note(count if found else "the script has no statement that reads or writes tables")
    return len(problems)
