"""What the command's words may be."""

from pathlib import Path
from typing import Any

import click

__all__ = ["WORDS", "kept_in", "registry_file", "token_file"]


class _Words(click.ParamType[str]):
    """Text that can be sent to a server: a shell also passes on bytes that are no text."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail("it is not UTF-8 text", param, ctx)
        return text


WORDS = _Words()
"""The type of every argument and option that holds text rather than a file's name."""

kept_in = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="CATALOG_DATA_DIR",
    show_envvar=True,
    help="Where the catalog is kept.",
)
"""The directory of a catalog on this machine."""

registry_file = click.option(
    "--registry",
    "registry_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="CATALOG_REGISTRY",
    show_envvar=True,
    help="A file with entities and aspects of your own, added to those that ship.",
)
"""The registry that a deployment adds."""

token_file = click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="CATALOG_TOKEN_FILE",
    show_envvar=True,
    help="The access tokens, when they are not kept in the data directory.",
)
"""Where access tokens are kept beside the data directory."""
