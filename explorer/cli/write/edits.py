"""What the commands that write have in common: which entities, what was done to each, and that
one that fails loses no other."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click
from rich.text import Text

from explorer.cli.output import note, print_json, said
from explorer.cli.target import Target
from explorer.client.display import line, moment
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
    from explorer.client.journal import Journal

__all__ = [
    "Change",
    "Round",
    "as_record",
    "change_each",
    "finish",
    "given_urns",
    "go_through",
    "keep_journal",
    "part",
    "place_words",
    "planned",
    "read_stdin",
    "refuse_read_only",
    "tell",
]

Change = Callable[["Catalog", str], Iterable[Edit]]
"""Does something to one entity, and gives each edit when it is made."""

_OF_ONE: Final = (InvalidInput, NotFound, Conflict, Forbidden, ServerFault)
"""What concerns one entity rather than all of them."""
_PART: Final = 48
_NOTHING: Final[dict[What, str]] = {"deprecation": "not deprecated", "owners": "nobody"}


@dataclass(slots=True)
class Round:
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


def go_through(urns: Sequence[str], act: Callable[[str], None]) -> Round:
    """Act on each; what fails is said and loses no other, what concerns all ends it."""
    done = Round()
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


def finish(done: Round) -> None:
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


def planned(
    urn: str | Urn, what: What, before: Held, after: Held, column: str | None = None
) -> Edit:
    """An edit as it would be made."""
    return Edit(Urn.parse(urn), what, before, after, datetime.now(UTC), column)


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


def _say_how_many(urns: Sequence[str], made: Sequence[Edit], done: Round) -> None:
    if len(urns) == 1:
        return
    changed = len({edit.urn for edit in made if edit.changed})
    counts = f"{changed:,} of {len(urns):,} changed"
    note(Text(f"{counts}, {len(done.failed):,} failed" if done.failed else counts))
