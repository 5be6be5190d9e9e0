"""The editor of descriptions, which goes through the columns of a dataset: the text, its rendered
preview beside it, and texts of other columns below it; its dialogs: the difference before a save,
and a conflict with a text that somebody else saved; and the launcher that opens the editor, the
drafts and the links of an entity, and reports saves."""

import asyncio
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult, RenderResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static, TextArea

from explorer.errors import Misconfigured, Unusable
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.sessions.editing import (
    DescriptionQueue,
    Descriptions,
    DescriptionTarget,
    EditSession,
    EditState,
    Failure,
    Key,
    OpenText,
    Save,
    Saves,
    TextDrafts,
    save_sentence,
)
from explorer.stewardship.drafts import OPEN_ELSEWHERE, Drafts, StoredDraft
from explorer.tui.actions import actions_of, bindings
from explorer.tui.content import join, line, line_text, markdown, padded, preview, render_lines
from explorer.tui.desktop import edit_outside
from explorer.tui.key_queue import CLOSING, LEADING, OPENING, OpeningFailed, start_worker
from explorer.tui.screens.columns import column_fact_line, read_measurements
from explorer.tui.screens.descriptions import DraftsScreen
from explorer.tui.screens.entity import EntityView, is_describable
from explorer.tui.screens.links import LinksScreen
from explorer.tui.session import TerminalSession, sentence_of
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import FramedScreen, OverlayScreen
from explorer.tui.widgets.rows import DifferenceRows, TextRows
from explorer.tui.widgets.text_area import DescriptionArea
from explorer.views.columns import ColumnKnowledge, ColumnMeasurements, column_row, schema_of
from explorer.views.diff import Diff, DiffLine, plain_lines, text_diff

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from textual.app import App
    from textual.worker import WorkType

    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity


def editor_heading(
    target: DescriptionTarget, place: str, draft: str, *, read_only: bool, width: int
) -> Text:
    """Return the title in at most `width` cells: the names, the `place` among the columns, and the
    state of the draft. If it is too long, the name of the entity is cut first, then the name of the
    column, each to no less than `_NAME_CELLS`; then the end of the place, and of the line."""
    names = [line_text(target.name), line_text(target.column, "bold")]
    texts = [Text(place, "dim"), Text(draft, "italic dim")]
    if read_only:
        texts.append(Text("read-only: nothing can be saved", "bold reverse"))
    for name in names:
        excess = join([*names, *texts]).cell_len - width
        if excess > 0:
            cell_len = max(name.cell_len - excess, _NAME_CELLS)
            name.truncate(cell_len, overflow="ellipsis")
    excess = join([*names, *texts]).cell_len - width
    if excess > 0:
        texts[0].truncate(max(texts[0].cell_len - excess, 1), overflow="ellipsis")
    line = join([*names, *texts])
    line.truncate(max(width, 1), overflow="ellipsis")
    return line


_NAME_CELLS = 16


_PAUSE_SECONDS = 0.3
_LONGEST_SECONDS = 3.0
_TURN_SECONDS = 0.01
# The first painting waits at most this long for the draft, so that text and draft appear together.
_UNPAINTED_SECONDS = 0.1
# On a lower screen, no lines of facts are shown above the text.
_LOW = 16
_NOBODY = "unknown"
_OF_A_TEXT = frozenset({"compare", "edit_outside", "look", "discard", "take", "draft"})


@dataclass(frozen=True, slots=True)
class EditorOutcome:
    """The result of closing the editor: the entity and column whose text was open, and the message
    to show."""

    urn: Urn
    path: str | None
    message: str = ""
    error: bool = False
    is_newer: bool = False
    """Whether the server has a newer text that was not saved by this program."""


@dataclass(slots=True, eq=False)
class _Opening:
    """The state of the open text that belongs to the screen alone."""

    key: Key
    failure: Failure | None = None
    """The failure of a save that is shown."""
    is_unseen: bool = False
    """Whether a draft was found while keys were queued, so that the user has not seen it."""
    is_asking: bool = False
    """Whether texts of other columns are still being looked for."""


# One thread for all texts, because rendering takes long, and the newest text must be shown last.
_RENDERER = ThreadPoolExecutor(1, "preview")


class Preview(TextRows, can_focus=False):
    """Rendered Markdown, cut to a length that renders quickly."""

    # Keep room for the scroll bar, so that it does not narrow lines that are already rendered.
    DEFAULT_CSS = "Preview { scrollbar-gutter: stable; }"

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[Text] = ()
        self._text: str | None = None
        # The text and the width requested last, and the future of their rendered lines.
        self._wanted: tuple[str, int] | None = None
        self._rendering: asyncio.Future[list[Text] | None] | None = None
        self._share = 1.0

    async def show_text(self, text: str) -> None:
        """Render and show another text. The text requested last is not rendered again, even if its
        request was cancelled."""
        self._text = text
        request = text, self.scrollable_content_region.width
        if request[1] <= 0:
            return
        if request != self._wanted or self._rendering is None:
            self._wanted = request
            loop = asyncio.get_running_loop()
            self._rendering = loop.run_in_executor(_RENDERER, self._lines_of, request)
        request = self._wanted
        lines = await asyncio.shield(self._rendering)
        if lines is not None and lines is not self._lines and request is self._wanted:
            self._lines = lines
            self.show(len(lines), lambda at, _: (self._lines[at],))
            self.follow(self._share)

    def _lines_of(self, request: tuple[str, int]) -> list[Text] | None:
        """Return the rendered lines of a text at a width; None if another request came
        meanwhile."""
        return _render_lines(*request) if request is self._wanted else None

    def follow(self, share: float) -> None:
        """Scroll to the part at `share` of the text: 0 is its start, 1 its end."""
        self._share = share
        room = self.scrollable_content_region.height
        top = round(share * self.count - room / 2)
        self._scroll(max(0, min(top, self.count - room)))

    def on_resize(self) -> None:
        """Show the same part at the new size, and render the text again for the new width."""
        super().on_resize()
        self.follow(self._share)
        if self._text is not None:
            show = partial(self.show_text, self._text)
            start_worker(self, show, group="preview", exclusive=True)


def _render_lines(text: str, width: int) -> list[Text]:
    """Return the lines of a rendered text."""
    return render_lines(markdown(text), width)


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
    """The text of another column, exactly as stored, with its datasets and the reason for
    suggesting it."""

    text: str
    origin: Origin
    places: tuple[str, ...]


