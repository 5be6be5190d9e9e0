"""Taking edits back."""

from explorer.client.conflict import TextConflict
from explorer.client.journal import JournalEntry
from explorer.client.labels import OWNERS, TAGS, TERMS, Shelf
from explorer.client.parts.labelling import Labelling
from explorer.client.parts.linking import Linking, shown
from explorer.client.records import Edit, Held, What
from explorer.errors import InvalidInput

__all__ = ["Undoing"]

_SHELVES: dict[What, Shelf] = {"tags": TAGS, "terms": TERMS, "owners": OWNERS}


class Undoing(Labelling, Linking):
    """How an edit is taken back."""

    async def undo(self, edit: Edit | JournalEntry) -> Edit:
        """Bring back what an edit, or a line of the journal, found.

        Only where the server still holds what the edit left; else nothing is written. Of labels
        and links only those that the edit added or took are looked at and changed back, so that
        others' stay. What this does is an edit itself, in the journal like any other. Two or three
        requests, for links more.

        Raises `TextConflict` where somebody changed it since: `base` is what the edit left,
        `theirs` what is there now, `mine` what would have come back; `InvalidInput` for a line of
        the journal about an edit on another server; and as the edit itself does.
        """
        if isinstance(edit, JournalEntry):
            await self._check_server(edit)
        done = edit.edit if isinstance(edit, JournalEntry) else edit

        def check(now: Held) -> None:
            if now != done.after:
                raise _changed(done, now)

        match done.what:
            case "description":
                before, after = _text(done.before), _text(done.after)
                return await self.describe(
                    done.urn, before, column=done.column, instead_of=after, force=False
                )
            case "links":
                return await self._undo_links(done)
            case "domain":
                return await self._put_domains(done.urn, _several(done.before), check)
            case "deprecation":
                held = done.before if isinstance(done.before, dict) else None
                return await self._put_deprecation(done.urn, held, check)
            case "tags" | "terms" | "owners":
                return await self._undo_labels(done)

    async def _check_server(self, entry: JournalEntry) -> None:
        if not self._connection.address:
            # The embedded catalog has an address once it was found.
            await self.abilities()
        here = self._connection.address
        if entry.server.rstrip("/") != here.rstrip("/"):
            raise InvalidInput(
                f"this edit was made on {entry.server} and cannot be taken back on {here}; "
                "take it back with a client of that server"
            )

    async def _undo_labels(self, edit: Edit) -> Edit:
        shelf = _SHELVES[edit.what]
        home = shelf.home(edit.column)
        value = (await self._stored(edit.urn, home)).value(home)
        added, taken = _difference(edit, shelf.labels(value, edit.column))
        return await self._label(edit.urn, edit.what, shelf, edit.column, add=taken, remove=added)

    async def _undo_links(self, edit: Edit) -> Edit:
        added, taken = _difference(edit, shown(await self._elements(edit.urn)))
        last = self._edit(edit.urn, "links", edit.after, edit.after)
        for link in added:
            url, _, label = link.partition(" ")
            last = await self.remove_link(edit.urn, url, label)
        for link in taken:
            url, _, label = link.partition(" ")
            last = await self.add_link(edit.urn, url, label)
        return last


def _difference(edit: Edit, now: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the edit added and what it took, all of it still as the edit left it."""
    before, after = _several(edit.before), _several(edit.after)
    added = tuple(one for one in after if one not in before)
    taken = tuple(one for one in before if one not in after)
    if not frozenset(added) <= frozenset(now) or frozenset(taken) & frozenset(now):
        raise _changed(edit, now)
    return added, taken


def _changed(edit: Edit, now: Held) -> TextConflict:
    where = str(edit.urn) if edit.column is None else f"{edit.column} of {edit.urn}"
    shown_now, before, after = map(_text, (now, edit.before, edit.after))
    return TextConflict(f"the {edit.what} of {where}", after, shown_now, before)


def _several(held: Held) -> tuple[str, ...]:
    return held if isinstance(held, tuple) else ()


def _text(held: Held) -> str:
    match held:
        case str():
            return held
        case tuple():
            return ", ".join(held)
        case dict():
            return str(held.get("note", ""))
        case _:
            return ""
