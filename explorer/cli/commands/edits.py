"""Commands that edit entities: `catalog new`, `rename` and `move`; `tag`, `term`, `own`, `domain`
and `deprecate`; `delete` and `restore`; `undo` and `redo`; and `glossary`, which edits from a file.
"""

import re
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from explorer.cli import options
from explorer.cli.options import WORDS, OutputFormat, Target, catalog_options, format_options
from explorer.cli.sections import EDIT, MAINTAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from explorer.cli.edits import Change, NamedLabel
    from explorer.client import Catalog
    from explorer.client.editable import LabelWhat
    from explorer.client.entity import Entity
    from explorer.client.governance import Governed
    from explorer.client.records import Edit
    from explorer.sessions.glossary import GlossarySession

_KINDS: "dict[str, Governed]" = {
    "tag": "tag",
    "term": "glossaryTerm",
    "group": "glossaryNode",
    "domain": "domain",
    "product": "dataProduct",
}
_EDITS_AS_JSON = """
\b
--json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
catalog undo reverts the edits.
"""

_NEW_EPILOG = """
\b
Examples
  catalog new tag PII --description "Names a person."
  catalog new group Finance
  catalog new term "Net revenue" --in Finance --description "After discounts."
  catalog new domain Web --in sales
  catalog new product "Orders 360" --in sales
  catalog new term Churn | xargs catalog own --add ann

The command prints the URN of the new entity. Its ID is derived from the name (for terms and groups,
also from the names of the groups above), unless you set one with --id. A PARENT that is not a URN
is the ID of a group, or of a domain, or its name.

\b
--json prints an object:
  urn, what, before, after, changed, at
catalog undo removes the new entity as long as nothing uses it. After that,
retire it with catalog deprecate or catalog delete --soft.
"""


@EDIT.command(epilog=_NEW_EPILOG)
@click.argument("kind", type=click.Choice(tuple(_KINDS)))
@click.argument("name", type=WORDS)
@click.option("--in", "parent", type=WORDS, metavar="PARENT", help="The parent group or domain.")
@click.option("--description", type=WORDS, default="", help="The description.")
@click.option("--id", "entity_id", type=WORDS, help="The ID, instead of one derived from the name.")
@format_options("json")
@catalog_options
def new(
    target: Target,
    kind: str,
    name: str,
    parent: str | None,
    description: str,
    entity_id: str | None,
    *,
    shown_as: OutputFormat | None,
) -> None:
    """Create a tag, glossary term or group, domain or data product."""
    from explorer.cli import edits
    from explorer.cli.output import line_text, note_message, print_json, results
    from explorer.sessions.glossary import GlossarySession

    edits.refuse_read_only(target)
    with target.open() as catalog:
        edits.keep_journal(catalog)
        governed, making = GlossarySession(catalog.core), _KINDS[kind]
        with _suggest_parents(catalog, making, parent):
            edit = catalog.wait(
                governed.make(making, name, parent, description=description, entity_id=entity_id)
            )
    if shown_as == "json":
        print_json(edits.as_record(edit))
        return
    note_message(governed, undo="catalog undo removes it")
    results().print(line_text(str(edit.urn)), soft_wrap=True)


_RENAME_EPILOG = f"""
\b
Examples
  catalog rename urn:li:tag:PII "Personal data"
  catalog rename urn:li:glossaryTerm:Finance.Net "Net revenue" --dry-run

The URN does not change, so everything that uses the entity keeps working.
{_EDITS_AS_JSON}"""


@EDIT.command(epilog=_RENAME_EPILOG)
@options.entity
@click.argument("name", type=WORDS)
@options.dry_run
@format_options("json")
@catalog_options
def rename(
    target: Target, urn: str, name: str, *, dry_run: bool, shown_as: OutputFormat | None
) -> None:
    """Rename a tag, glossary term or group, domain or data product."""
    from explorer.cli import edits

    def change(catalog: "Catalog", entity_urn: str) -> "Iterator[Edit]":
        yield catalog.wait(_governed(catalog, entity_urn, "name").rename(name))

    edits.change_each(target, (urn,), change, dry_run=dry_run, as_json=shown_as == "json")


