"""Adding, changing, removing and restoring the documentation links of an entity."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from explorer.client.display import line
from explorer.client.editable import TextConflict
from explorer.client.edits import is_planning
from explorer.client.journal import one_save
from explorer.errors import CatalogError, Conflict, NotFound
from explorer.metadata.aspects import Link
from explorer.metadata.urn import Urn
from explorer.sessions.base import READ_ONLY, Message, action
from explorer.sessions.listing import ListSession, ListState

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from explorer.client import AsyncCatalog, Edit


@dataclass(frozen=True, slots=True)
class LinkState(ListState[Link]):
    """The links as last read, in order. `removed` are the removed links that can be restored, the
    last one last; `is_changed` is true once anything was written."""

    removed: tuple[Link, ...] = ()
    is_changed: bool = False


class LinkSession(ListSession[LinkState]):
    """The links of one entity. If they were read, a change fails when the server holds other links
    by then. `links` are links that the caller has already read."""

    READING = "reading the links …"
    NONE = "No links yet."

    def __init__(
        self, catalog: "AsyncCatalog", urn: str | Urn, links: tuple[Link, ...] | None = None
    ) -> None:
        self.urn = Urn.parse(urn)
        self._seen: tuple[str, ...] | None = None
        super().__init__(catalog, LinkState())
        if links is not None:
            self._list(links)

    async def read_rows(self) -> None:
        """Read the links."""
        self._list(await self.catalog.links(self.urn))

    def key_of(self, row: Link) -> tuple[str, str]:
        """Return a key that identifies a row in the list."""
        return row.url, row.description

    @action("Add a link")
    async def add(self, url: str, label: str) -> "Edit":
        """Add a link. Raises `Conflict` if the links are not those that were read."""
        return await self._write(self._add(url, label), f"Added {line(label or url)}.")

    @action("Change the link")
    async def change(self, link: Link, url: str, label: str) -> "Edit":
        """Replace a link by another; raises as `add`."""
        return await self._write(self._change(link, url, label), f"Changed {line(label or url)}.")

    @action("Remove the link")
    async def remove(self, url: str, label: str | None = None) -> "Edit":
        """Remove the links to an address, or only the one with that label; raises as `add`."""
        removing = self.catalog.remove_link(self.urn, url, label, instead_of=self._seen)
        removed = () if label is None else (Link(url=url, description=label),)
        return await self._write(
            removing,
            f"Removed {line(f'{label} {url}' if label else url)}.",
            (*self.state.removed, *removed),
        )

    @action("Bring back the link that was removed last")
    async def restore(self) -> "Edit":
        """Add the link that was removed last; raises as `add`."""
        self.check("restore")
        link = self.state.removed[-1]
        return await self._write(
            self._add(link.url, link.description),
            f"Restored {line(link.description or link.url)}.",
            self.state.removed[:-1],
        )

    def why_not(self, name: str) -> str:
        """Return why an action is not possible; empty if it is possible."""
        if name == "read":
            return ""
        if self.catalog.read_only and not is_planning():
            return READ_ONLY
        if name in ("change", "remove") and self._seen == ():
            return self.NONE
        return "No link was removed." if name == "restore" and not self.state.removed else ""

    def _list(self, links: tuple[Link, ...], **changes: Any) -> None:
        """List links, and set `_seen` to them in the form of an edit's value."""
        self._seen = tuple(f"{link.url} {link.description}" for link in links)
        self.put(links, rows=links, **changes)

    async def _add(self, url: str, label: str) -> "Edit":
        return await self.catalog.add_link(self.urn, url, label, instead_of=self._seen)

    async def _change(self, link: Link, url: str, label: str) -> "Edit":
        # The new link is added first, so that an interruption loses neither.
        added = await self._add(url, label)
        links = added.after if isinstance(added.after, tuple) else ()
        try:
            return await self.catalog.remove_link(
                self.urn, link.url, link.description, instead_of=links
            )
        except NotFound:
            # The server may have replaced a link to the same address by the new one.
            return added

    async def _write(
        self,
        writing: "Coroutine[Any, Any, Edit]",
        sentence: str,
        removed: tuple[Link, ...] | None = None,
    ) -> "Edit":
        """Await a write, set the message to `sentence`, and read the links again if they were read
        before. `removed` becomes the list of links that can be restored; None leaves it
        unchanged."""
        try:
            self.check("add")
            with one_save():
                edit = await self.work("saving", writing)
        except TextConflict as conflict:
            await self.read_rows()
            raise Conflict(
                "somebody else changed the links meanwhile; nothing was written: check them and "
                "try again"
            ) from conflict
        finally:
            writing.close()
        changes = {
            "is_changed": True,
            "removed": self.state.removed if removed is None else removed,
        }
        message = Message(sentence, is_saved=True)
        if self._seen is None:
            self.replace(message=message, **changes)
            return edit
        try:
            links = await self.catalog.links(self.urn)
        except CatalogError:
            self.replace(**changes)
            raise
        self._list(links, message=message, **changes)
        return edit
