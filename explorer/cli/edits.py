"""Edits made by commands: they are applied to one entity after another, reported, and recorded in
the journal. Also shows and changes labels, and shows and edits descriptions.
"""

import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import click
from rich.text import Text

from explorer import config
from explorer.cli import output
from explorer.cli.options import OutputFormat, Target, column_at, read_existing
from explorer.cli.output import (
    StyledTable,
    TableColumn,
    line_text,
    note,
    notes,
    print_diff,
    print_json,
    results,
)
from explorer.client.display import block, counted, line
from explorer.client.editable import (
    LABEL_KINDS,
    OWNERS,
    LabelKind,
    LabelWhat,
    TextConflict,
    check_ownership,
    domains_of,
    place_of,
)
from explorer.client.records import Edit
from explorer.errors import (
    CatalogError,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    ReadOnly,
    ServerFault,
    StorageFault,
)
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.views.diff import text_diff
from explorer.views.journal import edit_place, held_words

if TYPE_CHECKING:
    from explorer.client import Catalog
    from explorer.client.entity import Entity
    from explorer.client.journal import Journal

__all__ = [
    "Change",
    "DescribeOptions",
    "EditRun",
    "Labels",
    "NamedLabel",
    "as_record",
    "change_each",
    "change_labels",
    "check_labels",
    "describe",
    "describe_from_stdin",
    "describe_in_editor",
    "finish",
    "go_through",
    "keep_journal",
    "print_effect",
    "read_stdin",
    "read_urn_arguments",
    "refuse_read_only",
    "show_description",
    "show_labels",
    "suggest_labels",
]

Change = Callable[["Catalog", str], Iterable[Edit]]
"""A function that changes one entity and yields each edit after it is made."""

_ENTITY_ERRORS: Final = (InvalidInput, NotFound, Conflict, Forbidden, ServerFault)
"""Errors that concern one entity; any other error ends the run."""


@dataclass(slots=True)
class EditRun:
    """The outcome of processing entities: those that failed, with the reason, and the error that
    stopped the run early, if any."""

    failed: list[tuple[str, str]] = field(default_factory=list)
    stopped: CatalogError | None = None


def refuse_read_only(target: Target) -> None:
    """Raise `ReadOnly` if the profile in use is read-only, before any prompt or request."""
    server = config.server(target.url, profile=target.profile, data_dir=target.data_dir)
    if server.read_only:
        raise ReadOnly(
            f"the profile {server.name} is read-only and nothing was sent; use another profile"
        )


def keep_journal(catalog: "Catalog") -> "Journal":
    """Make the client record its edits in the journal that `catalog undo` reads."""
    from explorer.client.journal import JOURNAL

    return catalog.keep_journal(config.state_dir() / JOURNAL)


def read_stdin() -> str:
    """Return all of standard input; raises `InvalidInput` if it is not UTF-8."""
    data = sys.stdin.buffer.read() if sys.stdin else b""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"standard input is not UTF-8 text: {error}") from None


def read_urn_arguments(words: Sequence[str]) -> tuple[str, ...]:
    """Return the URNs without duplicates; `-` stands for those on standard input, one per line.

    Raises `InvalidInput` if there are none.
    """
    found: list[str] = []
    for word in words:
        lines = read_stdin().split("\n") if word == "-" else (word,)
        found += filter(None, map(str.strip, lines))
    if not found:
        raise InvalidInput("no URN on standard input; give one per line")
    return tuple(dict.fromkeys(found))


