"""The aspects of an entity that have a history, and the reading of their versions."""

import asyncio
from typing import TYPE_CHECKING

from explorer.errors import NotFound
from explorer.tui.history.versions import Track, run_of, steps_of

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity

__all__ = ["read_on", "tracks_of"]


def tracks_of(entity: "Entity") -> list[Track]:
    """The aspects that have a history, the one written last first."""
    tracks = [Track(name, one) for name, one in entity.aspects.items() if not name.endswith("Key")]
    # What one run wrote stays together, by name.
    ended: dict[str, int] = {}
    for one in tracks:
        run = run_of(one.latest.run_id)
        ended[run] = max(ended.get(run, 0), _millis(one))

    def written(one: Track) -> int:
        run = run_of(one.latest.run_id)
        return ended[run] if run else _millis(one)

    tracks.sort(key=lambda one: (-written(one), one.aspect))
    return tracks


def _millis(track: Track) -> int:
    created = track.latest.created
    return created.time if created else 0


async def read_on(catalog: "AsyncCatalog", entity: "Entity", track: Track, count: int) -> None:
    """Read the next versions of an aspect; one that has gone meanwhile has none."""
    try:
        page = await catalog.versions(entity.urn, track.aspect, start=track.known, count=count)
    except NotFound:
        track.asked = True
        return
    steps, oldest = await asyncio.to_thread(steps_of, track, page)
    track.take(page, steps, oldest)
