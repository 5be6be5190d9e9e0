"""The explorer widget: a catalog in a notebook's page, and its state in Python."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import traitlets

from explorer.metadata.urn import Urn
from explorer.notebook.widgets.explorer import still
from explorer.notebook.widgets.explorer.finding import ORDERS, Search
from explorer.notebook.widgets.explorer.page import MODULE, STYLE
from explorer.notebook.widgets.explorer.pages import TABS
from explorer.notebook.widgets.explorer.session import Session
from explorer.notebook.widgets.page import Widget

if TYPE_CHECKING:
    import pandas as pd

    from explorer.notebook.catalog import Catalog
    from explorer.notebook.entity import Entity
    from explorer.notebook.widgets.explorer.pages import Tab

__all__ = ["Explorer"]

_FIRST_SECONDS = 5.0


class Explorer(Widget):
    """Browse, search, read and document a catalog, by mouse or keys.

        explorer = cat.explore("orders")
        explorer

    What the reader does is at hand in the next cell: `selected` is the URN of what is open and
    `entity` that entity, `results` the URNs found, `chosen` those ticked, `df` a DataFrame of the
    ticked ones or else of the results. Setting `selected` opens an entity. Nothing waits for the
    catalog on the kernel's thread; `wait()` does. `close()` hangs up what is being read, but for a
    text being saved or kept; the catalog stays open. Where no kernel runs, the notebook keeps a
    table of what was found and the entity that was open.

    What is typed is shared by all views and kept on disk, where the terminal keeps its drafts. The
    state of widgets, where a notebook is told to save that, holds it while its editor is open.
    """

    _esm = MODULE
    _css = STYLE

    find = traitlets.Dict().tag(sync=True)
    offers = traitlets.Dict().tag(sync=True)
    tree = traitlets.List(traitlets.Any()).tag(sync=True)
    page = traitlets.Dict().tag(sync=True)
    tab = traitlets.Dict().tag(sync=True)
    drawing = traitlets.Dict().tag(sync=True)
    editor = traitlets.Dict().tag(sync=True)
    typed = traitlets.Dict().tag(sync=True)
    preview = traitlets.List(traitlets.Any()).tag(sync=True)
    busy = traitlets.Unicode().tag(sync=True)
    problem = traitlets.Unicode().tag(sync=True)
    said = traitlets.Unicode().tag(sync=True)
    orders = traitlets.List(traitlets.Any()).tag(sync=True)
    selected = traitlets.Unicode()

    def __init__(
        self,
        catalog: "Catalog",
        text: str = "",
        *,
        narrowed_by: str = "",
        urn: str | Urn | None = None,
        instead_of: "Explorer | None" = None,
    ) -> None:
        """Begin with what `text` finds, narrowed by a filter's text, and with an entity open.

        `instead_of` is an explorer whose place this one takes: it is closed, its drafts and, where
        nothing else is asked for, its search and entity go over.
        """
        super().__init__(orders=[[order, words] for order, words in ORDERS.items()])
        self._session = Session(catalog, self._show, self._opened)
        self.on_msg(lambda _widget, content, _buffers: self._heard(content))
        search, opened = Search(text, narrowed_by), str(urn) if urn is not None else ""
        tab: Tab = "overview"
        if instead_of is not None:
            search, opened, tab = self._take_over(instead_of, search, opened)
        self.observe(lambda change: self._turn_to(change["new"]), "selected")
        self.observe(lambda change: self._take_text(change["new"]), "typed")
        self._session.plant()
        self._session.find(search)
        if opened:
            self._session.open(opened, tab)

    @property
    def results(self) -> tuple[Urn, ...]:
        """The URNs of the results on the page, in order."""
        answer = self._session.answer
        return answer.page.urns if answer else ()

    @property
    def chosen(self) -> tuple[Urn, ...]:
        """The URNs of the results that were ticked, on whatever page."""
        with self._session.lock:
            return tuple(hit.urn for hit, _ in self._session.ticked.values())

    @property
    def entity(self) -> "Entity | None":
        """The entity that is open, as it was read last; nothing while none is."""
        return self._session.entity

    @property
    def df(self) -> "pd.DataFrame":
        """The results that were ticked, or where none is those on the page; a row for each, see
        `explorer.frames.search_frame`. No request."""
        from explorer import frames
        from explorer.client.records import SearchPage

        with self._session.lock:
            ticked, answer = list(self._session.ticked.values()), self._session.answer
            words = self._session.search.words
        if not ticked and answer is not None:
            return frames.search_frame(answer.page, answer.page.summaries, answer.page.measures)
        hits = tuple(hit for hit, _ in ticked)
        known = {hit.urn: entity for hit, entity in ticked if entity is not None}
        measures = self._session.measures
        return frames.search_frame(SearchPage(words, 0, len(hits), hits), known, measures)

    def search(self, text: str = "", *, narrowed_by: str = "") -> None:
        """Search for something else; the boxes on the page say so."""
        self._session.find(Search(text, narrowed_by))

    def open_entity(self, urn: str | Urn) -> None:
        """Open an entity on the page."""
        self._session.open(str(urn))

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until everything asked for is there; whether it was in time."""
        there = self._session.asking.wait(timeout_seconds)
        drawing = self._session.drawing
        return there and (drawing is None or drawing.wait(timeout_seconds))

    def close(self) -> None:
        """Hang up what is being read, and take the widget off the page."""
        # Closing is also what ends one that was never quite made.
        session = getattr(self, "_session", None)
        if session is not None:
            session.asking.end()
            session.end_drawing()
        super().close()

    def hand_over(self) -> Session:
        """Close it, and give what it knew to one that takes its place."""
        self.close()
        return self._session

    def __repr__(self) -> str:
        return still.as_text(self._session)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The living widget, and what it shows for where it cannot live."""
        # A notebook saves what is there now. One that is slow to read is shown all the same.
        self.wait(_FIRST_SECONDS)
        made = super()._repr_mimebundle_(**kwargs)
        if made is None:
            return None
        data, metadata = made
        more = {"text/plain": repr(self), "text/html": still.as_html(self._session)}
        return {**data, **more}, metadata

    def _show(self, name: str, value: Any) -> None:
        if name == "message":
            self.send(value)
            return
        setattr(self, "page" if name == "entity" else name, value)

    def _opened(self, urn: str) -> None:
        self.selected = urn

    def _turn_to(self, urn: str) -> None:
        session = self._session
        if urn == session.urn:
            return
        if urn:
            session.open(urn)
        else:
            session.close_entity()

    def _take_over(self, old: "Explorer", search: Search, opened: str) -> tuple[Search, str, "Tab"]:
        before = old.hand_over()
        with before.lock:
            self._session.writing.go_on_with(before.writing.drafts)
            if search == Search() and not opened:
                self._session.ticked.update(before.ticked)
                return before.search, before.urn, before.tab
        return search, opened, "overview"

    def _take_text(self, typed: Any) -> None:
        """What is typed on a page, each letter; all pages have it from here."""
        session = self._session

        def take() -> None:
            with session.lock:
                session.writing.type(typed)

        session.asking.guarded(take)

    def _heard(self, content: Any) -> None:
        """What the page asks for; anything else is nothing to us."""
        match content:
            case {"view": str(view), "seq": int(seq)}:
                self.send({"kind": "heard", "view": view, "seq": seq})
        session = self._session
        match content:
            case {"kind": "drawing", "told": told}:
                session.asking.guarded(lambda: session.hear_drawing(told))
                return
        self.problem = self.said = ""
        session.asking.guarded(lambda: self._answer(session, content))

    def _answer(self, session: Session, content: Any) -> None:
        match content:
            case {"kind": "search", "text": str(text), "filter": str(narrowing)}:
                search = replace(session.search, words=text, filter=narrowing, start=0)
                session.find(search, put=False, offering=text != session.search.words)
            case {"kind": "toggle", "field": str(field), "value": str(value)}:
                session.find(session.search.toggled(field, value))
            case {"kind": "order", "order": str(order)} if order in ORDERS:
                session.find(replace(session.search, order=order, start=0))
            case {"kind": "page", "start": int(start)} if start >= 0:
                session.find(replace(session.search, start=start))
            case {"kind": "tick", "urn": str(urn), "on": bool(on)}:
                session.tick(urn, on=on)
            case {"kind": "unfold", "key": str(key)}:
                session.unfold(key)
            case {"kind": "fold", "key": str(key)}:
                session.fold(key)
            case {"kind": "more", "key": str(key)}:
                session.more(key)
            case {"kind": "open", "urn": str(urn)}:
                session.open(urn.strip())
            case {"kind": "back"}:
                session.close_entity()
            case {"kind": "tab", "tab": str(tab), **rest} if tab in TABS:
                asked: dict[str, Any] = {
                    key: rest[key] for key in ("text", "most", "aspect", "hops") if key in rest
                }
                session.turn(TABS[TABS.index(tab)], asked or None)
            case {"kind": "edit", "path": str(path)}:
                session.write(path)
            case {"kind": "edit"}:
                session.write(None)
            case _:
                with session.lock:
                    self._write(session, content)

    def _write(self, session: Session, content: Any) -> None:
        """What the page asks of the editor."""
        writing = session.writing
        match content:
            case {"kind": "draft"}:
                writing.type(content)
            case {"kind": "compare"}:
                writing.compare()
            case {"kind": "write"}:
                writing.go_on()
            case {"kind": "save"}:
                writing.save()
            case {"kind": "mine"}:
                writing.take_mine()
            case {"kind": "theirs"}:
                writing.take_theirs()
            case {"kind": "leave"}:
                writing.leave()
            case {"kind": "discard"}:
                writing.give_up()
