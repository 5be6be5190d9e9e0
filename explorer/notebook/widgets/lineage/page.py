"""The widget's module and its style, as a page gets them."""

from pathlib import Path

__all__ = ["MODULE", "STYLE"]

_HERE = Path(__file__).parent
_PARTS = ("elements.js", "saving.js", "lineage.js")


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


# Read here, for a path given to a widget would be watched, and the watching keeps each one alive.
# One module, for nothing else of ours can be imported where it runs.
MODULE = "\n".join(map(_text, _PARTS))
STYLE = _text("lineage.css")
