"""The catalog in a notebook: objects that show themselves well and are DataFrames when asked.

`%load_ext explorer.notebook` adds the commands of `explorer.notebook.magics`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load_ipython_extension"]


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Offer `%catalog` and `%%describe` in this shell; IPython calls it."""
    from explorer.notebook.magics import CatalogMagics

    CatalogMagics(shell).register()
