"""`catalog reindex`"""

from pathlib import Path

import click

from explorer.cli.parameters import kept_in, registry_file

__all__ = ["reindex"]


@click.command()
@kept_in
@registry_file
def reindex(data_dir: Path | None, registry_file: Path | None) -> None:
    """Make the search index anew from what is stored.

    Nobody may serve the catalog meanwhile. What is stored is not touched.
    """
    from explorer import config
    from explorer.cli.output import note
    from explorer.cli.write.sending import progress
    from explorer.metadata.registry import load_registry
    from explorer.server.data_directory import reindex as make_anew

    directory = data_dir or config.data_dir()
    with progress() as begin:
        entities = make_anew(
            directory, load_registry(registry_file), lambda total: begin("indexing", total)
        )
    note(f"the search index of {directory} is made anew: {entities:,} entities")
