"""Editing the sources of propagated descriptions; these edits are recorded and undone like those of
texts."""

from collections.abc import Mapping
from typing import Any

from explorer.client.editable import EditTarget, TextConflict, edit_target, held_text, with_source
from explorer.client.edits import EditMethods
from explorer.client.entity import Entity, EntityMethods
from explorer.client.ingestion import AspectMethods
from explorer.client.records import Edit
from explorer.client.transport import Json
from explorer.errors import Conflict, Forbidden
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

_ATTEMPTS = 5


class TextSourceMethods(AspectMethods, EntityMethods, EditMethods):
    """Methods that edit where the descriptions of columns came from."""

    async def set_text_source(
        self,
        urn: str | Urn,
        column: str,
        source: Mapping[str, Any] | None,
        *,
        instead_of: Mapping[str, Any] | None = None,
    ) -> Edit:
        """Store the source from which the description of a dataset's column was propagated; `None`
        removes it.

        `source` is the entry of the column's aspect `documentation`, with an `attribution` whose
        `source` is `explorer.stewardship.provenance.ACTION`. Entries with other sources stay. With
        `instead_of`, an entry or an empty mapping, nothing is written if another entry is stored by
        now. If nothing else is left of the column's own entity, it is deleted, or left empty for a
        user who may not delete. Two requests; more to remove it. Raises `TextConflict`.

        Example: `cat.set_text_source(urn, "order_id", None)`
        """
        dataset, mine = Urn.parse(urn), None if source is None else dict(source)
        target = edit_target(dataset, "source", column)
        entity = await self.entity(target.urn)
        now = target.read(entity.raw(target.aspect) or {})
        if instead_of is not None:
            seen_text, text, my_text = map(held_text, (dict(instead_of), now, mine))
            if text not in (seen_text, my_text):
                raise TextConflict(str(target), seen_text, text, my_text)
        edit = Edit.now(dataset, "source", now, mine, column)
        return await self._save_edit(self._write_source(target, entity, mine), edit)

    async def _write_source(self, target: EditTarget, entity: Entity, source: Json | None) -> None:
        for attempt in range(_ATTEMPTS):
            if target.read(entity.raw(target.aspect) or {}) == source:
                return
            try:
                await self._put_source(target, entity, source)
            except Conflict:
                if attempt + 1 == _ATTEMPTS:
                    raise
                entity = await self.entity(target.urn)
            else:
                return

    async def _put_source(self, target: EditTarget, entity: Entity, source: Json | None) -> None:
        aspect = entity.aspects.get(target.aspect)
        is_counted = (await self.abilities()).versions
        version = (aspect.number or None) if aspect is not None else -1 if is_counted else None
        value = with_source(aspect.value if aspect is not None else {}, source)
        if is_counted and aspect is not None and not value["documentations"]:
            key = self.registry.entity(target.urn.entity_type).key
            try:
                if set(entity.aspects) <= {target.aspect, key}:
                    await self.delete(target.urn)
                else:
                    await self._put(Proposal(target.urn, target.aspect, change="DELETE"), version)
            except Forbidden:
                # A user who may edit but not delete leaves the aspect empty.
                pass
            else:
                return
        await self._put(Proposal(target.urn, target.aspect, value), version)
