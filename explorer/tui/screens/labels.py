"""The labels of an entity: the picker of tags, terms, owners and domains (search, choose, create,
save); and what opens it, and the dialogs that deprecate an entity or hide it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from explorer.client.display import in_quotes
from explorer.client.journal import one_save
from explorer.errors import Conflict, InvalidInput, NotFound, ServerFault
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import counted, line, line_text, padded, preview
from explorer.tui.key_queue import LEADING, start_worker
from explorer.tui.screens.label_choice import (
    LabelChoice,
    LabelKind,
    LabelState,
    LabelTarget,
    describe_change,
    describe_label,
    labels_of,
    owner_and_type,
    ownership_word,
    read_labels,
)
from explorer.tui.screens.lifecycle import (
    DeprecationFields,
    DeprecationOutcome,
    DeprecationScreen,
    HideScreen,
)
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import FramedScreen
from explorer.tui.widgets.inputs import HintedLine
from explorer.tui.widgets.rows import Rows

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import Edit

__all__ = [
    "LabelLauncher",
    "LabelSource",
    "PickerScreen",
    "draw_label",
    "write_labels",
]

TYPES: Mapping[LabelKind, tuple[str, ...]] = {
    "tags": ("tag",),
    "terms": ("glossaryTerm",),
    "owners": ("corpuser", "corpGroup"),
    "domain": ("domain",),
}
NOUNS: Mapping[LabelKind, tuple[str, str]] = {
    "tags": ("tag", "tags"),
    "terms": ("glossary term", "glossary terms"),
    "owners": ("owner", "owners"),
    "domain": ("domain", "domain"),
}
"""The words for one and for several; an entity is in one domain."""

FOUND: Mapping[LabelKind, tuple[str, str]] = {
    **NOUNS,
    "owners": ("person or group", "people and groups"),
    "domain": ("domain", "domains"),
}
"""The words for one and for several of those that may be put on."""

_ASPECTS: Mapping[LabelKind, str] = {
    "tags": "globalTags",
    "terms": "glossaryTerms",
    "owners": "ownership",
    "domain": "domains",
}
_FACETS: Mapping[LabelKind, str] = {
    "tags": "tags",
    "terms": "glossaryTerms",
    "owners": "owners",
    "domain": "domains",
}
_SHOWN = 60
_COMPLETED = 12
# What servers answer that do not know the question, or not these types of entities.
_REFUSALS = (InvalidInput, NotFound, ServerFault)


@dataclass(frozen=True, slots=True)
class LabelOffer:
    """A label that may be added. `uses` is the number of entities that have it, if known."""

    urn: str
    name: str
    about: str = ""
    uses: int | None = None


@dataclass(frozen=True, slots=True)
class LabelOffers:
    """The labels found for a text: at most sixty of `total`, best first."""

    text: str
    offers: tuple[LabelOffer, ...]
    total: int


def is_offered(entity_type: str, kind: LabelKind) -> bool:
    """Return whether the model allows such a label on an entity type."""
    from explorer.metadata.registry import load_registry

    registry = load_registry()
    if entity_type not in registry.entities:
        return True
    return _ASPECTS[kind] in registry.aspects_of(entity_type)


class LabelSource:
    """Reads labels of one kind while the reader types.

    The number of uses is read once, with the first search.
    """

    def __init__(self, kind: LabelKind) -> None:
        self.kind = kind
        self._read_offers: dict[str, LabelOffer] = {}
        self._uses: dict[str, int] | None = None

    def offer_of(self, urn: str) -> LabelOffer:
        """Return what was read of a label; only its URN if nothing was."""
        offer = self._read_offers.get(urn) or LabelOffer(urn, Urn.label(urn))
        return replace(offer, uses=(self._uses or {}).get(urn))

    async def read(self, catalog: "AsyncCatalog", urns: Sequence[str]) -> None:
        """Read names and descriptions of labels; one request for those not known yet."""
        unknown = Urn.parse_all(urn for urn in urns if urn not in self._read_offers)
        if unknown:
            for urn, entity in (await catalog.summaries(unknown)).items():
                text = str(urn)
                about = entity.description if entity.exists else "not in the catalog"
                self._read_offers[text] = LabelOffer(text, entity.name, about)

    async def matching(self, catalog: "AsyncCatalog", text: str) -> LabelOffers:
        """Return labels with a word of that beginning in their name, then other matches; without a
        text all labels, most used first. Two or three requests."""
        typed = text.strip()
        if not typed:
            return await self._everything(catalog)
        names, page, _ = await asyncio.gather(
            self._complete(catalog, typed),
            catalog.search(typed, entity=TYPES[self.kind], count=_SHOWN),
            self._read_uses(catalog),
        )
        urns = tuple(dict.fromkeys((*names, *(str(hit.urn) for hit in page))))
        await self.read(catalog, urns)
        # Matches elsewhere come after matches at the beginning of a name.
        called = [urn for urn in urns if self.offer_of(urn).name.lower() == typed.lower()]
        ordered = tuple(dict.fromkeys((*called, *urns)))[:_SHOWN]
        total = max(page.total, len(urns))
        return LabelOffers(typed, tuple(self.offer_of(urn) for urn in ordered), total)

    async def _everything(self, catalog: "AsyncCatalog") -> LabelOffers:
        uses, page = await asyncio.gather(
            self._read_uses(catalog),
            catalog.search("*", entity=TYPES[self.kind], count=_SHOWN),
        )
        used = sorted(uses, key=lambda urn: (-uses[urn], urn))
        kinds = TYPES[self.kind]
        fitting = [str(urn) for urn in Urn.parse_all(used) if urn.entity_type in kinds]
        urns = tuple(dict.fromkeys((*fitting, *(str(hit.urn) for hit in page))))[:_SHOWN]
        await self.read(catalog, urns)
        offers = tuple(self.offer_of(urn) for urn in urns)
        return LabelOffers("", offers, max(page.total, len(urns)))

    async def _complete(self, catalog: "AsyncCatalog", text: str) -> tuple[str, ...]:
        try:
            suggestions = await catalog.suggest(text, entities=TYPES[self.kind], limit=_COMPLETED)
        except _REFUSALS:
            return ()
        return tuple(
            str(suggestion.urn) for suggestion in suggestions if suggestion.urn is not None
        )

    async def _read_uses(self, catalog: "AsyncCatalog") -> dict[str, int]:
        if self._uses is None:
            try:
                facets = await catalog.facets("*", names=(_FACETS[self.kind],))
            except _REFUSALS:
                facets = ()
            self._uses = {value.value: value.count for facet in facets for value in facet.values}
        return self._uses


OWNERSHIPS: tuple[str, ...] = ("TECHNICAL_OWNER", "BUSINESS_OWNER", "DATA_STEWARD", "NONE")
"""What the model has beside those that are no longer given."""

_BUILT_IN = "urn:li:ownershipType:__system__"
_AT_MOST = 20


async def read_ownerships(catalog: "AsyncCatalog") -> tuple[str, ...]:
    """Return the ownership types of the model, then at most twenty of the server's own as URNs. One
    request."""
    try:
        page = await catalog.search("*", entity="ownershipType", count=_AT_MOST)
    except (InvalidInput, NotFound, ServerFault):
        # Servers that have no such entities say so in several ways.
        return OWNERSHIPS
    own = (str(hit.urn) for hit in page)
    return (*OWNERSHIPS, *(urn for urn in own if not urn.startswith(_BUILT_IN)))


_MARKS: dict[LabelState, tuple[str, str]] = {
    "on": (" ● ", "bold"),
    "some": (" ◐ ", ""),
    "off": (" ○ ", "dim"),
    "added": (" + ", "bold"),
    "removed": (" − ", "bold"),
    "fixed": (" ◆ ", "bold"),
}
_USES_WIDTH = 10
_ROOM_FOR_TEXT = 12

_Step = Literal["down", "up", "page_down", "page_up"]


class LabelLine(HintedLine):
    """The input line above the list; up and down move in the list."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("labelline")

    class Turned(Message):
        """Asks to add or remove the label under the cursor."""

    class ToRows(Message):
        """Asks to focus the list."""

    def __init__(self, move: Callable[[_Step], None], placeholder: str) -> None:
        super().__init__(placeholder=placeholder)
        self._move = move

    def action_turn(self) -> None:
        """Add or remove the label under the cursor."""
        self.post_message(self.Turned())

    def on_key(self, event: events.Key) -> None:
        """Add or remove the label on a space in an empty line, as in the list."""
        if event.key == "space" and self.selected_text == self.value:
            event.stop()
            event.prevent_default()
            self.action_turn()

    def action_down(self) -> None:
        """Move a row down."""
        self._move("down")

    def action_up(self) -> None:
        """Move a row up."""
        self._move("up")

    def action_page_down(self) -> None:
        """Move a screen down."""
        self._move("page_down")

    def action_page_up(self) -> None:
        """Move a screen up."""
        self._move("page_up")

    def action_to_rows(self) -> None:
        """Focus the list."""
        self.post_message(self.ToRows())


