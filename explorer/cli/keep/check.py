"""`catalog check`"""

import os
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import click

from explorer.cli.parameters import kept_in, registry_file

__all__ = ["check"]

_SHOWN = 100

_EPILOG = """
\b
Examples
  catalog check
  catalog check --data-dir /var/lib/catalog
  catalog check --data-dir /media/backups/catalog-2030-01-31
"""


@click.command(epilog=_EPILOG)
@kept_in
@registry_file
def check(data_dir: Path | None, registry_file: Path | None) -> None:
    """Prove that a catalog on this machine's disk agrees with itself.

    Lets SQLite check the database file, and compares the files of the search index with their
    checksums. Then works everything out again that follows from what was written (versions,
    relationships, browse folders, the change log, the search index), makes searches, and compares
    it with what is kept. Nobody may be serving the catalog meanwhile. A backup can be checked
    where it lies, also on read-only media. Ends with 1 when something does not agree.
    """
    from explorer import config
    from explorer.errors import Unusable
    from explorer.instance import hold

    directory = data_dir or config.data_dir()
    if not (directory / "catalog.db").is_file():
        raise Unusable(f"there is no catalog in {directory}; name another with --data-dir")
    # A directory that cannot be written cannot be held, and nobody serves it.
    with hold(directory) if os.access(directory, os.W_OK) else nullcontext():
        from explorer.server.consistency import MOST, check_directory

        findings = check_directory(directory, registry_file)
    if not findings:
        click.echo(f"{directory} is consistent")
        return
    from explorer.client.display import line

    for finding in findings[:_SHOWN]:
        click.echo(line(f"{finding.part}\t{finding.subject}\t{finding.problem}"))
    counts = Counter(finding.part for finding in findings)
    most = " or more" if len(findings) == MOST else ""
    told = ", ".join(f"{count} in {part}" for part, count in counts.most_common())
    click.echo(f"{len(findings)}{most} findings: {told}", err=True)
    click.echo(_advice(directory, set(counts)), err=True)
    click.get_current_context().exit(1)


def _advice(directory: Path, parts: set[str]) -> str:
    if parts == {"search"}:
        return (
            "only the search index differs, and nothing that was written is lost; make it anew "
            "with: catalog reindex"
        )
    if "file" in parts:
        return (
            f"the database is damaged, and reading it may give wrong answers: keep a copy of "
            f"{directory}, look for what damages files (disk, memory, other programs), and go back "
            "to a backup with: catalog restore BACKUP"
        )
    return (
        f"keep a copy of {directory} and report this with the lines above; "
        "if there is a backup, go back to it with: catalog restore BACKUP"
    )
