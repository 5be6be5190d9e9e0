"""Labels, deprecation and links of all marked items: chosen once, staged as a changeset, and
reviewed before anything is written."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from explorer.client.editable import deprecation
from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.stewardship.labels import (
    LabelledKind,
    LabelledPlaces,
    LabelsChange,
    stage_labels,
)
from explorer.stewardship.worklist import Key
from explorer.tui.actions import bindings
from explorer.tui.content import line, line_text
from explorer.tui.key_queue import LEADING
from explorer.tui.screens.label_choice import (
    BulkLabelsRequested,
    LabelChoice,
    LabelKind,
    LabelTarget,
    describe_change,
)
from explorer.tui.screens.labels import PickerScreen, draw_label
from explorer.tui.screens.lifecycle import DeprecationFields, DeprecationScreen
from explorer.tui.screens.links import LinkForm, LinkInput
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import FramedScreen
from explorer.tui.widgets.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from explorer.client import AsyncCatalog
    from explorer.stewardship.staging import StagedChangeset

__all__ = ["BulkDeprecationScreen", "BulkLauncher", "BulkLinksScreen", "BulkPickerScreen"]


@dataclass(slots=True)
class BulkStaging:
    """Reads one kind of label of the marked items, and stages a change of it. `staged` is the
    changeset once there is one."""

    what: LabelledKind
    keys: tuple[Key, ...]
    subject: str
    places: LabelledPlaces | None = None
    staged: "StagedChangeset | None" = None

    async def read(self, catalog: "AsyncCatalog") -> LabelledPlaces:
        """Return what the items have now. Raises `InvalidInput` if none of them can have such a
        label."""
        from explorer.stewardship import AsyncStewardship

        self.places = await AsyncStewardship(catalog).labelled(self.keys, self.what)
        if not self.places.places:
            noun = _A_NOUN.get(self.what, _NOUNS[self.what])
            why = "is in the catalog" if self.places.missing else f"has {noun}"
            raise InvalidInput(f"nothing marked {why}")
        return self.places

    async def stage(self, catalog: "AsyncCatalog", change: LabelsChange, words: str) -> None:
        """Stage a change under a title. Raises `InvalidInput` if nothing would change."""
        from explorer.stewardship import AsyncStewardship

        edits = stage_labels(self.places or await self.read(catalog), change)
        if not edits:
            raise InvalidInput(f"{self.subject}: no changes to review")
        title = f"{_NOUNS[self.what].capitalize()} of {line(self.subject)}: {words}"
        self.staged = await AsyncStewardship(catalog).stage(edits, title)

    def held_by(self, label: str, counts: "Mapping[str, int]") -> str:
        """Return how many marked items have a label; empty for a single item."""
        count, every = counts.get(label), len(self.places or ())
        if not count or every < 2:
            return ""
        return f"all {every:,} have it" if count == every else f"{count:,} of {every:,} have it"

    def describe_left_out(self) -> str:
        """Return in a sentence how many marked items are left out and why; empty for none."""
        places = self.places
        if places is None or self.staged is None:
            return ""
        done = len(places) - len(self.staged.items)
        parts = (
            (done, "unchanged"),
            (places.unfit, f"cannot have {_A_NOUN.get(self.what, _NOUNS[self.what])}"),
            (places.missing, "not in the catalog"),
        )
        facts = [f"{count:,} {words}" for count, words in parts if count]
        return f"Left out: {', '.join(facts)}." if facts else ""


_NOUNS: dict[LabelledKind, str] = {
    "tags": "tags",
    "terms": "glossary terms",
    "owners": "owners",
    "domain": "domain",
    "deprecation": "deprecation",
    "links": "links",
}


_A_NOUN: dict[LabelledKind, str] = {"domain": "a domain", "deprecation": "a deprecation"}


class BulkPickerScreen(PickerScreen):
    """The picker for labels of one kind on all marked items: those that all have, and that some
    have. The choice is staged; nothing is written."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("bulklabels")
    CREATED: ClassVar[str] = "created when the change is written"

    def __init__(self, session: TerminalSession, staging: BulkStaging, kind: LabelKind) -> None:
        place = LabelTarget(Urn.parse(staging.keys[0][0]), staging.subject)
        super().__init__(session, place, kind, LabelChoice(single=kind == "domain"))
        self._staging = staging
        self._counts: dict[str, int] = {}

    async def read_choice(self, catalog: "AsyncCatalog") -> None:
        """Read what all items have, and what some have."""
        places = self._staging.places or await self._staging.read(catalog)
        self._counts = places.counts()
        choice = self._choice
        choice.some = tuple(label for label, count in self._counts.items() if count < len(places))
        choice.note_current(
            tuple(label for label, count in self._counts.items() if count == len(places))
        )

    async def write_choice(self, catalog: "AsyncCatalog") -> None:
        """Stage what was chosen."""
        choice = self._choice
        urns = {
            label.rpartition(" ")[0] if self._kind == "owners" else label
            for label in choice.selection
        }
        change = LabelsChange(
            choice.added,
            choice.removed,
            tuple(label for label in choice.added if label in choice.new),
            called={urn: self.name_of(urn) for urn in (*urns, *choice.removed)},
        )
        await self._staging.stage(catalog, change, describe_change(choice, self.name_of).plain)

    def held_by(self, label: str) -> str:
        """Return how many marked items have a label."""
        return self._staging.held_by(label, self._counts)


