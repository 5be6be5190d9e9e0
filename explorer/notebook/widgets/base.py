"""Shared by all widgets: scripts and styles, the HTML shown without a kernel, and requests to the
catalog in threads."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar
from uuid import uuid4

import anywidget
import traitlets

from explorer.client.blocking_face import run_through
from explorer.client.display import line
from explorer.errors import CatalogError, Superseded
from explorer.notebook import view
from explorer.views.parts import Part

if TYPE_CHECKING:
    from explorer.client import Catalog

_log = logging.getLogger(__name__)

_T = TypeVar("_T")

_LONGEST_SENTENCE = 400


def guard(do: Callable[[], None], on_error: Callable[[str], None]) -> None:
    """Run a function and show its errors in the widget; nothing else would report them."""
    try:
        do()
    except CatalogError as error:
        on_error(line(str(error), _LONGEST_SENTENCE))
    # The outermost edge: no other code would show an unexpected exception.
    except Exception as error:
        _log.debug("a callback of a widget failed", exc_info=True)
        on_error(line(f"{type(error).__name__}: {error}", _LONGEST_SENTENCE))


Kind = Literal[
    "search",
    "measures",
    "offers",
    "tree",
    "fold",
    "entity",
    "tab",
    "user",
    "preview",
    "draft",
    "save",
    "sync",
]


class _Question:
    """A request of the explorer, which any thread can cancel at any time; one that is `firm` is
    never cancelled. Callers of `drop` hold `lock`."""

    def __init__(
        self,
        lock: threading.Condition,
        status: str,
        read: Callable[[Any], Any],
        then: Callable[[Any], None],
        on_error: Callable[[Exception], bool] | None,
        *,
        firm: bool,
    ) -> None:
        self.status, self.read, self.then, self.on_error = status, read, then, on_error
        self.firm, self.dropped = firm, False
        self._lock = lock
        self._tasks: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Return the result of a coroutine. Raises `Superseded` if it was cancelled."""
        task = asyncio.ensure_future(work)
        with self._lock:
            self._tasks.append((asyncio.get_running_loop(), task))
            if self.dropped:
                task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            task.cancel()
            if self.dropped:
                raise Superseded("the request was superseded") from None
            raise
        finally:
            with self._lock:
                self._tasks.clear()

    def drop(self) -> None:
        """Cancel the running work; work that starts later is cancelled at once."""
        self.dropped = True
        for loop, task in self._tasks:
            # A closed client has ended its event loop, and with it the task.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)


_CatalogT_co = TypeVar("_CatalogT_co", bound="Catalog", covariant=True)


