"""What a page gets of a widget: its module, its style, and a picture for where it cannot live."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

__all__ = ["SavedWithHtml", "Still", "Widget", "script", "stylesheet"]

_FRONTEND = Path(__file__).parent / "frontend"
_VIEW = "application/vnd.jupyter.widget-view+json"


class SavedWithHtml:
    """Of a widget: a notebook saves its HTML as an output of its own before it.

    An application that trusts a notebook shows nothing of an output but its widget, also where no
    kernel runs any more. The page hides the HTML while the widget is alive there (`hideStill` in
    host.js), which it finds by `still`.
    """

    still: Any

    def _ipython_display_(self) -> None:
        from IPython.display import display

        bundle: Callable[[], Any] = getattr(self, "_repr_mimebundle_", lambda: None)
        made = bundle() or {"text/plain": repr(self)}
        data, metadata = made if isinstance(made, tuple) else (made, {})
        html = data.pop("text/html", None)
        if html is not None and _VIEW in data:
            told = {
                "text/plain": data["text/plain"],
                "text/html": f'<div class="catalog-still-{self.still}">{html}</div>',
            }
            display(told, raw=True)  # type: ignore[no-untyped-call]
            data["text/plain"] = "(a widget: it lives while its kernel runs)"
        display(data, metadata=metadata, raw=True)  # type: ignore[no-untyped-call]


class Widget(SavedWithHtml, anywidget.AnyWidget):
    """A widget drawn by scripts of its own.

    It is anywidget's alone, and not put together from those of ipywidgets: a tree, results as one
    types, a drawing that is walked by keys, and an editor that keeps the cursor are one page with
    one focus, which a box of ready-made controls is not; and marimo, which shows no ipywidgets,
    shows it. Where ready-made controls do, they are taken:
    `explorer.notebook.widgets.usage`.
    """

    still = traitlets.Unicode().tag(sync=True)
    """What tells the HTML of this widget from all others in a page."""

    def __init__(self, **values: Any) -> None:
        super().__init__(still=uuid4().hex, **values)


def script(*names: str) -> str:
    """The text of one module, made of the scripts of these names in their order.

    It is one, for nothing else of ours can be imported where it runs; and a text rather than a
    path, for a path given to a widget is watched, and the watching keeps each widget alive.
    Comments and indentation, which every saved notebook would hold, are left out: no text in a
    script may go over several lines.
    """
    return "\n".join(row for name in names for row in _rows(_FRONTEND / name))


def stylesheet(name: str) -> str:
    """The text of a style sheet."""
    return (_FRONTEND / name).read_text(encoding="utf-8")


def _rows(path: Path) -> Iterator[str]:
    for row in path.read_text(encoding="utf-8").splitlines():
        told = row.strip()
        if told and not told.startswith("//"):
            yield told


class Still(anywidget.AnyWidget):
    """An invisible part of a box of ipywidgets, which hides the HTML saved beside the box."""

    still = traitlets.Unicode().tag(sync=True)
    _esm = script("host.js") + ("\nexport default { render: ({ model }) => hideStill(model) };")
