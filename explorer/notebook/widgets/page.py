"""A widget's module and its style, as a page gets them."""

from collections.abc import Iterator
from pathlib import Path

__all__ = ["module", "style"]


def module(folder: Path, *names: str) -> str:
    """The text of one module, made of the scripts of these names in their order.

    It is one, for nothing else of ours can be imported where it runs; and a text rather than a
    path, for a path given to a widget is watched, and the watching keeps each widget alive.
    Comments and indentation, which every saved notebook would hold, are left out: no text in a
    script may go over several lines.
    """
    return "\n".join(row for name in names for row in _rows(folder / name))


def style(folder: Path, name: str) -> str:
    """The text of a style sheet."""
    return (folder / name).read_text(encoding="utf-8")


def _rows(script: Path) -> Iterator[str]:
    for row in script.read_text(encoding="utf-8").splitlines():
        told = row.strip()
        if told and not told.startswith("//"):
            yield told
