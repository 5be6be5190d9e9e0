"""Beside the text: its rendered preview, and texts to take from other columns."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from rich.text import Text
from textual.app import RenderResult
from textual.widget import Widget

from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.tui.actions import actions_of
from explorer.tui.content import line_text, markdown, padded, preview, rendered_lines
from explorer.tui.key_queue import start_worker
from explorer.tui.screens.editor.descriptions import DescriptionTarget
from explorer.tui.widgets.rows import TextRows

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity

__all__ = ["Preview", "SuggestionsPane", "suggestions"]


# One thread for all: a long text takes it a while, and of two texts the later is shown last.
_RENDERER = ThreadPoolExecutor(1, "preview")


class Preview(TextRows, can_focus=False):
    """Rendered Markdown, cut to a length that renders quickly."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[Text] = ()
        self._text: str | None = None
        # The text and the width that were asked for last, and their lines when they are rendered.
        self._wanted: tuple[str, int] | None = None
        self._rendering: asyncio.Future[list[Text] | None] | None = None
        self._share = 1.0

    async def show_text(self, text: str) -> None:
        """Render and show another text. The text requested last is not rendered again, even if its
        request was cancelled."""
        self._text = text
        wanted = text, self.scrollable_content_region.width
        if wanted[1] <= 0:
            return
        if wanted != self._wanted or self._rendering is None:
            self._wanted = wanted
            loop = asyncio.get_running_loop()
            self._rendering = loop.run_in_executor(_RENDERER, self._lines_of, wanted)
        wanted = self._wanted
        lines = await asyncio.shield(self._rendering)
        if lines is not None and lines is not self._lines and wanted is self._wanted:
            self._lines = lines
            self.show(len(lines), lambda at, _: (self._lines[at],))
            self.follow(self._share)

    def _lines_of(self, wanted: tuple[str, int]) -> list[Text] | None:
        """The lines of a text at a width, unless another was asked for meanwhile."""
        return _rendered(*wanted) if wanted is self._wanted else None

    def follow(self, share: float) -> None:
        """Show the part that lies so far down in the text, 0 its top and 1 its end."""
        self._share = share
        room = self.scrollable_content_region.height
        top = round(share * self.count - room / 2)
        top = max(0, min(top, self.count - room))
        if top != self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, immediate=True)

    def on_resize(self) -> None:
        """Draw it anew at the width there is now."""
        super().on_resize()
        if self._text is not None:
            show = partial(self.show_text, self._text)
            start_worker(self, show, group="preview", exclusive=True)


def _rendered(text: str, width: int) -> list[Text]:
    """Return the lines of a rendered text."""
    return rendered_lines(markdown(text), width)


_ASPECTS = (
    "schemaMetadata",
    "editableSchemaMetadata",
    "datasetProperties",
    "editableDatasetProperties",
)
_DRAFTED = "drafted by the command"
_LOOKED_AT = 12
_GIVEN = 3

Origin = Literal["upstream", "same name"]


@dataclass(frozen=True, slots=True)
class DescriptionSuggestion:
    """A text of another column, exactly as stored, with its datasets and the reason why it is
    suggested."""

    text: str
    origin: Origin
    places: tuple[str, ...]


async def suggestions(
    catalog: "AsyncCatalog", entity: "Entity", path: str
) -> tuple[DescriptionSuggestion, ...]:
    """Return at most three texts: of the columns that this one is derived from, then of columns
    with the same name, most frequent first. Two requests for a schema of any size."""
    name = FieldPath(path).name
    sources = dict(_sources(entity, path))
    called_so = Filter(((Criterion("fieldPaths", (name,), "CONTAIN"),),))
    page = await catalog.search("*", entity="dataset", filter=called_so, count=_LOOKED_AT)
    others = [hit.urn for hit in page.hits if hit.urn != entity.urn]
    read = await catalog.entities([*sources, *others], _ASPECTS)
    found: dict[tuple[Origin, str], list[str]] = {}
    for urn, other in read.items():
        origin: Origin = "upstream" if urn in sources else "same name"
        wanted = sources.get(urn) or frozenset()
        for column in other.schema:
            fits = column.path.raw in wanted or (not wanted and column.path.name == name)
            if fits and column.documented:
                exact = column.edited if (column.edited or "").strip() else column.ingested
                found.setdefault((origin, exact or ""), []).append(other.name)
    ordered = sorted(found.items(), key=lambda one: (one[0][0] != "upstream", -len(one[1])))
    given: dict[str, DescriptionSuggestion] = {}
    for (origin, text), places in ordered:
        given.setdefault(text, DescriptionSuggestion(text, origin, tuple(dict.fromkeys(places))))
    return tuple(given.values())[:_GIVEN]


