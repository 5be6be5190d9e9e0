"""`catalog deprecate`"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from explorer.cli.parameters import WORDS
from explorer.cli.target import Target, asks_a_catalog
from explorer.cli.write import changing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from explorer.cli.write.edits import Change
    from explorer.client import Catalog
    from explorer.client.entity import Entity
    from explorer.client.records import Edit

__all__ = ["deprecate"]

_EPILOG = """
\b
Examples
  catalog deprecate URN                       (shows what is said now)
  catalog deprecate URN --note "Stops in June." --until 2026-06-30
  catalog deprecate URN --note "Use fct_orders." --replacement OTHER-URN
  catalog deprecate URN --undo
  catalog search tmp_ --urns | catalog deprecate - --note Unused --dry-run

A date is the beginning of that day in UTC, in the same way as everywhere else in a catalog.

\b
With --note or --undo, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
A deprecation has note, decommissionTime (milliseconds since 1970 UTC) and
replacement; what is not deprecated is null. Without --note and --undo it
prints a list of urn and deprecation.
"""


@click.command(epilog=_EPILOG)
@changing.urns
@click.option("--note", type=WORDS, help="Why, and what to do instead.")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]),
    metavar="DATE",
    help="From when it is gone: 2026-06-30, in UTC.",
)
@click.option("--replacement", type=WORDS, metavar="URN", help="What to use instead.")
@click.option("--undo", is_flag=True, help="Say that it may be used again.")
@changing.dry_run
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
@asks_a_catalog
def deprecate(
    target: Target,
    urns: tuple[str, ...],
    note: str | None,
    until: datetime | None,
    replacement: str | None,
    *,
    undo: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Say that entities should no longer be used, and why.

    URN may be several, or - for those on standard input, one a line. One that fails loses no
    other.
    """
    if undo and (note is not None or until or replacement):
        raise click.UsageError("--undo takes everything back; give no --note beside it")
    if note is None and (until or replacement):
        raise click.UsageError("say why with --note")
    writes = undo or note is not None
    changing.check_forms(None, dry_run=dry_run, writes=writes)
    from explorer.cli.write import edits

    if not writes:
        _show(target, urns, as_json=as_json)
        return
    from explorer.client.transport import millis
    from explorer.metadata.urn import Urn

    moment = until.replace(tzinfo=UTC) if until else None
    held: dict[str, Any] | None = None
    if note is not None:
        held = {"note": note}
        if moment is not None:
            held["decommissionTime"] = millis(moment)
        if replacement is not None:
            # What is wrong with it is wrong for every entity.
            held["replacement"] = str(Urn.parse(replacement))
    change = _plan(held) if dry_run else _write(note, moment, replacement)
    edits.change_each(target, urns, change, dry_run=dry_run, as_json=as_json)


def _write(note: str | None, until: datetime | None, replacement: str | None) -> "Change":
    def change(catalog: "Catalog", urn: str) -> "Iterator[Edit]":
        if note is None:
            yield catalog.undeprecate(urn)
        else:
            yield catalog.deprecate(urn, note, decommission=until, replacement=replacement)

    return change


def _plan(held: dict[str, Any] | None) -> "Change":
    from explorer.cli.reading import read_existing
    from explorer.cli.write.edits import planned

    def change(catalog: "Catalog", urn: str) -> "Iterator[Edit]":
        yield planned(urn, "deprecation", _said_of(read_existing(catalog, urn)), held)

    return change


def _show(target: Target, urns: tuple[str, ...], *, as_json: bool) -> None:
    from explorer.cli import tables
    from explorer.cli.output import print_json
    from explorer.cli.reading import read_existing
    from explorer.cli.write.edits import finish, given_urns, go_through, part

    found: list[tuple[Entity, dict[str, Any] | None]] = []
    with target.open() as catalog:

        def read(urn: str) -> None:
            entity = read_existing(catalog, urn)
            found.append((entity, _said_of(entity)))

        done = go_through(given_urns(urns), read)
    if as_json:
        print_json([{"urn": str(entity.urn), "deprecation": held} for entity, held in found])
    elif found:
        columns = [
            tables.Column("name", max_width=56, folds=True, style="bold"),
            tables.Column("deprecation", folds=True),
        ]
        rows = [(entity.urn.name, part("deprecation", held)) for entity, held in found]
        tables.print_table(tables.Table(columns, rows))
    finish(done)


def _said_of(entity: "Entity") -> dict[str, Any] | None:
    value = entity.raw("deprecation") or {}
    if value.get("deprecated") is not True:
        return None
    known = ("decommissionTime", "replacement")
    said = {key: value[key] for key in known if value.get(key) is not None}
    return {"note": value.get("note") or "", **said}