async def suggestions(
    catalog: "AsyncCatalog", entity: "Entity", path: str
) -> tuple[DescriptionSuggestion, ...]:
    """Return at most three texts for the column at `path`: texts of the columns that it is derived
    from, then of columns with the same name, the most frequent first. Two requests for a schema of
    any size."""
    name = FieldPath(path).name
    sources = dict(_sources(entity, path))
    called_so = Filter(((Criterion("fieldPaths", (name,), "CONTAIN"),),))
    page = await catalog.search("*", entity="dataset", filter=called_so, count=_LOOKED_AT)
    urns = [hit.urn for hit in page.hits if hit.urn != entity.urn]
    entities = await catalog.entities([*sources, *urns], _ASPECTS)
    names_by_text: dict[tuple[Origin, str], list[str]] = {}
    for urn, similar in entities.items():
        origin: Origin = "upstream" if urn in sources else "same name"
        source_paths = sources.get(urn) or frozenset()
        for column in similar.schema:
            fits = column.path.raw in source_paths or (
                not source_paths and column.path.name == name
            )
            if fits and column.documented:
                exact = column.edited if (column.edited or "").strip() else column.ingested
                names_by_text.setdefault((origin, exact or ""), []).append(similar.name)
    ordered = sorted(
        names_by_text.items(),
        key=lambda text_and_names: (text_and_names[0][0] != "upstream", -len(text_and_names[1])),
    )
    suggestions_by_text: dict[str, DescriptionSuggestion] = {}
    for (origin, text), places in ordered:
        suggestions_by_text.setdefault(
            text, DescriptionSuggestion(text, origin, tuple(dict.fromkeys(places)))
        )
    return tuple(suggestions_by_text.values())[:_GIVEN]


def _sources(entity: "Entity", path: str) -> Iterator[tuple[Urn, frozenset[str]]]:
    """Yield the upstream datasets of a column, each with the columns that it is derived from, if
    known."""
    lineage = entity.raw("upstreamLineage") or {}
    columns: dict[Urn, set[str]] = {}
    for edge in _objects(lineage.get("fineGrainedLineages")):
        if any(field == (entity.urn, path) for field in _fields(edge.get("downstreams"))):
            for dataset, column in _fields(edge.get("upstreams")):
                columns.setdefault(dataset, set()).add(column)
    if columns:
        yield from ((urn, frozenset(paths)) for urn, paths in columns.items())
        return
    upstream = Urn.parse_all(
        upstream_edge["dataset"]
        for upstream_edge in _objects(lineage.get("upstreams"))
        if isinstance(upstream_edge.get("dataset"), str)
    )
    yield from ((urn, frozenset()) for urn in upstream[:_LOOKED_AT])


def _objects(listed: object) -> Iterator[dict[str, object]]:
    for element in listed if isinstance(listed, list) else ():
        if isinstance(element, dict):
            yield element


def _fields(listed: object) -> Iterator[tuple[Urn, str]]:
    """Return the datasets and field paths of column URNs."""
    texts: Iterable[object] = listed if isinstance(listed, list) else ()
    for urn in Urn.parse_all(text for text in texts if isinstance(text, str)):
        if urn.entity_type == "schemaField":
            dataset, column = urn.parts
            yield from ((urn, column) for urn in Urn.parse_all([dataset]))


@dataclass(frozen=True, slots=True)
class _Offer:
    text: str
    origin: str
    is_theirs: bool = False


class SuggestionsPane(Widget):
    """A list of texts to use: the ingested text, texts of similar columns, and the text that
    somebody else saved, each on a line with its key. The first key always uses the ingested text.
    Texts are only added at the end, so that keys keep their meaning until another description is
    opened."""

    DEFAULT_CSS = """
    SuggestionsPane { height: auto; max-height: 30%; padding: 0 1; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._offers: list[_Offer | None] = []
        self._note = ""
        self._keys = {action.name: action.key for action in actions_of("editor")}

    def show_target(self, target: DescriptionTarget, note: str = "") -> None:
        """Show only the ingested text of a description, and a remark (`note`) on the edited
        text."""
        is_ingested = bool(target.ingested.strip())
        offers = [_Offer(target.ingested, "ingested") if is_ingested else None]
        if (offers, note) != (self._offers, self._note):
            self._offers, self._note = [*offers], note
            self.refresh(layout=True)

    def show_note(self, note: str) -> None:
        """Replace the remark on the edited text; an empty one removes it."""
        if note != self._note:
            self._note = note
            self.refresh(layout=True)

    def add(self, texts: Sequence[DescriptionSuggestion]) -> None:
        """Add texts of other columns, except those that are listed already."""
        for suggestion in texts:
            if all(offer is None or suggestion.text != offer.text for offer in self._offers):
                more = (
                    f" and {len(suggestion.places) - 1} more" if len(suggestion.places) > 1 else ""
                )
                self._offers.append(
                    _Offer(suggestion.text, f"{suggestion.origin}, {suggestion.places[0]}{more}")
                )
        self.refresh(layout=True)

    def add_theirs(self, text: str, by: str) -> None:
        """Add the text that somebody else saved, or replace an earlier one; `by` says who saved it
        and when, if known."""
        self._offers = [offer for offer in self._offers if offer is None or not offer.is_theirs]
        self._offers.append(_Offer(text, f"saved by {by or 'somebody else'}", is_theirs=True))
        self.refresh(layout=True)

    def add_drafted(self, text: str) -> str:
        """Add the text of the drafting command, or replace its previous text; return the key that
        uses the text. A text that is listed already is not added again."""
        texts = [offer.text if offer is not None else None for offer in self._offers]
        drafted = self._index_of_draft
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
        """Return the drafted text if no numbered key is left for it; the drafting key then uses it.
        Otherwise return None."""
        at = self._index_of_draft
        return None if at is None or f"take({at + 1})" in self._keys else self.offer(at + 1)

    @property
    def _index_of_draft(self) -> int | None:
        places = (at for at, offer in enumerate(self._offers) if offer and offer.origin == _DRAFTED)
        return next(places, None)

    def _key_of(self, number: int) -> str:
        """Return the key that uses the text with a number; two spaces if no key does."""
        numbered = self._keys.get(f"take({number})")
        if numbered is None and number - 1 == self._index_of_draft:
            return self._keys["draft"]
        return numbered or "  "

    def offer(self, number: int) -> str | None:
        """Return the text with a number, counted from 1; None if there is none."""
        offer = self._offers[number - 1] if 0 < number <= len(self._offers) else None
        return None if offer is None else offer.text

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """Return the number of lines: one for each text, and those of the remark."""
        del container, viewport
        return max(len(self._offers), 1) + len(self._note_lines(width))

    def _note_lines(self, width: int) -> list[str]:
        return textwrap.wrap(self._note, max(width, 1))

    def render(self) -> RenderResult:
        """Render the lines that fit."""
        width = self.size.width
        lines = [Text(line, "italic") for line in self._note_lines(width)]
        for number, offer in enumerate(self._offers, 1):
            if offer is None:
                lines.append(Text("no ingested description", "italic"))
                continue
            key = self._key_of(number)
            origin = padded(line_text(offer.origin), min(max(width // 3, 12), 36))
            text = preview(offer.text, missing="no description")
            lines.append(padded(Text.assemble((f"{key} ", "bold"), origin, " ", text), width))
        return Text("\n").join(lines)


ComparisonAnswer = Literal["save", "mine", "theirs", "back"]


class ComparisonScreen(FramedScreen[ComparisonAnswer]):
    """Shows the difference of texts below a question; returns the answer."""

    DEFAULT_CSS = """
    ComparisonScreen > Vertical { width: 110; }
    ComparisonScreen #what { dock: top; height: auto; max-height: 4; }
    ComparisonScreen DifferenceRows { height: auto; max-height: 1fr; min-height: 4; }
    """

    def __init__(self, question: Text, compare: "Callable[[], Diff]") -> None:
        """Show the result of `compare` below `question`. `compare` is called in a thread, because
        it is slow for long texts."""
        super().__init__()
        self._question = question
        self._compared = compare

    def compose(self) -> ComposeResult:
        """Yield the heading, the difference, and the keys."""
        with Vertical():
            yield Static(self._question, id="what", markup=False)
            yield DifferenceRows(has_list=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Compute the difference."""
        self.set_focus(self.query_one(DifferenceRows))
        self._compare()

    @work(exclusive=True)
    async def _compare(self) -> None:
        rows = self.query_one(DifferenceRows)
        rows.show_lines((), empty="comparing …")
        rows.show_lines(await asyncio.to_thread(self._compared))

    def action_back(self) -> None:
        """Go back to the text without saving."""
        self.dismiss("back")


