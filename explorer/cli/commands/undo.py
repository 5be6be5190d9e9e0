"""`catalog delete`, `restore`, `undo` and `redo`."""

import sys
from pathlib import Path

import click

from explorer.cli import options
from explorer.cli.options import WORDS, OutputFormat, Target, catalog_options, format_options

__all__ = ["delete", "redo", "restore", "undo"]

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


@click.command(epilog=_RESTORE_EPILOG)
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
    from explorer.cli import undo

    undo.restore(target, urns, dry_run=dry_run, as_json=as_json)


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
    if restored.kept is not None:
        note(
            f"the previous catalog is kept in {restored.kept}; remove it when you no longer need it"
        )


_MAX_COUNT = 10_000

_UNDO_EPILOG = """
\b
Examples
  catalog undo                      (undoes the last save)
  catalog redo                      (redoes it)
  catalog undo --list
  catalog undo --list --find "orders PII"
  catalog undo 3f2a
  catalog undo --list --json | jq '.[0].before'

Edits are recorded in a journal on this machine, by the commands describe, tag, term, own, domain,
link, deprecate, delete --soft, restore and docs import, by the terminal app and by notebooks.
Without an ID, undo reverts the whole last save that is not undone yet, wherever it was made: all
edits of one command, or of one page of tags. If somebody has changed a value since, it is reverted
only with --force; labels and links added by others are kept. An undo is an edit too, so catalog
undo with its ID reverts the undo.

\b
--list --json prints a list, newest first: id, at (UTC), server, urn,
column, what, before, after, undone (whether it is undone), undoes (the
IDs of the edits that it undoes), save (the ID shared by the edits of one
save, which undo accepts too), proposed_by and approved_by (for edits that
were reviewed).
--json alone prints the first edit that was written: urn, column, what,
before, after, changed, at; and all of them in edits.
"""


@click.command(epilog=_UNDO_EPILOG)
@click.argument("edit_id", metavar="[ID]", type=WORDS, required=False)
@click.option("--list", "lists", is_flag=True, help="Show the edits, newest first.")
@click.option(
    "--count",
    type=click.IntRange(1, _MAX_COUNT),
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
    shown_as: OutputFormat | None,
) -> None:
    """Undo the last save, or the edit with this ID.

    ID is the ID of an edit or a save in --list, or the beginning of one.
    """
    if lists and edit_id:
        raise click.UsageError("--list and an ID cannot be combined; give only one of them")
    if lists and force:
        raise click.UsageError("--list and --force cannot be combined; give only one of them")
    if shown_as == "csv" and not lists:
        raise click.UsageError("--csv needs --list")
    if words and not lists:
        raise click.UsageError("--find needs --list")
    from explorer.cli import undo

    if lists:
        undo.print_journal(count, words or "", shown_as)
    else:
        undo.undo_edits(target, edit_id, force=force, as_json=shown_as == "json")


_REDO_EPILOG = """
\b
Examples
  catalog undo && catalog redo
  catalog redo --json

Redo works until something else is saved. After that, use catalog undo with the ID of the undo;
catalog undo --list shows it.

\b
--json prints the first edit that was written: urn, column, what, before,
after, changed, at; and all of them in edits.
"""


@click.command(epilog=_REDO_EPILOG)
@click.option("--force", is_flag=True, help="Redo even if somebody changed the value since.")
@format_options("json")
@catalog_options
def redo(target: Target, *, force: bool, shown_as: OutputFormat | None) -> None:
    """Redo what the last undo reverted."""
    from explorer.cli import undo

    undo.redo_edits(target, force=force, as_json=shown_as == "json")


_DELETE_EPILOG = """
\b
Examples
  catalog delete URN --soft                       (see catalog restore)
  catalog delete URN --hard --dry-run             (shows what it would delete)
  catalog delete URN --hard
  catalog search tmp_ --urns | catalog delete - --hard --yes

References from other entities to a deleted entity are kept.

\b
--json prints an object:
  dry_run  whether nothing was deleted
  deleted  with --soft: urn, was_removed, removed, written
           with --hard: urn, done, versions, points, references (number),
           referenced_by (urn, aspect, relationship); null for what the
           server does not return
  failed   urn, error
"""


@click.command(epilog=_DELETE_EPILOG)
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
    from explorer.cli import undo

    if soft:
        undo.soft_delete(target, urns, dry_run=dry_run, as_json=as_json)
    else:
        undo.hard_delete(target, urns, asks=asks, dry_run=dry_run, as_json=as_json)