class LabelRows(Rows):
    """The labels, each with a mark."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("labelrows")

    class ToLine(Message):
        """Asks to focus the input line."""

    def action_turn(self) -> None:
        """Add or remove the label under the cursor."""
        self.action_choose()

    def action_to_line(self) -> None:
        """Focus the input line."""
        self.post_message(self.ToLine())

    def move(self, step: _Step) -> None:
        """Move the cursor by some rows."""
        match step:
            case "down":
                self.action_down()
            case "up":
                self.action_up()
            case "page_down":
                self.action_page_down()
            case "page_up":
                self.action_page_up()


def draw_label(
    state: LabelState, name: str, about: str, used: str, width: int, name_width: int
) -> Text:
    """Return a row: mark, name, number of uses, description."""
    mark, style = _MARKS[state]
    room = min(name_width, max(width - 3 - _USES_WIDTH, 8))
    row = Text(mark, style)
    row.append_text(padded(line_text(name, "" if state == "off" else "bold"), room))
    space = width - 3 - room
    if space >= _USES_WIDTH:
        row.append(f"{used:>{_USES_WIDTH - 1}} ", "dim")
        space -= _USES_WIDTH
    if space >= _ROOM_FOR_TEXT:
        row.append("  ").append_text(padded(preview(about, "dim"), space - 2))
    return row


async def write_labels(
    catalog: "AsyncCatalog", place: LabelTarget, kind: LabelKind, choice: LabelChoice
) -> AsyncIterator["Edit"]:
    """Remove and add what was chosen; yield every edit when it is made.

    The choice is updated after each step, so that after an error it has only what is left. Two
    requests for each step, and one or two for each created tag. Raises `Conflict` if somebody
    changed the labels since they were read or since the last step; the choice then has the current
    labels.
    """
    from explorer.client import TextConflict

    try:
        async for edit in _write(catalog, place, kind, choice):
            yield edit
    except TextConflict as conflict:
        choice.note_current((await read_labels(catalog, place, kind)).current)
        now = (
            ", ".join(line(Urn.label(owner_and_type(label)[0])) for label in choice.current)
            or "none"
        )
        what, again = (
            ("the domain was", "to replace it with yours")
            if kind == "domain"
            else (f"the {kind} were", "to change these")
        )
        raise Conflict(
            f"{what} changed by somebody else meanwhile, to {now}; save again {again}"
        ) from conflict


async def _write(
    catalog: "AsyncCatalog", place: LabelTarget, kind: LabelKind, choice: LabelChoice
) -> AsyncIterator["Edit"]:
    urn, column = place.urn, place.path
    added, removed = choice.added, choice.removed
    match kind:
        case "tags" | "terms":
            tags = kind == "tags"
            if tags:
                await _create_tags(catalog, (label for label in added if label in choice.new))
            if added:
                add = catalog.add_tags if tags else catalog.add_terms
                edit = await add(urn, added, column=column, instead_of=choice.current)
                yield _take_warning(choice, edit, added)
            if removed:
                remove = catalog.remove_tags if tags else catalog.remove_terms
                edit = await remove(urn, removed, column=column, instead_of=choice.current)
                yield _take_warning(choice, edit, (), removed)
        case "owners":
            for ownership, labels in _by_ownership(added).items():
                owners = [owner_and_type(label)[0] for label in labels]
                edit = await catalog.add_owners(
                    urn, owners, ownership=ownership, instead_of=choice.current
                )
                yield _take_warning(choice, edit, labels)
            for ownership, labels in _by_ownership(removed).items():
                owners = [owner_and_type(label)[0] for label in labels]
                edit = await catalog.remove_owners(
                    urn, owners, ownership=ownership, instead_of=choice.current
                )
                yield _take_warning(choice, edit, (), labels)
        case "domain":
            domain = added[0] if added else None
            edit = await catalog.set_domain(urn, domain, instead_of=choice.current)
            yield _take_warning(choice, edit, added, removed)


def _take_warning(
    choice: LabelChoice, edit: "Edit", added: Iterable[str] = (), removed: Iterable[str] = ()
) -> "Edit":
    choice.note_written(added=added, removed=removed)
    return edit


def _by_ownership(labels: Iterable[str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for label in labels:
        grouped.setdefault(owner_and_type(label)[1], []).append(label)
    return grouped


async def _create_tags(catalog: "AsyncCatalog", urns: Iterable[str]) -> None:
    for urn in urns:
        # Somebody else may have made it since it was looked for, or hidden it; or makes it now.
        await catalog.create(urn, "tagProperties", {"name": Urn.parse(urn).name})


_TYPING_PAUSE_SECONDS = 0.03
_NAME_AT_LEAST = 12


@dataclass(frozen=True, slots=True)
class _LabelRow:
    """A row: a label that may be added, or a name for which a tag can be created."""

    label: str
    creates: str = ""


class PickerScreen(FramedScreen["tuple[Edit, ...]"]):
    """The picker for labels of one kind on one entity or column. Nothing is written before the
    save; after an error the choice is kept. Returns the edits that were made."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("labels")
    CREATED: ClassVar[str] = "created when you save"
    """When a label comes to be that does not exist yet."""
    DEFAULT_CSS = """
    PickerScreen > Vertical { width: 100; height: 28; }
    PickerScreen #what, PickerScreen #found { height: 1; }
    PickerScreen #found { color: $text-muted; }
    PickerScreen LabelRows { height: 1fr; min-height: 2; background: $surface; }
    PickerScreen #preview { height: auto; max-height: 3; }
    """

    def __init__(
        self, session: TerminalSession, place: LabelTarget, kind: LabelKind, choice: LabelChoice
    ) -> None:
        super().__init__()
        self._session = session
        self._place = place
        self._kind: LabelKind = kind
        self._choice = choice
        self._offers = LabelSource(kind)
        self._offered = LabelOffers("", (), 0)
        self._rows: list[_LabelRow] = []
        self._name_width = _NAME_AT_LEAST
        self._ownerships = OWNERSHIPS
        self._ownership = OWNERSHIPS[0]
        # What was taken before it was found; held in turn, and before anything is written.
        self._wishing = asyncio.Lock()
        self._reading = "reading …"
        self._is_writing = False
        self._edits: list[Edit] = []
        self._save_id = ""

    def compose(self) -> ComposeResult:
        """Yield the heading, the input line, the count, the list, the preview, and the keys."""
        noun, _ = FOUND[self._kind]
        with Vertical():
            yield Static("", id="what", markup=False)
            yield LabelLine(
                lambda step: self.query_one(LabelRows).move(step), f"type the name of a {noun} …"
            )
            yield Static("", id="found", markup=False)
            yield LabelRows()
            yield Static("", id="preview", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Focus the input line, and read the present labels."""
        self.set_focus(self.query_one(LabelLine))
        self._show_title()
        self._begin()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow ownership types only for owners."""
        del parameters
        return action != "kind" or self._kind == "owners"

    def name_of(self, urn: str) -> str:
        """Return the name of a URN, as far as it was read."""
        return self._offers.offer_of(urn).name

    def action_write(self) -> None:
        """Save the changes."""
        if not self._choice.changed and not self._wishing.locked():
            self.say("No changes yet; esc closes.")
        elif not self._is_writing:
            self._write()

    def action_leave(self) -> None:
        """Close; ask first if something was chosen."""

        def leave() -> None:
            self.dismiss(tuple(self._edits))

        if not self._choice.changed:
            leave()
            return
        question = Text.assemble(
            ("Close without saving these changes?\n", "bold"),
            describe_change(self._choice, self.name_of),
        )
        self.confirm(question, leave, discards=True)

    def action_kind(self) -> None:
        """Choose the next ownership type, for the added owner under the cursor and for owners added
        from now on."""
        at = self._ownerships.index(self._ownership) + 1
        following = self._ownerships[at % len(self._ownerships)]
        rows = self.query_one(LabelRows)
        row = rows.under_cursor(self._rows)
        if row is not None and self._choice.state(row.label) == "added":
            urn, _ = owner_and_type(row.label)
            self._choice.toggle(row.label)
            if self._choice.state(f"{urn} {following}") == "off":
                self._choice.toggle(f"{urn} {following}")
        self._ownership = following
        self._lay_out(keep=True)

    @on(Input.Changed)
    def _handle_input(self, event: Input.Changed) -> None:
        event.stop()
        self._find(event.value)

    @on(LabelLine.Turned)
    def _handle_turn(self, event: LabelLine.Turned) -> None:
        event.stop()
        line = self.query_one(LabelLine)
        if line.value.strip() != self._offered.text:
            # The list still shows the results for the previous text.
            self._turn_first_of(line.value.strip())
            line.action_select_all()
            return
        self._turn(self.query_one(LabelRows).cursor)

    @on(Rows.Chosen)
    def _handle_chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self._turn(event.index)

    @on(LabelLine.ToRows)
    def _to_rows(self, event: LabelLine.ToRows) -> None:
        event.stop()
        self.set_focus(self.query_one(LabelRows))

    @on(LabelRows.ToLine)
    def _to_line(self, event: LabelRows.ToLine) -> None:
        event.stop()
        line = self.query_one(LabelLine)
        self.set_focus(line)
        line.action_select_all()

    @work(group="begin")
    async def _begin(self) -> None:
        with self._session.reporting(f"reading {NOUNS[self._kind][1]}"):
            catalog = await self._session.catalog()
            _, offered = await asyncio.gather(
                self.read_choice(catalog), self._offers.matching(catalog, "")
            )
            if self._kind == "owners":
                self._ownerships = await read_ownerships(catalog)
            urns = [owner_and_type(label) for label in self._choice.concerned]
            await self._offers.read(catalog, [urn for urn, _ in urns])
            kinds = [kind for _, kind in urns if kind.startswith("urn:")]
            await self._offers.read(catalog, [*kinds, *self._ownerships])
            if self.query_one(LabelLine).value.strip():
                self._lay_out(keep=True)
            else:
                self._show(offered)
            return
        if self._reading:
            noun, _ = FOUND[self._kind]
            self._reading = f"Reading failed; type the name of a {noun} to try again, esc closes."
            self._show_title()

    async def read_choice(self, catalog: "AsyncCatalog") -> None:
        """Read the present labels."""
        now = await read_labels(catalog, self._place, self._kind)
        self._choice.fixed = now.fixed
        self._choice.note_current(now.current)

    async def write_choice(self, catalog: "AsyncCatalog") -> None:
        """Write what was chosen."""
        # What failed in the middle and is written again is still the same save.
        with one_save(self._save_id) as self._save_id:
            async for edit in write_labels(catalog, self._place, self._kind, self._choice):
                self._edits.append(edit)

    def held_by(self, label: str) -> str:
        """Return in words how many of several places have a label; empty for one place."""
        del label
        return ""

    @work(exclusive=True, group="offers")
    async def _find(self, text: str) -> None:
        await asyncio.sleep(_TYPING_PAUSE_SECONDS)
        with self._session.reporting(f"looking for {NOUNS[self._kind][1]}"):
            catalog = await self._session.catalog()
            self._show(await self._offers.matching(catalog, text))

    def _show(self, offered: LabelOffers) -> None:
        self._offered, self._reading = offered, ""
        self._lay_out(keep=False)

    @work(group="wishes")
    async def _turn_first_of(self, text: str) -> None:
        async with self._wishing:
            with self._session.reporting(f"looking for {NOUNS[self._kind][1]}"):
                catalog = await self._session.catalog()
                offered = await self._offers.matching(catalog, text)
                if self.query_one(LabelLine).value.strip() == text:
                    self._show(offered)
                    self._turn(0)
                elif not offered.offers:
                    self.say(
                        f"No {FOUND[self._kind][0]} matches {in_quotes(text, 60)}.", error=True
                    )
                elif self._choice.toggle(self._labels_of(offered.offers[0].urn)[0]):
                    self.query_one(LabelRows).refresh()
                    self._show_title()

    def _turn(self, index: int) -> None:
        if index >= len(self._rows):
            return
        row = self._rows[index]
        if row.creates:
            self._ask_to_make(row)
            return
        if not self._choice.toggle(row.label):
            self.say("This label comes from the ingested schema; remove it at the source.")
            return
        self._after_turning()

    def _after_turning(self) -> None:
        self.query_one(LabelLine).action_select_all()
        self.query_one(LabelRows).refresh()
        self._show_title()

    def _ask_to_make(self, row: _LabelRow) -> None:
        question = Text.assemble(
            "There is no tag ",
            line_text(row.creates, "bold"),
            ". Create it?\n",
            (f"{self.CREATED.capitalize()}.", "dim"),
        )

        def create() -> None:
            self._choice.create(row.label)
            self._lay_out(keep=True)
            self._after_turning()

        self.confirm(question, create)

    @work(exclusive=True, group="write", name=LEADING)
    async def _write(self) -> None:
        self._is_writing = True
        async with self._wishing:
            self.say("writing …")
        if not self._choice.changed:
            self._is_writing = False
            self.say("No changes yet; esc closes.")
            return
        with self._session.reporting(f"writing {NOUNS[self._kind][1]}"):
            try:
                await self.write_choice(await self._session.catalog())
            finally:
                # Also where only a part was written, or another is there by now.
                self._is_writing = False
                # One that was left meanwhile has no rows any more.
                if not get_current_worker().is_cancelled:
                    self._lay_out(keep=True)
            self.dismiss(tuple(self._edits))

    def _lay_out(self, *, keep: bool) -> None:
        """Build the rows: without a text the present and chosen labels, then the others."""
        offered, choice = self._offered, self._choice
        urns = [offer.urn for offer in offered.offers]
        labels: list[str] = [] if offered.text else list(choice.concerned)
        for urn in urns:
            labels += self._labels_of(urn)
        self._rows = [_LabelRow(label) for label in dict.fromkeys(labels)]
        makes = self._makes()
        if makes is not None:
            self._rows.append(makes)
        names = (line_text(self._row_name(row.label)).cell_len for row in self._rows)
        self._name_width = max(_NAME_AT_LEAST, *names, 0)
        rows = self.query_one(LabelRows)
        noun, _ = FOUND[self._kind]
        rows.show(
            len(self._rows),
            self._draw_row,
            cursor=rows.cursor if keep else 0,
            empty=f"No {noun} matches {in_quotes(offered.text, 60)}."
            if offered.text
            else f"No {noun} exists yet.",
        )
        self._show_title()

    def _labels_of(self, urn: str) -> list[str]:
        """Return the labels of a found entity: for an owner one for every ownership type in use."""
        if self._kind != "owners":
            return [urn]
        labels = [label for label in self._choice.concerned if owner_and_type(label)[0] == urn]
        return [*labels, f"{urn} {self._ownership}"]

    def _makes(self) -> _LabelRow | None:
        """Return the row that creates a tag of the typed name, if there is none of that name."""
        text = self._offered.text
        if self._kind != "tags" or not text:
            return None
        called = {self.name_of(row.label).lower() for row in self._rows}
        try:
            label = str(Urn.parse(f"urn:li:tag:{text}"))
        except InvalidInput:
            return None
        if text.lower() in called or label in {row.label for row in self._rows}:
            return None
        return _LabelRow(label) if label in self._choice.new else _LabelRow(label, creates=text)

    def _row_name(self, label: str) -> str:
        """Return a label's name; for an owner with the ownership type, unless it is the one for new
        owners shown in the title."""
        urn, ownership = owner_and_type(label)
        if ownership == self._ownership and self._choice.state(label) == "off":
            return self.name_of(urn)
        return describe_label(label, self.name_of)

    def _draw_row(self, index: int, width: int) -> tuple[Text]:
        row = self._rows[index]
        if row.creates:
            return (Text.assemble((" ⊕ ", "bold"), "Create tag ", line_text(row.creates, "bold")),)
        state = self._choice.state(row.label)
        offer = self._offers.offer_of(owner_and_type(row.label)[0])
        about = self.CREATED if row.label in self._choice.new else offer.about
        holders = self.held_by(row.label)
        about = " · ".join(filter(None, (holders, about))) if holders else about
        if state == "fixed":
            about = "from the ingested schema"
        name_width = min(self._name_width, width * 2 // 5)
        name = self._row_name(row.label)
        verb = "owns" if self._kind == "owners" else "on"
        used = "" if offer.uses is None else f"{verb} {offer.uses:,}"
        return (draw_label(state, name, about, used, width, name_width),)

    def _show_title(self) -> None:
        if not self.is_mounted:
            return
        _, several = NOUNS[self._kind]
        title = Text.assemble(
            (several.capitalize(), "bold"), " of ", line_text(self._place.full_name)
        )
        if self._kind == "owners":
            word = line_text(ownership_word(self._ownership, self.name_of), "bold")
            title.append(" · new owners become ").append_text(word)
        width = self.query_one("#what").size.width or 76
        self.query_one("#what", Static).update(padded(title, width))
        self.query_one("#found", Static).update(self._count_words())
        change = describe_change(self._choice, self.name_of)
        if not change.plain:
            change = Text("No changes yet.", "dim italic")
        self.query_one("#preview", Static).update(change)

    def _count_words(self) -> str:
        if self._reading:
            return self._reading
        offered = self._offered
        count, total = len(offered.offers), offered.total
        words = counted(total, *FOUND[self._kind])
        if count < total:
            words += f" · {count:,} shown"
        return f"{words} · best first" if offered.text else f"{words} · most used first"

    def on_resize(self) -> None:
        """Cut the title at the width."""
        self._show_title()


class LabelLauncher:
    """Opens the dialogs of a page. `refresh` reads its entity again and shows it."""

    def __init__(
        self,
        page: Widget,
        session: TerminalSession,
        refresh: Callable[[], Awaitable[object]],
    ) -> None:
        self._page = page
        self._session = session
        self._refresh = refresh

    def label(self, kind: LabelKind, entity: "Entity | None", path: str | None = None) -> None:
        """Choose tags, terms, owners or the domain of an entity, or of its column at `path`."""
        if entity is None or self._refuses(entity):
            return
        if not is_offered(entity.entity_type, kind):
            word, (_, several) = singular(entity.entity_type), FOUND[kind]
            several = "owners" if kind == "owners" else several
            self._session.say(f"No {word} has {several}.", error=True)
            return
        place = LabelTarget.of(entity, path)
        screen = PickerScreen(self._session, place, kind, labels_of(entity, kind, path))

        def report_edits(edits: "tuple[Edit, ...] | None") -> None:
            if edits:
                self._after(_edits_message(place, kind, edits, screen.name_of))

        self._page.app.push_screen(screen, report_edits)

    def deprecate(self, entity: "Entity | None") -> None:
        """Deprecate an entity, or change or remove its deprecation."""
        if entity is None or self._refuses(entity):
            return
        place = LabelTarget.of(entity, None)

        def report_deprecation(outcome: DeprecationOutcome | None) -> None:
            if outcome not in (None, "nothing"):
                what = "is deprecated" if outcome == "deprecated" else "is no longer deprecated"
                self._after(f"{line(place.name)} {what}.")

        screen = DeprecationScreen(self._session, place, DeprecationFields.of(entity))
        self._page.app.push_screen(screen, report_deprecation)

    def set_aside(self, entity: "Entity | None") -> None:
        """Hide an entity, or restore a hidden one."""
        if entity is None or self._refuses(entity):
            return
        place = LabelTarget.of(entity, None)

        hides = not entity.removed

        def report_visibility(done: bool | None) -> None:
            if done:
                hidden = "is hidden from search and browse; ^x restores it"
                what = hidden if hides else "is shown in search and browse again"
                self._after(f"{line(place.name)} {what}.")

        screen = HideScreen(self._session, place, hides=hides)
        self._page.app.push_screen(screen, report_visibility)

    def _refuses(self, entity: "Entity") -> bool:
        if self._session.refuses_to_write():
            return True
        if not entity.exists:
            self._session.say(
                "Nothing can be written: the entity is not in the catalog, only referenced in it.",
                error=True,
            )
            return True
        return False

    def _after(self, sentence: str) -> None:
        start_worker(self._page, partial(self._show_again, sentence), group="labelled")

    async def _show_again(self, sentence: str) -> None:
        await self._refresh()
        self._session.say_saved(sentence)


def _edits_message(
    place: LabelTarget, kind: LabelKind, edits: "tuple[Edit, ...]", name_of: Callable[[str], str]
) -> str:
    """Return a sentence on what was written."""
    first, last = edits[0].before, edits[-1].after
    before = first if isinstance(first, tuple) else ()
    choice = LabelChoice(before)
    choice.selection = list(last) if isinstance(last, tuple) else []
    change = describe_change(choice, name_of).plain or "nothing to change"
    noun = NOUNS[kind][1].capitalize()
    return f"{noun} of {line(place.full_name)}: {change}."