_MOVE_EPILOG = f"""
\b
Examples
  catalog move urn:li:glossaryTerm:Finance.Net urn:li:glossaryNode:Sales
  catalog move urn:li:glossaryNode:Finance --top
  catalog move urn:li:domain:web sales
  catalog search churn --urns --entity glossaryTerm | catalog move - Sales

PARENT, the last argument, is the ID or URN of a group; for a domain, that of another domain.
Children move with their parent, and no URN changes. To move a data product to another domain, use
catalog domain.
{_EDITS_AS_JSON}"""


@EDIT.command(epilog=_MOVE_EPILOG)
@click.argument(
    "words", nargs=-1, required=True, type=options.ENTITY, metavar="URN|NAME... [PARENT]"
)
@click.option("--top", is_flag=True, help="Move to the top level.")
@options.dry_run
@format_options("json")
@catalog_options
def move(
    target: Target,
    words: tuple[str, ...],
    *,
    top: bool,
    dry_run: bool,
    shown_as: OutputFormat | None,
) -> None:
    """Move glossary terms, term groups or domains to another parent.

    URN can be repeated; - reads URNs from standard input, one per line. If one fails, the others
    are still processed.
    """
    urns, parent = (words, None) if top else (words[:-1], words[-1])
    if not urns:
        raise click.UsageError("give the new parent as the last argument, or --top")
    from explorer.cli import edits

    change = _move_change(parent)
    edits.change_each(target, urns, change, dry_run=dry_run, as_json=shown_as == "json")


def _governed(catalog: "Catalog", urn: str, what: "Literal['name', 'parent']") -> "GlossarySession":
    """Return the session that edits the name or parent (`what`) of an entity. Raises `InvalidInput`
    if entities of its type have none, and `NotFound` if it does not exist."""
    from explorer.client.editable import edit_target
    from explorer.metadata.urn import Urn
    from explorer.sessions.glossary import GlossarySession

    edit_target(Urn.parse(urn), what)
    return GlossarySession(catalog.core, options.read_existing(catalog, urn))


def _move_change(parent: str | None) -> "Change":
    from explorer.metadata.urn import Urn

    def change(catalog: "Catalog", urn: str) -> "Iterator[Edit]":
        with _suggest_parents(catalog, Urn.parse(urn).entity_type, parent):
            yield catalog.wait(_governed(catalog, urn, "parent").move(parent))

    return change


def _suggest_parents(
    catalog: "Catalog", kind: str, parent: str | None
) -> "AbstractContextManager[None]":
    """Return a context in which the error for a parent that is not in the catalog names similar
    ones. `kind` is the type of the entity that is to be put below the parent."""
    from explorer.cli.edits import suggest_labels
    from explorer.client.editable import PARENTS

    above = "domain" if kind == "dataProduct" else PARENTS[kind][1] if kind in PARENTS else None
    urns = catalog.find_labels(parent, above) if parent is not None and above is not None else ()
    return suggest_labels(catalog, map(str, urns))


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

PII is urn:li:tag:PII, or else the tag of that name. A tag must exist before you can add it; catalog
new tag creates one.
{_WITH_EDITS}"""

_TERM_EPILOG = f"""
\b
Examples
  catalog term URN                             (shows the terms)
  catalog term URN --add Revenue --remove Sales
  catalog term URN --column amount --add Revenue
  catalog search revenue --urns | catalog term - --add Revenue --dry-run
  catalog term URN --json | jq -r '.[].terms[]'

Revenue is urn:li:glossaryTerm:Revenue, or else the term of that name. A term must exist before you
can add it; catalog new term creates one.
{_WITH_EDITS}"""

_OWN_EPILOG = f"""
\b
Examples
  catalog own URN                             (shows the owners)
  catalog own URN --add jdoe --add ann:DATA_STEWARD
  catalog own URN --add urn:li:corpGroup:finance:BUSINESS_OWNER
  catalog own URN --remove jdoe               (all ownership types)
  catalog search --filter owners:jdoe --urns | catalog own - --remove jdoe

jdoe is urn:li:corpuser:jdoe, or else the user or group of that name. KIND is an ownership
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
    return EDIT.command(name, epilog=epilog)(options.entities(adding(removing(command))))


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

finance is urn:li:domain:finance, or else the domain of that name.

