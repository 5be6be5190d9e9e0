"""The results of a search: two lines an entity, marked where they matched."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol

from rich.text import Text
from textual import events
from textual.binding import BindingType

from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import join, line, marked, padded, preview, said
from explorer.tui.find.matches import why
from explorer.tui.rows import MARK, Rows

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.records import Hit, SearchPage

__all__ = ["MOST", "PAGE", "ResultKeys", "Results"]

PAGE = 50
MOST = 10_000
"""How far servers let a result be paged, but for our own."""

_WIDE = 84


class ResultKeys(Protocol):
    """What the keys of the results do, done by what is around them. Called at once and not told
    by messages: the next key is on its way already."""

    def open_result(self, index: int) -> None:
        """Open what is in a row."""
        ...

    def need_page(self, start: int) -> None:
        """Read the page that begins at a row."""
        ...

    def results_key(self, what: str) -> None:
        """Do what a key stands for."""
        ...

    def keeps(self, event: events.Key) -> bool:
        """Whether a key is kept for the page that is about to open."""
        ...

    def pasted(self, text: str, *, is_cut: bool, into_empty: bool) -> bool:
        """Look at what was pasted."""
        ...


class Results(Rows):
    """What was found, in its order. It is as long as the whole result; pages that were not read
    yet are asked for as they come into view."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("results")

    def __init__(self, keys: ResultKeys) -> None:
        super().__init__(row_height=2)
        self.hits: dict[int, Hit] = {}
        self.total = 0
        self.known: dict[Urn, Entity] = {}
        self.drafts: frozenset[str] = frozenset()
        """The URNs of entities of which there are drafts."""
        self.stopped_at: int | None = None
        self._marked: dict[Urn, None] = {}
        self._unreadable: dict[int, str] = {}
        self._query = ""
        self._does = keys

    def show_page(
        self,
        page: "SearchPage",
        known: Mapping[Urn, "Entity"],
        query: str,
        *,
        cursor: int = 0,
        empty: str = "",
        most: int | None = MOST,
    ) -> None:
        """Show a first page instead of what was there; `query` are the words to mark, `most` is how
        far the server lets the result be paged."""
        self.hits, self._unreadable, self.known = {}, {}, dict(known)
        self.total, self._query = page.total, query
        self.stopped_at = most if most is not None and page.total > most else None
        self._keep(page)
        if cursor == 0:
            self.scroll_to(y=0, animate=False, immediate=True)
        self.show(self.stopped_at or page.total, self._draw_hit, cursor=cursor, empty=empty)

    def add_page(self, page: "SearchPage", known: Mapping[Urn, "Entity"]) -> None:
        """Show a further page in its place."""
        self.known.update(known)
        self._keep(page)
        if page.end < min(page.start + PAGE, self.count):
            # The server gives no more, whatever it counted.
            self.stopped_at = page.end
            self.grow(page.end)
            self.move_to(min(self.cursor, page.end - 1))
        self.refresh()

    def update_known(self, known: Mapping[Urn, "Entity"]) -> None:
        """Say what entities among the results are now; rows stay where they are."""
        self.known.update(known)
        self.refresh()

    @property
    def marked(self) -> tuple[Urn, ...]:
        """The results that are marked, in the order in which they were."""
        return tuple(self._marked)

    def unmark(self) -> None:
        """Mark nothing any more."""
        if self._marked:
            self._marked.clear()
            self.refresh()
            self.refresh_bindings()

    def action_mark(self) -> None:
        """Mark the row under the cursor, or take its mark off, and go on to the next."""
        urn = self.urn_at(self.cursor)
        if urn is None:
            return
        if self._marked.pop(urn, urn) is urn:
            self._marked[urn] = None
        self.refresh()
        self.refresh_bindings()
        self.move_to(self.cursor + 1)
        self._does.results_key("seen")

    def action_unmark(self) -> None:
        """Unmark all rows."""
        self.unmark()
        self._does.results_key("seen")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Marks can be taken off where there are any."""
        if action == "unmark":
            return bool(self._marked)
        return super().check_action(action, parameters)

    def urn_at(self, index: int) -> Urn | None:
        """The URN of a row; nothing for one that was not read yet."""
        hit = self.hits.get(index)
        return hit.urn if hit else None

    @property
    def in_view(self) -> tuple[int, int]:
        """The first and the last row that are seen as a whole, counted from 0."""
        first = -(-int(self.scroll_offset.y) // self.row_height)
        height = max(self.scrollable_content_region.height // self.row_height, 1)
        return first, min(first + height, self.count) - 1

    def missing(self) -> int | None:
        """Where the first page begins that is in view and was not read."""
        first, last = self.in_view
        for row in range(max(first - 1, 0), min(last + 2, self.count)):
            if row not in self.hits and row not in self._unreadable:
                return row // PAGE * PAGE
        return None

    def tell_moved(self) -> None:
        """Nothing around the list follows its cursor."""

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Read what has come into view, and tell which rows these are."""
        super().watch_scroll_y(old_value, new_value)
        self._look()

    def on_resize(self, event: events.Resize | None = None) -> None:
        """As much is in view as there is room for."""
        del event
        # Textual has the list's own part done too, and that brings the cursor into view.
        self.call_next(self._look)

    def _look(self) -> None:
        start = self.missing()
        if start is not None:
            self._does.need_page(start)
        self._does.results_key("seen")

    def move_to(self, index: int) -> None:
        """Move the cursor; what is told of the row follows it."""
        before = self.cursor
        super().move_to(index)
        if self.cursor != before:
            self._does.results_key("moved")

    def jump_to(self, index: int) -> None:
        """Put the cursor on a row, as far up on the screen as it goes."""
        self.move_to(index)
        self.scroll_to(y=self.cursor * self.row_height, animate=False, immediate=True)

    def action_choose(self) -> None:
        """Open what is under the cursor; before the answer is there, what comes first in it."""
        self._does.open_result(self.cursor)

    def action_next_page(self) -> None:
        """To the next fifty."""
        following = (self.cursor // PAGE + 1) * PAGE
        if following < self.count:
            self.jump_to(following)

    def action_previous_page(self) -> None:
        """To the fifty before."""
        self.jump_to(max(self.cursor // PAGE - 1, 0) * PAGE)

    def action_do(self, what: str) -> None:
        """Something that the view around the list does."""
        self._does.results_key(what)

    def action_facet(self, number: int) -> None:
        """Filter by the facet value with that number."""
        self._does.results_key(str(number))

    def on_key(self, event: events.Key) -> None:
        """A key for the page that is about to open is not for this list."""
        if self._does.keeps(event):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """The URN of an entity, pasted, is gone to."""
        event.stop()
        self._does.pasted(event.text[:_PASTED], is_cut=False, into_empty=True)

    def _keep(self, page: "SearchPage") -> None:
        for at, hit in enumerate(page.hits, page.start):
            self.hits[at] = hit
        # Nothing says where among the others the server had them.
        for at, text in enumerate(page.unreadable, page.start + len(page.hits)):
            self._unreadable[at] = text

    def _draw_hit(self, index: int, width: int) -> tuple[Text, Text]:
        hit = self.hits.get(index)
        if hit is None:
            text = self._unreadable.get(index)
            if text is None:
                return Text(" …", "dim"), Text()
            return Text(f" {line(text, 200)}", "bold"), Text("   no URN, so not opened", "dim")
        entity = self.known.get(hit.urn)
        right = min(46 if width >= _WIDE else 28, width * 2 // 5)
        left = width - right - 2
        name = said(entity.name if entity else hit.urn.name, "bold")
        first = Text(MARK if hit.urn in self._marked else " ", "bold")
        first.append_text(padded(marked(name, self._query), left)).append(" ")
        first.append_text(padded(self._kind(hit, entity), right))
        matched = why(hit, self._query, left - 2)
        described = preview(entity.description if entity else "", "dim", "no description")
        place = said(_place(hit, entity), "dim")
        second = Text("   ")
        if matched.plain:
            second.append_text(padded(matched, left - 2))
        else:
            second.append_text(padded(marked(described, self._query), left - 2))
        second.append(" ").append_text(padded(place, right))
        return first, second

    def _kind(self, hit: "Hit", entity: "Entity | None") -> Text:
        platform = (entity.platform if entity else hit.urn.platform) or ""
        kind = singular(entity.kind if entity else hit.urn.entity_type)
        text = join([said(kind), said(platform, "bold"), said(hit.urn.origin or "", "dim")])
        if self.drafts and str(hit.urn) in self.drafts:
            text = Text.assemble((" draft ", "reverse"), " ", text)
        if entity and entity.deprecation:
            text = Text.assemble(("deprecated ", "bold"), text)
        if entity and entity.removed:
            text = Text.assemble((" SOFT-DELETED ", "bold reverse"), " ", text)
        return text


_PASTED = 10_000


def _place(hit: "Hit", entity: "Entity | None") -> str:
    """What tells entities of one name apart: the folders in a dataset's name."""
    del entity
    parts = hit.urn.parts
    return parts[1].rpartition(".")[0] if len(parts) == 3 else ""
