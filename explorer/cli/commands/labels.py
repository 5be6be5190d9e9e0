"""`catalog tag`, `term`, `own`, `domain` and `deprecate`."""

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from explorer.cli import options
from explorer.cli.options import WORDS, OutputFormat, Target, catalog_options, format_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from explorer.cli.edits import Change, NamedLabel
    from explorer.client import Catalog
    from explorer.client.editable import LabelWhat
    from explorer.client.entity import Entity
    from explorer.client.records import Edit

__all__ = ["deprecate", "domain", "own", "tag", "term"]

_WITH_EDITS = """
With --propose, the changes are staged in a file. Review and apply them with catalog docs review or
catalog-tui --review.

\b
With --add or --remove, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
"""

_TAG_EPILOG = f"""
\b
Examples
  catalog tag URN                             (shows the tags)
  catalog tag URN --add PII --remove Old
  catalog tag URN --column customer.email --add PII
  catalog search email --urns | catalog tag - --add PII --dry-run
  catalog tag URN --json | jq -r '.[].tags[]'

A name that is not a URN is an ID: PII is urn:li:tag:PII. A tag must exist before you can add it;
catalog new tag creates one.
{_WITH_EDITS}"""

_TERM_EPILOG = f"""
\b
Examples
  catalog term URN                             (shows the terms)
  catalog term URN --add Revenue --remove Sales
  catalog term URN --column amount --add Revenue
  catalog search revenue --urns | catalog term - --add Revenue --dry-run
  catalog term URN --json | jq -r '.[].terms[]'

A name that is not a URN is an ID: Revenue is urn:li:glossaryTerm:Revenue. A term must exist before
you can add it; catalog new term creates one.
{_WITH_EDITS}"""

_OWN_EPILOG = f"""
\b
Examples
  catalog own URN                             (shows the owners)
  catalog own URN --add jdoe --add ann:DATA_STEWARD
  catalog own URN --add urn:li:corpGroup:finance:BUSINESS_OWNER
  catalog own URN --remove jdoe               (all ownership types)
  catalog search --filter owners:jdoe --urns | catalog own - --remove jdoe

A name that is not a URN is the ID of a user: jdoe is urn:li:corpuser:jdoe. KIND is an ownership
type: a word such as DATA_STEWARD, or the URN of a custom type. The default is TECHNICAL_OWNER.
{_WITH_EDITS}In before and after, an owner is written as "URN KIND".
"""

_SEVERAL = """

    URN can be repeated; - reads URNs from standard input, one per line. If one fails, the others
    are still processed. """


def _label_command(
    name: str,
    what: "LabelWhat",
    text: str,
    epilog: str,
    *,
    metavar: str,
    helps: tuple[str, str],
    parse: "Callable[[str], NamedLabel]" = lambda word: (word, None),
    on_columns: bool = True,
) -> click.Command:
    """Return a command that shows, adds and removes one kind of label.

    `helps` has the help of --add and --remove; `parse` reads the value of these options.
    """

    def run(
        target: Target,
        urns: tuple[str, ...],
        add: tuple[str, ...],
        remove: tuple[str, ...],
        column: str | None = None,
        *,
        dry_run: bool,
        shown_as: OutputFormat | None,
        propose: "Path | None",
    ) -> None:
        writes = bool(add or remove)
        options.check_forms(shown_as, dry_run=dry_run, writes=writes, propose=propose)
        from explorer.cli import edits

        if not (add or remove):
            edits.show_labels(target, urns, what, column, shown_as)
            return
        labels = edits.Labels(what, [*map(parse, add)], [*map(parse, remove)], column)
        as_json = shown_as == "json"
        edits.change_labels(target, urns, labels, dry_run=dry_run, as_json=as_json, propose=propose)

    run.__doc__ = text
    adding, removing = (
        click.option(f"--{option}", type=WORDS, metavar=metavar, multiple=True, help=help_text)
        for option, help_text in zip(("add", "remove"), helps, strict=True)
    )
    command = options.propose(run)
    command = options.dry_run(format_options("json", "csv", "urns")(catalog_options(command)))
    if on_columns:
        command = options.column_option(command)
    return click.command(name, epilog=epilog)(options.entities(adding(removing(command))))


