"""`catalog browse`"""

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.shell.completions import complete_paths, complete_types
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["browse"]

_DEEPEST = 20

_EPILOG = """
\b
Examples
  catalog browse                                  (the folders at the top)
  catalog browse /prod/snowflake
  catalog browse /prod --tree 3
  catalog browse /prod/snowflake/raw/shop --urns --all | head
  catalog browse --entity chart --entity dashboard
  catalog browse /prod --tree 9 --csv > folders.csv

A folder's number counts what lies in it and in the folders below.
"""


@click.command(epilog=_EPILOG)
@click.argument("path", default="/", type=WORDS, shell_complete=complete_paths)
@click.option(
    "--entity",
    "entities",
    type=WORDS,
    metavar="TYPE",
    multiple=True,
    shell_complete=complete_types,
    help="Of this type only: dataset, chart, dashboard, …; several may be given.",
)
@click.option(
    "--tree",
    "depth",
    type=click.IntRange(1, _DEEPEST),
    metavar="DEPTH",
    help="The folders as a tree, so many levels deep.",
)
@click.option(
    "--count",
    type=click.IntRange(1),
    help="How many at most; for people, as many as the terminal has lines.",
)
@click.option("--all", "everything", is_flag=True, help="All there are, however many.")
@printed_as("urns", "json", "csv")
@asks_a_catalog
def browse(
    target: Target,
    path: str,
    entities: tuple[str, ...],
    depth: int | None,
    count: int | None,
    shown_as: Form | None,
    *,
    everything: bool,
) -> None:
    """Walk the folders: those at PATH, and what lies in it.

    Folders come first, then datasets, charts and others with what they are and what is said of
    them. Without a PATH it begins at the top.
    """
    if count is not None and everything:
        raise click.UsageError("--count and --all exclude each other; give one of them")
    if depth is not None and (shown_as == "urns" or count is not None or everything):
        raise click.UsageError("--tree shows folders only, and all of them: leave out the other")
    from explorer.cli.find import folders

    wanted = None if everything else count
    if wanted is None and not everything:
        wanted = folders.fitting(shown_as)
    with target.open() as catalog:
        if depth is not None:
            folders.print_tree(folders.read_tree(catalog, path, entities, depth), shown_as)
            return
        found = folders.read_place(catalog, path, entities, wanted)
        summaries = {} if shown_as == "urns" else catalog.summaries(found.urns)
    folders.print_place(found, summaries, shown_as)
