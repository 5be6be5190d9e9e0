"""The explorer's editor: the text being edited, its draft, preview and difference, conflicts, and
saving.
"""

from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from explorer.client.display import block, line
from explorer.client.editable import place_of, stored_description
from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.notebook.markup import difference_lines, markdown_tree
from explorer.sessions.drafts import DraftsSession
from explorer.sessions.editing import (
    READ_ONLY,
    Descriptions,
    EditSession,
    Failure,
    OpenText,
    Saves,
    TextDrafts,
    resumed_remark,
)
from explorer.stewardship.drafts import OPEN_ELSEWHERE, Draft, Drafts, StoredDraft
from explorer.views.diff import text_diff
from explorer.views.journal import saved_sentence
from explorer.views.stewardship import hidden_sentence

if TYPE_CHECKING:
    from explorer.client import Catalog
    from explorer.client.entity import Entity
    from explorer.notebook.widgets.base import ExplorerRequests

UNDO = "undo_save() of the catalog undoes it."

_DISCARD = "Discard"
_EMPTY = "Write a text first."

Stage = Literal["writing", "comparing", "saving", "conflict"]
_SHOWN_LINES = 2_000
_LONGEST_REASON = 400


@dataclass(frozen=True, slots=True)
class WidgetDraft:
    """A draft of the description of an entity or of its column at `path`.

    `base` is the edited text that it started from and `text` what is typed; both exactly as they
    are stored. `theirs` is what somebody else saved meanwhile. `name` is the display
    name of the entity, `column` that of the column, and `note` the message shown on opening it.
    """

    urn: str
    path: str | None
    name: str
    ingested: str
    base: str
    text: str
    stage: Stage = "writing"
    theirs: str = ""
    column: str = ""
    note: str = ""

    @property
    def title(self) -> str:
        """Return what the text describes, in words."""
        return f"{self.column} of {self.name}" if self.column else self.name

    @property
    def changed(self) -> bool:
        """Return whether the draft differs from the saved text."""
        return self.text != self.original_text

    @property
    def original_text(self) -> str:
        """Return the text from which the draft started."""
        return self.base if self.base.strip() else self.ingested

    def resume(self, text: str, base: str) -> "WidgetDraft":
        """Return a stored draft to continue, with a note on it."""
        note = resumed_remark(_DISCARD, is_overtaken=base != self.base)
        return replace(self, text=text, base=base, note=note)

    @classmethod
    def of(cls, text: OpenText) -> "WidgetDraft":
        """Return the draft of a text that was opened."""
        target = text.target
        names = (target.name, target.ingested, text.base, text.text)
        return cls(*target.key, *names, column=target.column, note=text.remark(_DISCARD))

    @property
    def paged(self) -> str:
        """Return the text for a page, which has only one kind of line ending."""
        return _page_text(self.text)

    def with_page_text(self, text: str) -> "WidgetDraft":
        """Return the draft with the page's text; line endings of the stored text are kept."""
        if text == self.paged:
            return self
        original_text = self.original_text
        if text == _page_text(original_text):
            return replace(self, text=original_text)
        if "\r\n" in original_text and "\n" not in original_text.replace("\r\n", ""):
            text = text.replace("\n", "\r\n")
        return replace(self, text=text)

    def at(self, stage: Stage) -> "WidgetDraft":
        """Return the draft at another stage."""
        return replace(self, stage=stage)

    def facing(self, theirs: str) -> "WidgetDraft":
        """Return the draft in conflict with a text that somebody else saved."""
        return replace(self, theirs=theirs, stage="conflict")

    def with_mine(self) -> "WidgetDraft":
        """Return the draft set to replace their text."""
        return replace(self, base=self.theirs, theirs="", stage="saving")

    def with_theirs(self) -> "WidgetDraft":
        """Return a draft that continues from their text."""
        return replace(self, base=self.theirs, text=self.theirs, theirs="", stage="writing")

    def page_state(self) -> dict[str, Any]:
        """Return what the page draws, except the text and its preview."""
        before = self.theirs if self.stage == "conflict" else self.original_text
        compares = self.stage in ("comparing", "conflict", "saving")
        return {
            "urn": self.urn,
            "path": self.path,
            "title": line(self.title, 200),
            "stage": self.stage,
            "note": self.note,
            "ingested": markdown_tree(self.ingested) if self.ingested.strip() else [],
            "changed": self.changed,
            "diff": _difference(before, stored_description(self.text)) if compares else [],
            "hidden": hidden_sentence(self.text),
        }