def go_through(
    urns: Sequence[str], act: Callable[[str], None], names_in: "Catalog | None" = None
) -> EditRun:
    """Call `act` for each URN; with `names_in`, names are replaced by the URNs of that catalog,
    without it they are errors. An error that concerns one entity is printed, and the others are
    still processed; any other error stops the run."""
    done = EditRun()
    for position, urn in enumerate(urns):
        try:
            act(_required_urn(urn) if names_in is None else str(names_in.urn_of(urn)))
        except _ENTITY_ERRORS as error:
            done.failed.append((urn, str(error)))
            named = f"{urn}: {error}" if len(urns) > 1 and urn not in str(error) else str(error)
            note(Text(f"error: {line(named)}"))
        except CatalogError as error:
            done.stopped = error
            left = len(urns) - position
            if len(urns) > 1:
                note(Text(f"stopped at {line(urn)}: {left:,} of {len(urns):,} not processed"))
            break
    return done


def _required_urn(text: str) -> str:
    if not text.startswith("urn:"):
        raise InvalidInput(
            f"“{text}” is not a URN, which is needed here; “catalog search {quote(text)} --urns” "
            "lists URNs"
        )
    return text


def finish(done: EditRun) -> None:
    """Raise the error that stopped the run, or exit with 1 if an entity failed."""
    if done.stopped is not None:
        raise done.stopped
    if done.failed:
        click.get_current_context().exit(1)


def change_each(
    target: Target,
    words: Sequence[str],
    change: Change,
    *,
    dry_run: bool,
    as_json: bool,
    propose: Path | None = None,
) -> None:
    """Change each entity and report the changes, on standard error and as JSON also on standard
    output. All changes are one save, which `catalog undo` reverts as a whole.

    With `dry_run` or `propose`, `change` must yield the planned edits without making them. With
    `propose` these are staged as a changeset in a new file.
    """
    from explorer.client.journal import one_save

    if propose is not None:
        _propose_each(target, words, change, propose, as_json=as_json)
        return
    refuse_read_only(target)
    urns = read_urn_arguments(words)
    made: list[Edit] = []
    with target.open() as catalog:
        if not dry_run:
            keep_journal(catalog)

        def act(urn: str) -> None:
            first = len(made)
            try:
                made.extend(change(catalog, urn))
            finally:
                print_effect(made[first:])

        with one_save():
            done = go_through(urns, act, names_in=catalog)
    if as_json:
        print_json(
            {
                "dry_run": dry_run,
                "edits": [as_record(edit) for edit in made],
                "failed": [{"urn": urn, "error": reason} for urn, reason in done.failed],
            }
        )
    _print_totals(urns, made, done)
    if dry_run:
        note(Text("dry run: nothing was written"))
    finish(done)


def _propose_each(
    target: Target, words: Sequence[str], change: Change, file: Path, *, as_json: bool
) -> None:
    """Stage the edits that `change` plans for each entity in a new file."""
    from explorer.cli.rendering.review import print_proposed
    from explorer.stewardship import Stewardship, staged_edit

    if file.exists():
        raise InvalidInput(f"{file} already exists; give another file name")
    urns = read_urn_arguments(words)
    planned: list[Edit] = []
    with target.open() as catalog:
        done = go_through(urns, lambda urn: planned.extend(change(catalog, urn)), names_in=catalog)
        entities = list(dict.fromkeys(edit.urn for edit in planned))
        names = {urn: one.name for urn, one in catalog.summaries(entities).items()}
        edits = [
            staged_edit(str(one.urn), names[one.urn], one.what, one.before, one.after, one.column)
            for one in planned
            if one.what != "description"
            and one.what != "status"
            and one.what != "entity"
            and one.what != "name"
            and one.what != "parent"
        ]
        staged = [edit for edit in edits if edit is not None]
        if staged:
            noun = staged[0].what.capitalize()
            many = counted(len(staged), "entity", "entities")
            changeset = Stewardship(catalog).stage(staged, f"{noun} of {many}", file)
            print_proposed(changeset, "json" if as_json else None)
    if not staged and done.stopped is None and not done.failed:
        raise NotFound("nothing to propose: the catalog already has all these values")
    finish(done)