\b
With NAME or --none, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
"""

_DOMAIN = "urn:li:domain:"


@EDIT.command(epilog=_DOMAIN_EPILOG)
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
    is_domain = last.startswith(_DOMAIN) or not (
        len(words) == 1 or last.startswith("urn:") or last == "-"
    )
    urns = words[:-1] if is_domain else words
    if not urns:
        raise click.UsageError(f"no URN of an entity given, only the domain “{last}”")
    if is_domain and out_of_all:
        raise click.UsageError(f"“{last}” and --none cannot be combined; give only one of them")
    writes = is_domain or out_of_all
    options.check_forms(shown_as, dry_run=dry_run, writes=writes, propose=propose)
    from explorer.cli import edits

    if writes:
        change = _domain_change(last if is_domain else None)
        as_json = shown_as == "json"
        edits.change_each(target, urns, change, dry_run=dry_run, as_json=as_json, propose=propose)
    else:
        edits.show_labels(target, urns, "domain", None, shown_as)


def _domain_change(name: str | None) -> "Change":
    from explorer.cli.edits import write_labels
    from explorer.client.editable import urns_of

    if name is not None:
        # Checked once: an invalid name is invalid for every entity.
        urns_of(name, "domain")

    @cache
    def find(catalog: "Catalog") -> tuple[str, ...]:
        return () if name is None else tuple(map(str, catalog.find_labels(name, "domain")))

    return lambda catalog, urn: write_labels(catalog, urn, "domain", find(catalog))


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


@EDIT.command(epilog=_DEPRECATE_EPILOG)
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
    if note is not None and not note.strip():
        raise click.UsageError("--note is empty; say why, or what to use instead")
    writes = undo or note is not None
    options.check_forms(None, dry_run=dry_run, writes=writes, propose=propose)
    from explorer.cli import edits

    if not writes:
        _show_deprecations(target, urns, as_json=as_json)
        return
    from explorer.client.editable import deprecation

    moment = until.replace(tzinfo=UTC) if until else None
    # Checked once: an invalid deprecation is invalid for every entity.
    if note is not None:
        deprecation(note, moment, replacement)
    change = _write_deprecation(note, moment, replacement)
    edits.change_each(target, urns, change, dry_run=dry_run, as_json=as_json, propose=propose)


def _write_deprecation(
    note: str | None, until: datetime | None, replacement: str | None
) -> "Change":
    from explorer.sessions.lifecycle import LifecycleSession

    def change(catalog: "Catalog", urn: str) -> "Iterator[Edit]":
        lifecycle = LifecycleSession(catalog.core, urn)
        doing = lifecycle.lift() if note is None else lifecycle.deprecate(note, until, replacement)
        yield catalog.wait(doing)

    return change


def _show_deprecations(target: Target, urns: tuple[str, ...], *, as_json: bool) -> None:
    from explorer.cli.edits import finish, go_through, read_urn_arguments
    from explorer.cli.options import read_existing
    from explorer.cli.output import show
    from explorer.views.journal import value_words
    from explorer.views.parts import Report
    from explorer.views.table import Table, TableColumn

    deprecations: list[tuple[Entity, dict[str, Any] | None]] = []
    with target.open() as catalog:

        def read(urn: str) -> None:
            entity = read_existing(catalog, urn)
            deprecations.append((entity, _deprecation_of(entity)))

        done = go_through(read_urn_arguments(urns), read, catalog)
    columns = [
        TableColumn("name", max_width=56, folds=True, style="bold"),
        TableColumn("deprecation", folds=True),
    ]
    rows = [
        (entity.urn.name, value_words("deprecation", fields)) for entity, fields in deprecations
    ]
    document = [{"urn": str(entity.urn), "deprecation": fields} for entity, fields in deprecations]
    show(Report(Table(columns, rows), document=document), "json" if as_json else None)
    finish(done)


def _deprecation_of(entity: "Entity") -> dict[str, Any] | None:
    from explorer.client.editable import deprecation_of

    return deprecation_of(entity.raw("deprecation") or {})


_DELETE_EPILOG = """
\b
Examples
  catalog delete URN --soft                       (see catalog restore)
  catalog delete URN --hard --dry-run             (shows what it would delete)
  catalog delete URN --hard
  catalog search tmp_ --urns | catalog delete - --hard --yes

References from other entities to a deleted entity are kept. What is in a deleted domain or glossary
group is moved to the one above it, or to the top level.

\b
--json prints an object:
  dry_run  whether nothing was deleted
  deleted  with --soft: urn, was_removed, removed, written
           with --hard: urn, done, versions, points, references (number),
           referenced_by (urn, aspect, relationship); null for what the
           server does not return; moved (URNs) and moved_to, if something
           was in it
  failed   urn, error