tag = _label_command(
    "tag",
    "tags",
    f"Show, add or remove tags on entities and columns.{_SEVERAL}Other tags are left unchanged.",
    _TAG_EPILOG,
    metavar="TAG",
    helps=("Add this tag; can be repeated.", "Remove this tag; can be repeated."),
)
term = _label_command(
    "term",
    "terms",
    "Show, add or remove glossary terms on entities and columns."
    f"{_SEVERAL}Other terms are left unchanged.",
    _TERM_EPILOG,
    metavar="TERM",
    helps=("Add this term; can be repeated.", "Remove this term; can be repeated."),
)

_OWN_KIND = ":urn:li:ownershipType:"
_WORD = re.compile(r"[A-Za-z][A-Za-z_]*")
_URN_PARTS = 4


def _owner(text: str) -> tuple[str, str | None]:
    """Return the owner and the ownership type in a value of the form `WHO[:KIND]`."""
    who, between, kind = text.rpartition(_OWN_KIND)
    if between:
        return who, f"{between.removeprefix(':')}{kind}"
    who, _, kind = text.rpartition(":")
    if not who or not _WORD.fullmatch(kind):
        return text, None
    # After a URN only a word in capitals is an ownership type: IDs can contain colons.
    if who.startswith("urn:") and (who.count(":") + 1 < _URN_PARTS or kind != kind.upper()):
        return text, None
    return who, kind.upper()


own = _label_command(
    "own",
    "owners",
    f"Show, add or remove the owners of entities.{_SEVERAL}Other owners are left unchanged.",
    _OWN_EPILOG,
    metavar="WHO[:KIND]",
    helps=("Add this owner; can be repeated.", "Remove this owner; can be repeated."),
    parse=_owner,
    on_columns=False,
)


_DOMAIN_EPILOG = """
\b
Examples
  catalog domain URN                          (shows the domain)
  catalog domain URN finance
  catalog domain URN OTHER-URN urn:li:domain:finance
  catalog domain URN --none
  catalog search --filter 'name:fct_*' --urns | catalog domain - finance

A name that is not a URN is an ID: finance is urn:li:domain:finance.

\b
With NAME or --none, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
"""

_DOMAIN = "urn:li:domain:"


@click.command(epilog=_DOMAIN_EPILOG)
@click.argument(
    "words", nargs=-1, required=True, type=options.ENTITY, metavar="URN|NAME... [DOMAIN]"
)
@click.option("--none", "out_of_all", is_flag=True, help="Remove the domain.")
@options.dry_run
@options.propose
@format_options("json", "csv", "urns")
@catalog_options
def domain(
    target: Target,
    words: tuple[str, ...],
    *,
    out_of_all: bool,
    dry_run: bool,
    shown_as: OutputFormat | None,
    propose: "Path | None",
) -> None:
    """Show, set or remove the domain of entities.

    To set a domain, give its ID or URN as the last argument, DOMAIN, after the entities; - reads
    URNs from standard input, one per line. If one fails, the others are still processed.
    """
    last = words[-1]
    named = last.startswith(_DOMAIN) or not (
        len(words) == 1 or last.startswith("urn:") or last == "-"
    )
    urns = words[:-1] if named else words
    if not urns:
        raise click.UsageError(f"no URN of an entity given, only the domain “{last}”")
    if named and out_of_all:
        raise click.UsageError(f"“{last}” and --none cannot be combined; give only one of them")
    writes = named or out_of_all
    options.check_forms(shown_as, dry_run=dry_run, writes=writes, propose=propose)
    from explorer.cli import edits

    if writes:
        change = _change(last if named else None, dry_run=dry_run or propose is not None)
        as_json = shown_as == "json"
        edits.change_each(target, urns, change, dry_run=dry_run, as_json=as_json, propose=propose)
    else:
        edits.show_labels(target, urns, "domain", None, shown_as)


def _change(name: str | None, *, dry_run: bool) -> "Change":
    from explorer.cli.edits import check_labels, suggest_labels
    from explorer.cli.options import read_existing
    from explorer.client.editable import domains_of, urns_of
    from explorer.client.records import Edit

    # Checked once: an invalid name is invalid for every entity.
    domains = () if name is None else tuple(map(str, urns_of(name, "domain")))

    def change(catalog: "Catalog", urn: str) -> "Iterator[Edit]":
        if dry_run:
            entity = read_existing(catalog, urn)
            before = domains_of(entity.raw("domains") or {})
            if before != domains:
                check_labels(catalog, domains)
            yield Edit.now(entity.urn, "domain", before, domains)
        else:
            with suggest_labels(catalog, domains):
                edit = catalog.set_domain(urn, domains[0] if domains else None)
            yield edit

    return change