class BulkDeprecationScreen(DeprecationScreen):
    """The deprecation of all marked items: note, date and replacement; staged, not written."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("bulkdeprecation")

    def __init__(self, session: TerminalSession, staging: BulkStaging) -> None:
        places = staging.places.places if staging.places is not None else ()
        deprecations = [place.deprecation for place in places]
        is_same = bool(deprecations) and all(aspect == deprecations[0] for aspect in deprecations)
        now = DeprecationFields.of_stored(deprecations[0] if is_same else None)
        place = LabelTarget(Urn.parse(staging.keys[0][0]), staging.subject)
        super().__init__(session, place, now)
        self._staging = staging
        self._is_any_deprecated = any(aspect is not None for aspect in deprecations)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow removing the deprecation only if any item is deprecated."""
        del parameters
        return action != "lift" or self._is_any_deprecated

    def action_lift(self) -> None:
        """Stage the removal of the deprecation from all."""
        self._stage_lift()

    @work(exclusive=True, group="write", name=LEADING)
    async def _write(self) -> None:
        with self._session.reporting("staging the deprecation"):
            note, gone_from, replacement = self.typed()
            new = deprecation(note, gone_from, replacement)
            catalog = await self._session.catalog()
            change = LabelsChange(deprecation=new)
            await self._staging.stage(catalog, change, " ".join(note.split()) or "deprecated")
            self.dismiss("deprecated")

    @work(exclusive=True, group="write", name=LEADING)
    async def _stage_lift(self) -> None:
        with self._session.reporting("staging the deprecation"):
            catalog = await self._session.catalog()
            await self._staging.stage(catalog, LabelsChange(), "undeprecated")
            self.dismiss("lifted")