"""


@EDIT.command(epilog=_DELETE_EPILOG)
@options.urns
@click.option("--soft", is_flag=True, help="Hide from search and browse; can be restored.")
@click.option("--hard", is_flag=True, help="Delete permanently; cannot be restored.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--dry-run", is_flag=True, help="Show what would be deleted, without deleting anything."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@catalog_options
def delete(
    target: Target,
    urns: tuple[str, ...],
    *,
    soft: bool,
    hard: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Delete entities, permanently or so that they can be restored.

    Give either --soft or --hard. --hard shows what will be deleted and asks for confirmation. URN
    can be repeated; - reads URNs from standard input, one per line. If one fails, the others are
    still processed.
    """
    if soft == hard:
        raise click.UsageError(
            "give either --soft, which hides an entity and can be undone, or --hard, which deletes "
            "it permanently"
        )
    asks = hard and not (yes or dry_run)
    if asks and ("-" in urns or not (sys.stdin and sys.stdin.isatty())):
        raise click.UsageError(
            "cannot ask for confirmation: standard input is not a terminal, or is used for URNs; "
            "give --yes to delete permanently"
        )
    from explorer.cli import edits

    if soft:
        edits.soft_delete(target, urns, dry_run=dry_run, as_json=as_json)
    else:
        edits.hard_delete(target, urns, asks=asks, dry_run=dry_run, as_json=as_json)


_RESTORE_EPILOG = """
\b
Examples
  catalog restore URN
  catalog restore URN OTHER-URN --dry-run
  catalog search --filter removed:true --urns | catalog restore -
  catalog restore /backups/catalog-2030-01-31 --data-dir /var/lib/catalog

\b
With URNs --json prints an object:
  dry_run   whether nothing was written
  restored  urn, was_removed, removed, written
  failed    urn, error

\b
Restoring a BACKUP
  The backup is checked first. The previous catalog is kept in the same
  directory under a dated name; remove it when you no longer need it. Stop
  the service of the catalog first. If the command is interrupted, the
  directory has either the previous or the restored catalog, complete.
  Access tokens in the backup are restored only if the directory has none.
"""


@EDIT.command(epilog=_RESTORE_EPILOG)
@options.urns
@options.dry_run
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@catalog_options
def restore(target: Target, urns: tuple[str, ...], *, dry_run: bool, as_json: bool) -> None:
    """Restore soft-deleted entities, or a catalog from a backup.

    URN can be repeated; - reads URNs from standard input, one per line. If one fails, the others
    are still processed. Entities deleted with --hard cannot be restored.

    A single argument that is not a URN is a BACKUP: a directory made by catalog backup, or the
    catalog.db in it. It replaces the local catalog, or the one in --data-dir.
    """
    if len(urns) == 1 and urns[0] != "-" and not urns[0].startswith("urn:"):
        _restore_backup(target, Path(urns[0]), is_plain=not (dry_run or as_json))
        return
    from explorer.cli import edits

    edits.restore(target, urns, dry_run=dry_run, as_json=as_json)


def _restore_backup(target: Target, backup: Path, *, is_plain: bool) -> None:
    if not is_plain or target.url or target.profile or target.token or target.offline:
        raise click.UsageError(
            "a backup is restored to a data directory; --data-dir is the only option allowed"
        )
    from explorer import config
    from explorer.cli.output import note
    from explorer.server import data_directory

    directory = target.data_dir or config.data_dir()
    restored = data_directory.restore(directory, backup)
    note(f"restored {restored.entities:,} entities from {backup} to {directory}")
    if restored.previous is not None:
        note(
            f"the previous catalog is kept in {restored.previous}; remove it when you no longer "
            "need it"
        )


_MAX_LISTED = 10_000