def print_effect(edits: Sequence[Edit]) -> None:
    """Print the combined effect of edits of one entity: before → after."""
    if not edits:
        return
    first, last = edits[0], edits[-1]
    place = edit_place(first.urn, first.column)
    head = Text(f"{first.what} of ") + line_text(place, "bold") + Text(": ")
    before, after = held_words(first.what, first.before), held_words(first.what, last.after)
    if first.before == last.after:
        note(head, Text(f"{before} (unchanged)"))
    else:
        note(head, Text(f"{before} → {after}"))


def as_record(edit: Edit) -> dict[str, Any]:
    """Return an edit as a JSON object; `at` is an ISO timestamp in UTC."""
    return {
        "urn": str(edit.urn),
        "column": edit.column,
        "what": edit.what,
        "before": edit.before,
        "after": edit.after,
        "changed": edit.changed,
        "at": edit.at.isoformat(),
    }


def _print_totals(urns: Sequence[str], made: Sequence[Edit], done: EditRun) -> None:
    if len(urns) == 1:
        return
    changed = len({edit.urn for edit in made if edit.changed})
    counts = f"{changed:,} of {len(urns):,} changed"
    note(Text(f"{counts}, {len(done.failed):,} failed" if done.failed else counts))


_What = LabelWhat | Literal["domain"]
NamedLabel = tuple[str, str | None]
"""The name or URN of a label, and for an owner the ownership type, None for all types."""
_Found = tuple[Urn, str | None, tuple[str, ...]]
"""An entity, the exact path of its column or None, and its labels."""
_NAME_WIDTH: Final = 56
_MOST_SIMILAR: Final = 3
_CREATED_AS: Final = {"tag": "tag", "glossaryTerm": "term", "domain": "domain"}
"""The argument of `catalog new` for each entity type that it can create."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of one kind to add and to remove, on an entity or one of its columns."""

    what: LabelWhat
    add: Sequence[NamedLabel]
    remove: Sequence[NamedLabel]
    column: str | None = None

    @property
    def kind(self) -> LabelKind:
        """The kind of label."""
        return LABEL_KINDS[self.what]


def change_labels(
    target: Target,
    words: Sequence[str],
    labels: Labels,
    *,
    dry_run: bool,
    as_json: bool,
    propose: Path | None = None,
) -> None:
    """Add labels to entities and remove others; further labels are kept. See `change_each`."""
    for name, _ in set(labels.add) & set(labels.remove):
        raise click.UsageError(f"{name} is given with both --add and --remove; give only one")
    # Checked once: an invalid label is invalid for every entity.
    for name, _ in (*labels.add, *labels.remove):
        labels.kind.named(name)
    change: Change = _plan(labels) if dry_run or propose else _write(labels)
    change_each(target, words, change, dry_run=dry_run, as_json=as_json, propose=propose)


def show_labels(
    target: Target,
    words: Sequence[str],
    what: _What,
    column: str | None,
    shown_as: OutputFormat | None,
) -> None:
    """Print the labels of entities in the given format; as URNs, print only those of the labels."""
    found: list[_Found] = []
    urns = read_urn_arguments(words)
    with target.open() as catalog:

        def read(urn: str) -> None:
            entity = read_existing(catalog, urn)
            path = column_at(entity, column).path.raw if column else None
            found.append((entity.urn, path, _held(entity, what, path)))

        done = go_through(urns, read, names_in=catalog)
    table = _table(found, what)
    match shown_as:
        case "urns":
            output.print_urns(_urns(what, (label for _, _, held in found for label in held)))
        case "csv":
            output.print_csv(table)
        case "json":
            output.print_rows_as_json(table)
        case None if found:
            output.print_table(table)
        case None:
            pass
    finish(done)


def _held(entity: "Entity", what: _What, path: str | None) -> tuple[str, ...]:
    if what == "domain":
        return domains_of(entity.raw("domains") or {})
    if path is not None and what in ("tags", "terms"):
        column = column_at(entity, path)
        # Includes the ingested ones.
        return tuple(map(str, column.tags if what == "tags" else column.terms))
    return _edited(entity, LABEL_KINDS[what], path)


