"""The editor of descriptions, one after another through the columns of a dataset: the text, beside
it its rendered preview, below it texts to take from other columns; its dialogs: the changes of a
save, and a conflict with a text that somebody else saved; and what opens it, the drafts and the
links of an entity, and shows what was changed."""

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
    """A line of at most `width` cells: the names, the `place` among the columns, what is to be said
    of the draft. Where it is too long, the name of the entity is cut first, then that of the
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
# The screen is painted once with the text and its draft, and without where that takes longer.
_UNPAINTED_SECONDS = 0.1
# Below so many lines the text has all of them.
_LOW = 16
_NOBODY = "unknown"
_OF_A_TEXT = frozenset({"compare", "edit_outside", "look", "discard", "take", "draft"})


@dataclass(frozen=True, slots=True)
class EditorOutcome:
    """How the editor was closed: at which text of which entity, with the message to show."""

    urn: Urn
    path: str | None
    message: str = ""
    error: bool = False
    is_newer: bool = False
    """Whether the server holds something newer than what was read, and was not saved here."""


@dataclass(slots=True, eq=False)
class _Opening:
    """What is special about the text in the editor since it was opened."""

    key: Key
    failure: Failure | None = None
    """Why it could not be saved, as far as that is shown."""
    is_unseen: bool = False
    """A draft was found while keys waited, so that nobody has seen it."""
    is_asking: bool = False
    """Whether texts of other columns are still being looked for."""


# One thread for all: a long text takes it a while, and of two texts the later is shown last.
_RENDERER = ThreadPoolExecutor(1, "preview")


class Preview(TextRows, can_focus=False):
    """Rendered Markdown, cut to a length that renders quickly."""

    # A scroll bar that appears with the text must not take room from lines that are rendered.
    DEFAULT_CSS = "Preview { scrollbar-gutter: stable; }"

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
        """The lines of a text at a width, unless another was asked for meanwhile."""
        return _render_lines(*request) if request is self._wanted else None

    def follow(self, share: float) -> None:
        """Show the part that lies so far down in the text, 0 its top and 1 its end."""
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
    """Return the upstream datasets, each with the columns that this one is derived from, if
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

    def show_note(self, note: str) -> None:
        """Show another remark on the edited text, or none."""
        if note != self._note:
            self._note = note
            self.refresh(layout=True)

    def add(self, texts: Sequence[DescriptionSuggestion]) -> None:
        """Add the texts of other columns."""
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
        """Add the text that somebody else saved; `by` says who and when, if known."""
        self._offers = [offer for offer in self._offers if offer is None or not offer.is_theirs]
        self._offers.append(_Offer(text, f"saved by {by or 'somebody else'}", is_theirs=True))
        self.refresh(layout=True)

    def add_drafted(self, text: str) -> str:
        """Add the text of the drafting command, or replace its last one; return the key that uses
        it. A text that is listed already is not added again."""
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
        """Return the drafted text if no numbered key is left for it: then the key that drafts uses
        it."""
        at = self._index_of_draft
        return None if at is None or f"take({at + 1})" in self._keys else self.offer(at + 1)

    @property
    def _index_of_draft(self) -> int | None:
        places = (at for at, offer in enumerate(self._offers) if offer and offer.origin == _DRAFTED)
        return next(places, None)

    def _key_of(self, number: int) -> str:
        """Return the key that uses the text of a number; two spaces if there is none."""
        numbered = self._keys.get(f"take({number})")
        if numbered is None and number - 1 == self._index_of_draft:
            return self._keys["draft"]
        return numbered or "  "

    def offer(self, number: int) -> str | None:
        """Return the text of a number, counted from 1; None if there is none."""
        offer = self._offers[number - 1] if 0 < number <= len(self._offers) else None
        return None if offer is None else offer.text

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """Return one line for each text, and those of the note."""
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
    """Shows the difference of texts, and the choices."""

    DEFAULT_CSS = """
    ComparisonScreen > Vertical { width: 110; }
    ComparisonScreen #what { dock: top; height: auto; max-height: 4; }
    ComparisonScreen DifferenceRows { height: auto; max-height: 1fr; min-height: 4; }
    """

    def __init__(self, question: Text, compare: "Callable[[], Diff]") -> None:
        """Show what `compare` returns below `question`. Its time grows with the size of the
        texts."""
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
    """Three texts of one description: the `base` that the writer started from, what somebody else
    saved meanwhile, and the writer's own; `by` says who that was and when, as far as is known."""

    base: str
    theirs: str
    mine: str
    by: str = ""


