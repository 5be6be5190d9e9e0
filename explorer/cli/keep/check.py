"""`catalog check`"""

from collections import Counter
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
"""


@click.command(epilog=_EPILOG)
@kept_in
@registry_file
def check(data_dir: Path | None, registry_file: Path | None) -> None:
    """Prove that a catalog on this machine's disk agrees with itself.

    Works everything out again that follows from what was written (versions, relationships, browse
    folders, the change log, the search index) and compares it with what is kept. Nobody may be
    serving the catalog meanwhile. Ends with 1 when something does not agree.
    """
    from explorer import config
    from explorer.errors import Unusable
    from explorer.instance import hold

    directory = data_dir or config.data_dir()
    if not (directory / "catalog.db").is_file():
        raise Unusable(f"there is no catalog in {directory}; name another with --data-dir")
    with hold(directory):
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
        return "only the search index differs; make it anew with: catalog reindex"
    return (
        f"keep a copy of {directory} and report this with the lines above; "
        "if there is a backup, restore it"
    )