def _edited(entity: "Entity", kind: LabelKind, path: str | None) -> tuple[str, ...]:
    return kind.labels(entity.raw(kind.home(path)) or {}, path)


def _write(labels: Labels) -> Change:
    def change(catalog: "Catalog", urn: str) -> Iterator[Edit]:
        where: dict[str, str] = {}
        if labels.column is not None:
            where["column"] = column_at(read_existing(catalog, urn), labels.column).path.raw
        for verb, given in (("add", labels.add), ("remove", labels.remove)):
            method = getattr(catalog, f"{verb}_{labels.what}")
            for ownership, names in _by_ownership(given):
                kind = {} if ownership is None else {"ownership": ownership}
                with suggest_labels(catalog, labels.kind.named(names)):
                    edit = method(urn, names, **where, **kind)
                yield edit

    return change


@contextmanager
def suggest_labels(catalog: "Catalog", labels: Iterable[str]) -> Iterator[None]:
    """If the block raises `NotFound` because one of these labels, given as URNs, is not in the
    catalog, raise one that names similar labels, or the command that creates it.

    No requests if the block succeeds; else one for each label, and two for the similar ones.
    """
    try:
        yield
    except NotFound:
        check_labels(catalog, labels)
        raise


def check_labels(catalog: "Catalog", labels: Iterable[str]) -> None:
    """Raise `NotFound` if one of these labels, given as URNs, is not in the catalog, with the hint
    of `suggest_labels`. One request for each label, and two for similar ones."""
    for label in map(Urn.parse, labels):
        if not catalog.entity(label).exists:
            raise _unknown_label(catalog, label)


def _unknown_label(catalog: "Catalog", label: Urn) -> NotFound:
    kind = singular(label.entity_type)
    types = OWNERS.entity_types if label.entity_type in OWNERS.entity_types else label.entity_type
    hits = catalog.search(label.name, entity=types, count=_MOST_SIMILAR)
    similar = catalog.summaries(hit.urn for hit in hits)
    names = []
    for urn, one in similar.items():
        given = urn.name if urn.entity_type == label.entity_type else str(urn)
        names.append(given if one.name == given else f"{given} ({one.name})")
    hint = " or ".join(names)
    created = _CREATED_AS.get(label.entity_type)
    if hint:
        hint = f"; did you mean {hint}?"
    elif created is not None:
        hint = f"; “catalog new {created} {quote(label.name)}” creates it"
    return NotFound(line(f"the {kind} {label.name} does not exist{hint}"))


def _by_ownership(labels: Sequence[NamedLabel]) -> Iterator[tuple[str | None, list[str]]]:
    for kind in dict.fromkeys(kind for _, kind in labels):
        yield kind, [name for name, own in labels if own == kind]


def _plan(labels: Labels) -> Change:
    known: set[str] = set()

    def change(catalog: "Catalog", urn: str) -> Iterator[Edit]:
        entity = read_existing(catalog, urn)
        path = column_at(entity, labels.column).path.raw if labels.column else None
        for _, ownership in labels.add:
            if ownership is not None:
                check_ownership(ownership, catalog.registry)
        before = _edited(entity, labels.kind, path)
        kept = (label for label in before if not _is_among(label, labels))
        new = {_label(name, ownership, labels): name for name, ownership in labels.add}
        # Only labels that the entity lacks are written, and so checked.
        added = [name for label, name in new.items() if label not in before]
        unknown = [label for label in labels.kind.named(added) if label not in known]
        check_labels(catalog, unknown)
        known.update(unknown)
        after = tuple(dict.fromkeys((*kept, *new)))
        yield Edit.now(entity.urn, labels.what, before, after, path)

    return change


def _label(name: str, ownership: str | None, labels: Labels) -> str:
    (urn,) = labels.kind.named(name)
    return f"{urn} {ownership or 'TECHNICAL_OWNER'}" if labels.kind is OWNERS else urn