class ConflictScreen(ComparisonScreen):
    """Shows the text that somebody else saved and the typed text, each compared with the text that
    both started from. Letters and the editor's keys for saving and using texts do nothing here:
    they may have been meant for the text."""

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
    """Return the texts of a conflict, each under its name."""
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
    """What is shown after the last column without a description. Only `enter` and the editor's keys
    that are not letters work here."""

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
    """Edits descriptions of one entity after another by a session. After a save the editor goes on
    at once with another text, to which all that is typed from then on belongs.

    `next_table` finds the next entity with columns to be described. `measured` is what is known of
    the use and the values of the columns, where it was read before.
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
        self._hurry = asyncio.Event()
        self._warned = False
        self._is_newer = False
        self._drafted: dict[Key, str] = {}
        self._drafting: set[Key] = set()
        self._over = False
        self._burst_seconds = 0.0
        self._unpainted = ExitStack()
        # Set once it is known whether there is a draft; none may be written over before.
        self._opened = asyncio.Event()
        # Set once the text was painted; what is beside it is rendered afterwards.
        self._shown = asyncio.Event()

    def compose(self) -> ComposeResult:
        """The title, what could not be saved, the text beside its preview, what may be taken, the
        keys."""
        # Known before the first layout, so that no widget is styled for another width first.
        widths = sorted(self.app.HORIZONTAL_BREAKPOINTS or [], reverse=True)
        fitting = [name for least, name in widths if self.app.size.width >= least]
        self.add_class(*fitting[:1])
        yield Static("", id="title", markup=False)
        yield Static("", id="failed", markup=False)
        with Horizontal():
            # What is written in it comes once the area has its place.
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
        """The keys to the text, at its end, as soon as it is known whether there is a draft."""
        self._unpainted.callback(self._paint)
        self._unpainted.enter_context(self.app.batch_update())
        self.set_timer(_UNPAINTED_SECONDS, self._unpainted.close)
        self._editing.subscribe(self._show_message)
        self._begin(self._target.path)

    def on_unmount(self) -> None:
        """Have the screen below painted, however soon this one was left."""
        self._editing.close()
        self._unpainted.close()
        self._shown.set()

    def _paint(self) -> None:
        self.refresh()
        self.call_after_refresh(self._shown.set)

    @property
    def _is_closed(self) -> bool:
        """Return whether the screen was closed, or is being removed while the program ends."""
        return self._over or not (
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
        """The entity that is described."""
        return self._subject.entity.urn

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what leads anywhere: to a column there is, a text that is offered, a server that is
        written to."""
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
        """Save, and leave when the server has acknowledged it."""
        if not self._refuses_unseen():
            self._leave_when_saved(self._save())

    def action_save_and_next(self) -> None:
        """Save, and on to the next column without a description at once; after the last one to
        the first that was left out."""
        if self._is_done:
            self._editing.begin_again()
            if self._editing.first_left_out is not None:
                self._turn_to(self._editing.first_left_out)
            return
        if self._refuses_unseen():
            return
        target = self._target
        left_out = self._save() is None and not self._area.text.strip()
        skipped = f"{line_text(target.title).plain} still has no description." if left_out else ""
        following = self._editing.following
        if following is not None:
            self._turn_to(following, skipped)
        else:
            self._finish()

    def _turn_to(self, key: Key, message: str = "") -> None:
        """Turn to another text, also of another entity: at once where that is read, and else what
        is pressed waits for it."""
        urn, path = key
        if urn == str(self.urn):
            self._begin(path, message)
            return
        self._area.hold()
        self._cross(Urn.parse(urn), path, message)

    @work(exclusive=True, group="cross")
    async def _cross(self, urn: Urn, path: str | None, message: str) -> None:
        entity: Entity | None = None
        with self._session.reporting(f"reading {urn.name}"):
            entity = await self._read_ahead(urn)
        if self._is_closed:
            return
        if entity is None:
            # What was pressed since was meant for the other text.
            self._next_entity = None
            self._area.drop_held()
            self._go_on()
            return
        self._subject, self._measured = self._saves.descriptions(entity), None
        self._begin(path, message)

    def _read_ahead(self, urn: Urn) -> "asyncio.Task[Entity]":
        """Return the reading of another entity, which is under way where it was begun before."""
        if self._next_entity is None or self._next_entity[0] != urn:

            async def read() -> "Entity":
                return await (await self._session.catalog()).entity(urn)

            task = asyncio.create_task(read())
            # It may fail before anybody wants it; then it is tried again.
            task.add_done_callback(self._forget_failed)
            self._next_entity = (urn, task)
        return self._next_entity[1]

    def _forget_failed(self, task: "asyncio.Task[Entity]") -> None:
        is_failed = task.cancelled() or task.exception() is not None
        if is_failed and self._next_entity is not None and self._next_entity[1] is task:
            self._next_entity = None

    def action_move(self, step: int) -> None:
        """Go some columns further; the typed text stays as a draft."""
        path = self._subject.neighbour(self._target.path, step)
        if path is not None:
            self._area.hold()
            self._move(path)

    def action_to_failed(self) -> None:
        """To the next text that could not be saved."""
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
            self._hurry.set()

    def action_draft(self) -> None:
        """Have the drafting command suggest a text, which is then taken by its key. What is typed
        stays, and the writer may go on meanwhile."""
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
        """Compare the saved text with yours."""

        def save_if_chosen(answer: ComparisonAnswer | None) -> None:
            if answer == "save":
                self.action_save()

        target = self._target
        self.app.push_screen(
            DifferenceScreen(target.title, target.text, self._area.text), save_if_chosen
        )

    @work(exclusive=True, group="leave")
    async def action_edit_outside(self) -> None:
        """Lend the terminal to the reader's own editor."""
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
            self._begin(self._subject.undocumented_after(None))
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
        if not self._burst_seconds:
            self._burst_seconds = now
        self._follow(max(0.0, min(_PAUSE_SECONDS, self._burst_seconds + _LONGEST_SECONDS - now)))

    @on(TextArea.SelectionChanged)
    def _show_place(self) -> None:
        area = self._area
        row, last = area.cursor_location[0], area.document.line_count - 1
        self.query_one(Preview).follow(row / last if last else 1.0)

    @work(exclusive=True, group="draft")
    async def _follow(self, pause_seconds: float) -> None:
        """Store the draft and update the preview, after a pause or every few seconds."""
        await asyncio.sleep(pause_seconds)
        self._burst_seconds = 0.0
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
        """Render the text beside it: not before it was painted itself, for a thread that renders
        a long one takes turns with the thread that paints."""
        await self._shown.wait()
        if not self._is_closed:
            await self.query_one(Preview).show_text(self._area.text)
        if not self._is_closed:
            self._show_place()

    def _begin(self, path: str | None, message: str = "") -> None:
        """Turn to another text at once. What is pressed from here on is for that one, and waits
        until its draft is found, if there is one."""
        if self._is_closed:
            return
        area = self._area
        text = self._editing.begin(self._subject, path)
        self._know(self._measured)
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
        self._unpainted.close()
        self._go_on()

    @property
    def _note(self) -> str:
        """Return the remark on the text: whether it is a draft, and its unusual line ends."""
        ends = self._area.exact.line_ends()
        remark = f"It has {ends}, kept as they are." if ends else ""
        return " ".join(filter(None, (self._text.remark("^r"), remark)))

    @work(exclusive=True, group="ask")
    async def _ask(self, opening: _Opening) -> None:
        """Offer texts of similar columns after a pause on a column, or at once when asked."""
        self._hurry.clear()
        path = opening.key[1]
        await self._opened.wait()
        if opening is self._opening and not self._is_closed:
            await self._show_preview()
        if path is None:
            return
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), _PAUSE_SECONDS)
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
        """Ask for a suggestion; it is kept for its text while the editor is open, wherever the
        writer is by then."""
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
            # Not while the server counts as asked: it has answered.
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
        """Offer what was drafted for the text at hand."""
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
                self._know(measured)
                self._show_status()

    def _take_wanted(self) -> None:
        """Take the text that was asked for before it was found."""
        number, self._wanted_offer = self._wanted_offer, 0
        if not number:
            return
        text = self.query_one(SuggestionsPane).offer(number)
        if text is None:
            self.say(f"There is no text {number} to use.", error=True)
        else:
            self._area.replace_all(text)
            self.query_one(KeyLine).hush()
        self._go_on()

    def _give_up_taking(self) -> None:
        """Stop waiting for a text, and drop the keys queued since."""
        self._wanted_offer = 0
        self._area.drop_held()
        self.say("Nothing was used; keys pressed since were ignored.")
        self._go_on()

    def _go_on(self) -> None:
        """Process the queued keys."""
        # Given as it is, for it may be told to end before it has begun.
        catching_up: WorkType[None] = self._area.go_on
        self.run_worker(catching_up, group="keys")

    def _refuses_unseen(self) -> bool:
        """Return whether the text is a draft that was not shown yet; if so, show a message and drop
        the queued keys, which were meant for what comes next."""
        if not self._opening.is_unseen:
            return False
        self._opening.is_unseen = False
        self._area.drop_held()
        self.say(
            "Not saved: a draft was found and is shown here. Check it; ^s saves it.", error=True
        )
        return True

    def _save(self, instead_of: str | None = None) -> "asyncio.Future[Failure | None] | None":
        """Put the text as it stands on its way; returns its end, also of one that is on its way
        already. None where it is as it was."""
        done = self._editing.put(self._area.text, instead_of)
        if self._text.text != self._area.text:
            self._area.replace_all(self._text.text)
        self.query_one(SuggestionsPane).show_note(self._note)
        self._show_status()
        return done

    @work(exclusive=True, group="leave", name=CLOSING)
    async def _leave_when_saved(self, done: "asyncio.Future[Failure | None] | None") -> None:
        opening, title = self._opening, line_text(self._target.title).plain
        if done is not None:
            self.say(f"saving {title} …")
            # Whoever is told to wait no more leaves the save alone.
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
        title, area = line_text(self._target.title).plain, self._area
        if not await self.keep_draft():
            # What was pressed since was meant for the other text.
            area.drop_held()
            self._go_on()
        elif not self._is_closed:
            sentence = f"Not saved: what you typed for {title} is kept as a draft."
            self._begin(path, sentence if self._is_typed else "")

    @work(exclusive=True, group="leave", name=LEADING)
    async def _leave(self) -> None:
        title = line_text(self._target.title).plain
        if await self.keep_draft():
            self._leave_with(
                f"Not saved; what you typed for {title} is kept as a draft; F4 lists it."
                if self._is_typed
                else ""
            )

    def _leave_with(self, message: str) -> None:
        # From here on nothing that still waits may write a draft again.
        self._over = True
        titles = self._saves.titles(self.urn)
        failures = self._saves.failed.values()
        # The message is about the text in the editor.
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

    def _finish(self) -> None:
        """Stay after the last column, where typed letters have no effect."""
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
        """Show how a save ended. What an action refuses is shown where it was asked for."""
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
        """Offer the text that somebody else saved, if the save of this one failed for that."""
        opening = self._opening
        failure = self._saves.failed.get(opening.key)
        if (
            failure is not None
            and failure.their_text is not None
            and failure is not opening.failure
        ):
            opening.failure = failure
            self.query_one(SuggestionsPane).add_theirs(failure.their_text, self._by(failure))

    @property
    def _is_typed(self) -> bool:
        return self._area.text != self._text.start

    @property
    def _paths_of_failures(self) -> list[str]:
        """The columns of this table that were not saved, but for the one that is written."""
        current = None if self._is_done else self._target.path
        return [path for path in self._editing.unsaved_paths if path != current]

    async def keep_draft(self) -> bool:
        """Keep what is typed now; says whether it is safe to leave. Where a draft cannot be kept,
        asking a second time leaves all the same."""
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
        await self._editing.type(self._area.text)

    def _show_conflict(self, failure: Failure) -> None:
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

        conflict = DescriptionConflict(failure.base, theirs, self._area.text, self._by(failure))
        self.app.push_screen(ConflictScreen(self._target.title, conflict), resolve)

    def _by(self, failure: Failure) -> str:
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
        self._put("#title", Text("\n").join([title, *self._facts()]))
        self.query_one("#failed").display = bool(self._saves.failed)
        self._put("#failed", self._failures_text())
        if self._is_done:
            self._show_done()

    def _put(self, selector: str, text: Text) -> None:
        """Show a text above the edited one, without a new layout if it is shown already."""
        static = self.query_one(selector, Static)
        if static.content != text:
            static.update(text)

    def _facts(self) -> list[Text]:
        """A line on the column: its type, its use, sample values; none where there is little
        room."""
        return [] if self._is_done or self.size.height < _LOW else self._fact_lines

    def _know(self, measured: ColumnMeasurements | None) -> None:
        """Take note of what is known of the use and the values of the columns."""
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

    `view` returns the page of the open entity, `open_page` opens another, and `results` returns the
    last search results in order. `drafts_changed` is called when the drafts may have changed.
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
        """Return the saves, once the catalog is open."""
        saves = Saves(self._session.client, self._drafts, self._report)
        saves.listeners.append(self._show_save_result)
        return saves

    def edit(self, entity: "Entity", path: str | None) -> None:
        """Edit a description: a column's, or with no `path` the entity's own."""
        if self._session.refuses_to_write():
            return

        def go_on(how: EditorOutcome | None) -> None:
            if how is not None:
                start_worker(self._app, partial(self._after, how), group="edit")

        measured = self._view().columns.measured_of(entity)
        self._app.push_screen(self._screen_of(entity, path, measured), go_on)

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
        """Edit the descriptions of a queue, starting with one: one request."""
        if not self._session.refuses_to_write():
            opening = partial(self._open_queued, queue, urn, path)
            start_worker(self._app, opening, OPENING, group="edit", exclusive=True)

    async def _open_queued(self, queue: DescriptionQueue, urn: Urn, path: str | None) -> None:
        entity = await self._read_for_editor(urn)
        if entity is None:
            return
        self._queue = queue

        def report_outcome(how: EditorOutcome | None) -> None:
            self._drafts_changed()
            if how is not None and how.message:
                self._session.say(how.message, error=how.error)

        self._app.push_screen(self._screen_of(entity, path, queue=queue), report_outcome)

    async def _report(self, doing: str, work: "Coroutine[None, None, None]") -> str:
        """Do something for a save, which shows what went wrong."""
        sentences: list[str] = []

        def tell(sentence: str) -> bool:
            sentences.append(sentence)
            # How a save ended is told at its end.
            return doing.startswith("saving")

        with self._session.reporting(doing, tell):
            await work
        return sentences[0] if sentences else ""

    def show_drafts(self) -> None:
        """Show the drafts."""

        def continue_draft(chosen: StoredDraft | None) -> None:
            self._drafts_changed()
            if chosen is not None:
                do = partial(self._go_on_with, chosen)
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
        """Return the names of the saves that failed or got no response, and are drafts."""
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
        """Refresh an entity after a save, if it is open."""
        saves = self._saves.saved_of(urn)
        if (saves or is_newer) and self._view().urn == urn:
            await self._view().refresh_entity()
        self._saves.note_read(saves)

    async def _after(self, left: EditorOutcome) -> None:
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
        """Return the next result with an undocumented column."""
        return await self._saves.next_undocumented(self._results(), after)

    async def _go_on_with(self, stored: StoredDraft) -> None:
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