_DEPRECATE_EPILOG = """
\b
Examples
  catalog deprecate URN                       (shows the deprecation)
  catalog deprecate URN --note "Stops in June." --until 2026-06-30
  catalog deprecate URN --note "Use fct_orders." --replacement fct_orders
  catalog deprecate URN --undo
  catalog search tmp_ --urns | catalog deprecate - --note Unused --dry-run

A date stands for the start of that day in UTC.

\b
With --note or --undo, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
A deprecation has note, decommissionTime (milliseconds since 1970 UTC) and
replacement; it is null for an entity that is not deprecated. Without
--note and --undo, --json prints a list of urn and deprecation.
"""


@click.command(epilog=_DEPRECATE_EPILOG)
@options.entities
@click.option("--note", type=WORDS, help="The reason, and what to do instead.")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]),
    metavar="DATE",
    help="When the entity will be decommissioned, in UTC: 2026-06-30.",
)
@click.option(
    "--replacement", type=options.ENTITY, metavar="URN|NAME", help="The entity to use instead."
)
@click.option("--undo", is_flag=True, help="Remove the deprecation.")
@options.dry_run
@options.propose
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
    propose: "Path | None",
) -> None:
    """Mark entities as deprecated, with a note and a replacement.

    URN can be repeated; - reads URNs from standard input, one per line. If one fails, the others
    are still processed. Without --note and --undo, the current deprecation is shown.
    """
    if undo and (note is not None or until or replacement):
        raise click.UsageError(
            "--undo removes the deprecation; leave out --note, --until and --replacement"
        )
    if note is None and (until or replacement):
        raise click.UsageError("--until and --replacement need a reason; give it with --note")
    writes = undo or note is not None
    options.check_forms(None, dry_run=dry_run, writes=writes, propose=propose)
    from explorer.cli import edits

    if not writes:
        _show(target, urns, as_json=as_json)
        return
    from explorer.client.editable import deprecation

    moment = until.replace(tzinfo=UTC) if until else None
    # Checked once: an invalid deprecation is invalid for every entity.
    held = None if note is None else deprecation(note, moment, replacement)
    plans = dry_run or propose is not None
    change = _plan(held) if plans else _write(note, moment, replacement)
    edits.change_each(target, urns, change, dry_run=dry_run, as_json=as_json, propose=propose)


def _write(note: str | None, until: datetime | None, replacement: str | None) -> "Change":
    def change(catalog: "Catalog", urn: str) -> "Iterator[Edit]":
        if note is None:
            yield catalog.undeprecate(urn)
        else:
            yield catalog.deprecate(urn, note, decommission=until, replacement=replacement)

    return change


def _plan(held: dict[str, Any] | None) -> "Change":
    from explorer.cli.options import read_existing
    from explorer.client.records import Edit

    def change(catalog: "Catalog", urn: str) -> "Iterator[Edit]":
        entity = read_existing(catalog, urn)
        yield Edit.now(entity.urn, "deprecation", _deprecation_of(entity), held)

    return change


def _show(target: Target, urns: tuple[str, ...], *, as_json: bool) -> None:
    from explorer.cli import output
    from explorer.cli.edits import finish, go_through, read_urn_arguments
    from explorer.cli.options import read_existing
    from explorer.cli.output import print_json
    from explorer.views.journal import held_words

    found: list[tuple[Entity, dict[str, Any] | None]] = []
    with target.open() as catalog:

        def read(urn: str) -> None:
            entity = read_existing(catalog, urn)
            found.append((entity, _deprecation_of(entity)))

        done = go_through(read_urn_arguments(urns), read, names_in=catalog)
    if as_json:
        print_json([{"urn": str(entity.urn), "deprecation": held} for entity, held in found])
    elif found:
        columns = [
            output.TableColumn("name", max_width=56, folds=True, style="bold"),
            output.TableColumn("deprecation", folds=True),
        ]
        rows = [(entity.urn.name, held_words("deprecation", held)) for entity, held in found]
        output.print_table(output.StyledTable(columns, rows))
    finish(done)


def _deprecation_of(entity: "Entity") -> dict[str, Any] | None:
    from explorer.client.editable import deprecation_of

    return deprecation_of(entity.raw("deprecation") or {})
