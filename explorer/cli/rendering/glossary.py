"""Read and write glossary files, and render their changes."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.text import Text

from explorer.cli.options import OutputFormat
from explorer.cli.output import (
    as_objects,
    note,
    print_csv,
    print_exactly,
    print_json,
    print_rows_as_json,
    print_table,
)
from explorer.cli.rendering.documentation import write_file
from explorer.client.display import counted, line
from explorer.errors import InvalidInput, StorageFault
from explorer.stewardship.glossary import (
    GlossaryChange,
    GlossaryEntry,
    GlossaryOutcome,
    parse_glossary,
    write_glossary,
)
from explorer.views.glossary import glossary_page, glossary_sentences, glossary_table

__all__ = ["check_output", "print_changes", "print_outcome", "read", "write"]

_STDIO: Final = Path("-")


def check_output(file: Path | None, *, overwrite: bool) -> None:
    """Raise `InvalidInput` if the file exists and `overwrite` is not set."""
    if file is not None and file != _STDIO and file.exists() and not overwrite:
        raise InvalidInput(f"{line(str(file))} already exists; give another name, or --overwrite")


def read(file: Path) -> tuple[GlossaryEntry, ...]:
    """Return the entries of a file, or of standard input for `-`.

    Raises `StorageFault` if the file cannot be read, and `InvalidInput` if it is invalid.
    """
    try:
        data = sys.stdin.buffer.read() if file == _STDIO else file.read_bytes()
        return parse_glossary(data.decode())
    except OSError as error:
        raise StorageFault(f"cannot read {line(str(file))}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{line(str(file))} is not UTF-8 text: {error}") from None
    except InvalidInput as error:
        raise InvalidInput(f"{line(str(file))}: {error}") from error


def write(entries: Sequence[GlossaryEntry], file: Path | None) -> None:
    """Write the file, and print the numbers of terms and groups to standard error."""
    text = write_glossary(entries)
    terms = sum(1 for one in entries if one.is_term)
    if file is None or file == _STDIO:
        print_exactly(text)
    else:
        write_file(file, text.encode())
    where = f" in {line(str(file))}" if file not in (None, _STDIO) else ""
    note(Text(f"{counted(terms, 'term')}, {counted(len(entries) - terms, 'group')}{where}"))


def print_changes(changes: Sequence[GlossaryChange], shown_as: OutputFormat | None) -> None:
    """Print the changes in the given format, and totals to standard error."""
    match shown_as:
        case "json":
            print_rows_as_json(glossary_table(changes))
        case "csv":
            print_csv(glossary_table(changes))
        case _:
            if changes:
                print_table(glossary_page(changes))
            for sentence in glossary_sentences(changes):
                note(Text(sentence))


def print_outcome(
    changes: Sequence[GlossaryChange],
    outcome: GlossaryOutcome,
    shown_as: OutputFormat | None,
    *,
    dry_run: bool,
) -> None:
    """Print the changes that were made, or with `dry_run` would be made, and failures."""
    if shown_as == "json":
        failed = [
            {"urn": str(one.entry.urn), "what": one.what, "error": why}
            for one, why in outcome.failed
        ]
        listed = as_objects(glossary_table(changes))
        print_json({"dry_run": dry_run, "changes": listed, "failed": failed})
    else:
        print_changes(changes, None)
    for change, why in outcome.failed:
        note(Text(f"error: {change.what} of {line(str(change.entry.urn))}: {line(why)}"))
    if dry_run:
        note(Text("dry run: nothing was written"))
    elif outcome.edits:
        note(Text(f"{counted(len(outcome.edits), 'edit')} made; catalog undo reverts the import"))
