"""The catalog in a notebook: objects that render themselves and can be converted to DataFrames.

`%load_ext explorer.notebook` adds the commands of `explorer.notebook.magics`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load_ipython_extension"]


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Register `%catalog` and `%%describe` in a shell; called by IPython."""
    from explorer.notebook.magics import CatalogMagics

    CatalogMagics(shell).register()