def _is_among(label: str, labels: Labels) -> bool:
    """Return whether a label is one of those to remove."""
    urn, _, ownership = label.rpartition(" ") if labels.kind is OWNERS else (label, "", None)
    return any(
        labels.kind.named(name) == (urn,) and given in (None, ownership)
        for name, given in labels.remove
    )


def _urns(what: _What, labels: Iterable[str]) -> list[str]:
    bare = (label.rpartition(" ")[0] if what == "owners" else label for label in labels)
    return list(dict.fromkeys(bare))


def _table(found: Sequence[_Found], what: _What) -> StyledTable:
    name = "domains" if what == "domain" else what
    columns = [
        TableColumn("name", audience="people", max_width=_NAME_WIDTH, folds=True, style="bold"),
        TableColumn("shown", name, audience="people", folds=True),
        TableColumn("urn", audience="programs"),
        TableColumn("column", audience="programs"),
        TableColumn(name, audience="programs"),
    ]
    rows = [
        (edit_place(urn, path), held_words(what, held), str(urn), path, held)
        for urn, path, held in found
    ]
    return StyledTable(columns, rows)


# None of the comment lines below it can be equal to this line.
_SCISSORS: Final = "# ------------------------ >8 ------------------------"
_INGESTED: Final = "#   "
_EDITOR_NOTES: Final = (
    "# Do not change or remove the line above. Everything below it is ignored.",
    "# The text is Markdown. If it is unchanged or empty, nothing is written.",
)


class _TypedText:
    """A text that a user typed. As a context manager, it saves the text to a file if the block
    fails, and otherwise removes the file."""

    def __init__(self, text: str, again: str, path: Path | None = None) -> None:
        """`again` is the command that writes the text if the file is its standard input."""
        self.text = text
        self._again = again
        self._path = path
        self._is_kept = False

    @classmethod
    def edited(cls, name: str, text: str, ingested: str, again: str) -> Self:
        """Open a text in the user's editor, and return the result.

        The editor is `VISUAL`, `EDITOR` or the default of the system. The ingested text is shown
        below the text, as comments. Raises `StorageFault` if no file can be created, and
        `InvalidInput` if the editor fails or its file cannot be read; then the file is kept, and a
        message names it.
        """
        path = _new_file(name)
        blank = _editor_text(name, text, ingested)
        try:
            path.write_bytes(blank)
            _run_editor(path)
            found = _above_scissors(path.read_bytes())
        except BaseException as error:
            _remove_untouched(path, blank)
            if isinstance(error, click.ClickException):
                raise InvalidInput(f"nothing was written: {error.format_message()}") from error
            if isinstance(error, OSError):
                raise StorageFault(f"cannot read or write {path}: {error.strerror}") from error
            raise
        return cls(found, again, path)

    def keep(self) -> None:
        """Save the text to a file, and print its name and the command that writes it."""
        self._is_kept = True
        # One line break at the end is dropped when the text is read from standard input.
        data = (self.text + ("\r\n" if self.text.endswith("\r") else "\n")).encode()
        try:
            path = self._path or _new_file("typed")
            draft = path.with_name(f".{path.name}")
            draft.write_bytes(data)
            draft.chmod(0o600)
            draft.replace(path)
        except (OSError, StorageFault):
            if self._path is None:
                note(Text("your text cannot be saved to a file; it is:\n"), Text(block(self.text)))
                return
            path = self._path
        note(Text(f"your text is saved in {line(str(path))}"))
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
        if not self._is_kept and self._path is not None:
            self._path.unlink(missing_ok=True)


def _new_file(name: str) -> Path:
    directory = config.state_dir() / "texts"
    plain = "".join(char if char.isalnum() or char in "-_" else "-" for char in name)[:60]
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp creates the file with mode 0600.
        descriptor, path = tempfile.mkstemp(".md", f"{plain}-", directory)
        os.close(descriptor)
    except OSError as error:
        raise StorageFault(
            f"cannot write to {directory} ({error.strerror}); "
            "set CATALOG_STATE_DIR to another directory"
        ) from error
    return Path(path)


