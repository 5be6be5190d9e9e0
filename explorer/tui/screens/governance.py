"""Dialogs that create, rename and move tags, glossary terms and groups, domains and data
products."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.text import Text
from textual import work
from textual.app import App

from explorer.client.governance import Governed
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.sessions.glossary import KINDS, GlossarySession
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

_PART = "New"
_AT_ONCE = 50


class GovernanceScreen(ChooserScreen):
    """Lists the types that can be created, and the actions on the open entity."""

    TITLE_SHOWN: ClassVar[str] = "Tags, glossary, domains and data products"
    HEADINGS: ClassVar[bool] = True

    def __init__(self, entries: Iterable[ChooserEntry]) -> None:
        super().__init__()
        self._given = tuple(entries)

    def entries(self) -> Iterable[ChooserEntry]:
        """Return the actions."""
        return self._given


class ParentScreen(ChooserScreen):
    """Asks for the parent of an entity: an entity of `entity_type`, or the top level. `do` is
    called with its URN, or with None for the top level."""

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
        """Return the sentence for an empty list: no entity of the type has this name."""
        del typed
        return f"No {singular(self._entity_type)} has this name."

    async def further(self, typed: str) -> Sequence[ChooserEntry]:
        """Return entries for the entities of the type that match the typed text."""
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
    """Opens the list of governance actions.

    `open_page` opens the page of a created entity, `show_uses` shows where the open entity is used,
    and `refresh` is called with the URNs that were written.
    """

    app: App[Any]
    session: TerminalSession
    open_page: Callable[[Urn], object]
    show_uses: Callable[[], None]
    refresh: Callable[[frozenset[Urn]], Awaitable[object]]

    def show(self, entity: "Entity | None") -> None:
        """Show the types that can be created, and the actions on an entity."""
        if not self.session.refuses_to_write():
            start_worker(self.app, partial(self._show, entity), LEADING, group="governance")

    async def _show(self, entity: "Entity | None") -> None:
        with self.session.reporting("offering the actions"):
            glossary = GlossarySession(await self.session.catalog(), entity)
            self.app.push_screen(GovernanceScreen(self._entries(glossary)))

    def _entries(self, glossary: GlossarySession) -> Iterator[ChooserEntry]:
        """Yield an entry for each type to create and for each action on the entity."""
        entity, state = glossary.state.entity, glossary.state
        if entity is not None:
            word = singular(entity.entity_type)
            part = f"{word.capitalize()} {line(entity.name, 40)}"
            entry = partial(ChooserEntry, part=part)
            yield entry("Rename", do=partial(self._ask_new_name, glossary, entity))
            if state.moves_into:
                into = singular(state.moves_into)
                do = partial(self._ask_parent, glossary, entity)
                yield entry(f"Move to another {into}", do=do)
            for kind in state.makes:
                make = partial(self._ask_name, glossary, kind, entity.urn)
                yield entry(f"New {singular(kind)} in it", do=make)
            yield entry("What uses it", do=self.show_uses)
        for kind in KINDS:
            do = partial(self._ask_name, glossary, kind, None)
            yield ChooserEntry(f"New {singular(kind)}", part=_PART, do=do)

    def _ask_name(self, glossary: GlossarySession, kind: Governed, parent: Urn | None) -> None:
        """Ask for the name of a new entity, and create it."""
        word = singular(kind)

        def make_named(name: str | None) -> None:
            if name is None:
                return
            make = partial(self._make, glossary, kind, name)
            if parent is not None or not glossary.parent_type(kind):
                make(parent)
                return
            title = f"Choose a parent for {line(name, 40)}"
            parents = ParentScreen(self.session, title, glossary.parent_type(kind), make)
            self.app.push_screen(parents)

        self.app.push_screen(PromptScreen(f"New {word}", f"the name of the {word}"), make_named)

    def _make(
        self, glossary: GlossarySession, kind: Governed, name: str, parent: Urn | None
    ) -> None:
        """Create an entity, after a question if another one has the name; then open its page."""

        async def make() -> None:
            edit = await glossary.make(kind, name, parent, is_namesake_known=True)
            self.open_page(edit.urn)
            if glossary.state.message is not None:
                self.session.say_saved(f"{glossary.state.message.sentence} E describes it.")

        finding_namesake = glossary.namesake(kind, name)
        self._call_unless_name_exists(
            kind, name, finding_namesake, "Create another one of this name?", make
        )

    def _ask_new_name(self, glossary: GlossarySession, entity: "Entity") -> None:
        """Ask for the new name of an entity, and rename it."""
        kind = cast("Governed", entity.entity_type)

        async def rename(name: str) -> None:
            await glossary.rename(name)
            await self._show_again(glossary, entity)

        def rename_to(name: str | None) -> None:
            if name is not None and name != entity.name:
                do = partial(rename, name)
                finding_namesake = glossary.namesake(kind, name, entity.urn)
                self._call_unless_name_exists(
                    kind, name, finding_namesake, "Give it the same name?", do
                )

        title = f"Rename {singular(entity.entity_type)}"
        hint = "the new name; the URN and its uses stay the same"
        self.app.push_screen(PromptScreen(title, hint, entity.name), rename_to)

    def _ask_parent(self, glossary: GlossarySession, entity: "Entity") -> None:
        """Ask for the new parent of an entity, and move it there."""

        async def move(parent: Urn | None) -> None:
            await glossary.move(parent)
            await self._show_again(glossary, entity)

        def move_into(parent: Urn | None) -> None:
            self._begin(partial(move, parent))

        title = f"Move {line(entity.name, 40)} into"
        screen = ParentScreen(self.session, title, glossary.state.moves_into, move_into)
        self.app.push_screen(screen)

    async def _show_again(self, glossary: GlossarySession, entity: "Entity") -> None:
        await self.refresh(frozenset((entity.urn,)))
        if glossary.state.message is not None:
            self.session.say_saved(glossary.state.message.sentence)

    def _call_unless_name_exists(
        self,
        kind: Governed,
        name: str,
        reading: Coroutine[None, None, Urn | None],
        ending: str,
        do: Callable[[], Coroutine[None, None, object]],
    ) -> None:
        """Call `do`; if `reading` returns another entity of the kind with the name, ask first."""

        def go_on(is_confirmed: bool | None) -> None:
            if is_confirmed:
                self._begin(do)

        async def ask() -> None:
            namesake = await reading
            if namesake is None:
                await do()
                return
            question = Text.assemble(
                f"A {singular(kind)} is named ",
                (line(name, 60), "bold"),
                f" already: {line(str(namesake))}\n\n{ending}",
            )
            self.app.push_screen(ConfirmScreen(question), go_on)

        self._begin(ask)

    def _begin(self, do: Callable[[], Coroutine[None, None, object]]) -> None:
        async def run() -> None:
            with self.session.reporting("changing the glossary"):
                await do()

        start_worker(self.app, run, LEADING, group="governance")
