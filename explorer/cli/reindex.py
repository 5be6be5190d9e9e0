"""`catalog reindex`"""

from pathlib import Path

import click

__all__ = ["reindex"]


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="CATALOG_DATA_DIR",
    show_envvar=True,
    help="Where the catalog is kept.",
)
@click.option(
    "--registry",
    "registry_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="CATALOG_REGISTRY",
    show_envvar=True,
    help="The file that `catalog serve` is given, if it is.",
)
def reindex(data_dir: Path | None, registry_file: Path | None) -> None:
    """Make the search index anew from what is stored.

    Nobody may serve the catalog meanwhile. What is stored is not touched.
    """
    from explorer import config
    from explorer.cli.output import note
    from explorer.cli.sending import progress
    from explorer.metadata.registry import load_registry
    from explorer.server.upkeep import reindex as make_anew

    directory = data_dir or config.data_dir()
    with progress() as begin:
        entities = make_anew(
            directory, load_registry(registry_file), lambda total: begin("indexing", total)
        )
    note(f"the search index of {directory} is made anew: {entities:,} entities")
