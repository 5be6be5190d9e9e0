"""Creates, renames and moves tags, glossary terms and groups, domains and data products."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import App

from explorer.client.editable import NAMES, PARENTS, edit_target
from explorer.client.governance import Governed, find_namesake, new_id
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.tui.content import line
from explorer.tui.key_queue import LEADING, start_worker
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.dialogs import (
    ChooserEntry,
    ChooserScreen,
    ConfirmScreen,
    PromptScreen,
    entities_like,
    entity_entries,
)

if TYPE_CHECKING:
    from explorer.client.entity import Entity

__all__ = ["GovernanceLauncher", "GovernanceScreen", "ParentScreen"]

_NEW: tuple[Governed, ...] = ("tag", "glossaryNode", "glossaryTerm", "domain", "dataProduct")
_BELOW: dict[str, tuple[Governed, ...]] = {
    "glossaryNode": ("glossaryTerm", "glossaryNode"),
    "domain": ("domain", "dataProduct"),
}
"""What can be made within an entity of a type."""
_ABOVE: dict[str, str] = {kind: above for kind, (_, above) in PARENTS.items()} | {
    "dataProduct": "domain"
}
"""Within what an entity of a type may be."""
_PART = "New"
_AT_ONCE = 50


class GovernanceScreen(ChooserScreen):
    """Lists what can be created, and the actions on the open entity."""

    TITLE_SHOWN: ClassVar[str] = "Tags, glossary, domains and data products"
    HEADINGS: ClassVar[bool] = True

    def __init__(self, entries: Iterable[ChooserEntry]) -> None:
        super().__init__()
        self._given = tuple(entries)

    def entries(self) -> Iterable[ChooserEntry]:
        """Return the actions."""
        return self._given


class ParentScreen(ChooserScreen):
    """Asks for the parent of an entity: an entity of a type, or the top level. `do` is called with
    its URN, or None for the top level."""

    def __init__(
        self,
        session: TerminalSession,
        title: str,
        entity_type: str,
        do: Callable[[Urn | None], None],
    ) -> None:
        super().__init__(line(title))
        self._session = session
        self._entity_type = entity_type
        self._do = do

    def entries(self) -> Iterable[ChooserEntry]:
        """Return the top level as the first entry."""
        return (ChooserEntry("At the top level", do=partial(self._do, None)),)

    def on_mount(self) -> None:
        """Read the first candidates."""
        super().on_mount()
        self._read()

    def nothing_found(self, typed: str) -> str:
        """Return that no entity of the type has this name."""
        del typed
        return f"No {singular(self._entity_type)} has this name."

    async def further(self, typed: str) -> Sequence[ChooserEntry]:
        """Return the entities that match the typed text."""
        with self._session.reporting("searching for a parent"):
            return await entities_like(
                self._session, typed, self._do, entity_type=self._entity_type
            )
        return ()

    @work(group="parents")
    async def _read(self) -> None:
        with self._session.reporting("reading the possible parents"):
            catalog = await self._session.catalog()
            page = await catalog.search("*", entity=self._entity_type, count=_AT_ONCE)
            urns = [hit.urn for hit in page]
            entries = entity_entries(urns, await catalog.summaries(urns), self._do, "")
            self.add_entries(sorted(entries, key=lambda entry: entry.text.casefold()))


@dataclass(frozen=True, slots=True)
class GovernanceLauncher:
    """Opens the actions for the open entity, if there is one.

    `open_page` opens the page of a created entity, `show_uses` shows what uses the open entity, and
    `refresh` shows what was written.
    """

    app: App[Any]
    session: TerminalSession
    open_page: Callable[[Urn], object]
    show_uses: Callable[[], None]
    refresh: Callable[[frozenset[Urn]], Awaitable[object]]

    def show(self, entity: "Entity | None") -> None:
        """Show what can be created, and the actions on an entity."""
        if not self.session.refuses_to_write():
            self.app.push_screen(GovernanceScreen(self._entries(entity)))

    def _entries(self, entity: "Entity | None") -> Iterator[ChooserEntry]:
        if entity is not None and entity.exists and entity.entity_type in NAMES:
            yield from self._entries_of(entity)
        for kind in _NEW:
            name = partial(self._ask_name, kind)
            yield ChooserEntry(f"New {singular(kind)}", part=_PART, do=partial(name, None))

    def _entries_of(self, entity: "Entity") -> Iterator[ChooserEntry]:
        kind = entity.entity_type
        part = f"{singular(kind).capitalize()} {line(entity.name, 40)}"
        entry = partial(ChooserEntry, part=part)
        yield entry("Rename", do=partial(self._ask_new_name, entity))
        if kind in PARENTS:
            into = singular(_ABOVE[kind])
            yield entry(f"Move to another {into}", do=partial(self._ask_parent, entity))
        for below in _BELOW.get(kind, ()):
            make = partial(self._ask_name, below, entity.urn)
            yield entry(f"New {singular(below)} in it", do=make)
        yield entry("What uses it", do=self.show_uses)

    def _ask_name(self, kind: Governed, parent: Urn | None) -> None:
        word = singular(kind)

        def make_named(name: str | None) -> None:
            if name is None:
                return
            if parent is not None or kind not in _ABOVE:
                self._begin(partial(self._make, kind, name, parent))
                return
            title = f"Choose a parent for {line(name, 40)}"
            do = partial(self._make_within, kind, name)
            self.app.push_screen(ParentScreen(self.session, title, _ABOVE[kind], do))

        self.app.push_screen(PromptScreen(f"New {word}", f"the name of the {word}"), make_named)

    def _ask_new_name(self, entity: "Entity") -> None:
        def rename(name: str | None) -> None:
            if name is not None and name != entity.name:
                self._begin(partial(self._rename, entity, name))

        title = f"Rename {singular(entity.entity_type)}"
        hint = "the new name; the URN and its uses stay the same"
        self.app.push_screen(PromptScreen(title, hint, entity.name), rename)

    def _ask_parent(self, entity: "Entity") -> None:
        title = f"Move {line(entity.name, 40)} into"
        do = partial(self._move_into, entity)
        above = _ABOVE[entity.entity_type]
        self.app.push_screen(ParentScreen(self.session, title, above, do))

    def _make_within(self, kind: Governed, name: str, parent: Urn | None) -> None:
        self._begin(partial(self._make, kind, name, parent))

    def _move_into(self, entity: "Entity", parent: Urn | None) -> None:
        self._begin(partial(self._move, entity, parent))

    def _begin(self, what: Callable[[], Coroutine[None, None, object]]) -> None:
        start_worker(self.app, what, LEADING, group="governance")

    async def _make(
        self, kind: Governed, name: str, parent: Urn | None, *, is_confirmed: bool = False
    ) -> None:
        with self.session.reporting(f"creating the {singular(kind)}"):
            catalog = await self.session.catalog()
            urn = None if is_confirmed else await find_namesake(catalog, kind, name)
            if urn is not None:
                self._ask_for_second(kind, name, parent, urn)
                return
            entity_id = new_id(kind, name, parent)
            new = await catalog.new(kind, name, parent=parent, entity_id=entity_id)
            self.open_page(new.urn)
            self.session.say_saved(f"{line(name)} is created. E describes it.")

    def _ask_for_second(self, kind: Governed, name: str, parent: Urn | None, other: Urn) -> None:
        def make_anyway(is_confirmed: bool | None) -> None:
            if is_confirmed:
                self._begin(partial(self._make, kind, name, parent, is_confirmed=True))

        question = Text.assemble(
            f"A {singular(kind)} is named ",
            (line(name, 60), "bold"),
            f" already: {line(str(other))}\n\nCreate another one of this name?",
        )
        self.app.push_screen(ConfirmScreen(question), make_anyway)

    async def _rename(self, entity: "Entity", name: str) -> None:
        with self.session.reporting(f"renaming {line(entity.name)}"):
            catalog = await self.session.catalog()
            target = edit_target(entity.urn, "name")
            before = target.read(entity.raw(target.aspect) or {})
            await catalog.rename(entity.urn, name, instead_of=_text(before))
            await self.refresh(frozenset((entity.urn,)))
            self.session.say_saved(f"{line(entity.name)} is now called {line(name)}.")

    async def _move(self, entity: "Entity", parent: Urn | None) -> None:
        with self.session.reporting(f"moving {line(entity.name)}"):
            catalog = await self.session.catalog()
            target = edit_target(entity.urn, "parent")
            before = target.read(entity.raw(target.aspect) or {})
            await catalog.move(entity.urn, parent, instead_of=_text(before))
            await self.refresh(frozenset((entity.urn,)))
            above = (await catalog.summaries([parent])).get(parent) if parent else None
            place = (
                "at the top level" if parent is None else f"in {line(above.name if above else '')}"
            )
            self.session.say_saved(f"{line(entity.name)} is {place} now.")


def _text(name_or_parent: object) -> str:
    return name_or_parent if isinstance(name_or_parent, str) else ""
