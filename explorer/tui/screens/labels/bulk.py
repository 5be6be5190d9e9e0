"""Labels, deprecation and links of everything that is marked: chosen once, staged as a changeset,
and reviewed before anything is written.
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import App
from textual.binding import BindingType

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
from explorer.tui.content import line
from explorer.tui.key_queue import LEADING
from explorer.tui.screens.editor.links import LinkForm, LinkInput
from explorer.tui.screens.labels.choice import (
    BulkLabelsAsked,
    LabelChoice,
    LabelKind,
    LabelTarget,
    tell_change,
)
from explorer.tui.screens.labels.lifecycle import DeprecationFields, DeprecationScreen
from explorer.tui.screens.labels.picker import PickerScreen
from explorer.tui.session import TerminalSession

if TYPE_CHECKING:
    from collections.abc import Callable

    from explorer.client import AsyncCatalog
    from explorer.stewardship.staging import StagedChangeset

__all__ = ["BulkDeprecationScreen", "BulkLauncher", "BulkPickerScreen"]


@dataclass(slots=True)
class BulkStaging:
    """Reads what all that is marked has of one kind, and stages a change of it. `staged` is the
    changeset once there is one."""

    what: LabelledKind
    keys: tuple[Key, ...]
    called: str
    places: LabelledPlaces | None = None
    staged: "StagedChangeset | None" = None

    async def read(self, catalog: "AsyncCatalog") -> LabelledPlaces:
        """Return what they have now. Raises `InvalidInput` where none of them can have it."""
        from explorer.stewardship import AsyncStewardship

        self.places = await AsyncStewardship(catalog).labelled(self.keys, self.what)
        if not self.places.places:
            noun = _A_NOUN.get(self.what, _NOUNS[self.what])
            why = "is in the catalog" if self.places.missing else f"has {noun}"
            raise InvalidInput(f"nothing of what is marked {why}")
        return self.places

    async def stage(self, catalog: "AsyncCatalog", change: LabelsChange, words: str) -> None:
        """Stage a change under a title. Raises `InvalidInput` where nothing is to be done."""
        from explorer.stewardship import AsyncStewardship

        edits = stage_labels(self.places or await self.read(catalog), change)
        if not edits:
            raise InvalidInput(f"{self.called}: that is so already, there is nothing to review")
        title = f"{_NOUNS[self.what].capitalize()} of {line(self.called)}: {words}"
        self.staged = await AsyncStewardship(catalog).stage(edits, title)

    def left_out(self) -> str:
        """Return in a sentence how many of those marked are left out and why; empty for none."""
        places = self.places
        if places is None or self.staged is None:
            return ""
        done = len(places) - len(self.staged.items)
        parts = (
            (done, "so already"),
            (places.unfit, f"cannot have {_A_NOUN.get(self.what, _NOUNS[self.what])}"),
            (places.missing, "not in the catalog"),
        )
        told = [f"{count:,} {words}" for count, words in parts if count]
        return f"Left out: {', '.join(told)}." if told else ""


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
    """Labels of one kind on everything that is marked: those that all have, and that some have.
    What is chosen is staged, and nothing is written."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("bulklabels")
    CREATED: ClassVar[str] = "created when the change is written"

    def __init__(self, session: TerminalSession, staging: BulkStaging, kind: LabelKind) -> None:
        place = LabelTarget(Urn.parse(staging.keys[0][0]), staging.called)
        super().__init__(session, place, kind, LabelChoice(single=kind == "domain"))
        self._staging = staging
        self._counts: dict[str, int] = {}

    async def read_choice(self, catalog: "AsyncCatalog") -> None:
        """Read what all have, and what some have."""
        places = self._staging.places or await self._staging.read(catalog)
        self._counts = places.counts()
        choice = self._choice
        choice.some = tuple(one for one, count in self._counts.items() if count < len(places))
        choice.found(tuple(one for one, count in self._counts.items() if count == len(places)))

    async def write_choice(self, catalog: "AsyncCatalog") -> None:
        """Stage what was chosen."""
        choice = self._choice
        urns = {one.rpartition(" ")[0] if self._kind == "owners" else one for one in choice.wanted}
        change = LabelsChange(
            choice.added,
            choice.removed,
            tuple(one for one in choice.added if one in choice.new),
            called={urn: self.name_of(urn) for urn in (*urns, *choice.removed)},
        )
        await self._staging.stage(catalog, change, tell_change(choice, self.name_of).plain)

    def held_by(self, label: str) -> str:
        """Return how many of those that are marked have a label."""
        count, places = self._counts.get(label), self._staging.places
        if not count or places is None or len(places) == 1:
            return ""
        every = len(places)
        return f"all {every:,} have it" if count == every else f"{count:,} of {every:,} have it"