def _sources(entity: "Entity", path: str) -> Iterator[tuple[Urn, frozenset[str]]]:
    """Return the upstream datasets, each with the columns that this one is derived from, if
    known."""
    lineage = entity.raw("upstreamLineage") or {}
    columns: dict[Urn, set[str]] = {}
    for edge in _objects(lineage.get("fineGrainedLineages")):
        if any(one == (entity.urn, path) for one in _fields(edge.get("downstreams"))):
            for dataset, column in _fields(edge.get("upstreams")):
                columns.setdefault(dataset, set()).add(column)
    if columns:
        yield from ((urn, frozenset(paths)) for urn, paths in columns.items())
        return
    upstream = Urn.parse_all(
        one["dataset"]
        for one in _objects(lineage.get("upstreams"))
        if isinstance(one.get("dataset"), str)
    )
    yield from ((urn, frozenset()) for urn in upstream[:_LOOKED_AT])


def _objects(listed: object) -> Iterator[dict[str, object]]:
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict):
            yield one


def _fields(listed: object) -> Iterator[tuple[Urn, str]]:
    """Return the datasets and field paths of column URNs."""
    texts: Iterable[object] = listed if isinstance(listed, list) else ()
    for urn in Urn.parse_all(text for text in texts if isinstance(text, str)):
        if urn.entity_type == "schemaField":
            dataset, column = urn.parts
            yield from ((one, column) for one in Urn.parse_all([dataset]))


@dataclass(frozen=True, slots=True)
class _Offer:
    text: str
    origin: str
    is_theirs: bool = False


class SuggestionsPane(Widget):
    """The ingested text, texts of similar columns, and the text that somebody else saved: a line
    each, with the key that uses it. The first key always uses the ingested text. Others are only
    added at the end, so that a key keeps its meaning until another description is opened."""

    DEFAULT_CSS = """
    SuggestionsPane { height: auto; max-height: 30%; padding: 0 1; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._offers: list[_Offer | None] = []
        self._note = ""
        self._keys = {action.name: action.key for action in actions_of("editor")}

    def show_target(self, target: DescriptionTarget, note: str = "") -> None:
        """Start with the ingested text; `note` is a remark on the edited one."""
        is_ingested = bool(target.ingested.strip())
        offers = [_Offer(target.ingested, "ingested") if is_ingested else None]
        if (offers, note) != (self._offers, self._note):
            self._offers, self._note = [*offers], note
            self.refresh(layout=True)

    def add(self, found: Sequence[DescriptionSuggestion]) -> None:
        """Add the texts of other columns."""
        for one in found:
            if all(offer is None or one.text != offer.text for offer in self._offers):
                more = f" and {len(one.places) - 1} more" if len(one.places) > 1 else ""
                self._offers.append(_Offer(one.text, f"{one.origin}, {one.places[0]}{more}"))
        self.refresh(layout=True)

    def add_theirs(self, text: str, by: str) -> None:
        """Add the text that somebody else saved; `by` says who and when, if known."""
        self._offers = [one for one in self._offers if one is None or not one.is_theirs]
        self._offers.append(_Offer(text, f"saved by {by or 'somebody else'}", is_theirs=True))
        self.refresh(layout=True)

    def add_drafted(self, text: str) -> str:
        """Add the text of the drafting command, or replace its last one; return the key that uses
        it. A text that is listed already is not added again."""
        texts = [one.text if one is not None else None for one in self._offers]
        drafted = self._drafted_at
        if text in texts:
            at = texts.index(text)
        elif drafted is not None:
            at = drafted
            self._offers[at] = _Offer(text, _DRAFTED)
        else:
            at = len(self._offers)
            self._offers.append(_Offer(text, _DRAFTED))
        self.refresh(layout=True)
        return self._key_of(at + 1)

    @property
    def drafted_without_key(self) -> str | None:
        """Return the drafted text if no numbered key is left for it: then the key that drafts uses
        it."""
        at = self._drafted_at
        return None if at is None or f"take({at + 1})" in self._keys else self.offer(at + 1)

    @property
    def _drafted_at(self) -> int | None:
        places = (at for at, one in enumerate(self._offers) if one and one.origin == _DRAFTED)
        return next(places, None)

    def _key_of(self, number: int) -> str:
        """Return the key that uses the text of a number; two spaces if there is none."""
        numbered = self._keys.get(f"take({number})")
        if numbered is None and number - 1 == self._drafted_at:
            return self._keys["draft"]
        return numbered or "  "

    def offer(self, number: int) -> str | None:
        """Return the text of a number, counted from 1; None if there is none."""
        offer = self._offers[number - 1] if 0 < number <= len(self._offers) else None
        return None if offer is None else offer.text

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """Return one line for each text."""
        del container, viewport, width
        return max(len(self._offers), 1) + bool(self._note)

    def render(self) -> RenderResult:
        """Render the lines that fit."""
        width = self.size.width
        lines = []
        if self._note:
            lines.append(padded(Text(self._note, "italic"), width))
        for number, one in enumerate(self._offers, 1):
            if one is None:
                lines.append(Text("no ingested description", "italic"))
                continue
            key = self._key_of(number)
            origin = padded(line_text(one.origin), min(max(width // 3, 12), 36))
            text = preview(one.text, missing="no description")
            lines.append(padded(Text.assemble((f"{key} ", "bold"), origin, " ", text), width))
        return Text("\n").join(lines)
