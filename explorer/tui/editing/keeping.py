"""Keeping what is typed: the drafts of an editor, one after another."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from explorer.stewardship.drafts import Draft, Drafts
from explorer.tui.editing.subject import Target
from explorer.tui.session import Session

__all__ = ["Keeper"]

_Given = ParamSpec("_Given")
_Gives = TypeVar("_Gives")

# One thread for all: of two texts of one draft the later is written last, also where a disk is
# so slow that somebody has typed on meanwhile.
_DISK = ThreadPoolExecutor(1, "drafts")


class Keeper:
    """The drafts for the server of a session, read and written in the order of the calls. A target
    and its texts are those of the call, whatever the editor has turned to since."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._drafts: Drafts | None = None

    async def read(self, target: Target) -> Draft | None:
        """The draft of a text, where there is one."""
        drafts = await self._own()
        return await _in_turn(drafts.read, str(target.urn), target.path)

    async def keep(self, target: Target, base: str, text: str) -> None:
        """Keep a text that started from `base`; raises `Unusable` where that cannot be."""
        drafts = await self._own()
        draft = Draft(str(target.urn), target.path, base, text, target.name, target.column)
        await _in_turn(drafts.keep, draft)

    async def drop(self, target: Target, text: str | None = None) -> None:
        """Delete the draft of a description: it was saved, or given up. With `text`, only where
        the draft has that text."""
        drafts = await self._own()
        await _in_turn(drafts.drop, str(target.urn), target.path, text)

    async def _own(self) -> Drafts:
        if self._drafts is None:
            self._drafts = await Drafts.at(self._session)
        return self._drafts


async def _in_turn(
    work: Callable[_Given, _Gives], *given: _Given.args, **named: _Given.kwargs
) -> _Gives:
    return await asyncio.get_running_loop().run_in_executor(_DISK, partial(work, *given, **named))