_UNDO_EPILOG = """
\b
Examples
  catalog undo                      (shows the last save, and asks)
  catalog undo --yes                (does not ask)
  catalog redo                      (redoes it)
  catalog undo --list
  catalog undo --list --find "orders PII"
  catalog undo 3f2a
  catalog undo --list --json | jq '.[0].before'

Edits are recorded in a journal on this machine: those of commands that edit, such as describe, tag,
new and docs review, of the terminal app and of notebooks. What load, add and delete --hard write is
not in it. Without an ID, undo reverts the whole last save that is not undone yet, wherever it was
made: all edits of one command, or of one page of tags. So it shows first what it reverts, and when
and by which program that was saved, and asks; where nobody can be asked, it needs --yes. If
somebody has changed a value since, it is reverted only with --force; labels and links added by
others are kept. What no longer exists is not put back: a message says so, and the rest is reverted.
An undo is an edit too, so catalog undo with its ID reverts the undo.

\b
--list --json prints a list, newest first: id, at (UTC), server, urn,
column, what, before, after, undone (whether it is undone), undoes (the
IDs of the edits that it undoes), save (the ID shared by the edits of one
save, which undo accepts too), proposed_by and approved_by (for edits that
were reviewed).
--json alone prints the first edit that was written: urn, column, what,
before, after, changed, at; and all of them in edits.
"""


