"""`catalog tag`, `term`, `own`, `domain` and `deprecate`."""

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from explorer.cli import options
from explorer.cli.options import WORDS, OutputFormat, Target, catalog_options, format_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from explorer.cli.edits import Change
    from explorer.client import Catalog
    from explorer.client.entity import Entity
    from explorer.client.records import Edit

__all__ = ["deprecate", "domain", "own", "tag", "term"]

_TERM_EPILOG = """
\b
Examples
  catalog term URN                             (shows the terms)
  catalog term URN --add Revenue --remove Sales
  catalog term URN --column amount --add Revenue
  catalog search revenue --urns | catalog term - --add Revenue --dry-run
  catalog term URN --json | jq -r '.[].terms[]'

A name that is no URN is an id: Revenue is urn:li:glossaryTerm:Revenue. A term must exist before it
is put on.

\b
With --add or --remove, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
"""


@click.command(epilog=_TERM_EPILOG)
@options.urns
@click.option("--add", type=WORDS, metavar="TERM", multiple=True, help="Put this term on.")
@click.option("--remove", type=WORDS, metavar="TERM", multiple=True, help="Take this term off.")
@options.column_option
@options.dry_run
@format_options("json", "csv", "urns")
@catalog_options
def term(
    target: Target,
    urns: tuple[str, ...],
    add: tuple[str, ...],
    remove: tuple[str, ...],
    column: str | None,
    *,
    dry_run: bool,
    shown_as: OutputFormat | None,
) -> None:
    """Show, put on and take off glossary terms, also of columns.

    URN may be several, or - for those on standard input, one a line. One that fails loses no
    other. Terms that are not named stay.
    """
    options.check_forms(shown_as, dry_run=dry_run, writes=bool(add or remove))
    from explorer.cli import edits

    if not (add or remove):
        edits.show_labels(target, urns, "terms", column, shown_as)
        return
    wanted = edits.Labels(
        "terms", [(name, None) for name in add], [(name, None) for name in remove], column
    )
    edits.change_labels(target, urns, wanted, dry_run=dry_run, as_json=shown_as == "json")


_OWN_EPILOG = """
\b
Examples
  catalog own URN                             (shows the owners)
  catalog own URN --add jdoe --add ann:DATA_STEWARD
  catalog own URN --add urn:li:corpGroup:finance:BUSINESS_OWNER
  catalog own URN --remove jdoe               (in every kind of ownership)
  catalog search --filter owners:jdoe --urns | catalog own - --remove jdoe

A name that is no URN is a user's id: jdoe is urn:li:corpuser:jdoe. The kind of ownership after it
is a word (TECHNICAL_OWNER unless said) or the URN of an ownership type.

\b
With --add or --remove, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
An owner reads "URN KIND" there.
"""

_OWN_KIND = ":urn:li:ownershipType:"
_WORD = re.compile(r"[A-Za-z][A-Za-z_]*")
_URN_PARTS = 4


@click.command(epilog=_OWN_EPILOG)
@options.urns
@click.option(
    "--add", type=WORDS, metavar="WHO[:KIND]", multiple=True, help="Make this one an owner."
)
@click.option(
    "--remove", type=WORDS, metavar="WHO[:KIND]", multiple=True, help="Take ownership away."
)
@options.dry_run
@format_options("json", "csv", "urns")
@catalog_options
def own(
    target: Target,
    urns: tuple[str, ...],
    add: tuple[str, ...],
    remove: tuple[str, ...],
    *,
    dry_run: bool,
    shown_as: OutputFormat | None,
) -> None:
    """Show who owns entities, give and take ownership.

    URN may be several, or - for those on standard input, one a line. One that fails loses no
    other. Owners that are not named stay.
    """
    options.check_forms(shown_as, dry_run=dry_run, writes=bool(add or remove))
    from explorer.cli import edits

    if not (add or remove):
        edits.show_labels(target, urns, "owners", None, shown_as)
        return
    wanted = edits.Labels("owners", [*map(_owner, add)], [*map(_owner, remove)])
    edits.change_labels(target, urns, wanted, dry_run=dry_run, as_json=shown_as == "json")


def _owner(text: str) -> tuple[str, str | None]:
    """The owner and the kind of ownership that a word names."""
    who, between, kind = text.rpartition(_OWN_KIND)
    if between:
        return who, f"{between.removeprefix(':')}{kind}"
    who, _, kind = text.rpartition(":")
    if not who or not _WORD.fullmatch(kind):
        return text, None
    # In a URN only capitals after the id are a kind: an id may have colons of its own.
    if who.startswith("urn:") and (who.count(":") + 1 < _URN_PARTS or kind != kind.upper()):
        return text, None
    return who, kind.upper()


_DOMAIN_EPILOG = """
\b
Examples
  catalog domain URN                          (shows the domain)
  catalog domain URN finance
  catalog domain URN OTHER-URN urn:li:domain:finance
  catalog domain URN --none
  catalog search --filter 'name:fct_*' --urns | catalog domain - finance

A name that is no URN is an id: finance is urn:li:domain:finance.

\b
With NAME or --none, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
"""

_DOMAIN = "urn:li:domain:"