class DifferenceScreen(ComparisonScreen):
    """Compares the saved text with the typed one before saving."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("comparing")

    def __init__(self, title: str, saved: str, mine: str) -> None:
        question = Text.assemble(line_text(title, "bold"), "   − saved   + yours")
        super().__init__(question, partial(text_diff, saved, mine))

    def action_save(self) -> None:
        """Save the typed text."""
        self.dismiss("save")


@dataclass(frozen=True, slots=True)
class DescriptionConflict:
    """Three texts of one description: the `base` that both authors started from, the text that
    somebody else saved meanwhile, and the user's own text. `by` says who saved the other text and
    when, as far as is known."""

    base: str
    theirs: str
    mine: str
    by: str = ""


class ConflictScreen(ComparisonScreen):
    """Shows the text that somebody else saved and the typed text, each compared with the text that
    both started from. Letters and the editor's keys for saving and using texts do nothing here,
    because they may have been typed for the editor."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("conflict")

    def __init__(self, title: str, conflict: DescriptionConflict) -> None:
        question = Text.assemble(
            "Not saved: somebody else changed ", line_text(title, "bold"), " meanwhile."
        )
        super().__init__(question, partial(_three_texts, conflict))

    def action_take_mine(self) -> None:
        """Save the typed text instead of theirs."""
        self.dismiss("mine")

    def action_take_theirs(self) -> None:
        """Keep their text, and continue from it."""
        self.dismiss("theirs")


_NO_DESCRIPTION = DiffLine("no description", "note")


def _three_texts(conflict: DescriptionConflict) -> Diff:
    """Return the lines of a conflict: each of both texts under a title, compared with the base."""
    theirs = f"Theirs, saved by {conflict.by}" if conflict.by else "Theirs"
    return (
        _title("Before, when you started"),
        *(plain_lines(conflict.base) or (_NO_DESCRIPTION,)),
        DiffLine(""),
        _title(theirs),
        *_changes(conflict.base, conflict.theirs),
        DiffLine(""),
        _title("Yours"),
        *_changes(conflict.base, conflict.mine),
    )


def _title(text: str) -> DiffLine:
    return DiffLine(text, "place", "")


def _changes(base: str, text: str) -> Diff:
    return text_diff(base, text) if text else (_NO_DESCRIPTION,)