def hindrance(urn: Urn, *, read_only: bool) -> str:
    """Return why its description cannot be edited; "" if it can."""
    if read_only:
        return READ_ONLY
    try:
        place_of(urn, None)
    except InvalidInput as error:
        return line(str(error), 200)
    return ""


def _page_text(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _difference(before: str, after: str) -> list[str]:
    """Return the difference line by line, in the form of `difference_lines`."""
    if before != after and block(before) == block(after):
        return ["@only line endings or invisible characters differ"]
    lines = text_diff(block(before), block(after))
    more = len(lines) - _SHOWN_LINES
    first_lines = difference_lines(lines[:_SHOWN_LINES])
    return [*first_lines, f"@… {more:,} more lines"] if more > 0 else first_lines


_Place = tuple[str, str | None]
_TYPED = ("urn", "path", "text", "revision", "view")


class _OnLeave(Protocol):
    def __call__(self, *, saved: bool) -> None: ...


class PageEditor:
    """The drafts of a widget, one of which may be open, until they are saved or discarded. All
    pages show the open text as last typed on any of them.

    Methods are called with the widget's lock held, or acquire it.
    """

    def __init__(
        self,
        asking: "ExplorerRequests[Catalog]",
        show: Callable[[str, Any], None],
        on_leave: _OnLeave,
    ) -> None:
        self.drafts: dict[_Place, WidgetDraft] = {}
        self._asking, self._show, self._left = asking, show, on_leave
        self._open: _Place | None = None
        self._opening: _Place | None = None
        # The drafts on disk that are not continued here, as they were read last.
        self._found: list[_Place] = []
        self.put_away: Callable[[], None] = lambda: None
        """Called after a draft was written to disk or deleted there."""
        # The open text as every page shows it, and the number of its changes.
        self._typed: dict[str, Any] = {}
        self._revision = 0

    @property
    def draft(self) -> WidgetDraft | None:
        """Return the open draft."""
        return self.drafts.get(self._open) if self._open else None

    def go_on_with(self, drafts: Mapping[_Place, WidgetDraft]) -> None:
        """Take over drafts of another widget. A save that is running there may fail, and can then
        be repeated here."""
        for draft in drafts.values():
            self._keep(draft.at("writing") if draft.stage in ("comparing", "saving") else draft)

    def places(self, urn: str) -> list[str | None]:
        """Return the path of an entity's column for each draft, None for the entity's own
        description."""
        # The text open here counts as a draft only if it was changed.
        open_places = [place for place, draft in self.drafts.items() if draft.changed]
        return [path for of, path in (*open_places, *self._found) if of == urn]

    def type(self, typed: Mapping[str, Any]) -> None:
        """Store the text of a draft from a page, unless a newer one is known, and send the newest
        to every page."""
        match typed:
            case {
                "urn": str(urn),
                "path": str() | None as path,
                "text": str(text),
                "revision": int(revision),
            } if revision > self._revision and (urn, path) in self.drafts:
                place, self._revision = (urn, path), revision
                draft = self.drafts[place].with_page_text(text)
                # A text that changed after the comparison is not saved.
                self._keep(draft.at("writing") if draft.stage == "comparing" else draft)
                self._put_away(place)
                if self._open == place:
                    self._typed = {name: typed.get(name) for name in _TYPED}
                    if draft.stage != "writing":
                        self._draw()
                    self._preview()
        self._show("typed", self._typed)

    def answer(self, content: Any) -> None:
        """Handle a request of a page to the editor; ignore anything else."""
        match content:
            case {"kind": "draft"}:
                self.type(content)
            case {"kind": "leave"}:
                self.leave()
            case {"kind": "discard"}:
                self.give_up()

    def leave(self) -> None:
        """Close the editor; the draft is kept."""
        self.close()
        self._left(saved=False)

    def give_up(self) -> None:
        """Close the editor, and discard the draft."""
        if self._open is not None:
            self._forget(self._open)
        self.leave()

    def close(self) -> None:
        """Close the editor without a message; an unchanged draft is deleted."""
        draft, self._open, self._opening = self.draft, None, None
        if draft is not None and not draft.changed:
            self._forget((draft.urn, draft.path))
        elif draft is not None and draft.stage == "comparing":
            self._keep(draft.at("writing"))
        # Remove closed texts from the state that a notebook may save.
        self._typed = {}
        self._asking.forget("preview")
        for name, value in (("editor", {}), ("typed", {}), ("preview", [])):
            self._show(name, value)

    def _show_open(self, place: _Place, draft: WidgetDraft, stage: Stage) -> None:
        """Show a draft in the editor at a stage."""
        if place in self._found:
            self._found.remove(place)
        self._keep(draft if stage == "writing" else draft.at(stage))
        self._open, self._opening = place, None
        self._put_text()
        self._draw()
        self._preview()

    def _see(self, drafts: Iterable[StoredDraft]) -> None:
        """Store the places of the drafts on disk that are neither open elsewhere nor continued
        here."""
        self._found = []
        for stored in drafts:
            place = (stored.draft.urn, stored.draft.path)
            is_held = stored.process == self.process and place in self.drafts
            if not stored.open and not is_held:
                self._found.append(place)

    @property
    def process(self) -> int:
        """Return the process of this program."""
        return self._disk().process

    def _keep(self, draft: WidgetDraft) -> None:
        self.drafts[draft.urn, draft.path] = draft

    def _forget(self, place: _Place) -> None:
        """Delete the draft of a text, in memory and on disk."""
        self.drafts.pop(place, None)
        self._put_away(place)

    def _put_away(self, place: _Place) -> None:
        """Write the draft of a text to disk, or delete it there."""
        raise NotImplementedError

    def _disk(self) -> Drafts:
        """Return where the drafts are kept."""
        raise NotImplementedError

    def _put_text(self) -> None:
        """Send the open text to every page, whatever it showed before."""
        draft = self.draft
        if draft is not None:
            self._revision += 1
            state = (draft.urn, draft.path, draft.paged, self._revision, "")
            self._typed = dict(zip(_TYPED, state, strict=True))
            self._show("typed", self._typed)

    def _draw(self) -> None:
        draft = self.draft
        self._show("editor", draft.page_state() if draft is not None else {})

    def _preview(self) -> None:
        draft = self.draft
        if draft is None:
            return
        text = draft.text
        self._asking.ask(
            "preview", "", lambda _: markdown_tree(text), lambda tree: self._show("preview", tree)
        )


class DraftEditor(PageEditor):
    """An editor that stores its drafts on disk itself."""

    def __init__(
        self,
        asking: "ExplorerRequests[Catalog]",
        show: Callable[[str, Any], None],
        on_leave: _OnLeave,
    ) -> None:
        super().__init__(asking, show, on_leave)
        self._stored: dict[_Place, Draft] = {}

    def _open_at(self, place: _Place, fresh: WidgetDraft, stage: Stage = "writing") -> None:
        """Open the editor at a stage with the stored draft of a text, from memory or disk, or with
        a new one."""
        self._opening = place

        def then(stored: Draft | None) -> None:
            if self._opening == place:
                self._begin(place, fresh, stored, stage)

        self._asking.ask("draft", "", lambda _: self._disk().read(*place), then, in_turn=True)

    def _begin(self, place: _Place, fresh: WidgetDraft, stored: Draft | None, stage: Stage) -> None:
        draft = self.drafts.get(place)
        if draft is None or not draft.changed:
            draft = fresh
        elif stored is None or stored == self._stored.get(place):
            draft = replace(draft, note=fresh.resume(draft.text, draft.base).note)
        # Another widget, or a program that ended, has stored a draft since.
        if stored is not None and stored != self._stored.get(place):
            self._stored[place] = stored
            if stored.text != fresh.text:
                draft = fresh.resume(stored.text, stored.base)
        self._show_open(place, draft, stage)

    def _put_away(self, place: _Place) -> None:
        """Write the draft of a text to disk, or delete it there. Text typed during a write is
        written next; unchanged text is not written again."""

        def write(_: object) -> None:
            draft, disk = self.drafts.get(place), self._disk()
            if draft is None or not draft.changed:
                last_stored = self._stored.pop(place, None)
                if last_stored is not None:
                    # Another widget may have stored another text since.
                    disk.drop(*place, last_stored.text)
                return
            names = (draft.name, draft.column, "notebook")
            stored = Draft(*place, draft.base, draft.text, *names)
            if stored != self._stored.get(place):
                disk.keep(stored)
                self._stored[place] = stored

        self._asking.ask("draft", "", write, lambda _: self.put_away(), in_turn=True)


class Writing(PageEditor):
    """The drafts of descriptions, which a session stores with those of the terminal, and saves."""

    def __init__(
        self,
        catalog: "Catalog",
        asking: "ExplorerRequests[Catalog]",
        show: Callable[[str, Any], None],
        on_leave: _OnLeave,
    ) -> None:
        super().__init__(asking, show, on_leave)
        self._catalog = catalog
        drafts = TextDrafts("notebook", self._disk)
        self._texts = drafts
        self._editing = EditSession(catalog.core, drafts, Saves(catalog.core, drafts))
        self.stored = DraftsSession(catalog.core, self._disk)
        """All drafts on disk, newest first, as they were read last."""

    def look(self, then: Callable[[], None]) -> None:
        """Read all drafts from disk, then call `then`."""

        def read(catalog: "Catalog") -> dict[_Place, Draft]:
            kept_drafts = self._texts.stored_drafts
            catalog.wait(self.stored.read())
            own = {
                (stored.draft.urn, stored.draft.path)
                for stored in self.stored.state.rows
                if stored.process == self.process
            }
            # Saved or discarded elsewhere in this program.
            vanished_drafts = {
                place: kept_drafts[place] for place in kept_drafts.keys() - own - {self._open}
            }
            catalog.wait(self._forget_texts(vanished_drafts))
            return vanished_drafts

        def take(vanished_drafts: dict[_Place, Draft]) -> None:
            for place, kept in vanished_drafts.items():
                draft = self.drafts.get(place)
                if draft is not None and draft.text == kept.text:
                    del self.drafts[place]
            self._see(self.stored.state.rows)
            then()

        self._asking.ask("draft", "", read, take, in_turn=True)

    async def _forget_texts(self, places: Collection[_Place]) -> None:
        self._texts.forget(places)
        self._editing.forget(places)

    def take(self, stored: StoredDraft, then: Callable[[], None]) -> None:
        """Continue a draft in this widget, then call `then`, or show an error."""

        def take(_: object) -> bool:
            disk = self._disk()
            return disk.take(disk.require(stored))

        def check_taken(is_taken: bool) -> None:
            if not is_taken:
                raise InvalidInput(OPEN_ELSEWHERE)
            then()

        self._asking.ask("draft", "", take, check_taken, in_turn=True)

    def discard(self, stored: StoredDraft, then: Callable[[], None]) -> None:
        """Delete one draft, then call `then`, or show an error."""
        place = (stored.draft.urn, stored.draft.path)

        def discard(catalog: "Catalog") -> None:
            catalog.wait(self.stored.discard(stored))
            if stored.process == self.process:
                catalog.wait(self._forget_texts([place]))

        def forget(_: None) -> None:
            if stored.process == self.process and place in self.drafts:
                del self.drafts[place]
                if self._open == place:
                    self.leave()
            then()

        self._asking.ask("draft", "", discard, forget, in_turn=True)

    def restore(self) -> None:
        """Write the draft again that was discarded last."""
        self._asking.ask(
            "draft",
            "",
            lambda catalog: catalog.wait(self.stored.restore()),
            lambda _: None,
            in_turn=True,
        )

    def hindrance(self, urn: Urn) -> str:
        """Return why the description of an entity cannot be edited; "" if it can."""
        return hindrance(urn, read_only=self._catalog.read_only)

    def begin(self, entity: "Entity", path: str | None, stage: Stage = "writing") -> None:
        """Open the editor at a stage with the stored draft of a text, from memory or disk."""
        why_not = self.hindrance(entity.urn)
        if why_not:
            self._show("problem", why_not)
            return
        place = self._opening = (str(entity.urn), path)

        async def resume() -> OpenText:
            self._editing.begin(Descriptions(entity), path)
            await self._editing.resume()
            return self._editing.text

        def then(text: OpenText) -> None:
            if self._opening == place:
                draft = self.drafts.get(place)
                if draft is None or not draft.changed or draft.text != text.text:
                    draft = WidgetDraft.of(text)
                self._show_open(place, replace(draft, note=text.remark(_DISCARD)), stage)

        self._asking.ask("draft", "", lambda catalog: catalog.wait(resume()), then, in_turn=True)

    def answer(self, content: Any) -> None:
        """Handle a request of a page to the editor; ignore anything else."""
        match content:
            case {"kind": "compare"}:
                self.compare()
            case {"kind": "write"}:
                self.go_on()
            case {"kind": "save"}:
                self.save()
            case {"kind": "mine"}:
                self.take_mine()
            case {"kind": "theirs"}:
                self.take_theirs()
            case _:
                super().answer(content)

    def compare(self) -> None:
        """Show the difference that saving would make."""
        self._stage("comparing")

    def go_on(self) -> None:
        """Go back to editing the text."""
        self._stage("writing")

    def save_now(self) -> None:
        """Save the open text if there was none before; else show the difference first."""
        draft = self.draft
        if draft is None or draft.stage == "saving":
            return
        if not draft.text.strip():
            self._show("problem", _EMPTY)
        elif draft.base.strip():
            self.compare()
        else:
            self._store(draft.at("saving"))

    def save(self) -> None:
        """Save the draft that was compared."""
        draft = self.draft
        if draft is not None and draft.stage == "comparing":
            self._store(draft.at("saving"))

    def take_mine(self) -> None:
        """Save the draft instead of the text that somebody else saved."""
        draft = self.draft
        if draft is not None and draft.stage == "conflict":
            self._store(draft.with_mine())

    def take_theirs(self) -> None:
        """Keep the text that somebody else saved, and continue from it."""
        draft = self.draft
        if draft is not None and draft.stage == "conflict":
            place = (draft.urn, draft.path)
            self._keep(draft.with_theirs())

            async def take() -> None:
                self._editing.take_theirs(draft.theirs, place)
                await self._editing.discard(place)

            self._ask_drafts(take)
            self._put_text()
            self._draw()
            self._preview()

    def _stage(self, stage: Stage) -> None:
        draft = self.draft
        if draft is not None and draft.stage != "saving":
            self._keep(draft.at(stage))
            self._draw()

    def _put_away(self, place: _Place) -> None:
        async def keep() -> None:
            draft = self.drafts.get(place)
            if place not in self._editing.state.texts:
                return
            if draft is None or not draft.changed:
                await self._editing.discard(place)
            elif not self._editing.is_kept(draft.text, place):
                # Text typed during a write is written next; unchanged text is not written again.
                await self._editing.type(draft.text, place)

        self._ask_drafts(keep)

    def _ask_drafts(self, change: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Let the session change drafts; text typed meanwhile is stored afterwards."""
        self._asking.ask(
            "draft",
            "",
            lambda catalog: catalog.wait(change()),
            lambda _: self.put_away(),
            in_turn=True,
        )

    def _store(self, draft: WidgetDraft) -> None:
        place = (draft.urn, draft.path)
        self._keep(draft)
        self._draw()

        def then(failure: Failure | None) -> None:
            now = self.drafts.get(place)
            if failure is not None:
                self._show_failure(now or draft, failure)
                return
            message = self._editing.state.message
            sentence = line(message.sentence) if message is not None else ""
            self._show("said", saved_sentence(sentence, self._catalog.save_warnings, UNDO))
            if now is not None and now.text != draft.text:
                # Text typed on another page during the save becomes a draft based on the saved
                # text.
                base = stored_description(draft.text)
                self._keep(replace(now, base=base, stage="writing"))
                self._put_away(place)
                if self._open == place:
                    self._draw()
            else:
                self._forget(place)
                if self._open == place:
                    self.close()
            self._left(saved=True)

        def on_error(_: Exception) -> bool:
            self._keep(self.drafts.get(place, draft).at("comparing"))
            if self._open == place:
                self._draw()
            return False

        self._asking.ask(
            "save",
            "saving …",
            lambda catalog: catalog.wait(self._editing.save(draft.text, draft.base, place)),
            then,
            on_error=on_error,
            in_turn=True,
        )

    def _show_failure(self, draft: WidgetDraft, failure: Failure) -> None:
        """Show why a draft was not saved: beside the text that somebody else saved, if there is
        one."""
        if failure.their_text is None:
            self._show("problem", line(failure.reason, _LONGEST_REASON))
        self._keep(
            draft.at("comparing")
            if failure.their_text is None
            else draft.facing(failure.their_text)
        )
        if self._open == (draft.urn, draft.path):
            self._draw()

    def _disk(self) -> Drafts:
        return Drafts.of_catalog(self._catalog)