@click.command(epilog=_DOMAIN_EPILOG)
@click.argument("words", nargs=-1, required=True, type=WORDS, metavar="URN... [NAME]")
@click.option("--none", "out_of_all", is_flag=True, help="Take them out of any domain.")
@options.dry_run
@format_options("json", "csv", "urns")
@catalog_options
def domain(
    target: Target,
    words: tuple[str, ...],
    *,
    out_of_all: bool,
    dry_run: bool,
    shown_as: OutputFormat | None,
) -> None:
    """Show the domain of entities, or put them into one.

    NAME comes last: a domain's id or URN. URN may be several, or - for those on standard input,
    one a line. One that fails loses no other.
    """
    last = words[-1]
    named = last.startswith(_DOMAIN) or not (last.startswith("urn:") or last == "-")
    urns = words[:-1] if named else words
    if not urns:
        raise click.UsageError(f"“{last}” is no URN of something that is in a domain")
    if named and out_of_all:
        raise click.UsageError(f"either “{last}” or --none; give one of them")
    options.check_forms(shown_as, dry_run=dry_run, writes=named or out_of_all)
    from explorer.cli import edits

    if named or out_of_all:
        change = _change(last if named else None, dry_run=dry_run)
        edits.change_each(target, urns, change, dry_run=dry_run, as_json=shown_as == "json")
    else:
        edits.show_labels(target, urns, "domain", None, shown_as)


def _change(name: str | None, *, dry_run: bool) -> "Change":
    from explorer.cli.edits import domains_of, planned
    from explorer.cli.options import read_existing
    from explorer.client.editable import urns_of

    # What is wrong with the name is wrong for every entity.
    wanted = () if name is None else tuple(map(str, urns_of(name, "domain")))

    def change(catalog: "Catalog", urn: str) -> "Iterator[Edit]":
        if dry_run:
            before = domains_of(read_existing(catalog, urn))
            yield planned(urn, "domain", before, wanted)
        else:
            yield catalog.set_domain(urn, wanted[0] if wanted else None)

    return change


_DEPRECATE_EPILOG = """
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


@click.command(epilog=_DEPRECATE_EPILOG)
@options.urns
@click.option("--note", type=WORDS, help="Why, and what to do instead.")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]),
    metavar="DATE",
    help="From when it is gone: 2026-06-30, in UTC.",
)
@click.option("--replacement", type=WORDS, metavar="URN", help="What to use instead.")
@click.option("--undo", is_flag=True, help="Say that it may be used again.")
@options.dry_run
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
@catalog_options
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
    options.check_forms(None, dry_run=dry_run, writes=writes)
    from explorer.cli import edits

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
    from explorer.cli.edits import planned
    from explorer.cli.options import read_existing

    def change(catalog: "Catalog", urn: str) -> "Iterator[Edit]":
        yield planned(urn, "deprecation", _said_of(read_existing(catalog, urn)), held)

    return change


def _show(target: Target, urns: tuple[str, ...], *, as_json: bool) -> None:
    from explorer.cli import output
    from explorer.cli.edits import finish, given_urns, go_through, part
    from explorer.cli.options import read_existing
    from explorer.cli.output import print_json

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
            output.Column("name", max_width=56, folds=True, style="bold"),
            output.Column("deprecation", folds=True),
        ]
        rows = [(entity.urn.name, part("deprecation", held)) for entity, held in found]
        output.print_table(output.Table(columns, rows))
    finish(done)


def _said_of(entity: "Entity") -> dict[str, Any] | None:
    value = entity.raw("deprecation") or {}
    if value.get("deprecated") is not True:
        return None
    known = ("decommissionTime", "replacement")
    said = {key: value[key] for key in known if value.get(key) is not None}
    return {"note": value.get("note") or "", **said}


_TAG_EPILOG = """
\b
Examples
  catalog tag URN                             (shows the tags)
  catalog tag URN --add PII --remove Old
  catalog tag URN --column customer.email --add PII
  catalog search email --urns | catalog tag - --add PII --dry-run
  catalog tag URN --json | jq -r '.[].tags[]'

A name that is no URN is an id: PII is urn:li:tag:PII. A tag must exist before it is put on.

\b
With --add or --remove, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
"""


@click.command(epilog=_TAG_EPILOG)
@options.urns
@click.option("--add", type=WORDS, metavar="TAG", multiple=True, help="Put this tag on.")
@click.option("--remove", type=WORDS, metavar="TAG", multiple=True, help="Take this tag off.")
@options.column_option
@options.dry_run
@format_options("json", "csv", "urns")
@catalog_options
def tag(
    target: Target,
    urns: tuple[str, ...],
    add: tuple[str, ...],
    remove: tuple[str, ...],
    column: str | None,
    *,
    dry_run: bool,
    shown_as: OutputFormat | None,
) -> None:
    """Show, put on and take off tags of entities and columns.

    URN may be several, or - for those on standard input, one a line. One that fails loses no
    other. Tags that are not named stay.
    """
    options.check_forms(shown_as, dry_run=dry_run, writes=bool(add or remove))
    from explorer.cli import edits

    if not (add or remove):
        edits.show_labels(target, urns, "tags", column, shown_as)
        return
    wanted = edits.Labels(
        "tags", [(name, None) for name in add], [(name, None) for name in remove], column
    )
    edits.change_labels(target, urns, wanted, dry_run=dry_run, as_json=shown_as == "json")
