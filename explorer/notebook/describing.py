"""A description written from a cell: shown before it is saved, and never over somebody else's."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from explorer import client
from explorer.client.difference import Change
from explorer.client.editable import TextConflict
from explorer.client.entity import Entity
from explorer.errors import NotFound
from explorer.metadata.urn import Urn
from explorer.notebook.schema import Schema
from explorer.notebook.seen import edited_text
from explorer.notebook.view import Difference, Part, Prose, Say, Shown, Title

if TYPE_CHECKING:
    from explorer.notebook.catalog import Catalog

__all__ = ["Described", "describe"]

State = Literal["saved", "unchanged", "tried", "conflict"]

_WORDS: dict[State, str] = {
    "saved": "saved",
    "unchanged": "it says so already; nothing was written",
    "tried": "not saved: this was a dry run",
    "conflict": "not saved: somebody else changed it meanwhile",
}


@dataclass(frozen=True, slots=True, repr=False)
class Described(Shown):
    """What became of a description, and what differs.

    `before` is what the catalog held right before, `after` what was to be written. `base` is what
    this session had read, where that is something else.
    """

    urn: Urn
    name: str
    column: str | None
    state: State
    before: str
    after: str
    base: str | None = None

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        column = f".{self.column}" if self.column else ""
        yield Title(f"Description of {self.name}{column}", _WORDS[self.state])
        if self.state == "conflict":
            yield Say("what they changed:", "loud")
            yield Difference(_lines(self.base or "", self.before))
            yield Say("yours against theirs:", "loud")
        if self.before != self.after:
            yield Difference(_lines(self.before, self.after))
        if self.state == "conflict":
            yield Say("write it into theirs and run again with --force to save it")
        elif self.state != "unchanged" and self.after:
            yield Prose("it reads", self.after)


def describe(
    catalog: "Catalog",
    urn: Urn,
    column: str | None,
    text: str,
    *,
    dry_run: bool = False,
    force: bool = False,
) -> Described:
    """Write the description of an entity or of its column, by its path, exact or as people write
    it; with `dry_run` only say what that would change.

    What stands there now may be written over where it is what this session last read
    (`Catalog.last_seen`), or was never read; else the state is `conflict`, unless with `force`.
    One request, and four more to write. Raises `NotFound` or `UnknownName` where there is no
    such entity or column.
    """
    held = client.Catalog.entity(catalog, urn)
    if not held.exists:
        raise NotFound(f"{urn} is not in this catalog")
    path = None if column is None else _exact(held, column)
    now = edited_text(held, path)
    base = catalog.last_seen(urn, path)
    name = held.name

    def told(state: State, before: str = now) -> Described:
        return Described(urn, name, column, state, before, text, base)

    if now == text:
        return told("unchanged")
    if base is not None and now != base and not force:
        return told("conflict")
    if dry_run:
        return told("tried")
    try:
        catalog.describe(urn, text, column=path, instead_of=now, force=force)
    except TextConflict as conflict:
        return told("conflict", conflict.theirs)
    catalog.entity(urn)
    return told("saved")


def _exact(held: Entity, column: str) -> str:
    schema = held.schema
    return Schema(schema.name, schema.columns)[column].path.raw


def _lines(before: str, after: str) -> list[str]:
    return [
        row
        for row in Change((), "changed", before, after).lines(context=2)
        if not row.startswith("@@")
    ]
