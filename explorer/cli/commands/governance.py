"""`catalog new`, `rename`, `move` and `glossary`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from explorer.cli import options
from explorer.cli.options import (
    WORDS,
    OutputFormat,
    Target,
    catalog_options,
    format_options,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from explorer.cli.edits import Change
    from explorer.client import Catalog
    from explorer.client.governance import Governed
    from explorer.client.records import Edit

__all__ = ["glossary", "move", "new", "rename"]

_KINDS: "dict[str, Governed]" = {
    "tag": "tag",
    "term": "glossaryTerm",
    "group": "glossaryNode",
    "domain": "domain",
    "product": "dataProduct",
}
_EDITS = """
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
is the ID of a group, or of a domain.

\b
--json prints an object:
  urn, what, before, after, changed, at
catalog undo removes the new entity as long as nothing uses it. After that,
retire it with catalog deprecate or catalog delete --soft.
"""


@click.command(epilog=_NEW_EPILOG)
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
    from rich.text import Text

    from explorer.cli import edits
    from explorer.cli.output import line_text, note, print_json, results

    edits.refuse_read_only(target)
    with target.open() as catalog:
        edits.keep_journal(catalog)
        made = catalog.new(
            _KINDS[kind], name, parent=parent, description=description, entity_id=entity_id
        )
    if shown_as == "json":
        print_json(edits.as_record(made))
        return
    note(Text(f"{kind} "), line_text(name, "bold"), Text(" created; catalog undo removes it"))
    results().print(line_text(str(made.urn)), soft_wrap=True)


_RENAME_EPILOG = f"""
\b
Examples
  catalog rename urn:li:tag:PII "Personal data"
  catalog rename urn:li:glossaryTerm:Finance.Net "Net revenue" --dry-run

The URN does not change, so everything that uses the entity keeps working.
{_EDITS}"""


@click.command(epilog=_RENAME_EPILOG)
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

    def change(catalog: "Catalog", one: str) -> "Iterator[Edit]":
        yield _planned(catalog, one, "name", name) if dry_run else catalog.rename(one, name)

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
{_EDITS}"""


@click.command(epilog=_MOVE_EPILOG)
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

    edits.change_each(
        target, urns, _moving(parent, dry_run=dry_run), dry_run=dry_run, as_json=shown_as == "json"
    )


def _moving(parent: str | None, *, dry_run: bool) -> "Change":
    from explorer.client.editable import PARENTS, urns_of
    from explorer.metadata.urn import Urn

    def change(catalog: "Catalog", urn: str) -> "Iterator[Edit]":
        if not dry_run:
            yield catalog.move(urn, parent)
            return
        kind = Urn.parse(urn).entity_type
        above = None
        if parent is not None and kind in PARENTS:
            (named,) = urns_of(parent, PARENTS[kind][1])
            above = str(options.read_existing(catalog, str(named)).urn)
        yield _planned(catalog, urn, "parent", above)

    return change


def _planned(catalog: "Catalog", urn: str, what: str, after: str | None) -> "Edit":
    """Return the edit that would change the name or the parent of an entity."""
    from explorer.client.editable import edit_target
    from explorer.client.records import Edit

    entity = options.read_existing(catalog, urn)
    place = edit_target(entity.urn, "name" if what == "name" else "parent")
    return Edit.now(entity.urn, place.what, place.read(entity.raw(place.aspect) or {}), after)


_GLOSSARY_EPILOG = """
\b
Examples
  catalog glossary export -o glossary.yml
  catalog glossary diff glossary.yml
  catalog glossary import glossary.yml --dry-run
  catalog glossary import glossary.yml

The file has the YAML format of DataHub's business glossary source. Entries are identified by their
ID, so you can rename them and move them within the file. Importing does not remove what is not in
the file: entries, owners, links and descriptions stay in the catalog.
"""
_COLUMNS = """
\b
Fields of --json and --csv: urn, name, what, before, after, written
"""
_DIFF_EPILOG = f"""
\b
Examples
  catalog glossary diff glossary.yml
  catalog glossary diff glossary.yml --retire-missing
  catalog glossary export | catalog glossary diff - --profile prod
{_COLUMNS}"""
_IMPORT_EPILOG = """
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
_EXPORT_EPILOG = """
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


@click.group(epilog=_GLOSSARY_EPILOG)
def glossary() -> None:
    """Export and import the business glossary."""


@glossary.command("export", epilog=_EXPORT_EPILOG)
@options.new_file("--output", "-o", text="Write to this file.")
@click.option("--overwrite", is_flag=True, help="Overwrite the file if it exists.")
@catalog_options
def export_glossary(target: Target, output: Path | None, *, overwrite: bool) -> None:
    """Export all glossary terms and groups as YAML.

    Writes to standard output unless --output is given.
    """
    from explorer.cli.rendering import glossary as rendering
    from explorer.stewardship import Stewardship

    rendering.check_output(output, overwrite=overwrite)
    with target.open() as catalog:
        entries = Stewardship(catalog).glossary()
    rendering.write(entries, output)


@glossary.command("diff", epilog=_DIFF_EPILOG)
@_glossary_file
@_retire
@format_options("json", "csv")
@catalog_options
def diff_glossary(
    target: Target, file: Path, *, retire: bool, shown_as: OutputFormat | None
) -> None:
    """Show what importing FILE would change.

    If FILE is -, standard input is read.
    """
    from explorer.cli.rendering import glossary as rendering
    from explorer.stewardship import Stewardship
    from explorer.stewardship.glossary import compare_glossary

    entries = rendering.read(file)
    with target.open() as catalog:
        changes = compare_glossary(entries, Stewardship(catalog).glossary(), retire=retire)
    rendering.print_changes(changes, shown_as)


@glossary.command("import", epilog=_IMPORT_EPILOG)
@_glossary_file
@_retire
@options.dry_run
@format_options("json")
@catalog_options
def import_glossary(
    target: Target, file: Path, *, retire: bool, dry_run: bool, shown_as: OutputFormat | None
) -> None:
    """Import the changes in FILE into the catalog.

    Creates new terms and groups, and updates names, descriptions, parents, owners, links and
    domains. The import is one save, which catalog undo reverts. Changes that somebody else makes
    at the same time are not overwritten. If FILE is -, standard input is read.
    """
    from explorer.cli import edits
    from explorer.cli.rendering import glossary as rendering
    from explorer.stewardship import Stewardship
    from explorer.stewardship.glossary import GlossaryOutcome, compare_glossary

    if not dry_run:
        edits.refuse_read_only(target)
    entries = rendering.read(file)
    with target.open() as catalog:
        steward = Stewardship(catalog)
        changes = compare_glossary(entries, steward.glossary(), retire=retire)
        outcome = GlossaryOutcome()
        if not dry_run:
            edits.keep_journal(catalog)
            outcome = steward.apply_glossary(changes)
    rendering.print_outcome(changes, outcome, shown_as, dry_run=dry_run)
    if outcome.failed:
        click.get_current_context().exit(1)