class BulkDeprecationScreen(DeprecationScreen):
    """The note, the day and the replacement for everything that is marked; staged, not written."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("bulkdeprecation")

    def __init__(self, session: TerminalSession, staging: BulkStaging) -> None:
        places = staging.places.places if staging.places is not None else ()
        held = [one.deprecation for one in places]
        is_same = bool(held) and all(one == held[0] for one in held)
        now = DeprecationFields.of_held(held[0] if is_same else None)
        place = LabelTarget(Urn.parse(staging.keys[0][0]), staging.called)
        super().__init__(session, place, now)
        self._staging = staging
        self._is_any_deprecated = any(one is not None for one in held)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only where any is deprecated can that be taken back."""
        del parameters
        return action != "lift" or self._is_any_deprecated

    def action_lift(self) -> None:
        """Stage that all may be used again."""
        self._stage_lift()

    @work(exclusive=True, group="write", name=LEADING)
    async def _write(self) -> None:
        with self._session.reporting("staging the deprecation"):
            note, gone_from, replacement = self.typed()
            held = deprecation(note, gone_from, replacement)
            catalog = await self._session.catalog()
            change = LabelsChange(deprecation=held)
            await self._staging.stage(catalog, change, " ".join(note.split()) or "deprecated")
            self.dismiss("deprecated")

    @work(exclusive=True, group="write", name=LEADING)
    async def _stage_lift(self) -> None:
        with self._session.reporting("staging the deprecation"):
            catalog = await self._session.catalog()
            await self._staging.stage(catalog, LabelsChange(), "taken back")
            self.dismiss("lifted")


class BulkLauncher:
    """Opens what changes everything that is marked; `review` shows the changeset that is made."""

    def __init__(
        self,
        app: App[None],
        session: TerminalSession,
        review: "Callable[[StagedChangeset], object]",
    ) -> None:
        self._app = app
        self._session = session
        self._review = review

    def open(self, asked: BulkLabelsAsked) -> None:
        """Ask what is to be changed."""
        if not asked.keys or self._session.refuses_to_write():
            return
        staging = BulkStaging(asked.what, asked.keys, asked.called)
        self._app.run_worker(self._open(staging), LEADING, "bulk", exclusive=True)

    async def _open(self, staging: BulkStaging) -> None:
        with self._session.reporting(f"reading the {_NOUNS[staging.what]} of what is marked"):
            await staging.read(await self._session.catalog())
            left = partial(self._left, staging)
            match staging.what:
                case "deprecation":
                    self._app.push_screen(BulkDeprecationScreen(self._session, staging), left)
                case "links":
                    form = LinkForm(f"A new link of {line(staging.called)}, to be reviewed first")
                    self._app.push_screen(form, partial(self._add_link, staging))
                case kind:
                    self._app.push_screen(BulkPickerScreen(self._session, staging, kind), left)

    def _add_link(self, staging: BulkStaging, link: LinkInput | None) -> None:
        if link is not None:
            work = self._stage_link(staging, link)
            self._app.run_worker(work, LEADING, "bulk", exclusive=True)

    async def _stage_link(self, staging: BulkStaging, link: LinkInput) -> None:
        with self._session.reporting("staging the link"):
            change = LabelsChange((f"{link.url} {link.label}",))
            await staging.stage(await self._session.catalog(), change, f"+ {link.label}")
            self._left(staging)

    def _left(self, staging: BulkStaging, _: object = None) -> None:
        if staging.staged is None:
            return
        self._review(staging.staged)
        told = staging.left_out()
        if told:
            self._app.call_after_refresh(self._session.say, told)
