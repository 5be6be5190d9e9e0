"""The descriptions of an entity and its columns, as read and as saved since."""

from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client.entity import Entity

__all__ = ["DescriptionQueue", "DescriptionTarget", "Descriptions", "Key", "is_describable"]

Key = tuple[str, str | None]
"""Which description: the URN of its entity, and the field path of its column or None."""


class DescriptionQueue(Protocol):
    """Descriptions to be written one after another, of any number of entities."""

    def after(self, key: Key, but: Container[Key] = ()) -> Key | None:
        """Return the next description without those in `but` and those already written, from the
        top again after the last; None if there is no other."""
        ...

    @property
    def progress(self) -> str:
        """Return how much is left to write, in words."""
        ...

    def wrote(self, key: Key, text: str) -> None:
        """Record `text` as the description on the server."""
        ...


def is_describable(urn: Urn) -> bool:
    """Return whether the entity type has an editable description."""
    from explorer.client.editable import place_of
    from explorer.errors import InvalidInput

    try:
        place_of(urn, None)
    except InvalidInput:
        return False
    return True


@dataclass(frozen=True, slots=True)
class DescriptionTarget:
    """One description: an entity's, or that of its column at the field path `path`.

    `edited` is the edited text exactly as stored, `ingested` the ingested text; each is empty if
    there is none.
    """

    urn: Urn
    name: str
    path: str | None
    column: str
    ingested: str
    edited: str

    @property
    def key(self) -> Key:
        """Return the key of the description."""
        return str(self.urn), self.path

    @property
    def text(self) -> str:
        """Return the effective text, with which editing starts."""
        return self.edited if self.edited.strip() else self.ingested

    @property
    def title(self) -> str:
        """Return its name for messages."""
        return self.column or self.name


class Descriptions:
    """The descriptions of one entity, and the order of its columns in the editor."""

    def __init__(self, entity: "Entity") -> None:
        self.entity = entity
        self._written: dict[str | None, str] = {}
        self._order = [column.path.raw for column in entity.schema]

    def target(self, path: str | None) -> DescriptionTarget:
        """Return the current description."""
        entity = self.entity
        if path is None:
            edited, ingested = _texts(entity)
            column = ""
        else:
            known = entity.schema.column(path)
            column = known.path.simple if known else FieldPath(path).simple
            edited = _column_text(entity, path)
            ingested = (known.ingested or "") if known else ""
        edited = self._written.get(path, edited)
        return DescriptionTarget(entity.urn, entity.name, path, column, ingested, edited)

    def wrote(self, path: str | None, text: str) -> None:
        """Record `text` as the edited text: it is on the server, or being saved."""
        self._written[path] = text

    def neighbour(self, path: str | None, step: int) -> str | None:
        """Return the column some steps away in schema order; None past the ends."""
        if path not in self._order:
            return None
        at = self._order.index(path) + step
        return self._order[at] if 0 <= at < len(self._order) else None

    def undocumented_after(self, path: str | None, but: Container[str] = ()) -> str | None:
        """Return the next column without a description that is not in `but`, from the top again
        after the last."""
        at = self._order.index(path) + 1 if path in self._order else 0
        ahead = [*self._order[at:], *self._order[: max(at - 1, 0)]]
        return next((one for one in ahead if one not in but and not self._documented(one)), None)

    @property
    def undocumented(self) -> list[str]:
        """Return the columns without a description, in schema order."""
        return [one for one in self._order if not self._documented(one)]

    def place(self, path: str | None) -> str:
        """Return the position of a column, and how many columns lack a description, in words."""
        if path not in self._order:
            return ""
        missing = len(self.undocumented)
        wanting = f"{missing} undocumented" if missing else "all documented"
        return f"column {self._order.index(path) + 1} of {len(self._order)}, {wanting}"

    def _documented(self, path: str) -> bool:
        column = self.entity.schema.column(path)
        ingested = column.ingested if column else None
        edited = self._written.get(path, (column.edited or "") if column else "")
        return bool(edited.strip() or (ingested or "").strip())


def _texts(entity: "Entity") -> tuple[str, str]:
    """Return the edited and the ingested descriptions of an entity."""
    from explorer.client.editable import place_of

    aspect = place_of(entity.urn, None).aspect
    edited = place_of(entity.urn, None).text(entity.raw(aspect) or {}) or ""
    # Some entities have one text only, whoever wrote it.
    apart = "ditable" in aspect
    return edited, entity.ingested_description if apart else ""


def _column_text(entity: "Entity", path: str) -> str:
    from explorer.client.editable import COLUMNS, column_text

    return column_text(entity.raw(COLUMNS) or {}, path) or ""
