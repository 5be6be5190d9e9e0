"""Changing what is stored without losing what others write at the same moment."""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from explorer.client.answers.writing import Stored, parse_stored
from explorer.client.parts.part import CatalogMethods
from explorer.client.requests.reading import entity_request
from explorer.client.requests.writing import ingest_request
from explorer.errors import Conflict, InvalidInput, NotFound
from explorer.metadata.aspects import RECORDS
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

__all__ = ["ConditionalWrites", "aspect_value"]

# Every time that one came too late another was in time, so many who write one aspect all come
# through; the pauses keep them from meeting again.
_ATTEMPTS = 30
_LONGEST_PAUSE_SECONDS = 0.2
# Aspects that nearly every entity has, which tell that it is there. A server gives the key of any
# URN, stored or not, and not every server says when a key was stored.
_SIGNS = ("status", "dataPlatformInstance", "browsePaths")
_CONDITION = "If-Version-Match"
# Servers that answer a condition that does not hold with 422 say so in these words only.
_NOT_HELD = "expected version"


class ConditionalWrites(CatalogMethods):
    """What writing and editing have in common."""

    async def _stored(self, urn: Urn, *aspects: str) -> Stored:
        """The entity as the server has it now, with these aspects. One request.

        Raises `NotFound` for an entity that was never written.
        """
        entity = self.registry.entities.get(urn.entity_type)
        known = self.registry.aspects_of(urn.entity_type) if entity else ()
        signs = (*(name for name in _SIGNS if name in known), *((entity.key,) if entity else ()))
        names = list(dict.fromkeys((*aspects, *signs)))
        request = entity_request(urn, names)
        # What is written from must be what is there now, never an answer kept from earlier.
        reply = await self._connection.ask(request, fresh=True)
        found = parse_stored(reply.body)
        if not found.exists:
            raise NotFound(f"there is no {urn} in this catalog; nothing was written")
        return found

    async def _rewrite(
        self, urn: Urn, aspect: str, change: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> None:
        """Write what `change` makes of an aspect's value; nothing when that is what it was.

        Where the server counts versions (ours, DataHub's since 0.14) the write carries
        `If-Version-Match`: somebody who wrote in between makes it start anew from what they wrote,
        which `change` may refuse. On other servers what they wrote in between is lost. Two
        requests. Raises `NotFound`, and `Conflict` when it came too late again and again.
        """
        for attempt in range(_ATTEMPTS):
            found = await self._stored(urn, aspect)
            value = found.value(aspect)
            changed = change(dict(value))
            if changed == value:
                return
            version = found.version(aspect)
            try:
                await self._put(Proposal(urn, aspect, changed), version)
            except Conflict:
                if attempt + 1 == _ATTEMPTS:
                    raise
                pause = min(_LONGEST_PAUSE_SECONDS, 0.005 * 2**attempt)
                await asyncio.sleep(random.uniform(0, pause))  # noqa: S311 - no secret
            else:
                return

    async def _put(self, proposal: Proposal, version: int | None) -> None:
        """Write, and with a version only over that one; raises `Conflict` where it is another."""
        if version is not None:
            headers = {**(proposal.headers or {}), _CONDITION: str(version)}
            proposal = replace(proposal, headers=headers)
        try:
            await self._connection.send(ingest_request(proposal))
        except InvalidInput as error:
            if version is not None and _NOT_HELD in str(error).lower():
                raise Conflict(str(error)) from error
            raise


def aspect_value(
    name: str | None, value: Mapping[str, Any] | msgspec.Struct
) -> tuple[str, dict[str, Any]]:
    """An aspect's name and its value as JSON."""
    if isinstance(value, Mapping):
        if name is None:
            raise InvalidInput("name the aspect; only a typed record knows its own")
        return name, dict(value)
    known = next((own for own, record in RECORDS.items() if record is type(value)), None)
    if known is None:
        raise InvalidInput(f"{type(value).__name__} is not the record of an aspect")
    if name not in (None, known):
        raise InvalidInput(f"a {type(value).__name__} is the aspect {known}, not {name}")
    return known, _without_nulls(msgspec.to_builtins(value))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(part) for part in value]
    return value