@EDIT.command(epilog=_UNDO_EPILOG)
@click.argument("edit_id", metavar="[ID]", type=WORDS, required=False)
@click.option("--list", "lists", is_flag=True, help="Show the edits, newest first.")
@click.option(
    "--count",
    type=click.IntRange(1, _MAX_LISTED),
    default=20,
    show_default=True,
    help="With --list, the maximum number of edits.",
)
@click.option(
    "--find",
    "words",
    type=WORDS,
    metavar="WORDS",
    help="With --list, only saves that contain all these words, in a name, text or label, or a "
    "day, as in 2030-01-31.",
)
@click.option("--force", is_flag=True, help="Undo even if somebody changed the value since.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@format_options("json", "csv")
@catalog_options
def undo(
    target: Target,
    edit_id: str | None,
    count: int,
    words: str | None,
    *,
    lists: bool,
    force: bool,
    yes: bool,
    shown_as: OutputFormat | None,
) -> None:
    """Undo the last save, or the edit with this ID.

    ID is the ID of an edit or a save in --list, or the beginning of one.
    """
    if lists and edit_id:
        raise click.UsageError("--list and an ID cannot be combined; give only one of them")
    if lists and (force or yes):
        raise click.UsageError(
            f"--list and {'--force' if force else '--yes'} cannot be combined; give only one of "
            "them"
        )
    if shown_as == "csv" and not lists:
        raise click.UsageError("--csv needs --list")
    if words and not lists:
        raise click.UsageError("--find needs --list")
    from explorer.cli import edits

    if lists:
        edits.print_journal(count, words or "", shown_as)
    else:
        edits.undo_edits(target, edit_id, asks=not yes, force=force, as_json=shown_as == "json")


_REDO_EPILOG = """
\b
Examples
  catalog undo && catalog redo
  catalog redo --yes --json

Redo shows first what it writes, and asks; where nobody can be asked, it needs --yes. It works until
something else is saved. After that, use catalog undo with the ID of the undo; catalog undo --list
shows it.

\b
--json prints the first edit that was written: urn, column, what, before,
after, changed, at; and all of them in edits.
"""


@EDIT.command(epilog=_REDO_EPILOG)
@click.option("--force", is_flag=True, help="Redo even if somebody changed the value since.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@format_options("json")
@catalog_options
def redo(target: Target, *, force: bool, yes: bool, shown_as: OutputFormat | None) -> None:
    """Redo what the last undo reverted."""
    from explorer.cli import edits

    edits.redo_edits(target, asks=not yes, force=force, as_json=shown_as == "json")


_GLOSSARY_EPILOG = """
\b
Examples
  catalog glossary export -o glossary.yml
  catalog glossary diff glossary.yml
  catalog glossary import glossary.yml --dry-run
  catalog glossary import glossary.yml

The file has the YAML format of DataHub's business glossary source. Entries are identified by their
ID, so you can rename them and move them within the file. Importing does not remove what is not in
the file: entries, owners, links and descriptions stay in the catalog. Domains and owners are given
by URN, ID or name; those that the catalog does not have are refused with their line, and the rest
is imported.
"""
_GLOSSARY_COLUMNS = """
\b
Fields of --json and --csv: urn, name, what, before, after, written
"""
_GLOSSARY_DIFF_EPILOG = f"""
\b
Examples
  catalog glossary diff glossary.yml
  catalog glossary diff glossary.yml --retire-missing
  catalog glossary export | catalog glossary diff - --profile prod
{_GLOSSARY_COLUMNS}"""
_GLOSSARY_IMPORT_EPILOG = """
\b
Examples
  catalog glossary import glossary.yml --dry-run
  catalog glossary import glossary.yml
  catalog glossary import glossary.yml --retire-missing
  catalog undo                                    (reverts the whole import)

\b
--json prints an object:
  dry_run  whether nothing was written
  changes  urn, name, what, before, after, written
  failed   urn, what, error
"""
_GLOSSARY_EXPORT_EPILOG = """
\b
Examples
  catalog glossary export -o glossary.yml
  catalog glossary export > glossary.yml
"""
_glossary_file = click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
_retire = click.option(
    "--retire-missing",
    "retire",
    is_flag=True,
    help="Soft-delete the terms and groups that are not in the file.",
)


@MAINTAIN.group(epilog=_GLOSSARY_EPILOG)
def glossary() -> None:
    """Export and import the business glossary."""


@glossary.command("export", epilog=_GLOSSARY_EXPORT_EPILOG)
@options.new_file("--output", "-o", text="Write to this file.")
@click.option("--overwrite", is_flag=True, help="Overwrite the file if it exists.")
@catalog_options
def export_glossary(target: Target, output: Path | None, *, overwrite: bool) -> None:
    """Export all glossary terms and groups as YAML.

    Writes to standard output unless --output is given.
    """
    from explorer.cli import documentation_files as documentation
    from explorer.stewardship import Stewardship

    documentation.check_glossary_target(output, overwrite=overwrite)
    with target.open() as catalog:
        entries = Stewardship(catalog).glossary()
    documentation.write_glossary_file(entries, output)


@glossary.command("diff", epilog=_GLOSSARY_DIFF_EPILOG)
@_glossary_file
@options.encoding
@_retire
@format_options("json", "csv")
@catalog_options
def diff_glossary(
    target: Target,
    file: Path,
    encoding: str | None,
    *,
    retire: bool,
    shown_as: OutputFormat | None,
) -> None:
    """Show what importing FILE would change.

    If FILE is -, standard input is read.
    """
    from explorer.cli import documentation_files as documentation
    from explorer.cli.output import show
    from explorer.stewardship import Stewardship
    from explorer.stewardship.glossary import compare_glossary
    from explorer.views.stewardship import glossary_report

    entries = documentation.read_glossary(file, encoding)
    with target.open() as catalog:
        steward = Stewardship(catalog)
        present = steward.glossary()
        entries, refused = steward.resolve_glossary(entries, present)
        changes = compare_glossary(entries, present, retire=retire)
    show(glossary_report(changes, refused), shown_as)


@glossary.command("import", epilog=_GLOSSARY_IMPORT_EPILOG)
@_glossary_file
@options.encoding
@_retire
@options.dry_run
@format_options("json")
@catalog_options
def import_glossary(
    target: Target,
    file: Path,
    encoding: str | None,
    *,
    retire: bool,
    dry_run: bool,
    shown_as: OutputFormat | None,
) -> None:
    """Import the changes in FILE into the catalog.

    Creates new terms and groups, and updates names, descriptions, parents, owners, links and
    domains. The import is one save, which catalog undo reverts. Changes that somebody else makes
    at the same time are not overwritten. If FILE is -, standard input is read.
    """
    from explorer.cli import documentation_files as documentation
    from explorer.cli import edits
    from explorer.cli.output import note, note_message, show
    from explorer.sessions.glossary import GlossarySession
    from explorer.stewardship import Stewardship
    from explorer.stewardship.glossary import GlossaryOutcome, compare_glossary
    from explorer.views.stewardship import glossary_outcome_report

    if not dry_run:
        edits.refuse_read_only(target)
    entries = documentation.read_glossary(file, encoding)
    with target.open() as catalog:
        glossary_session = GlossarySession(catalog.core)
        steward = Stewardship(catalog)
        present = steward.glossary()
        entries, refused = steward.resolve_glossary(entries, present)
        changes = compare_glossary(entries, present, retire=retire)
        outcome = GlossaryOutcome()
        if not dry_run:
            edits.keep_journal(catalog)
            outcome = catalog.wait(glossary_session.import_changes(changes))
        outcome.failed[:0] = refused
    show(glossary_outcome_report(changes, outcome, dry_run=dry_run), shown_as)
    if dry_run:
        note("dry run: nothing was written")
    elif outcome.edits:
        note_message(glossary_session, undo="catalog undo reverts the import")
    if outcome.failed:
        click.get_current_context().exit(1)