class BulkLinkRows(Rows):
    """The links."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("bulklinkrows")


class BulkLinksScreen(FramedScreen[None]):
    """The links of the marked items: each can be removed from all or added to all, and new ones
    added. The choice is staged; nothing is written."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("bulklinks")
    CSS = """
    BulkLinksScreen > Vertical { width: 100; height: 20; }
    BulkLinksScreen #what { height: 1; }
    BulkLinksScreen Rows { height: 1fr; }
    BulkLinksScreen #preview { height: auto; max-height: 3; }
    """

    def __init__(self, session: TerminalSession, staging: BulkStaging) -> None:
        super().__init__()
        self._session = session
        self._staging = staging
        self._counts = staging.places.counts() if staging.places is not None else {}
        every = len(staging.places or ())
        self._choice = LabelChoice(
            tuple(label for label, count in self._counts.items() if count == every),
            some=tuple(label for label, count in self._counts.items() if count < every),
        )

    def compose(self) -> ComposeResult:
        """Yield the heading, the links, what will be staged, and the keys."""
        with Vertical():
            title = Text.assemble(("Links", "bold"), " of ", line_text(self._staging.subject))
            yield Static(title, id="what", markup=False)
            yield BulkLinkRows()
            yield Static("", id="preview", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Show the links."""
        self.set_focus(self.query_one(Rows))
        self._show()

    def action_add(self) -> None:
        """Add a link to all."""

        def add_link(new: LinkInput | None) -> None:
            link = f"{new.url} {new.label}" if new is not None else ""
            if link and link not in self._choice.selection:
                self._choice.toggle(link)
                self._show()

        self.app.push_screen(LinkForm(f"A new link for {line(self._staging.subject)}"), add_link)

    def action_write(self) -> None:
        """Stage what was chosen."""
        if self._choice.changed:
            self._stage()
        else:
            self.say("No changes yet; esc closes.")

    def action_leave(self) -> None:
        """Close; ask first if something was chosen."""
        if not self._choice.changed:
            self.dismiss(None)
            return
        question = Text.assemble(("Close without these changes?\n", "bold"), self._change())
        self.confirm(question, partial(self.dismiss, None), discards=True)

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        self._choice.toggle(self._choice.concerned[event.index])
        self._show()

    @work(exclusive=True, group="write", name=LEADING)
    async def _stage(self) -> None:
        with self._session.reporting("staging the links"):
            change = LabelsChange(self._choice.added, self._choice.removed)
            catalog = await self._session.catalog()
            await self._staging.stage(catalog, change, self._change().plain)
            self.dismiss(None)

    def _change(self) -> Text:
        return describe_change(self._choice, lambda link: link.partition(" ")[2] or link)

    def _show(self) -> None:
        rows, links = self.query_one(Rows), self._choice.concerned
        cursor = len(links) - 1 if rows.count and len(links) > rows.count else rows.cursor
        rows.show(len(links), self._draw, cursor=cursor, empty="No links yet; a adds one to all.")
        preview = self._change() if self._choice.changed else Text("No changes yet.", "dim italic")
        self.query_one("#preview", Static).update(preview)
        self.refresh_bindings()

    def _draw(self, index: int, width: int) -> tuple[Text]:
        link = self._choice.concerned[index]
        url, _, name = link.partition(" ")
        about = " · ".join(filter(None, (self._staging.held_by(link, self._counts), url)))
        return (draw_label(self._choice.state(link), name or url, about, "", width, 30),)


class BulkLauncher:
    """Opens the dialogs that change all marked items; `review` shows the staged changeset."""

    def __init__(
        self,
        app: App[None],
        session: TerminalSession,
        review: "Callable[[StagedChangeset], object]",
    ) -> None:
        self._app = app
        self._session = session
        self._review = review

    def open(self, request: BulkLabelsRequested) -> None:
        """Open the dialog for a change."""
        if not request.keys or self._session.refuses_to_write():
            return
        staging = BulkStaging(request.what, request.keys, request.subject)
        self._app.run_worker(self._open(staging), LEADING, "bulk", exclusive=True)

    async def _open(self, staging: BulkStaging) -> None:
        with self._session.reporting(f"reading the {_NOUNS[staging.what]} of the marked items"):
            await staging.read(await self._session.catalog())
            review = partial(self._review_staged, staging)
            match staging.what:
                case "deprecation":
                    self._app.push_screen(BulkDeprecationScreen(self._session, staging), review)
                case "links":
                    self._app.push_screen(BulkLinksScreen(self._session, staging), review)
                case kind:
                    self._app.push_screen(BulkPickerScreen(self._session, staging, kind), review)

    def _review_staged(self, staging: BulkStaging, _: object = None) -> None:
        if staging.staged is None:
            return
        self._review(staging.staged)
        sentence = staging.describe_left_out()
        if sentence:
            self._app.call_after_refresh(self._session.say, sentence)