class ExplorerRequests(Generic[_CatalogT_co]):
    """A queue of requests for each kind; the kinds run in parallel.

    The thread of a kind lives only while it has requests, so that an idle, closed or
    garbage-collected explorer holds none. `show` is called with what is being read as "busy" (""
    when everything is read), and with an error message as "problem". `lock` is held while a result
    is processed.
    """

    def __init__(
        self,
        catalog: _CatalogT_co,
        lock: "threading.RLock",
        show: Callable[[str, Any], None],
    ) -> None:
        self._catalog = catalog
        self._show = show
        self._lock = threading.Condition(lock)
        self._waiting: dict[Kind, deque[_Question]] = {}
        self._now: dict[Kind, _Question] = {}
        self._threads: dict[Kind, threading.Thread] = {}
        self._ended = False

    def ask(
        self,
        kind: Kind,
        status: str,
        read: Callable[[_CatalogT_co], _T],
        then: Callable[[_T], None],
        *,
        on_error: Callable[[Exception], bool] | None = None,
        in_turn: bool = False,
    ) -> None:
        """Read, then process the result, both on the thread of the kind.

        It replaces earlier requests of its kind: they are cancelled and their answers ignored. A
        request `in_turn` waits for them instead, and is never cancelled by a later one. `on_error`
        may handle an error; if it returns false, the error is shown.
        """
        with self._lock:
            if self._ended:
                return
            if not in_turn:
                self._drop(kind)
            firm = kind in ("draft", "save")
            self._waiting.setdefault(kind, deque()).append(
                _Question(self._lock, status, read, then, on_error, firm=firm)
            )
            if kind not in self._threads:
                thread = threading.Thread(
                    target=self._run, args=(kind,), name=f"catalog-explorer-{kind}", daemon=True
                )
                self._threads[kind] = thread
                thread.start()

    def forget(self, kind: Kind) -> None:
        """Cancel the requests of a kind."""
        with self._lock:
            self._drop(kind)

    def end(self) -> None:
        """Cancel all requests except saves of texts and drafts, and accept no more."""
        with self._lock:
            self._ended = True
            for kind in (*self._waiting,):
                self._drop(kind)

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until there are no requests; return whether that happened in time."""
        with self._lock:
            if threading.current_thread() in self._threads.values():
                return False
            return self._lock.wait_for(lambda: not self._threads, timeout_seconds)

    def run_guarded(self, do: Callable[[], None]) -> None:
        """Run a function and show its errors in the widget; nothing else would report them."""
        guard(do, partial(self._show, "problem"))

    def _drop(self, kind: Kind) -> None:
        waiting = self._waiting.get(kind, deque())
        now = self._now.get(kind)
        for question in (*waiting, *([now] if now else [])):
            if question.firm:
                continue
            question.drop()
        self._waiting[kind] = deque(question for question in waiting if not question.dropped)

    def _run(self, kind: Kind) -> None:
        while True:
            with self._lock:
                self._now.pop(kind, None)
                waiting = self._waiting.get(kind)
                if not waiting:
                    del self._threads[kind]
                    self._say()
                    self._lock.notify_all()
                    return
                question = self._now[kind] = waiting.popleft()
                self._say()
            self.run_guarded(partial(self._do, question))

    def _do(self, question: _Question) -> None:
        try:
            answer = question.read(run_through(self._catalog, question.run))
        except Exception as error:
            with self._lock:
                if question.dropped or (question.on_error is not None and question.on_error(error)):
                    return
            raise
        with self._lock:
            if not question.dropped:
                question.then(answer)

    def _say(self) -> None:
        self._show(
            "busy",
            ", ".join(
                dict.fromkeys(question.status for question in self._now.values() if question.status)
            ),
        )


_AGAIN = "works only while its kernel runs; run this cell again. It showed:"
_FRONTEND = Path(__file__).parent / "frontend"
_VIEW = "application/vnd.jupyter.widget-view+json"


class SavedWithHtml:
    """A mixin for widgets whose HTML is saved in the notebook as a separate output before the
    widget.

    An application that trusts a notebook shows only the widget of an output, even if no kernel runs
    any more. While the widget works, the page hides the separate HTML (`hideStill` in host.js),
    which it finds by the trait `still`.
    """

    still: Any

    def _ipython_display_(self) -> None:
        from IPython.display import display

        bundle: Callable[[], Any] = getattr(self, "_repr_mimebundle_", lambda: None)
        outputs = bundle() or {"text/plain": repr(self)}
        data, metadata = outputs if isinstance(outputs, tuple) else (outputs, {})
        html = data.pop("text/html", None)
        if html is not None and _VIEW in data:
            still_bundle = {
                "text/plain": data["text/plain"],
                "text/html": f'<div class="catalog-still-{self.still}">{html}</div>',
            }
            display(still_bundle, raw=True)  # type: ignore[no-untyped-call]
            data["text/plain"] = "(a widget: it works only while its kernel runs)"
        display(data, metadata=metadata, raw=True)  # type: ignore[no-untyped-call]


class Widget(SavedWithHtml, anywidget.AnyWidget):
    """A widget drawn by scripts of its own.

    It is based on anywidget, not on the controls of ipywidgets: a tree, results while typing, a
    drawing with keyboard navigation, and an editor that keeps the cursor need one page with one
    focus, not a box of ready-made controls; and marimo shows it, but no ipywidgets. Where
    ready-made controls suffice, they are used: `explorer.notebook.widgets.usage_controls`.
    """

    still = traitlets.Unicode().tag(sync=True)
    """What tells the HTML of this widget from all others in a page."""

    def __init__(self, **values: Any) -> None:
        super().__init__(still=uuid4().hex, **values)


class EditorSession(Protocol):
    """The logic of a widget with an editor."""

    @property
    def asking(self) -> "ExplorerRequests[Catalog]":
        """Return the requests to the catalog."""

    @property
    def lock(self) -> "threading.RLock":
        """Return the lock held while the state changes."""

    def type(self, typed: Any) -> None:
        """Store the text of a draft from a page; the caller holds the lock."""


class EditorWidget(Widget):
    """A widget with an editor: text typed on one page appears on all of them, and `answer` handles
    requests of a page.

    `_session` has its logic; `parts` are shown by front ends without a kernel.
    """

    editor = traitlets.Dict().tag(sync=True)
    typed = traitlets.Dict().tag(sync=True)
    preview = traitlets.List(traitlets.Any()).tag(sync=True)
    busy = traitlets.Unicode().tag(sync=True)
    problem = traitlets.Unicode().tag(sync=True)
    said = traitlets.Unicode().tag(sync=True)

    _session: EditorSession

    def listen(self) -> None:
        """Start handling requests and typed text of pages."""
        self.on_msg(lambda _widget, content, _buffers: self._handle_message(content))
        self.observe(lambda change: self._take_text(change["new"]), "typed")

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until all requests are done and drafts are stored; return whether that happened in
        time."""
        return self._session.asking.wait(timeout_seconds)

    def close(self) -> None:
        """Cancel reading and close the widget; writes under way are finished."""
        # Also called for a widget whose constructor failed.
        session = getattr(self, "_session", None)
        if session is not None:
            session.asking.end()
        super().close()

    def parts(self, first: str = "") -> Iterator[Part]:
        """Yield the parts shown without a kernel, with `first` in the heading."""
        raise NotImplementedError

    def answer(self, content: Any) -> None:
        """Handle a request of a page; ignore anything else."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return view.draw_text(self.parts())

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the widget, with text and HTML for front ends without a kernel."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        html = view.draw_html(self.parts(_AGAIN))
        return {**data, "text/plain": repr(self), "text/html": html}, metadata

    def _take_text(self, typed: Any) -> None:
        """Store text typed on a page, and send it to all pages."""
        session = self._session

        def take() -> None:
            with session.lock:
                session.type(typed)

        session.asking.run_guarded(take)

    def _handle_message(self, content: Any) -> None:
        match content:
            case {"view": str(page), "seq": int(seq)}:
                self.send({"kind": "heard", "view": page, "seq": seq})
        if self.clears_remarks(content):
            self.problem = self.said = ""
        self._session.asking.run_guarded(lambda: self.answer(content))

    def clears_remarks(self, content: Any) -> bool:
        """Return whether a request clears the previous error and message."""
        del content
        return True


def script(*names: str) -> str:
    """Return one JavaScript module, made of the named scripts in order.

    It is one module, because the page cannot import others of this project; and a text instead of a
    path, because anywidget watches a path, which keeps each widget in memory. Comments and
    indentation are left out to keep saved notebooks small, so no string in a script may span
    several lines.
    """
    return "\n".join(row for name in names for row in _rows(_FRONTEND / name))


def stylesheet(name: str) -> str:
    """Return the text of a style sheet."""
    return (_FRONTEND / name).read_text(encoding="utf-8")


def _rows(path: Path) -> Iterator[str]:
    for row in path.read_text(encoding="utf-8").splitlines():
        code = row.strip()
        if code and not code.startswith("//"):
            yield code


class SavedHtml(anywidget.AnyWidget):
    """An invisible part of a box of ipywidgets, `.catalog-controls`: it hides the HTML saved beside
    the box, and draws the arrows of its lists so that they are visible on a dark page, where those
    of ipywidgets are black."""

    still = traitlets.Unicode().tag(sync=True)
    _esm = script("host.js") + ("\nexport default { render: ({ model }) => hideStill(model) };")
    _css = stylesheet("controls.css")


LINEAGE_SCRIPTS = script("lineage/lineage.js")
"""Without what all widgets share."""

LINEAGE_MODULE = script("host.js") + "\n" + LINEAGE_SCRIPTS
LINEAGE_STYLE = stylesheet("lineage/lineage.css")


_PARTS = ("elements", "entity", "editor", "drafts", "search", "folders", "explorer")

# The lineage tab uses the drawing of the lineage widget, in a function scope of its own.
_DRAWING = LINEAGE_SCRIPTS.replace("export default { render };", "return render;")
_OWN = script("host.js", *(f"explorer/{name}.js" for name in _PARTS))

EXPLORER_STYLES = stylesheet("explorer/explorer.css")
"""Without those of the drawing of the lineage."""

EXPLORER_MODULE = f"const renderLineage = (() => {{\n{_DRAWING}\n}})();\n{_OWN}"
EXPLORER_STYLE = LINEAGE_STYLE + EXPLORER_STYLES

_ROWS = ("host.js", "explorer/elements.js", "explorer/editor.js", "review/rows.js")

REVIEW_MODULE = script(*_ROWS, "review/review.js")
REVIEW_STYLE = EXPLORER_STYLES + stylesheet("review/review.css")

WORKLIST_MODULE = script(*_ROWS, "review/worklist.js")
WORKLIST_STYLE = REVIEW_STYLE


def running_cell() -> str:
    """Return the ID of the running cell with its notebook; "" if unknown."""
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    ask = getattr(shell, "get_parent", None)
    parent = ask() if callable(ask) else None
    metadata = parent.get("metadata") if isinstance(parent, dict) else None
    cell_id = metadata.get("cellId") if isinstance(metadata, dict) else None
    return cell_id if isinstance(cell_id, str) else ""
