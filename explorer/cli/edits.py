"""Editing functions of commands: apply an edit to one entity after another, report it, and record
it in the journal; list, undo and redo recorded edits; show and change labels and descriptions;
delete and restore entities."""

import os
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import click
from rich.padding import Padding
from rich.text import Text

from explorer import config
from explorer.cli import output
from explorer.cli.options import OutputFormat, Target, column_at, read_existing
from explorer.cli.output import (
    confirm,
    line_text,
    note,
    note_message,
    notes,
    print_diff,
    print_json,
    print_parts,
    results,
    words,
)
from explorer.client.display import block, counted, line, moment
from explorer.client.editable import (
    LABEL_KINDS,
    OWNERS,
    LabelKind,
    LabelWhat,
    TextConflict,
    domains_of,
    has_one_description,
    place_of,
    stored_description,
)
from explorer.client.edits import plan_edits
from explorer.client.journal import (
    JOURNAL,
    Journal,
    JournalEntry,
    JournalSave,
    entries_with,
    held_labels,
    is_undone,
    one_save,
    saves_of,
    standing_part,
    undone_in,
)
from explorer.client.records import Deletion, Edit, MovedContents, StatusChange
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
from explorer.files import replace_file
from explorer.metadata.names import singular
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.sessions.descriptions import DescriptionSession
from explorer.sessions.lifecycle import LifecycleSession, PlannedDeletion, moved_words
from explorer.sessions.undo import UndoOutcome, UndoQuestion, UndoSession
from explorer.views.columns import earlier_words
from explorer.views.diff import text_diff
from explorer.views.journal import edit_place, journal_table, value_words
from explorer.views.table import Table, TableColumn, to_objects
from explorer.views.text import text_line

if TYPE_CHECKING:
    from explorer.client import Catalog
    from explorer.client.entity import Entity

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
    """Make the client record its edits in the journal that `catalog undo` reads; return the
    journal."""
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
    urns: list[str] = []
    for word in words:
        lines = read_stdin().split("\n") if word == "-" else (word,)
        urns += filter(None, map(str.strip, lines))
    if not urns:
        raise InvalidInput("no URN on standard input; give one per line")
    return tuple(dict.fromkeys(urns))


def go_through(
    urns: Sequence[str], act: Callable[[str], None], catalog: "Catalog | None" = None
) -> EditRun:
    """Call `act` for each URN. With a catalog, names are replaced by the URNs of the entities;
    without one, names are errors. An error that concerns one entity is printed, and the others are
    still processed; any other error stops the run."""
    done = EditRun()
    for position, urn in enumerate(urns):
        try:
            act(_find_urn(urn) if catalog is None else str(catalog.urn_of(urn)))
        except _ENTITY_ERRORS as error:
            done.failed.append((urn, str(error)))
            message = f"{urn}: {error}" if len(urns) > 1 and urn not in str(error) else str(error)
            note(Text(f"error: {line(message)}"))
        except CatalogError as error:
            done.stopped = error
            rest_count = len(urns) - position
            if len(urns) > 1:
                note(Text(f"stopped at {line(urn)}: {rest_count:,} of {len(urns):,} not processed"))
            break
    return done


