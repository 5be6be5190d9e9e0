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
With a BACKUP
  It is checked first. The catalog that is there is kept beside it under a
  dated name, to be removed by hand. Nobody may serve the catalog meanwhile.
  If this is killed, the directory holds the one catalog or the other, whole.
  Access tokens are taken from the backup only where the directory has none.
"""


@click.command(epilog=_RESTORE_EPILOG)
@options.urns
@options.dry_run
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@catalog_options
def restore(target: Target, urns: tuple[str, ...], *, dry_run: bool, as_json: bool) -> None:
    """Bring back entities that were deleted with --soft, or go back to a backup.

    URN may be several, or - for those on standard input, one a line. One that fails loses no
    other. What was deleted with --hard is gone.

    A single argument that is no URN is a BACKUP that catalog backup made, or the catalog.db in
    one: it takes the place of this machine's own catalog, or of the one in --data-dir.
    """
    if len(urns) == 1 and urns[0] != "-" and not urns[0].startswith("urn:"):
        _restore_backup(target, Path(urns[0]), is_plain=not (dry_run or as_json))
        return
    from explorer.cli import undo

    undo.restore(target, urns, dry_run=dry_run, as_json=as_json)


def _restore_backup(target: Target, backup: Path, *, is_plain: bool) -> None:
    if not is_plain or target.url or target.profile or target.token or target.offline:
        raise click.UsageError(
            "a backup is restored to a directory: of the options give --data-dir"
        )
    from explorer import config
    from explorer.cli.output import note
    from explorer.server import data_directory

    directory = target.data_dir or config.data_dir()
    restored = data_directory.restore(directory, backup)
    note(f"{directory} holds the catalog of {backup} now: {restored.entities:,} entities")
    if restored.kept is not None:
        note(f"the catalog before is kept in {restored.kept}; remove it when it is not needed")


_MOST = 10_000

_UNDO_EPILOG = """
\b
Examples
  catalog undo                      (the last save not taken back yet)
  catalog redo                      (does again what was undone last)
  catalog undo --list
  catalog undo --list --find "orders PII"
  catalog undo 3f2a
  catalog undo --list --json | jq '.[0].before'

Edits are kept on this machine, by the commands describe, tag, term, own, domain, link, deprecate,
delete --soft, restore and docs import, by the terminal and in notebooks. Without an ID, undo takes
back all that the last save did, wherever it was made: everything one command wrote, everything one
page of tags did. It is taken back only where the catalog still holds what it left, or with --force;
labels and links of others stay. Taking back is an edit too: catalog undo with its ID does the
first one again.

\b
--list --json prints a list, newest first: id, at (UTC), server, urn,
column, what, before, after, undone (whether it is taken back), undoes
(the IDs of what it takes back), save (the ID that the edits of one save
share, and which undo takes too), proposed_by and approved_by (of edits
that were reviewed).
--json alone prints the first edit that was written: urn, column, what,
before, after, changed, at; and under edits all of them.
"""


@click.command(epilog=_UNDO_EPILOG)
@click.argument("edit_id", metavar="[ID]", type=WORDS, required=False)
@click.option("--list", "lists", is_flag=True, help="Show the edits, newest first.")
@click.option(
    "--count",
    type=click.IntRange(1, _MOST),
    default=20,
    show_default=True,
    help="With --list: how many at most.",
)
@click.option(
    "--find",
    "words",
    type=WORDS,
    metavar="WORDS",
    help="With --list: only saves that have all these words, in a name, a text or a label, "
    "or the day, as in 2030-01-31.",
)
@click.option("--force", is_flag=True, help="Also where somebody changed it since.")
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
    """Take back what the last save did, or the edit with this ID.

    ID is an edit's in the list, or that of a save, or the beginning of one.
    """
    if lists and edit_id:
        raise click.UsageError("either --list or an ID; give one of them")
    if lists and force:
        raise click.UsageError("--force writes, --list does not; give one of them")
    if shown_as == "csv" and not lists:
        raise click.UsageError("--csv goes with --list")
    if words and not lists:
        raise click.UsageError("--find goes with --list")
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

What was undone is done again as long as nothing else was saved since. catalog undo --list shows
everything, and catalog undo with the ID of an undo does that edit again at any time.

\b
--json prints the first edit that was written: urn, column, what, before,
after, changed, at; and under edits all of them.
"""


@click.command(epilog=_REDO_EPILOG)
@click.option("--force", is_flag=True, help="Also where somebody changed it since.")
@format_options("json")
@catalog_options
def redo(target: Target, *, force: bool, shown_as: OutputFormat | None) -> None:
    """Do again what the last undo took back."""
    from explorer.cli import undo

    undo.redo_edits(target, force=force, as_json=shown_as == "json")


_DELETE_EPILOG = """
\b
Examples
  catalog delete URN --soft                       (see catalog restore)
  catalog delete URN --hard --dry-run             (says what would go)
  catalog delete URN --hard
  catalog search tmp_ --urns | catalog delete - --hard --yes

What points at an entity goes on doing so after it is gone.

\b
--json prints an object:
  dry_run  whether nothing was deleted
  deleted  softly: urn, was_removed, removed, written
           for good: urn, done, versions, points, references (how many),
           referenced_by (urn, aspect, relationship); null for what the
           server does not tell
  failed   urn, error
"""


@click.command(epilog=_DELETE_EPILOG)
@options.urns
@click.option("--soft", is_flag=True, help="Hide it from search and browsing; it can be restored.")
@click.option("--hard", is_flag=True, help="Delete it for good; it cannot be restored.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would go; delete nothing.")
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
    """Take entities away: to be restored, or for good.

    URN may be several, or - for those on standard input, one a line. One that fails loses no
    other. --hard says what goes, and asks.
    """
    if soft == hard:
        raise click.UsageError(
            "say how: --soft hides an entity and can be undone, --hard deletes it for good"
        )
    asks = hard and not (yes or dry_run)
    if asks and ("-" in urns or not (sys.stdin and sys.stdin.isatty())):
        raise click.UsageError("nobody is there to be asked; give --yes to delete for good")
    from explorer.cli import undo

    if soft:
        undo.soft_delete(target, urns, dry_run=dry_run, as_json=as_json)
    else:
        undo.hard_delete(target, urns, asks=asks, dry_run=dry_run, as_json=as_json)
