"""What others change while a reader looks: heard from the server's change log, as it happens."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from explorer.errors import CatalogError, Gone
from explorer.metadata.urn import Urn
from explorer.tui.session import Session

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.records import ChangeEvent

__all__ = ["Changes", "Watch", "told"]

Changes = Mapping[Urn, tuple["ChangeEvent", ...]]
"""What was heard together: the changes of each entity, in the order of the log."""

# An edit is often several aspects; they are told as one.
_TOGETHER_SECONDS = 0.3
# Before following anew when the changes to go on from are not kept any more.
_GONE_SECONDS = 1.0

# Who writes without having signed in.
_NOBODY = "unknown"

_WORDS = {
    "domains": "domain",
    "editableSchemaMetadata": "column descriptions",
    "globalTags": "tags",
    "glossaryTerms": "terms",
    "institutionalMemory": "links",
    "ownership": "owners",
    "schemaMetadata": "columns",
    "status": "visibility",
    "upstreamLineage": "lineage",
}


class Watch:
    """Follows the change log of a session's server and tells `changed` of it, on the loop it runs
    on; calls `missed` where changes were lost, so that anything may be other than shown.

    A server that keeps no log is not followed. A connection that is lost is taken up again; one
    that cannot be is left quietly, for every question tells of its own trouble."""

    def __init__(
        self,
        session: Session,
        changed: Callable[[Changes], None],
        missed: Callable[[], object],
    ) -> None:
        self._session = session
        self._changed = changed
        self._missed = missed
        self._following: asyncio.Task[None] | None = None
        self._heard: dict[Urn, list[ChangeEvent]] = {}

    def start(self) -> None:
        """Follow the server of the session, instead of the one followed before."""
        self.stop()
        self._following = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Hang up."""
        if self._following is not None:
            self._following.cancel()
        self._following = None
        self._heard = {}

    async def _run(self) -> None:
        with suppress(CatalogError):
            catalog = await self._session.catalog()
            if (await catalog.abilities()).changes:
                after: int | None = None
                while True:
                    try:
                        await self._follow(catalog, after)
                    except Gone as error:
                        after = error.resume_after
                        await asyncio.sleep(_GONE_SECONDS)
                        self._missed()
                    else:
                        return

    async def _follow(self, catalog: "AsyncCatalog", after: int | None) -> None:
        loop = asyncio.get_running_loop()
        telling: asyncio.TimerHandle | None = None
        try:
            async for change in catalog.follow(after):
                if not self._heard:
                    telling = loop.call_later(_TOGETHER_SECONDS, self._tell)
                self._heard.setdefault(change.urn, []).append(change)
        finally:
            if telling is not None:
                telling.cancel()

    def _tell(self) -> None:
        heard, self._heard = self._heard, {}
        if not heard:
            # It was stopped meanwhile.
            return
        self._changed({urn: tuple(changes) for urn, changes in heard.items()})


def told(changes: tuple["ChangeEvent", ...]) -> str:
    """Return what was changed and by whom, as a sentence without its full stop."""
    names = dict.fromkeys(Urn.label(change.actor) for change in changes)
    people = ", ".join("somebody" if name == _NOBODY else name for name in names)
    things = ", ".join(dict.fromkeys(_what(change.aspect) for change in changes))
    return f"{things[:1].upper()}{things[1:]} updated by {people}"


def _what(aspect: str) -> str:
    if aspect in _WORDS:
        return _WORDS[aspect]
    is_text = aspect.startswith("editable") and aspect.endswith("Properties")
    return "description" if is_text else aspect
