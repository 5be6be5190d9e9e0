"""Edits made by commands: to one entity after another, reported one by one, kept in the journal;
and labels, shown and changed.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import click
from rich.text import Text

from explorer.cli import output
from explorer.cli.options import OutputFormat, Target, column_at, read_existing
from explorer.cli.output import Column, StyledTable, note, print_json, said
from explorer.client.display import line, moment
from explorer.client.editable import LABEL_KINDS, OWNERS, LabelKind, LabelWhat, domains_of
from explorer.client.records import Edit, Held, What
from explorer.errors import (
    CatalogError,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    ReadOnly,
    ServerFault,
)
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import Catalog
    from explorer.client.entity import Entity
    from explorer.client.journal import Journal

__all__ = [
    "Change",
    "EditRun",
    "Labels",
    "NamedLabel",
    "as_record",
    "change_each",
    "change_labels",
    "finish",
    "given_urns",
    "go_through",
    "keep_journal",
    "part",
    "place_words",
    "read_stdin",
    "refuse_read_only",
    "show_labels",
    "tell",
]

Change = Callable[["Catalog", str], Iterable[Edit]]
"""Does something to one entity, and gives each edit when it is made."""

_OF_ONE: Final = (InvalidInput, NotFound, Conflict, Forbidden, ServerFault)
"""What concerns one entity rather than all of them."""
_PART: Final = 48
_NOTHING: Final[dict[What, str]] = {"deprecation": "not deprecated", "owners": "nobody"}


@dataclass(slots=True)
class EditRun:
    """What became of entities that were gone through: each that failed with the reason, and what
    made an end to it before all had their turn."""

    failed: list[tuple[str, str]] = field(default_factory=list)
    stopped: CatalogError | None = None


def refuse_read_only(target: Target) -> None:
    """Raises `ReadOnly` where the profile in use only reads, before anything is asked or typed."""
    from explorer import config

    server = config.server(target.url, profile=target.profile, data_dir=target.data_dir)
    if server.read_only:
        raise ReadOnly(
            f"the profile {server.name} is read-only, and nothing was sent; use one that writes"
        )


def keep_journal(catalog: "Catalog") -> "Journal":
    """Have the client write its edits down where `catalog undo` finds them."""
    from explorer import config
    from explorer.client.journal import JOURNAL

    return catalog.keep_journal(config.state_dir() / JOURNAL)


def read_stdin() -> str:
    """All of standard input; raises `InvalidInput` where it is not text."""
    data = sys.stdin.buffer.read() if sys.stdin else b""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"standard input is not UTF-8 text: {error}") from None


def given_urns(words: Sequence[str]) -> tuple[str, ...]:
    """The URNs that are meant, each once; `-` stands for those on standard input, one a line.

    Raises `InvalidInput` where there are none.
    """
    found: list[str] = []
    for word in words:
        lines = read_stdin().split("\n") if word == "-" else (word,)
        found += filter(None, map(str.strip, lines))
    if not found:
        raise InvalidInput("there is no URN on standard input; give one a line")
    return tuple(dict.fromkeys(found))


def go_through(urns: Sequence[str], act: Callable[[str], None]) -> EditRun:
    """Act on each; what fails is said and loses no other, what concerns all ends it."""
    done = EditRun()
    for position, urn in enumerate(urns):
        try:
            act(urn)
        except _OF_ONE as error:
            done.failed.append((urn, str(error)))
            named = f"{urn}: {error}" if len(urns) > 1 and urn not in str(error) else str(error)
            note(Text(f"error: {line(named)}"))
        except CatalogError as error:
            done.stopped = error
            left = len(urns) - position
            if len(urns) > 1:
                note(Text(f"stopped at {line(urn)}: {left:,} of {len(urns):,} were not written"))
            break
    return done


def finish(done: EditRun) -> None:
    """End the command as what became of the entities asks for."""
    if done.stopped is not None:
        raise done.stopped
    if done.failed:
        click.get_current_context().exit(1)


def change_each(
    target: Target, words: Sequence[str], change: Change, *, dry_run: bool, as_json: bool
) -> None:
    """Change each entity and say what changed; as JSON also to standard output. All of it is one
    save, which `catalog undo` takes back at once.

    With `dry_run`, `change` only says what it would do.
    """
    from explorer.client.journal import one_save

    refuse_read_only(target)
    urns = given_urns(words)
    made: list[Edit] = []
    with target.open() as catalog:
        if not dry_run:
            keep_journal(catalog)

        def act(urn: str) -> None:
            first = len(made)
            try:
                made.extend(change(catalog, urn))
            finally:
                tell(made[first:])

        with one_save():
            done = go_through(urns, act)
    if as_json:
        print_json(
            {
                "dry_run": dry_run,
                "edits": [as_record(edit) for edit in made],
                "failed": [{"urn": urn, "error": reason} for urn, reason in done.failed],
            }
        )
    _say_how_many(urns, made, done)
    if dry_run:
        note(Text("nothing was written: this was a dry run"))
    finish(done)


def tell(edits: Sequence[Edit]) -> None:
    """Say what edits of one entity did to it together: before → after."""
    if not edits:
        return
    first, last = edits[0], edits[-1]
    place = place_words(first.urn, first.column)
    head = Text(f"{first.what} of ") + said(place, "bold") + Text(": ")
    before, after = part(first.what, first.before), part(first.what, last.after)
    if first.before == last.after:
        note(head, Text(f"{before} (unchanged)"))
    else:
        note(head, Text(f"{before} → {after}"))


def as_record(edit: Edit) -> dict[str, Any]:
    """An edit as JSON; `at` is a moment in UTC."""
    return {
        "urn": str(edit.urn),
        "column": edit.column,
        "what": edit.what,
        "before": edit.before,
        "after": edit.after,
        "changed": edit.changed,
        "at": edit.at.isoformat(),
    }


def place_words(urn: Urn, column: str | None) -> str:
    """An entity, or a column of it, as people call them."""
    if column is None:
        return urn.name
    from explorer.metadata.fieldpath import FieldPath

    return f"{urn.name} · {FieldPath(column).simple}"


def part(what: What, held: Held, limit: int = _PART) -> str:
    """What stood or stands there, in a few words."""
    if not held:
        return _NOTHING.get(what, "none")
    match held:
        case str():
            return held if what == "status" else f"“{line(held, limit)}”"
        case dict() if what == "entity":
            return "created"
        case dict():
            return line(", ".join(_deprecation(held)), limit * 2)
        case _:
            return ", ".join(line(word) for word in _labels(what, held))


def _labels(what: What, held: tuple[str, ...]) -> Iterator[str]:
    for label in held:
        # An owner's kind and a link's label stand after a space.
        name, _, beside = label.partition(" ")
        match what:
            case "owners":
                name, _, beside = label.rpartition(" ")
                kind = Urn.parse(beside).name if beside.startswith("urn:li:") else beside
                yield f"{_name(name)} ({kind.replace('_', ' ').lower()})"
            case "links":
                yield f"{beside} <{name}>" if beside else name
            case _:
                yield _name(label)


def _name(urn: str) -> str:
    found = Urn.parse_all([urn])
    return found[0].name if found else urn


def _deprecation(held: dict[str, Any]) -> Iterator[str]:
    note_text = held.get("note")
    yield f"deprecated “{note_text}”" if note_text else "deprecated"
    if held.get("decommissionTime"):
        yield f"until {moment(held['decommissionTime'], utc=True)}"
    if held.get("replacement"):
        yield f"use {_name(str(held['replacement']))} instead"


def _say_how_many(urns: Sequence[str], made: Sequence[Edit], done: EditRun) -> None:
    if len(urns) == 1:
        return
    changed = len({edit.urn for edit in made if edit.changed})
    counts = f"{changed:,} of {len(urns):,} changed"
    note(Text(f"{counts}, {len(done.failed):,} failed" if done.failed else counts))


_What = LabelWhat | Literal["domain"]
NamedLabel = tuple[str, str | None]
"""The name or URN of a label. With an owner comes the kind of ownership, None for all kinds."""
_Found = tuple[Urn, str | None, tuple[str, ...]]
"""An entity, the exact path of its column where one is meant, and its labels."""
_NAME_WIDTH: Final = 56


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
    target: Target, words: Sequence[str], labels: Labels, *, dry_run: bool, as_json: bool
) -> None:
    """Put labels on entities and take others off; the labels of others stay."""
    for name, _ in set(labels.add) & set(labels.remove):
        raise click.UsageError(f"{name} is both to be added and to be removed")
    # What is wrong with the labels themselves is wrong for every entity.
    for name, _ in (*labels.add, *labels.remove):
        labels.kind.named(name)
    change: Change = _plan(labels) if dry_run else _write(labels)
    change_each(target, words, change, dry_run=dry_run, as_json=as_json)


def show_labels(
    target: Target,
    words: Sequence[str],
    what: _What,
    column: str | None,
    shown_as: OutputFormat | None,
) -> None:
    """Show the labels of entities: a line for each entity, their URNs alone, or as JSON."""
    found: list[_Found] = []
    urns = given_urns(words)
    with target.open() as catalog:

        def read(urn: str) -> None:
            entity = read_existing(catalog, urn)
            path = column_at(entity, column).path.raw if column else None
            found.append((entity.urn, path, _held(entity, what, path)))

        done = go_through(urns, read)
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
        # Also those that ingestion brought.
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
                yield method(urn, names, **where, **kind)

    return change


def _by_ownership(labels: Sequence[NamedLabel]) -> Iterator[tuple[str | None, list[str]]]:
    for kind in dict.fromkeys(kind for _, kind in labels):
        yield kind, [name for name, own in labels if own == kind]


def _plan(labels: Labels) -> Change:
    def change(catalog: "Catalog", urn: str) -> Iterator[Edit]:
        entity = read_existing(catalog, urn)
        path = column_at(entity, labels.column).path.raw if labels.column else None
        before = _edited(entity, labels.kind, path)
        kept = (label for label in before if not _is_among(label, labels))
        new = (_label(name, ownership, labels) for name, ownership in labels.add)
        after = tuple(dict.fromkeys((*kept, *new)))
        yield Edit.now(entity.urn, labels.what, before, after, path)

    return change


def _label(name: str, ownership: str | None, labels: Labels) -> str:
    (urn,) = labels.kind.named(name)
    return f"{urn} {ownership or 'TECHNICAL_OWNER'}" if labels.kind is OWNERS else urn


def _is_among(label: str, labels: Labels) -> bool:
    """Whether a label is among those to be removed."""
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
        Column("name", audience="people", max_width=_NAME_WIDTH, folds=True, style="bold"),
        Column("shown", name, audience="people", folds=True),
        Column("urn", audience="programs"),
        Column("column", audience="programs"),
        Column(name, audience="programs"),
    ]
    rows = [
        (place_words(urn, path), part(what, held), str(urn), path, held)
        for urn, path, held in found
    ]
    return StyledTable(columns, rows)