def _find_urn(text: str) -> str:
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

    With `dry_run` they are only planned; with `propose` these are staged as a changeset in a new
    file.
    """
    if propose is not None:
        _propose_each(target, words, change, propose, as_json=as_json)
        return
    refuse_read_only(target)
    urns = read_urn_arguments(words)
    edits: list[Edit] = []
    with target.open() as catalog:
        if not dry_run:
            keep_journal(catalog)

        if dry_run:
            change = _plan(change)

        def act(urn: str) -> None:
            first = len(edits)
            try:
                edits.extend(change(catalog, urn))
            finally:
                print_effect(edits[first:])

        with one_save():
            done = go_through(urns, act, catalog)
    if as_json:
        print_json(
            {
                "dry_run": dry_run,
                "edits": [as_record(edit) for edit in edits],
                "failed": [{"urn": urn, "error": reason} for urn, reason in done.failed],
            }
        )
    _print_totals(urns, edits, done)
    if dry_run:
        note(Text("dry run: nothing was written"))
    finish(done)


def _plan(change: Change) -> Change:
    """Return a function that plans a change of an entity: it returns the edits that `change` would
    make, one for each value. It raises `NotFound` if the entity or a label is not in the
    catalog."""
    labels_in_catalog: set[str] = set()

    def plan(catalog: "Catalog", urn: str) -> Iterable[Edit]:
        read_existing(catalog, urn)
        edits: dict[tuple[str, str | None], Edit] = {}
        with plan_edits():
            for edit in change(catalog, urn):
                first = edits.setdefault((edit.what, edit.column), edit)
                edits[edit.what, edit.column] = replace(edit, before=first.before)
        for edit in edits.values():
            if edit.what in LABEL_KINDS or edit.what == "domain":
                added = set(held_labels(edit.after)) - set(held_labels(edit.before))
                labels = {label.partition(" ")[0] for label in added} - labels_in_catalog
                check_labels(catalog, sorted(labels))
                labels_in_catalog.update(labels)
        return edits.values()

    return plan


def _propose_each(
    target: Target, words: Sequence[str], change: Change, file: Path, *, as_json: bool
) -> None:
    """Stage the edits that a change of each entity would make in a new file."""
    from explorer.cli.output import show
    from explorer.sessions.changesets import ChangesetsSession
    from explorer.stewardship.labels import is_labelled, staged_edit
    from explorer.views.stewardship import proposed_report

    if file.exists():
        raise InvalidInput(f"{file} already exists; give another file name")
    urns = read_urn_arguments(words)
    planned: list[Edit] = []
    with target.open() as catalog:
        plan = _plan(change)
        done = go_through(urns, lambda urn: planned.extend(plan(catalog, urn)), catalog)
        entities = list(dict.fromkeys(edit.urn for edit in planned))
        names = {urn: summary.name for urn, summary in catalog.summaries(entities).items()}
        edits = [
            staged_edit(
                str(edit.urn), names[edit.urn], edit.what, edit.before, edit.after, edit.column
            )
            for edit in planned
            if is_labelled(edit.what)
        ]
        staged = [edit for edit in edits if edit is not None]
        if staged:
            noun = staged[0].what.capitalize()
            many = counted(len(staged), "entity", "entities")
            staging = ChangesetsSession(catalog.core).stage(staged, f"{noun} of {many}", file)
            changeset = catalog.wait(staging)
            show(proposed_report(changeset), "json" if as_json else None)
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
    before, after = value_words(first.what, first.before), value_words(first.what, last.after)
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


def _print_totals(urns: Sequence[str], edits: Sequence[Edit], done: EditRun) -> None:
    if len(urns) == 1:
        return
    changed = len({edit.urn for edit in edits if edit.changed})
    counts = f"{changed:,} of {len(urns):,} changed"
    note(Text(f"{counts}, {len(done.failed):,} failed" if done.failed else counts))


_What = LabelWhat | Literal["domain"]
NamedLabel = tuple[str, str | None]
"""The name or URN of a label, and for an owner the ownership type, None for all types."""
_Found = tuple[Urn, str | None, tuple[str, ...]]
"""An entity, the exact path of its column or None, and its labels."""
_NAME_WIDTH: Final = 56
_CREATED_AS: Final = {
    "tag": "tag",
    "glossaryTerm": "term",
    "glossaryNode": "group",
    "domain": "domain",
}
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
        labels.kind.urns(name)
    change = _write(labels)
    change_each(target, words, change, dry_run=dry_run, as_json=as_json, propose=propose)


def show_labels(
    target: Target,
    words: Sequence[str],
    what: _What,
    column: str | None,
    shown_as: OutputFormat | None,
) -> None:
    """Print the labels of entities in the given format; as URNs, print only those of the labels."""
    labels_of_entities: list[_Found] = []
    urns = read_urn_arguments(words)
    with target.open() as catalog:

        def read(urn: str) -> None:
            entity = read_existing(catalog, urn)
            path = column_at(entity, column).path.raw if column else None
            labels_of_entities.append((entity.urn, path, _label_values(entity, what, path)))

        done = go_through(urns, read, catalog)
    table = _table(labels_of_entities, what)
    if shown_as == "urns":
        output.print_urns(
            _urns(what, (label for _, _, labels in labels_of_entities for label in labels))
        )
    else:
        output.show(table, shown_as)
    finish(done)


def _label_values(entity: "Entity", what: _What, path: str | None) -> tuple[str, ...]:
    if what == "domain":
        return domains_of(entity.raw("domains") or {})
    if path is not None and what in ("tags", "terms"):
        column = column_at(entity, path)
        # Includes the ingested ones.
        return tuple(map(str, column.tags if what == "tags" else column.terms))
    return _edit_values(entity, LABEL_KINDS[what], path)


def _edit_values(entity: "Entity", kind: LabelKind, path: str | None) -> tuple[str, ...]:
    value = entity.raw(kind.aspect) if path is None else entity.column_edits
    return kind.labels(value or {}, path)


def _find_once(labels: Labels) -> "Callable[[Catalog], Labels]":
    """Return a function that returns the labels with their URNs, looked up on the first call
    only."""

    @cache
    def find(catalog: "Catalog") -> Labels:
        added, removed = (
            [
                (str(catalog.find_labels(name, *labels.kind.entity_types)[0]), ownership)
                for name, ownership in some
            ]
            for some in (labels.add, labels.remove)
        )
        return replace(labels, add=added, remove=removed)

    return find


def _write(labels: Labels) -> Change:
    find = _find_once(labels)

    def change(catalog: "Catalog", urn: str) -> Iterator[Edit]:
        labels = find(catalog)
        added, removed = (
            [" ".join(filter(None, label)) for label in some]
            for some in (labels.add, labels.remove)
        )
        path = None
        if labels.column is not None:
            path = column_at(read_existing(catalog, urn), labels.column).path.raw
        return write_labels(catalog, urn, labels.what, added, removed, path)

    return change


def write_labels(
    catalog: "Catalog",
    urn: str,
    what: _What,
    added: Sequence[str],
    removed: Sequence[str] = (),
    path: str | None = None,
) -> Iterator[Edit]:
    """Add and remove labels, and yield the edits. Labels are given by URN, for owners followed by a
    space and the ownership type. Raises `NotFound` with the hint of `suggest_labels`."""
    from explorer.sessions.labels import LabelSession, LabelTarget, owner_and_type

    target = Urn.parse(urn)
    labelling = LabelSession(catalog.core, LabelTarget(target, target.name, path), what)
    try:
        with suggest_labels(catalog, [owner_and_type(label)[0] for label in added]):
            catalog.wait(labelling.change(added, removed))
    finally:
        yield from labelling.state.edits


@contextmanager
def suggest_labels(catalog: "Catalog", labels: Iterable[str]) -> Iterator[None]:
    """If the block raises `NotFound` because one of these labels, given as URNs, is not in the
    catalog, raise one that names similar labels, or the command that creates it.

    No requests if the block succeeds; else one for each label, and those of `similar_labels`.
    """
    try:
        yield
    except NotFound:
        check_labels(catalog, labels)
        raise


def check_labels(catalog: "Catalog", labels: Iterable[str]) -> None:
    """Raise `NotFound` if one of these labels, given as URNs, is not in the catalog, with the hint
    of `suggest_labels`. One request for each label, and those of `similar_labels`."""
    for label in map(Urn.parse, labels):
        if not catalog.entity(label).exists:
            raise _unknown_label(catalog, label)


def _unknown_label(catalog: "Catalog", label: Urn) -> NotFound:
    kind = singular(label.entity_type)
    is_owner = label.entity_type in OWNERS.entity_types
    types = OWNERS.entity_types if is_owner else (label.entity_type,)
    from explorer.stewardship.labels import similar_labels

    similar = catalog.wait(similar_labels(catalog.core, label.name, types))
    names = []
    for urn, name in similar.items():
        typed = urn.name if urn.entity_type == label.entity_type else str(urn)
        names.append(typed if name == typed else f"{typed} ({name})")
    hint = " or ".join(names)
    created = _CREATED_AS.get(label.entity_type)
    if hint:
        hint = f"; did you mean {hint}?"
    elif created is not None:
        hint = f"; “catalog new {created} {quote(label.name)}” creates it"
    return NotFound(line(f"the {kind} {label.name} does not exist{hint}"))


def _urns(what: _What, labels: Iterable[str]) -> list[str]:
    bare = (label.rpartition(" ")[0] if what == "owners" else label for label in labels)
    return list(dict.fromkeys(bare))


def _table(entity_labels: Sequence[_Found], what: _What) -> Table:
    name = "domains" if what == "domain" else what
    columns = [
        TableColumn("name", audience="people", max_width=_NAME_WIDTH, folds=True, style="bold"),
        TableColumn("shown", name, audience="people", folds=True),
        TableColumn("urn", audience="programs"),
        TableColumn("column", audience="programs"),
        TableColumn(name, audience="programs"),
    ]
    rows = [
        (edit_place(urn, path), value_words(what, labels), str(urn), path, labels)
        for urn, path, labels in entity_labels
    ]
    return Table(columns, rows)


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
    def from_editor(cls, name: str, text: str, ingested: str, again: str) -> Self:
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
            above_scissors = _above_scissors(path.read_bytes())
        except BaseException as error:
            _remove_untouched(path, blank)
            if isinstance(error, click.ClickException):
                raise InvalidInput(f"nothing was written: {error.format_message()}") from error
            if isinstance(error, OSError):
                raise StorageFault(f"cannot read or write {path}: {error.strerror}") from error
            raise
        return cls(above_scissors, again, path)

    def keep(self) -> None:
        """Save the text to a file, and print its name and the command that writes it."""
        self._is_kept = True
        # One line break at the end is dropped when the text is read from standard input.
        data = (self.text + ("\r\n" if self.text.endswith("\r") else "\n")).encode()
        try:
            path = self._path or _new_file("typed")
            replace_file(path, data)
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
            *(f"{_INGESTED}{text_line}" for text_line in block(ingested).split("\n")),
        ]
    return "\n".join((text, *below, "")).encode()


def _above_scissors(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"nothing was written: the file is not UTF-8 text: {error}") from None
    lines = text.split("\n")
    at = max(
        (at for at, text_line in enumerate(lines) if text_line.rstrip("\r") == _SCISSORS),
        default=None,
    )
    if at is not None:
        above = "\n".join(lines[:at])
        return above.removesuffix("\r") if lines[at].endswith("\r") else above
    if any(text_line.rstrip("\r") in _EDITOR_NOTES for text_line in lines):
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
    descriptor = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(descriptor, 1)
        os.close(descriptor)


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
    """The description of an entity, or of its column with the exact path `path`; `earlier` has the
    descriptions of earlier versions of the column. If the place can have one description only,
    which `is_only` says, it is `edited`, whoever wrote it."""

    urn: str
    name: str
    path: str | None
    ingested: str
    edited: str
    earlier: str = ""
    is_only: bool = False


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
        if has_one_description(entity.entity_type):
            return _DescribedPlace(urn, entity.name, None, "", entity.description, is_only=True)
        texts = entity.ingested_description, entity.edited_description
        return _DescribedPlace(urn, entity.name, None, *texts)
    schema_column = column_at(entity, column)
    name = f"{entity.name} · {schema_column.path.simple}"
    texts = schema_column.ingested or "", schema_column.edited or ""
    return _DescribedPlace(urn, name, schema_column.path.raw, *texts, earlier_words(schema_column))


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
    from explorer.views.entity import description_parts

    with target.open() as catalog:
        place = _find_described(catalog, urn, column)
    if as_json:
        print_json(_description_as_json(place))
        return
    stamp = [(place.earlier, "dim")]
    descriptions = description_parts(place.ingested, place.edited, stamp, is_only=place.is_only)
    print_parts([text_line((place.name, "bold underline"), wraps=True), *descriptions])


def describe(
    target: Target, urn: str, column: str | None, text: str, options: DescribeOptions
) -> None:
    """Write a text given on the command line."""
    refuse_read_only(target)
    with target.open() as catalog:
        _save_description(catalog, _find_writable(catalog, urn, column), text, options)


def carry_over(target: Target, urn: str, column: str | None, *, dry_run: bool) -> None:
    """Move descriptions of columns whose type or case has changed to the present columns, or to one
    of them."""
    refuse_read_only(target)
    with target.open() as catalog:
        entity = read_existing(catalog, urn)
        columns = [column_at(entity, column)] if column is not None else entity.schema.columns
        columns = [column for column in columns if column.earlier is not None]
        for moving in columns:
            note(
                line_text(f"{entity.name} · {moving.path.simple}", "bold"),
                Text(f": {earlier_words(moving)}"),
            )
        if not columns:
            note(Text("everything is written for the present columns; nothing was moved"))
        elif dry_run:
            note(Text("dry run: nothing was written"))
        else:
            keep_journal(catalog)
            descriptions = DescriptionSession(catalog.core, entity.urn)
            catalog.wait(descriptions.carry_over([moving.path.raw for moving in columns]))
            note_message(descriptions, undo="catalog undo reverts it")


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
        with _TypedText.from_editor(place.name, place.edited, place.ingested, again) as typed:
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
    """Return the result of `_find_described`. Raises `InvalidInput`, before the user types
    anything, if the entity cannot have a description."""
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
    before, text = place.edited, stored_description(text)
    if options.dry_run:
        if options.as_json:
            print_json(
                _description_change_as_json(replace(place, edited=text), before, dry_run=True)
            )
        elif text != before:
            _print_difference(before, text, to_results=True)
        unchanged = "" if text != before else "the text is unchanged; "
        note(Text(f"{unchanged}dry run: nothing was written"))
        return
    keep_journal(catalog)
    description = DescriptionSession(catalog.core, place.urn, place.path, place.name, instead_of)
    try:
        edit = catalog.wait(description.write(text, force=options.force))
    except TextConflict as conflict:
        note(Text("somebody changed the description while you were writing:"))
        _print_difference(conflict.base, conflict.theirs, to_results=False)
        note(Text("to overwrite it, use --edit with --force, or --text", "dim"))
        raise
    note_message(description)
    if options.as_json:
        previous = edit.before if isinstance(edit.before, str) else ""
        print_json(
            _description_change_as_json(replace(place, edited=text), previous, dry_run=False)
        )


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


def _description_change_as_json(
    place: _DescribedPlace, before: str, *, dry_run: bool
) -> dict[str, Any]:
    changed = place.edited != before
    return {
        **_description_as_json(place),
        "before": before or None,
        "changed": changed,
        "dry_run": dry_run,
    }


_SHORT_ID: Final = 8


def print_journal(count: int, words: str, shown_as: OutputFormat | None) -> None:
    """Print the edits of saves that contain all `words`, newest first. Makes no requests."""
    everything = _journal()
    undone = undone_in(everything)
    entries = entries_with(everything, words)[::-1]
    table = journal_table(entries[:count], undone)
    match shown_as:
        case "json":
            records = to_objects(table)
            # In JSON these are texts, lists and objects, not the strings of the table.
            for record, entry in zip(records, entries, strict=False):
                record["before"], record["after"] = entry.before, entry.after
            print_json(records)
        case "csv":
            output.show(table, shown_as)
        case _:
            _print_entries(entries[:count], undone)
    if not everything:
        note(Text("no edits have been made from this machine"))
    else:
        note(Text(f"{min(count, len(entries)):,} of {len(entries):,} shown"))


def undo_edits(
    target: Target, edit_id: str | None, *, asks: bool, force: bool, as_json: bool
) -> None:
    """Undo the edit or save whose ID begins with `edit_id`, or the last save on the target server;
    with `asks`, show what that does and ask first.

    Raises `NotFound` if there is none, `InvalidInput` if it is already undone or was made on
    another server, and, without `force`, `TextConflict` if somebody changed the value since.
    """
    refuse_read_only(target)
    with target.open() as catalog:
        entries = list(keep_journal(catalog))
        undoing = UndoSession(catalog.core)
        if edit_id is None:
            question = catalog.wait(undoing.ask_last())
            hint = "catalog undo --list shows all edits"
        else:
            question, hint = _ask_about(catalog, undoing, _find_save(entries, edit_id)), ""
        outcome = _undo(catalog, undoing, question, hint, asks=asks, force=force)
        # Printed first: the edit is undone even if its changeset cannot record that.
        _report_undo(outcome.edits, "undone", as_json=as_json)
    if outcome.fault is not None:
        raise outcome.fault
    if outcome.reopened:
        note(outcome.reopened)


def redo_edits(target: Target, *, asks: bool, force: bool, as_json: bool) -> None:
    """Redo what the last undo on the target server reverted; with `asks`, show what that does and
    ask first.

    Raises `NotFound` if there is nothing to redo, and, without `force`, `TextConflict` if somebody
    changed the value since.
    """
    refuse_read_only(target)
    with target.open() as catalog:
        keep_journal(catalog)
        undoing = UndoSession(catalog.core)
        question = catalog.wait(undoing.ask_last_undo())
        hint = (
            "to undo an earlier undo, find its ID with catalog undo --list and run catalog undo ID"
        )
        outcome = _undo(catalog, undoing, question, hint, asks=asks, force=force)
    _report_undo(outcome.edits, "redone", as_json=as_json)


def _undo(
    catalog: "Catalog",
    undoing: UndoSession,
    question: UndoQuestion | None,
    hint: str,
    *,
    asks: bool,
    force: bool,
) -> UndoOutcome:
    """Undo a save, or the one before it if nothing in it can be undone. Raises `NotFound`, with
    `hint` as advice, if there is none."""
    while question is not None:
        if asks:
            _ask_to_undo(catalog, question)
        try:
            outcome = catalog.wait(undoing.undo(question, force=force))
        except TextConflict as conflict:
            note(
                Text(f"value after edit {question.save.id[:_SHORT_ID]}: "),
                line_text(conflict.base, missing="nothing"),
            )
            note(Text("current value: "), line_text(conflict.theirs, missing="nothing"))
            note(Text("value to restore: "), line_text(conflict.mine, missing="nothing"))
            note(Text("nothing was written; --force overwrites the current value", "dim"))
            raise
        if outcome is not None:
            return outcome
        note(line_text(_last_sentence(undoing)))
        question = undoing.state.question
    raise NotFound(f"{_last_sentence(undoing)}; {hint}")


def _ask_about(catalog: "Catalog", undoing: UndoSession, save: JournalSave) -> UndoQuestion:
    try:
        return catalog.wait(undoing.ask(save))
    except InvalidInput as error:
        raise InvalidInput(f"{error} (select a server with --url or --profile)") from error


def _last_sentence(undoing: UndoSession) -> str:
    """Return the last message of a session, worded for the command line."""
    message = undoing.state.message
    sentence = message.sentence.removesuffix(".") if message is not None else ""
    return f"{sentence[:1].lower()}{sentence[1:]}"


def _ask_to_undo(catalog: "Catalog", question: UndoQuestion) -> None:
    """Show what the undo of a save does, and ask; end the command unless the answer is yes."""
    preview = question.preview()
    note(Text(question.save.id[:_SHORT_ID], "bold"), Text("  "), line_text(preview.origin))
    for value in preview.values:
        note(Text("  "), line_text(value.title, "bold"), Text(": "), line_text(value.change))
    if preview.remaining:
        note(Text(f"  and {preview.remaining:,} more", "dim"))
    verb, done = ("redo", "redone") if question.is_redo else ("undo", "undone")
    if not (sys.stdin and sys.stdin.isatty()):
        raise click.UsageError(
            "cannot ask for confirmation: standard input is not a terminal; "
            f"give --yes to {verb} this save"
        )
    if not confirm(catalog, preview.question):
        note(Text(f"nothing was {done}"))
        click.get_current_context().exit(1)


def _report_undo(edits: Sequence[Edit], done: str, *, as_json: bool) -> None:
    for edit in edits:
        print_effect([edit])
    if len(edits) > 1:
        note(Text(f"{len(edits):,} edits {done}"))
    if as_json:
        records = [as_record(edit) for edit in edits]
        print_json({**records[0], "edits": records})


def _journal() -> Sequence[JournalEntry]:
    path = config.state_dir() / JOURNAL
    return list(Journal(path)) if path.exists() else []


def _find_save(entries: Sequence[JournalEntry], edit_id: str) -> JournalSave:
    """Return the edit whose ID begins with `edit_id`, or the edits not yet undone of the save whose
    ID does.

    Raises `NotFound` if there is none, and `InvalidInput` if there are several or it is undone.
    """
    undone = undone_in(entries)
    saves = [JournalSave(entry.id, (entry,)) for entry in entries if entry.id.startswith(edit_id)]
    for save in saves_of(entries):
        if save.id.startswith(edit_id) and save.id not in {save.id for save in saves}:
            saves.append(standing_part(save, undone) or save)
    if not saves:
        raise NotFound(
            f"no edit has an ID that begins with {edit_id}; catalog undo --list shows all edits"
        )
    if len(saves) > 1:
        ids = ", ".join(save.id for save in saves[:4])
        raise InvalidInput(
            f"{len(saves):,} edits have an ID that begins with {edit_id}: {ids}; "
            "give more of the ID"
        )
    (chosen,) = saves
    first = chosen.entries[0].id
    if is_undone(first, undone):
        raise InvalidInput(
            f"edit {first} is already undone, by {' and '.join(undone[first])}; "
            "undo that to redo the edit"
        )
    return chosen


def _print_entries(entries: Sequence[JournalEntry], undone: Mapping[str, tuple[str, ...]]) -> None:
    console = results()
    sizes = Counter(entry.save for entry in entries)
    several_servers = len({entry.server for entry in entries}) > 1
    for entry in entries:
        edit = entry.edit
        state = ""
        is_over = bool(entry.undoes) or is_undone(entry.id, undone)
        if is_undone(entry.id, undone):
            state = "undone"
        elif entry.undoes:
            state = f"undoes {entry.undoes[0][:_SHORT_ID]}"
        if sizes[entry.save] > 1:
            state = f"{state} save {entry.save[:_SHORT_ID]}".strip()
        head = [
            Text(entry.id[:_SHORT_ID], "bold"),
            Text(moment(millis_of(entry.at))),
            Text(f"{entry.what} of ") + line_text(edit_place(edit.urn, edit.column), "bold"),
            Text(state, "italic"),
            Text(line(entry.server) if several_servers else "", "dim"),
        ]
        console.print(words(head))
        room = max((console.width - 7) // 2, 16)
        limit = room - 3 if entry.what == "description" else room * 2
        was, now = (
            value_words(entry.what, edit_value, limit) for edit_value in (edit.before, edit.after)
        )
        change = Text(f"{was} → {now}", "dim" if is_over else "")
        console.print(Padding(change, (0, 0, 0, 2)))


_REFERENCES_SHOWN: Final = 5


def soft_delete(target: Target, words: Sequence[str], *, dry_run: bool, as_json: bool) -> None:
    """Hide entities from search and browse, so that they can be restored."""
    _set_status(target, words, removed=True, dry_run=dry_run, as_json=as_json)


def restore(target: Target, words: Sequence[str], *, dry_run: bool, as_json: bool) -> None:
    """Restore entities that were soft-deleted."""
    _set_status(target, words, removed=False, dry_run=dry_run, as_json=as_json)


def hard_delete(
    target: Target, words: Sequence[str], *, asks: bool, dry_run: bool, as_json: bool
) -> None:
    """Delete entities permanently; with `asks`, show what will be deleted and ask first."""
    refuse_read_only(target)
    urns = read_urn_arguments(words)
    objects: list[dict[str, Any]] = []
    with target.open() as catalog:
        preview = EditRun()
        if asks or dry_run:
            planned: list[PlannedDeletion] = []
            preview = go_through(urns, lambda urn: _plan_deletion(catalog, urn, planned))
            if dry_run:
                objects = [_deletion_plan_as_json(planned_deletion) for planned_deletion in planned]
            elif planned and preview.stopped is None and _confirm_deletion(catalog, planned):
                urns = tuple(str(deletion.deletion.urn) for deletion in planned)
            else:
                note(Text("nothing was deleted"))
                finish(preview)
                click.get_current_context().exit(1)
        if not dry_run:
            done = go_through(urns, lambda urn: _delete_entity(catalog, urn, objects))
            preview.failed += done.failed
            preview.stopped = done.stopped
    _finish_deletion("deleted", objects, preview, dry_run=dry_run, as_json=as_json)


def _set_status(
    target: Target, words: Sequence[str], *, removed: bool, dry_run: bool, as_json: bool
) -> None:
    refuse_read_only(target)
    changes: list[StatusChange] = []
    with target.open() as catalog:
        if not dry_run:
            keep_journal(catalog)

        def change(urn: str) -> None:
            lifecycle = LifecycleSession(catalog.core, urn)
            act = lifecycle.hide if removed else lifecycle.restore
            changes.append(catalog.wait(act(dry_run=dry_run)))
            is_new = changes[-1].removed and not changes[-1].was_removed
            note_message(lifecycle, "catalog restore restores it" if is_new else "")

        with one_save():
            done = go_through(read_urn_arguments(words), change)
    records = [
        {
            "urn": str(change.urn),
            "was_removed": change.was_removed,
            "removed": change.removed,
            "written": change.is_changed,
        }
        for change in changes
    ]
    name = "deleted" if removed else "restored"
    _finish_deletion(name, records, done, dry_run=dry_run, as_json=as_json)


def _plan_deletion(catalog: "Catalog", urn: str, planned: list[PlannedDeletion]) -> None:
    planned.append(catalog.wait(LifecycleSession(catalog.core, urn).plan_deletion()))
    _print_planned_deletion(planned[-1])


def _print_planned_deletion(planned: PlannedDeletion) -> None:
    deletion = planned.deletion
    note(Text("to be deleted permanently: "), line_text(deletion.urn.name, "bold"))
    note(Text(f"  {line(str(deletion.urn))}", "dim"))
    note(Text(f"  {', '.join(planned.counts())}"))
    if planned.contents.urns:
        note(line_text(f"  to be moved to {moved_words(planned.contents)}"))
    for reference in (deletion.references or ())[:_REFERENCES_SHOWN]:
        note(
            Text("  referenced by "),
            line_text(reference.urn.name),
            Text(f" ({line(reference.aspect)})", "dim"),
        )
    reference_count = (deletion.reference_count or 0) - _REFERENCES_SHOWN
    if reference_count > 0:
        note(Text(f"  and by {reference_count:,} more", "dim"))


def _confirm_deletion(catalog: "Catalog", planned: Sequence[PlannedDeletion]) -> bool:
    what = "this entity" if len(planned) == 1 else f"these {len(planned):,} entities"
    return confirm(catalog, f"Delete {what} permanently? This cannot be undone.")


def _delete_entity(catalog: "Catalog", urn: str, objects: list[dict[str, Any]]) -> None:
    lifecycle = LifecycleSession(catalog.core, urn)
    deletion = catalog.wait(lifecycle.delete())
    contents = lifecycle.state.moved_contents
    objects.append(_deletion_as_json(deletion, deletion.versions, deletion.points, contents))
    note_message(lifecycle)


def _deletion_plan_as_json(planned: PlannedDeletion) -> dict[str, Any]:
    return _deletion_as_json(planned.deletion, planned.versions, planned.points, planned.contents)


def _deletion_as_json(
    found: Deletion, versions: int | None, points: int | None, contents: MovedContents
) -> dict[str, Any]:
    moved = {
        "moved": [str(urn) for urn in contents.urns],
        "moved_to": None if contents.above is None else str(contents.above),
    }
    return {
        "urn": str(found.urn),
        "done": found.is_deleted,
        "versions": versions,
        "points": points,
        "references": found.reference_count,
        "referenced_by": [
            {
                "urn": str(reference.urn),
                "aspect": reference.aspect,
                "relationship": reference.relationship,
            }
            for reference in found.references or ()
        ],
        **(moved if contents.urns else {}),
    }


def _finish_deletion(
    name: str, records: list[dict[str, Any]], done: EditRun, *, dry_run: bool, as_json: bool
) -> None:
    if as_json:
        failed = [{"urn": urn, "error": reason} for urn, reason in done.failed]
        print_json({"dry_run": dry_run, name: records, "failed": failed})
    if dry_run:
        note(Text("dry run: nothing was written"))
    finish(done)