class AllDone(Static, can_focus=True):
    """The page shown after the last column without a description. Only `enter` and the editor's
    keys that are not letters work here."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("alldone")
    DEFAULT_CSS = """
    AllDone { display: none; height: 1fr; padding: 1 2; }
    """

    class Next(Message):
        """Asks to go to the next table."""

    def action_next_table(self) -> None:
        """Go to the next table."""
        self.post_message(self.Next())


class EditorScreen(OverlayScreen[EditorOutcome]):
    """Edits the descriptions of one entity after another. “Save and next” goes on at once with the
    next text, while the save runs; all further typing belongs to that text.

    `next_table` finds the next entity with undocumented columns. `measured` has the use and the
    values of the columns, if they were read before.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("editor")
    CSS = """
    EditorScreen { background: $background; }
    EditorScreen Horizontal { height: 1fr; min-height: 4; }
    EditorScreen #title {
        height: auto; padding: 0 1; border-bottom: solid $border-blurred;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    EditorScreen #failed {
        display: none; height: auto; max-height: 3; padding: 0 1;
        background: $error-muted; color: $text-error;
    }
    EditorScreen Horizontal > * {
        width: 1fr; height: 1fr; border: round $border-blurred; border-title-color: $text-muted;
        padding: 0 1;
    }
    EditorScreen DescriptionArea { background: $background; scrollbar-size-vertical: 1; }
    EditorScreen DescriptionArea:focus { border: round $primary; }
    EditorScreen.-narrow Preview { display: none; }
    EditorScreen.-looking Preview { display: block; }
    EditorScreen.-narrow.-looking DescriptionArea { display: none; }
    EditorScreen.-done Horizontal, EditorScreen.-done SuggestionsPane { display: none; }
    EditorScreen.-done AllDone { display: block; }
    """

    def __init__(
        self,
        session: TerminalSession,
        editing: EditSession,
        subject: Descriptions,
        path: str | None,
        next_table: "Callable[[Urn], Awaitable[Descriptions | None]]",
        measured: ColumnMeasurements | None = None,
    ) -> None:
        super().__init__()
        self._session = session
        self._editing = editing
        self._subject = subject
        self._queue = editing.queue
        self._next_entity: tuple[Urn, asyncio.Task[Entity]] | None = None
        self._saves = editing.saves
        self._find_next = next_table
        self._opening = _Opening(editing.begin(subject, path).target.key)
        self._message = editing.state.message
        self._is_done = False
        self._measured = measured
        self._fact_lines: list[Text] = []
        self._next: Descriptions | None = None
        self._is_looking = False
        self._wants_next = False
        self._wanted_offer = 0
        self._asked_now = asyncio.Event()
        self._warned = False
        self._is_newer = False
        self._drafted: dict[Key, str] = {}
        self._drafting: set[Key] = set()
        self._is_left = False
        self._burst_began_at = 0.0
        self._painting_delay = ExitStack()
        # Set once the draft was looked for. Before, nothing is written, so that no draft is
        # overwritten.
        self._opened = asyncio.Event()
        # Set once the text was painted; the preview is rendered only afterwards.
        self._shown = asyncio.Event()

    def compose(self) -> ComposeResult:
        """Yield the title, the failed saves, the text and its preview, the texts to use, and the
        keys."""
        # Set the width class before the first layout, so that no widget is styled for a wrong
        # width.
        widths = sorted(self.app.HORIZONTAL_BREAKPOINTS or [], reverse=True)
        fitting = [name for least, name in widths if self.app.size.width >= least]
        self.add_class(*fitting[:1])
        yield Static("", id="title", markup=False)
        yield Static("", id="failed", markup=False)
        with Horizontal():
            # The text is set later, once the area has its size.
            area = DescriptionArea("")
            area.border_title = "edit"
            yield area
            preview_pane = Preview()
            preview_pane.border_title = "preview"
            yield preview_pane
        yield AllDone("", markup=False)
        yield SuggestionsPane()
        yield KeyLine()

    def on_mount(self) -> None:
        """Open the first text. Painting is delayed until its draft was looked for."""
        self._painting_delay.callback(self._paint)
        self._painting_delay.enter_context(self.app.batch_update())
        self.set_timer(_UNPAINTED_SECONDS, self._painting_delay.close)
        self._editing.subscribe(self._show_message)
        self._open_column(self._target.path)

    def on_unmount(self) -> None:
        """Close the session, and resume painting, even if the screen is closed before its first
        painting."""
        self._editing.close()
        self._painting_delay.close()
        self._shown.set()

    def _paint(self) -> None:
        """Paint the screen, and note when the text is visible."""
        self.refresh()
        self.call_after_refresh(self._shown.set)

    @property
    def _is_closed(self) -> bool:
        """Return whether the screen was closed, or is being removed while the program ends."""
        return self._is_left or not (
            self.query("#title")
            and self.query(DescriptionArea)
            and self.query(SuggestionsPane)
            and self.query(KeyLine)
        )

    @property
    def _area(self) -> DescriptionArea:
        return self.query_one(DescriptionArea)

    @property
    def _text(self) -> OpenText:
        return self._editing.text

    @property
    def _target(self) -> DescriptionTarget:
        return self._text.target

    @property
    def urn(self) -> Urn:
        """Return the URN of the described entity."""
        return self._subject.entity.urn

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow only actions that have an effect: no move beyond the last column, no key without a
        text, no save to a read-only server."""
        path = self._target.path
        if self._is_done and action in _OF_A_TEXT:
            return False
        match action, parameters:
            case "save", _ if self._is_done:
                return False
            case "save" | "compare", _:
                return None if self._session.read_only else True
            case "look", _:
                return self.has_class("-narrow")
            case "save_and_next", _ if self._is_done:
                return self._editing.first_left_out is not None
            case "save_and_next", _:
                is_one_of_many = path is not None or self._queue is not None
                return is_one_of_many and not self._session.read_only
            case "to_failed", _:
                return bool(self._paths_of_failures)
            case "draft", _:
                return self.urn.entity_type == "dataset"
            case "move", (int(step),):
                return self._subject.neighbour(path, step) is not None
            case "take", (int(number),):
                is_offered = (
                    self.is_mounted and self.query_one(SuggestionsPane).offer(number) is not None
                )
                return is_offered or self._opening.is_asking
        return True

    def action_save(self) -> None:
        """Save, and close when the server has acknowledged the save."""
        if not self._refuses_unseen():
            self._leave_when_saved(self._save())

    def action_save_and_next(self) -> None:
        """Save, and go to the next column without a description at once. On the page after the last
        one, go to the first column that was left out."""
        if self._is_done:
            self._editing.begin_again()
            if self._editing.first_left_out is not None:
                self._open_text(self._editing.first_left_out)
            return
        if self._refuses_unseen():
            return
        target = self._target
        left_out = self._save() is None and not self._area.text.strip()
        skipped = f"{line_text(target.title).plain} still has no description." if left_out else ""
        following = self._editing.following
        if following is not None:
            self._open_text(following, skipped)
        else:
            self._show_end()

    def _open_text(self, key: Key, message: str = "") -> None:
        """Open another text, of this or another entity. If its entity is not read yet, keys are
        queued until it is."""
        urn, path = key
        if urn == str(self.urn):
            self._open_column(path, message)
            return
        self._area.hold()
        self._open_text_elsewhere(Urn.parse(urn), path, message)

    @work(exclusive=True, group="cross")
    async def _open_text_elsewhere(self, urn: Urn, path: str | None, message: str) -> None:
        """Read another entity, and open one of its texts; if that fails, stay."""
        entity: Entity | None = None
        with self._session.reporting(f"reading {urn.name}"):
            entity = await self._read_ahead(urn)
        if self._is_closed:
            return
        if entity is None:
            # The queued keys were meant for the other text.
            self._next_entity = None
            self._area.drop_held()
            self._process_keys()
            return
        self._subject, self._measured = self._saves.descriptions(entity), None
        self._open_column(path, message)

    def _read_ahead(self, urn: Urn) -> "asyncio.Task[Entity]":
        """Return a task that reads another entity: the running one, if it was started before."""
        if self._next_entity is None or self._next_entity[0] != urn:

            async def read() -> "Entity":
                return await (await self._session.catalog()).entity(urn)

            task = asyncio.create_task(read())
            # A failed task is forgotten, so that the entity is read again when it is needed.
            task.add_done_callback(self._forget_failed)
            self._next_entity = (urn, task)
        return self._next_entity[1]

    def _forget_failed(self, task: "asyncio.Task[Entity]") -> None:
        is_failed = task.cancelled() or task.exception() is not None
        if is_failed and self._next_entity is not None and self._next_entity[1] is task:
            self._next_entity = None

    def action_move(self, step: int) -> None:
        """Go forward by `step` columns, or back; the typed text stays as a draft."""
        path = self._subject.neighbour(self._target.path, step)
        if path is not None:
            self._area.hold()
            self._move(path)

    def action_to_failed(self) -> None:
        """Go to the first text that could not be saved."""
        paths = self._paths_of_failures
        if paths:
            self._area.hold()
            self._move(paths[0])

    def action_discard(self) -> None:
        """Revert to the saved text; undo brings the typed text back."""
        self._show_saved(self._editing.revert())

    def _show_saved(self, text: OpenText) -> None:
        self._opening.is_unseen = False
        self._area.replace_all(text.text)
        self.query_one(SuggestionsPane).show_note(self._note)
        self._show_status()

    def action_take(self, number: int) -> None:
        """Use a text from the list below; undo reverts it. While texts are still being read, keys
        are queued until they are there."""
        text = self.query_one(SuggestionsPane).offer(number)
        if text is not None:
            self._area.replace_all(text)
        elif self._opening.is_asking:
            self.say("checking for changes by others …   esc cancels")
            self._wanted_offer = number
            self._area.hold(self._give_up_taking)
            self._asked_now.set()

    def action_draft(self) -> None:
        """Run the drafting command, whose text is then offered under a key; if it is offered
        already and has no key of its own, use it. The edited text is not changed meanwhile."""
        key = self._target.key
        drafted = self.query_one(SuggestionsPane).drafted_without_key
        if drafted is not None and drafted != self._area.text:
            self._area.replace_all(drafted)
        elif key in self._drafting:
            self.say("The drafting command is already running for this text.")
        else:
            self._draft(key, self._subject)

    def action_look(self) -> None:
        """Switch between the text and the preview in a narrow terminal."""
        looking = not self.has_class("-looking")
        self.set_class(looking, "-looking")
        if not looking:
            self.set_focus(self._area)
        self.call_after_refresh(start_worker, self, self._show_preview, group="preview")

    def action_compare(self) -> None:
        """Show the difference between the saved text and the typed one."""

        def save_if_chosen(answer: ComparisonAnswer | None) -> None:
            if answer == "save":
                self.action_save()

        target = self._target
        self.app.push_screen(
            DifferenceScreen(target.title, target.text, self._area.text), save_if_chosen
        )

    @work(exclusive=True, group="leave")
    async def action_edit_outside(self) -> None:
        """Keep the draft, and edit the text in the user's own editor, which takes over the
        terminal."""
        with self._session.reporting("editing the text outside"):
            text = self._area.text
            with self._session.reporting("keeping the draft"):
                await self._keep()
            changed = edit_outside(self.app, text)
            self.app.refresh()
            self._area.replace_all(changed)

    def action_leave(self) -> None:
        """Close; a changed text stays as a draft, and pending saves continue."""
        self._leave()

    @on(AllDone.Next)
    def _go_to_next(self) -> None:
        """Go to the next table with undocumented columns; leave the editor if there is none."""
        if self._next is not None:
            self._subject, self._next, self._measured = self._next, None, None
            self._open_column(self._subject.undocumented_after(None))
        elif self._is_looking:
            self._wants_next = True
            self._show_done()
        else:
            self._leave()

    @on(DescriptionArea.Typed)
    def _handle_input(self) -> None:
        self.query_one(KeyLine).hush()

    @on(TextArea.Changed)
    def _handle_change(self) -> None:
        now = time.monotonic()
        if not self._burst_began_at:
            self._burst_began_at = now
        self._follow(max(0.0, min(_PAUSE_SECONDS, self._burst_began_at + _LONGEST_SECONDS - now)))

    @on(TextArea.SelectionChanged)
    def _show_place(self) -> None:
        area = self._area
        row, last = area.cursor_location[0], area.document.line_count - 1
        self.query_one(Preview).follow(row / last if last else 1.0)

    @work(exclusive=True, group="draft")
    async def _follow(self, pause_seconds: float) -> None:
        """Store the draft and update the preview, after a pause or every few seconds."""
        await asyncio.sleep(pause_seconds)
        self._burst_began_at = 0.0
        opening = self._opening
        if self._is_closed or not self._opened.is_set():
            return
        with self._session.reporting("keeping the draft"):
            await self._keep()
            if opening is self._opening and not self._is_closed:
                self._show_status("draft saved" if self._is_typed else "")
        with self._session.reporting("rendering the preview"):
            await self._show_preview()

    async def _show_preview(self) -> None:
        """Render the preview, but not before the text was painted: rendering a long text in a
        thread would slow down the painting."""
        await self._shown.wait()
        if not self._is_closed:
            await self.query_one(Preview).show_text(self._area.text)
        if not self._is_closed:
            self._show_place()

    def _open_column(self, path: str | None, message: str = "") -> None:
        """Open another text of the entity at once. Keys pressed from now on belong to it; they are
        queued until its draft was looked for. Then start reading the texts and measurements to show
        with it."""
        if self._is_closed:
            return
        area = self._area
        text = self._editing.begin(self._subject, path)
        self._set_measurements(self._measured)
        self._opening = _Opening(text.target.key, is_asking=path is not None)
        self._is_done = False
        self.remove_class("-done")
        self._opened.clear()
        area.hold()
        area.open_text(text.text)
        self.set_focus(area)
        self.query_one(SuggestionsPane).show_target(self._target)
        self._show_status()
        if message:
            self.say(message)
        self._open_draft(self._opening)
        self._ask(self._opening)
        if self._measured is None and path is not None:
            self._measured = ColumnMeasurements()
            self._measure(self._subject)
        following = self._editing.following if self._queue is not None else None
        if following is not None and following[0] != str(self.urn):
            self._read_ahead(Urn.parse(following[0]))

    @work(group="open")
    async def _open_draft(self, opening: _Opening) -> None:
        """Look for the draft of the open text, show it, and process the queued keys."""
        with self._session.reporting("looking for a draft"):
            await self._editing.resume()
        if opening is not self._opening or self._is_closed:
            return
        area, text = self._area, self._text
        if text.is_resumed:
            opening.is_unseen = area.has_held
            area.replace_all(text.text)
        beside = self.query_one(SuggestionsPane)
        beside.show_target(text.target, self._note)
        self._offer_theirs()
        self._opened.set()
        self._show_status()
        self.refresh_bindings()
        self._painting_delay.close()
        self._process_keys()

    @property
    def _note(self) -> str:
        """Return the remark on the text: whether it is a draft, and its unusual line ends."""
        ends = self._area.exact.line_ends()
        remark = f"It has {ends}, kept as they are." if ends else ""
        return " ".join(filter(None, (self._text.remark("^r"), remark)))

    @work(exclusive=True, group="ask")
    async def _ask(self, opening: _Opening) -> None:
        """Offer texts of similar columns after a pause on a column, or at once if the user asks for
        one."""
        self._asked_now.clear()
        path = opening.key[1]
        await self._opened.wait()
        if opening is self._opening and not self._is_closed:
            await self._show_preview()
        if path is None:
            return
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked_now.wait(), _PAUSE_SECONDS)
            with self._session.reporting("looking for other texts"):
                catalog = await self._session.catalog()
                texts = await suggestions(catalog, self._subject.entity, path)
                if opening is self._opening and not self._is_closed:
                    self.query_one(SuggestionsPane).add(texts)
        finally:
            opening.is_asking = False
        if opening is self._opening and not self._is_closed:
            if opening.key in self._drafted:
                self._offer_drafted()
            self.refresh_bindings()
            self._take_wanted()

    @work(group="drafting", description="a draft by the configured command")
    async def _draft(self, key: Key, subject: Descriptions) -> None:
        """Run the drafting command for a description. Its text is kept while the editor is open,
        even if another description is edited by then."""
        from explorer.stewardship.drafting import chosen_command, drafting_requests

        title = line_text(subject.target(key[1]).title).plain
        self._drafting.add(key)
        requests = []
        try:
            catalog = await self._session.catalog()
            command = chosen_command(await asyncio.to_thread(lambda: catalog.drafting))
            self.say(f"drafting a text for {title} …")
            with self._session.reporting(f"reading what is known of {title}"):
                requests = await drafting_requests(catalog, [(subject.entity, key[1])])
            # Outside `reporting`: the command's time must not count as waiting for the server.
            for request in requests:
                self._drafted[key] = await command.suggest(request)
        except Misconfigured as error:
            if not self._is_closed:
                self.say(sentence_of(error), error=True)
            return
        finally:
            self._drafting.discard(key)
        if self._is_closed or not requests:
            return
        if key == self._target.key and self._opened.is_set():
            self._offer_drafted()
        else:
            self.say(f"A text was drafted for {title}; open it to use the text.")

    def _offer_drafted(self) -> None:
        """Offer the drafted text of the open description, if there is one."""
        text = self._drafted.get(self._target.key)
        if text is None:
            return
        beside = self.query_one(SuggestionsPane)
        self.say(f"Text drafted; {beside.add_drafted(text)} uses it.")
        self.refresh_bindings()

    @work(exclusive=True, group="measure", description="use and values of the columns")
    async def _measure(self, subject: Descriptions) -> None:
        """Read the use and sample values of the columns, to show them above the text. Errors are
        not shown."""
        schema = schema_of(subject.entity)
        if schema is None:
            return
        with self._session.reporting("reading the use of the columns", lambda _: True):
            catalog = await self._session.catalog()
            measured, _ = await read_measurements(catalog, subject.entity, schema)
            if subject is self._subject and not self._is_closed:
                self._set_measurements(measured)
                self._show_status()

    def _take_wanted(self) -> None:
        """Use the text whose key was pressed before the text was found."""
        number, self._wanted_offer = self._wanted_offer, 0
        if not number:
            return
        text = self.query_one(SuggestionsPane).offer(number)
        if text is None:
            self.say(f"There is no text {number} to use.", error=True)
        else:
            self._area.replace_all(text)
            self.query_one(KeyLine).hush()
        self._process_keys()

    def _give_up_taking(self) -> None:
        """Stop waiting for a text, and drop the keys queued since."""
        self._wanted_offer = 0
        self._area.drop_held()
        self.say("Nothing was used; keys pressed since were ignored.")
        self._process_keys()

    def _process_keys(self) -> None:
        """Process the queued keys."""
        # The function itself: its coroutine would never be awaited if the worker is cancelled
        # first.
        catching_up: WorkType[None] = self._area.go_on
        self.run_worker(catching_up, group="keys")

    def _refuses_unseen(self) -> bool:
        """Return whether the text is a draft that the user has not seen yet. If so, show a message,
        drop the queued keys, and count the draft as seen."""
        if not self._opening.is_unseen:
            return False
        self._opening.is_unseen = False
        self._area.drop_held()
        self.say(
            "Not saved: a draft was found and is shown here. Check it; ^s saves it.", error=True
        )
        return True

    def _save(self, instead_of: str | None = None) -> "asyncio.Future[Failure | None] | None":
        """Start to save the text; return the future of the result, also if the same text is being
        saved already. Return None if there is nothing to save. `instead_of` is a text of somebody
        else that may be overwritten."""
        done = self._editing.put(self._area.text, instead_of)
        if self._text.text != self._area.text:
            self._area.replace_all(self._text.text)
        self.query_one(SuggestionsPane).show_note(self._note)
        self._show_status()
        return done

    @work(exclusive=True, group="leave", name=CLOSING)
    async def _leave_when_saved(self, done: "asyncio.Future[Failure | None] | None") -> None:
        """Wait for a save, then close; if it failed or the user typed on, stay and show why."""
        opening, title = self._opening, line_text(self._target.title).plain
        if done is not None:
            self.say(f"saving {title} …")
            # `wait` instead of `await`: cancelling this worker must not cancel the save.
            await asyncio.wait([done])
            failure = done.result()
            if opening is not self._opening:
                return
            if failure is not None:
                if failure.their_text is not None:
                    self._show_conflict(failure)
                return
            if self._is_typed:
                self.say(f"Saved {title}. Text typed since is not saved; ^s saves it.")
                return
        self._leave_with(f"Saved {title}." if done is not None else "")

    @work(exclusive=True, group="leave")
    async def _move(self, path: str) -> None:
        """Keep the typed text as a draft, and open the text of another column."""
        title, area = line_text(self._target.title).plain, self._area
        if not await self.keep_draft():
            # The queued keys were meant for the other text.
            area.drop_held()
            self._process_keys()
        elif not self._is_closed:
            sentence = f"Not saved: what you typed for {title} is kept as a draft."
            self._open_column(path, sentence if self._is_typed else "")

    @work(exclusive=True, group="leave", name=LEADING)
    async def _leave(self) -> None:
        """Keep the typed text as a draft, and close."""
        title = line_text(self._target.title).plain
        if await self.keep_draft():
            self._leave_with(
                f"Not saved; what you typed for {title} is kept as a draft; F4 lists it."
                if self._is_typed
                else ""
            )

    def _leave_with(self, message: str) -> None:
        """Close with a message on all saves."""
        # From now on, no pending worker may write a draft.
        self._is_left = True
        titles = self._saves.titles(self.urn)
        failures = self._saves.failed.values()
        # If there is a message, it already covers the open text.
        failed = [
            failure.save.title(self.urn)
            for failure in failures
            if not message or failure.save.key != self._target.key
        ]
        sentences = [message]
        if titles:
            sentences.append(f"Saving {', '.join(titles)} …")
        if failed:
            sentences.append(f"Not saved: {', '.join(failed)}; kept as drafts, F4 lists them.")
        sentence = " ".join(filter(None, sentences))
        self.dismiss(
            EditorOutcome(self.urn, self._target.path, sentence, bool(failures), self._is_newer)
        )

    def _show_end(self) -> None:
        """Show the page after the last column, where typed letters have no effect, and look for the
        next table."""
        self._is_done = True
        self._area.ignore()
        self.add_class("-done")
        self.remove_class("-looking")
        self.set_focus(self.query_one(AllDone))
        self._next, self._is_looking, self._wants_next = None, self._queue is None, False
        self._show_status()
        if self._queue is None:
            self._look_for_next(self.urn)
        self.refresh_bindings()

    @work(exclusive=True, group="next")
    async def _look_for_next(self, urn: Urn) -> None:
        """Look for the next table with undocumented columns; go there if the user asked for it
        already."""
        descriptions = None
        with self._session.reporting("looking for the next table"):
            descriptions = await self._find_next(urn)
        self._is_looking = False
        if not self._is_done or self._is_closed:
            return
        self._next = descriptions
        if self._wants_next:
            self._go_to_next()
        else:
            self._show_done()

    def _show_message(self, state: EditState) -> None:
        """Show the message of a save that ended. Errors of an action are shown by that action."""
        message, last = state.message, self._message
        self._message = message
        if message is None or message is last or message.error is not None or self._is_closed:
            return
        if message.is_saved:
            self._session.say_saved(line(message.sentence), self.say, undo="")
        else:
            self.say(line(message.sentence), error=message.is_error)
        self._offer_theirs()
        self._show_status()
        self.refresh_bindings()

    def _offer_theirs(self) -> None:
        """Offer the text that somebody else saved, if the save of the open text failed because of
        it."""
        opening = self._opening
        failure = self._saves.failed.get(opening.key)
        if (
            failure is not None
            and failure.their_text is not None
            and failure is not opening.failure
        ):
            opening.failure = failure
            self.query_one(SuggestionsPane).add_theirs(
                failure.their_text, self._author_words(failure)
            )

    @property
    def _is_typed(self) -> bool:
        return self._area.text != self._text.start

    @property
    def _paths_of_failures(self) -> list[str]:
        """Return the paths of the columns of this table that were not saved, without the open
        one."""
        current = None if self._is_done else self._target.path
        return [path for path in self._editing.unsaved_paths if path != current]

    async def keep_draft(self) -> bool:
        """Store the typed text as a draft; return whether to leave. If that fails, show why and
        return False; from the second failure on, return True."""
        await self._opened.wait()
        try:
            await self._keep()
        except Unusable as error:
            warned, self._warned = self._warned, True
            self.say(str(error), error=True)
            return warned
        return True

    async def catch_up(self) -> None:
        """Process all queued keys before the program ends."""
        while self._area.is_waiting:
            if self._wanted_offer:
                self._wanted_offer = 0
                await self._area.go_on()
            await asyncio.sleep(_TURN_SECONDS)

    async def _keep(self) -> None:
        """Store the typed text as a draft."""
        await self._editing.type(self._area.text)

    def _show_conflict(self, failure: Failure) -> None:
        """Ask whether to save the typed text or to keep the text that somebody else saved."""
        theirs = failure.their_text or ""

        def resolve(answer: ComparisonAnswer | None) -> None:
            if answer == "mine":
                self._leave_when_saved(self._save(instead_of=theirs))
            elif answer == "theirs":
                self._is_newer = True
                self._show_saved(self._editing.take_theirs(theirs))
                self.say("Their text is kept. ^z brings yours back.")
            else:
                self.say("Not saved: your text is here, theirs is below.", error=True)

        conflict = DescriptionConflict(
            failure.base, theirs, self._area.text, self._author_words(failure)
        )
        self.app.push_screen(ConflictScreen(self._target.title, conflict), resolve)

    def _author_words(self, failure: Failure) -> str:
        """Return who saved the conflicting text, and when, as far as known."""
        is_named = failure.author is not None and Urn.label(failure.author) != _NOBODY
        author = line_text(Urn.label(failure.author or "")).plain if is_named else "somebody else"
        if failure.their_time is None:
            return author if is_named else ""
        millis = millis_of(failure.their_time)
        return f"{author} · {self._session.times.format(millis)}"

    def _show_status(self, draft: str = "") -> None:
        """Update the title, the facts and the failed saves above the text."""
        place = self._subject.place(self._target.path)
        if self._queue is not None:
            progress = self._queue.progress
            place = " · ".join(filter(None, (progress, place.partition(",")[0])))
        read_only, width = self._session.read_only, self.size.width - 2
        titles = self._saves.titles(self.urn)
        saving = f"saving {', '.join(titles)} …" if titles else ""
        state = ", ".join(filter(None, (draft, saving)))
        title = editor_heading(self._target, place, state, read_only=read_only, width=width)
        self._update_text("#title", Text("\n").join([title, *self._facts()]))
        self.query_one("#failed").display = bool(self._saves.failed)
        self._update_text("#failed", self._failures_text())
        if self._is_done:
            self._show_done()

    def _update_text(self, selector: str, text: Text) -> None:
        """Show a text in a widget above the editor, without a new layout if nothing has changed."""
        static = self.query_one(selector, Static)
        if static.content != text:
            static.update(text)

    def _facts(self) -> list[Text]:
        """Return a line with type, use and sample values of the column; no line on a low screen."""
        return [] if self._is_done or self.size.height < _LOW else self._fact_lines

    def _set_measurements(self, measured: ColumnMeasurements | None) -> None:
        """Set the measurements of the columns, and build the line of facts of the open column."""
        self._measured, self._fact_lines = measured, []
        schema, path = schema_of(self._subject.entity), self._target.path
        column = schema.column(path) if schema is not None and path is not None else None
        if column is not None:
            row = column_row(column, ColumnKnowledge(measured or ColumnMeasurements()))
            self._fact_lines.append(column_fact_line(row, self._session.times))

    def _failures_text(self) -> Text:
        failures = self._saves.failed.values()
        parts = [f"{failure.save.title(self.urn)} ({_reason(failure)})" for failure in failures]
        where = "^g goes there" if self._paths_of_failures else "F4 lists them after you leave"
        return line_text(f"Not saved, kept as drafts; {where}: {'; '.join(parts)}" if parts else "")

    def _show_done(self) -> None:
        """Show on the last page what is left and where to go."""
        if self._queue is not None:
            self.query_one(AllDone).update(self._queue_end())
            return
        missing = self._editing.undocumented
        name = line_text(self._subject.entity.name, "bold")
        if self._paths_of_failures:
            text = Text.assemble("Not every description of ", name, " was saved; ")
            text.append("^g", "bold").append(" goes to the first that was not.")
        elif missing:
            columns = "1 column was" if len(missing) == 1 else f"{len(missing):,} columns were"
            text = Text.assemble("That was the last column of ", name, f". {columns} left without ")
            text.append("a description; ").append("^n", "bold").append(" goes to the first.")
        else:
            text = Text.assemble(("All done", "bold"), ": every column of ", name)
            text.append(" has a description.")
        text.append("\n\n")
        if self._next is not None:
            count = len(self._next.undocumented)
            columns = "1 column" if count == 1 else f"{count:,} columns"
            text.append("⏎", "bold").append("  next table: ")
            text.append_text(line_text(self._next.entity.name, "bold"))
            text.append(f", {columns} without a description")
        elif self._is_looking:
            text.append("⏎", "bold").append("  next table: looking for one …")
        else:
            text.append("⏎", "bold").append("  go back: no other result has an undocumented column")
        text.append("\n").append("esc", "bold").append(" leave")
        self.query_one(AllDone).update(text)

    def _queue_end(self) -> Text:
        """Return the text of the page after the last description of a queue."""
        text = Text()
        if self._saves.failed:
            text.append("That was the last one, and not every description was saved.")
        elif self._editing.first_left_out is not None:
            text.append("That was the last one. Some were left without a description; ")
            text.append("^n", "bold").append(" goes to the first.")
        else:
            text.append("All done", "bold").append(": the worklist is empty.")
        text.append("\n\n").append("⏎", "bold").append("  go back to the worklist")
        return text


def _reason(failure: Failure) -> str:
    if failure.their_text is not None:
        return "somebody else changed it meanwhile"
    return failure.reason


class EditorLauncher:
    """Opens the editor, drafts and links for the application.

    `view` returns the page of the open entity, `open_page` opens another page, and `results`
    returns the last search results in order. `drafts_changed` is called when the drafts may have
    changed.
    """

    def __init__(
        self,
        app: "App[None]",
        session: TerminalSession,
        view: "Callable[[], EntityView]",
        open_page: "Callable[[Urn], None]",
        results: "Callable[[], Sequence[Urn]]",
        drafts_changed: "Callable[[], object]",
    ) -> None:
        self._app = app
        self._session = session
        self._view = view
        self._open_page = open_page
        self._results = results
        self._drafts_changed = drafts_changed
        self._drafts = TextDrafts("terminal", partial(Drafts.of_session, session))
        self._is_warned = False
        self._queue: DescriptionQueue | None = None

    @cached_property
    def _saves(self) -> Saves:
        """Return the saves of this server; the catalog has to be open."""
        saves = Saves(self._session.client, self._drafts, self._report_work)
        saves.listeners.append(self._show_save_result)
        return saves

    def edit(self, entity: "Entity", path: str | None) -> None:
        """Edit a description: a column's, or with no `path` the entity's own."""
        if self._session.refuses_to_write():
            return

        def return_to_page(outcome: EditorOutcome | None) -> None:
            if outcome is not None:
                start_worker(self._app, partial(self._return_to_page, outcome), group="edit")

        measured = self._view().columns.measured_of(entity)
        self._app.push_screen(self._screen_of(entity, path, measured), return_to_page)

    def _screen_of(
        self,
        entity: "Entity",
        path: str | None,
        measured: ColumnMeasurements | None = None,
        queue: DescriptionQueue | None = None,
    ) -> EditorScreen:
        editing = EditSession(self._session.client, self._drafts, self._saves, queue)
        subject = self._saves.descriptions(entity)
        return EditorScreen(self._session, editing, subject, path, self._next_table, measured)

    def edit_queued(self, queue: DescriptionQueue, urn: Urn, path: str | None) -> None:
        """Edit the descriptions of a queue, starting with the one at `urn` and `path`: one
        request."""
        if not self._session.refuses_to_write():
            opening = partial(self._open_queued, queue, urn, path)
            start_worker(self._app, opening, OPENING, group="edit", exclusive=True)

    async def _open_queued(self, queue: DescriptionQueue, urn: Urn, path: str | None) -> None:
        """Read an entity, and open the editor at a description of a queue."""
        entity = await self._read_for_editor(urn)
        if entity is None:
            return
        self._queue = queue

        def report_outcome(outcome: EditorOutcome | None) -> None:
            self._drafts_changed()
            if outcome is not None and outcome.message:
                self._session.say(outcome.message, error=outcome.error)

        self._app.push_screen(self._screen_of(entity, path, queue=queue), report_outcome)

    async def _report_work(self, doing: str, work: "Coroutine[None, None, None]") -> str:
        """Await work on a save; return the error message, empty without an error. Errors of other
        work than saving are also shown at once."""
        sentences: list[str] = []

        def tell(sentence: str) -> bool:
            sentences.append(sentence)
            # The error of a save is shown when the save ends.
            return doing.startswith("saving")

        with self._session.reporting(doing, tell):
            await work
        return sentences[0] if sentences else ""

    def show_drafts(self) -> None:
        """Show the drafts."""

        def continue_draft(chosen: StoredDraft | None) -> None:
            self._drafts_changed()
            if chosen is not None:
                do = partial(self._continue_draft, chosen)
                start_worker(self._app, do, OPENING, group="edit", exclusive=True)

        self._app.push_screen(DraftsScreen(self._session), continue_draft)

    def show_links(self, entity: "Entity") -> None:
        """Show the links of an entity for editing."""

        def refresh_page(changed: bool | None) -> None:
            if changed:
                start_worker(self._app, self._view().refresh_entity, group="edit")

        self._app.push_screen(LinksScreen(self._session, entity), refresh_page)

    async def ready_to_quit(self, seconds: float) -> bool:
        """Store the typed text as a draft, and wait at most `seconds` for pending saves; return
        whether it is safe to quit. If a draft cannot be written, the first call shows a message and
        the second allows quitting."""
        if not self._has_edited:
            return True
        for screen in self._editors:
            await screen.catch_up()
            if not await screen.keep_draft():
                return False
        await self._saves.finish(seconds)
        lost = [line(save.target.title) for save in self._saves.without_draft.values()]
        if lost and not self._is_warned:
            self._is_warned = True
            self._session.say(
                f"Neither saved nor kept as drafts: {', '.join(lost)}. Quit again to lose them.",
                error=True,
            )
            return False
        return True

    @property
    def unsaved(self) -> list[str]:
        """Return the titles of the texts whose save failed or was not answered; they are kept as
        drafts."""
        if not self._has_edited:
            return []
        failed = [failure.save.title(None) for failure in self._saves.failed.values()]
        return list(dict.fromkeys([*failed, *self._saves.titles(None)]))

    @property
    def _has_edited(self) -> bool:
        """Return whether an editor was opened."""
        return "_saves" in vars(self)

    @property
    def _editors(self) -> list[EditorScreen]:
        return [screen for screen in self._app.screen_stack if isinstance(screen, EditorScreen)]

    def _show_save_result(self, save: Save, failure: Failure | None) -> None:
        """Report the end of a save on the current screen."""
        if failure is None and self._queue is not None:
            self._queue.wrote(save.key, save.text)
        if self._editors:
            return
        sentence = line(save_sentence(save, failure, save.target.urn))
        if failure is None:
            self._session.say_saved(sentence, undo="")
            if not self._saves.is_pending_of(save.target.urn):
                refreshing: WorkType[None] = partial(self._refresh, save.target.urn)
                self._app.run_worker(refreshing, group="edit")
        else:
            end = "" if sentence.endswith(".") else "."
            self._session.say(f"{sentence}{end} It is kept as a draft; F4 lists it.", error=True)
        self._drafts_changed()

    async def _refresh(self, urn: Urn, *, is_newer: bool = False) -> None:
        """Read the entity again after a save, if its page is open."""
        saves = self._saves.saved_of(urn)
        if (saves or is_newer) and self._view().urn == urn:
            await self._view().refresh_entity()
        self._saves.note_read(saves)

    async def _return_to_page(self, left: EditorOutcome) -> None:
        """Show the page of the edited entity after the editor was closed, with the column and the
        message."""
        self._drafts_changed()
        view = self._view()
        if view.urn != left.urn:
            self._open_page(left.urn)
        else:
            await self._refresh(left.urn, is_newer=left.is_newer)
            if left.path is not None:
                view.columns.move_to_path(left.path)
        if left.message:
            self._session.say_saved(left.message, undo="", error=left.error)

    async def _next_table(self, after: Urn) -> Descriptions | None:
        """Return the next search result with an undocumented column, after the entity `after`."""
        return await self._saves.next_undocumented(self._results(), after)

    async def _continue_draft(self, stored: StoredDraft) -> None:
        """Open the description of a draft, even if the entity no longer exists."""
        if self._session.refuses_to_write():
            return
        urn = Urn.parse(stored.draft.urn)
        if not is_describable(urn):
            return
        entity = await self._read_for_editor(urn)
        if entity is None:
            return
        if await self._drafts.take(stored):
            self._open_page(urn)
            self.edit(entity, stored.draft.path)
        else:
            self._session.say(OPEN_ELSEWHERE, error=True)
            self._app.post_message(OpeningFailed())

    async def _read_for_editor(self, urn: Urn) -> "Entity | None":
        """Return an entity; one request. If it fails, show why, drop the keys that were typed for
        the editor, and return `None`."""
        with self._session.reporting(f"reading {urn.name}"):
            return await (await self._session.catalog()).entity(urn)
        self._app.post_message(OpeningFailed())
        return None