def _editor_text(name: str, text: str, ingested: str) -> bytes:
    below = [_SCISSORS, *_EDITOR_NOTES, f"# Description of {line(name)}"]
    if ingested:
        below += [
            "# Ingested description:",
            *(f"{_INGESTED}{one}" for one in block(ingested).split("\n")),
        ]
    return "\n".join((text, *below, "")).encode()


def _above_scissors(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"nothing was written: the file is not UTF-8 text: {error}") from None
    lines = text.split("\n")
    at = max((at for at, one in enumerate(lines) if one.rstrip("\r") == _SCISSORS), default=None)
    if at is not None:
        above = "\n".join(lines[:at])
        return above.removesuffix("\r") if lines[at].endswith("\r") else above
    if any(one.rstrip("\r") in _EDITOR_NOTES for one in lines):
        raise InvalidInput(
            "nothing was written: the line with >8 was removed, so the end of your text is unknown"
        )
    return text.removesuffix("\n")


def _run_editor(path: Path) -> None:
    with _stdout_to_stderr():
        click.edit(filename=str(path))


@contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Redirect standard output to standard error, unless it is a terminal.

    The screen of the editor must not go to a file or pipe for results.
    """
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


def _remove_untouched(path: Path, blank: bytes) -> None:
    """Remove the file if nothing was typed into it; otherwise keep it and print its name."""
    try:
        if path.read_bytes() in (blank, b""):
            path.unlink()
            return
    except OSError:
        pass
    note(Text(f"your text is saved in {line(str(path))}"))


@dataclass(frozen=True, slots=True)
class _DescribedPlace:
    """The description of an entity, or of its column with the exact path `path`."""

    urn: str
    name: str
    path: str | None
    ingested: str
    edited: str


@dataclass(frozen=True, slots=True)
class DescribeOptions:
    """How to write a description: `force` overwrites the edits of others."""

    force: bool
    dry_run: bool
    as_json: bool


def _find_described(catalog: "Catalog", urn: str, column: str | None) -> _DescribedPlace:
    """Return the description of an entity, or of one of its columns. Makes one request.

    Raises `NotFound` if there is no such entity, and `UnknownName` if there is no such column.
    """
    entity = read_existing(catalog, urn)
    if column is None:
        texts = entity.ingested_description, entity.edited_description
        return _DescribedPlace(urn, entity.name, None, *texts)
    held = column_at(entity, column)
    name = f"{entity.name} · {held.path.simple}"
    return _DescribedPlace(urn, name, held.path.raw, held.ingested or "", held.edited or "")


def _read_description() -> str:
    """Return all of standard input without one line break at its end.

    Raises `InvalidInput` if it is blank, so that a script whose input is missing does not remove
    a description.
    """
    text = read_stdin()
    if not text.strip():
        raise InvalidInput(
            "no text on standard input; give a text with --text, or remove the description with "
            '--text ""'
        )
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def show_description(target: Target, urn: str, column: str | None, *, as_json: bool) -> None:
    """Print the edited and the ingested description, each under its label."""
    from explorer.cli.rendering.entity import print_description

    with target.open() as catalog:
        place = _find_described(catalog, urn, column)
    if as_json:
        print_json(_description_as_json(place))
        return
    console = results()
    console.print(line_text(place.name, "bold underline"))
    print_description(console, place.ingested, place.edited)


def describe(
    target: Target, urn: str, column: str | None, text: str, options: DescribeOptions
) -> None:
    """Write a text given on the command line."""
    refuse_read_only(target)
    with target.open() as catalog:
        _save_description(catalog, _find_writable(catalog, urn, column), text, options)


def describe_from_stdin(
    target: Target, urn: str, column: str | None, options: DescribeOptions
) -> None:
    """Write a text from standard input; if that fails, save it to a file."""
    refuse_read_only(target)
    typed = _TypedText(_read_description(), _command_to_write(urn, column))
    with typed, target.open() as catalog:
        _save_description(catalog, _find_writable(catalog, urn, column), typed.text, options)


def describe_in_editor(
    target: Target, urn: str, column: str | None, options: DescribeOptions
) -> None:
    """Open the text in the user's editor and write the result; if that fails, save it to a file.

    If the text in the catalog has changed meanwhile, nothing is written, except with `force`.
    """
    refuse_read_only(target)
    with target.open() as catalog:
        place = _find_writable(catalog, urn, column)
        again = _command_to_write(urn, place.path)
        with _TypedText.edited(place.name, place.edited, place.ingested, again) as typed:
            if typed.text == place.edited or not (typed.text.strip() or place.edited.strip()):
                note(Text("the text is unchanged; nothing was written"))
                return
            if not typed.text.strip():
                note(Text("the text is empty; nothing was written"))
                note(Text('to remove the description, use --text "" instead of --edit', "dim"))
                click.get_current_context().exit(1)
            if options.dry_run:
                typed.keep()
            _save_description(catalog, place, typed.text, options, instead_of=place.edited)


def _command_to_write(urn: str, column: str | None) -> str:
    words = ("catalog", "describe", urn, *(("--column", column) if column else ()), "--text", "-")
    return shlex.join(words)


def _find_writable(catalog: "Catalog", urn: str, column: str | None) -> _DescribedPlace:
    """Return the same as `_find_described`. Raises `InvalidInput` if the entity cannot have a
    description, before the user types anything."""
    place_of(Urn.parse(urn), column)
    return _find_described(catalog, urn, column)


def _save_description(
    catalog: "Catalog",
    place: _DescribedPlace,
    text: str,
    options: DescribeOptions,
    *,
    instead_of: str | None = None,
) -> None:
    # A blank text is no description.
    before, text = place.edited, text if text.strip() else ""
    if options.dry_run:
        if options.as_json:
            print_json(_changed_description(replace(place, edited=text), before, dry_run=True))
        elif text != before:
            _print_difference(before, text, to_results=True)
        unchanged = "" if text != before else "the text is unchanged; "
        note(Text(f"{unchanged}dry run: nothing was written"))
        return
    keep_journal(catalog)
    try:
        edit = catalog.describe(
            place.urn, text, column=place.path, instead_of=instead_of, force=options.force
        )
    except TextConflict as conflict:
        note(Text("somebody changed the description while you were writing:"))
        _print_difference(conflict.base, conflict.theirs, to_results=False)
        note(Text("to overwrite it, use --edit with --force, or --text", "dim"))
        raise
    if edit.changed:
        head = Text("described ") + line_text(place.name, "bold")
        was, now = (held_words("description", held) for held in (edit.before, edit.after))
        note(head, Text(f": {was} → {now}"))
    else:
        note(
            line_text(place.name, "bold"),
            Text(" already has this description; nothing was written"),
        )
    if options.as_json:
        held = edit.before if isinstance(edit.before, str) else ""
        print_json(_changed_description(replace(place, edited=text), held, dry_run=False))


def _print_difference(before: str, after: str, *, to_results: bool) -> None:
    console = results() if to_results else notes()
    console.print(Text("--- before\n+++ after", "bold"))
    print_diff(text_diff(before, after, exact=True), console)


def _description_as_json(place: _DescribedPlace) -> dict[str, Any]:
    """Return the descriptions as a JSON object; `description` is the edited one if there is one."""
    return {
        "urn": place.urn,
        "column": place.path,
        "description": place.edited or place.ingested,
        "edited": place.edited or None,
        "ingested": place.ingested or None,
    }


def _changed_description(place: _DescribedPlace, before: str, *, dry_run: bool) -> dict[str, Any]:
    changed = place.edited != before
    return {
        **_description_as_json(place),
        "before": before or None,
        "changed": changed,
        "dry_run": dry_run,
    }
