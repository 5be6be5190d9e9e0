"""Descriptions of entities and columns: shown, typed, written in the user's editor, compared and
saved.
"""

import os
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import Any, Final, Self

import click
from rich.text import Text

from explorer import config
from explorer.cli import edits
from explorer.cli.options import Target, column_at, read_existing
from explorer.cli.output import note, notes, print_diff, print_json, results, said
from explorer.cli.rendering.entity import print_description
from explorer.client import Catalog
from explorer.client.display import block, line
from explorer.client.editable import TextConflict, place_of
from explorer.errors import InvalidInput, StorageFault
from explorer.metadata.urn import Urn
from explorer.views.diff import text_diff

__all__ = ["DescribeOptions", "show", "write", "write_from_editor", "write_typed"]

# No line of the notes below it, which all begin otherwise, can be taken for it.
_SCISSORS: Final = "# ------------------------ >8 ------------------------"
_INGESTED: Final = "#   "
_SAYS: Final = (
    "# Nothing from the line above on is saved; leave that line as it is.",
    "# The text is markdown. Saved as it was, or emptied, nothing is written.",
)


class EditorText:
    """A text that somebody typed. As a context it is kept in a file where what happens inside
    fails; else nothing is left of it."""

    def __init__(self, text: str, again: str, path: Path | None = None) -> None:
        """`again` is the command that writes the text when it is given the file."""
        self.text = text
        self._again = again
        self._path = path
        self._kept = False

    @classmethod
    def edited(cls, name: str, text: str, ingested: str, again: str) -> Self:
        """What the person makes of a text in their editor: `VISUAL`, `EDITOR` or the system's.

        The ingested text is shown below it. Raises `StorageFault` where no file can be made, before
        anything is typed, and `InvalidInput` where the editor fails or what it left cannot be
        read; the file it left is then named.
        """
        path = _new_file(name)
        blank = _sheet(name, text, ingested)
        try:
            path.write_bytes(blank)
            _run_editor(path)
            found = _above_scissors(path.read_bytes())
        except BaseException as error:
            _leave(path, blank)
            if isinstance(error, click.ClickException):
                raise InvalidInput(f"nothing was written: {error.format_message()}") from error
            if isinstance(error, OSError):
                raise StorageFault(f"{path} cannot be used: {error.strerror}") from error
            raise
        return cls(found, again, path)

    def keep(self) -> None:
        """Put the text into a file and say where, with the words that write it from there."""
        self._kept = True
        # Of the end one line end is left off when it is read from standard input.
        data = (self.text + ("\r\n" if self.text.endswith("\r") else "\n")).encode()
        try:
            path = self._path or _new_file("typed")
            draft = path.with_name(f".{path.name}")
            draft.write_bytes(data)
            draft.chmod(0o600)
            draft.replace(path)
        except (OSError, StorageFault):
            if self._path is None:
                note(Text("your text cannot be kept in a file; it is:\n"), Text(block(self.text)))
                return
            path = self._path
        note(Text(f"your text is kept in {line(str(path))}"))
        note(Text(f"to write it: {line(f'{self._again} < {quote(str(path))}')}", "dim"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and not isinstance(error, click.exceptions.Exit):
            self.keep()
        if not self._kept and self._path is not None:
            self._path.unlink(missing_ok=True)


def _new_file(name: str) -> Path:
    directory = config.state_dir() / "texts"
    plain = "".join(char if char.isalnum() or char in "-_" else "-" for char in name)[:60]
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Made for its owner's eyes only.
        descriptor, path = tempfile.mkstemp(".md", f"{plain}-", directory)
        os.close(descriptor)
    except OSError as error:
        raise StorageFault(
            f"{directory} cannot be written ({error.strerror}); "
            "name another directory with CATALOG_STATE_DIR"
        ) from error
    return Path(path)


def _sheet(name: str, text: str, ingested: str) -> bytes:
    below = [_SCISSORS, *_SAYS, f"# It describes {line(name)}."]
    if ingested:
        below += [
            "# Ingestion says:",
            *(f"{_INGESTED}{one}" for one in block(ingested).split("\n")),
        ]
    return "\n".join((text, *below, "")).encode()


def _above_scissors(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"nothing was written: it is not UTF-8 text: {error}") from None
    lines = text.split("\n")
    at = max((at for at, one in enumerate(lines) if one.rstrip("\r") == _SCISSORS), default=None)
    if at is not None:
        above = "\n".join(lines[:at])
        return above.removesuffix("\r") if lines[at].endswith("\r") else above
    if any(one.rstrip("\r") in _SAYS for one in lines):
        raise InvalidInput(
            "nothing was written: the line with >8 is gone, and so it cannot be told where your "
            "text ends"
        )
    return text.removesuffix("\n")


def _run_editor(path: Path) -> None:
    with _results_elsewhere():
        click.edit(filename=str(path))


@contextmanager
def _results_elsewhere() -> Iterator[None]:
    """What the editor shows is no result: it goes to standard error where results go to a file."""
    if os.isatty(1):
        yield
        return
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _leave(path: Path, blank: bytes) -> None:
    """Leave the file where something was typed into it, and say so."""
    try:
        if path.read_bytes() in (blank, b""):
            path.unlink()
            return
    except OSError:
        pass
    note(Text(f"what you typed is kept in {line(str(path))}"))


@dataclass(frozen=True, slots=True)
class DescribedPlace:
    """Where a description stands and what it says; `path` is the column's, exact."""

    urn: str
    name: str
    path: str | None
    ingested: str
    edited: str


@dataclass(frozen=True, slots=True)
class DescribeOptions:
    """How a text is written: over somebody else's, not at all but shown, told as JSON."""

    force: bool
    dry_run: bool
    as_json: bool


def find(catalog: Catalog, urn: str, column: str | None) -> DescribedPlace:
    """The entity's description, or that of a column of it. One request.

    Raises `NotFound` for an entity and `UnknownName` for a column that does not exist.
    """
    entity = read_existing(catalog, urn)
    if column is None:
        texts = entity.ingested_description, entity.edited_description
        return DescribedPlace(urn, entity.name, None, *texts)
    held = column_at(entity, column)
    name = f"{entity.name} · {held.path.simple}"
    return DescribedPlace(urn, name, held.path.raw, held.ingested or "", held.edited or "")


def read_stdin() -> str:
    """All of standard input without one line end at its end.

    Raises `InvalidInput` when there is nothing, so that a script whose input went missing takes
    no description back.
    """
    text = edits.read_stdin()
    if not text.strip():
        raise InvalidInput(
            "there is no text on standard input; --text gives one, "
            '--text "" takes the description back, and `catalog get` shows it'
        )
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def show(target: Target, urn: str, column: str | None, *, as_json: bool) -> None:
    """Show both texts, each marked."""
    with target.open() as catalog:
        place = find(catalog, urn, column)
    if as_json:
        print_json(_as_json(place))
        return
    console = results()
    console.print(said(place.name, "bold underline"))
    print_description(console, place.ingested, place.edited)


def write(target: Target, urn: str, column: str | None, text: str, manner: DescribeOptions) -> None:
    """Write a text that was given with the command."""
    edits.refuse_read_only(target)
    with target.open() as catalog:
        _write(catalog, _find_writable(catalog, urn, column), text, manner)


def write_typed(target: Target, urn: str, column: str | None, manner: DescribeOptions) -> None:
    """Write a text from standard input, which is kept in a file where that fails."""
    edits.refuse_read_only(target)
    typed = EditorText(read_stdin(), _again(urn, column))
    with typed as sheet, target.open() as catalog:
        _write(catalog, _find_writable(catalog, urn, column), sheet.text, manner)


def write_from_editor(
    target: Target, urn: str, column: str | None, manner: DescribeOptions
) -> None:
    """Write what the person makes of the text in their editor; kept in a file where that fails.

    Where the text in the catalog changed meanwhile nothing is written, unless with `force`.
    """
    edits.refuse_read_only(target)
    with target.open() as catalog:
        place = _find_writable(catalog, urn, column)
        again = _again(urn, place.path)
        with EditorText.edited(place.name, place.edited, place.ingested, again) as sheet:
            if sheet.text == place.edited or not (sheet.text.strip() or place.edited.strip()):
                note(Text("the text is as it was; nothing was written"))
                return
            if not sheet.text.strip():
                note(Text("the text was emptied; nothing was written"))
                note(Text('--text "" in place of --edit takes the description back', "dim"))
                click.get_current_context().exit(1)
            if manner.dry_run:
                sheet.keep()
            _write(catalog, place, sheet.text, manner, instead_of=place.edited)


def _again(urn: str, column: str | None) -> str:
    words = ("catalog", "describe", urn, *(("--column", column) if column else ()), "--text", "-")
    return shlex.join(words)


def _find_writable(catalog: Catalog, urn: str, column: str | None) -> DescribedPlace:
    """As `find`; raises `InvalidInput` for what cannot be described, before anything is typed."""
    place_of(Urn.parse(urn), column)
    return find(catalog, urn, column)


def _write(
    catalog: Catalog,
    place: DescribedPlace,
    text: str,
    manner: DescribeOptions,
    *,
    instead_of: str | None = None,
) -> None:
    before = place.edited
    if manner.dry_run:
        if manner.as_json:
            print_json(_told(replace(place, edited=text), before, dry_run=True))
        elif text != before:
            _print_difference(before, text, to_results=True)
        same = "" if text != before else "the text is as it was; "
        note(Text(f"{same}nothing was written: this was a dry run"))
        return
    edits.keep_journal(catalog)
    try:
        edit = catalog.describe(
            place.urn, text, column=place.path, instead_of=instead_of, force=manner.force
        )
    except TextConflict as conflict:
        note(Text("what changed while you wrote:"))
        _print_difference(conflict.base, conflict.theirs, to_results=False)
        note(Text("--force with --edit writes over it, as --text does", "dim"))
        raise
    if edit.changed:
        head = Text("described ") + said(place.name, "bold")
        was, now = (edits.part("description", held) for held in (edit.before, edit.after))
        note(head, Text(f": {was} → {now}"))
    else:
        note(said(place.name, "bold"), Text(" says that already; nothing was written"))
    if manner.as_json:
        held = edit.before if isinstance(edit.before, str) else ""
        print_json(_told(replace(place, edited=text), held, dry_run=False))


def _print_difference(before: str, after: str, *, to_results: bool) -> None:
    console = results() if to_results else notes()
    console.print(Text("--- before\n+++ after", "bold"))
    print_diff(text_diff(before, after, exact=True), console)


def _as_json(place: DescribedPlace) -> dict[str, Any]:
    """`description` is the text that counts: what people wrote where they wrote any."""
    return {
        "urn": place.urn,
        "column": place.path,
        "description": place.edited or place.ingested,
        "edited": place.edited or None,
        "ingested": place.ingested or None,
    }


def _told(place: DescribedPlace, before: str, *, dry_run: bool) -> dict[str, Any]:
    changed = place.edited != before
    return {**_as_json(place), "before": before or None, "changed": changed, "dry_run": dry_run}
