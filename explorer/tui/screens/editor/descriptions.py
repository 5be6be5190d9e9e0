"""The descriptions of an entity and its columns, as read and as written since."""

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
        """Return the description that follows, from the top again after the last; none of `but`
        and none that is written. None where no other is left."""
        ...

    @property
    def progress(self) -> str:
        """How much is left to be written, in words."""
        ...

    def wrote(self, key: Key, text: str) -> None:
        """Take `text` for what the server holds of a description."""
        ...


def is_describable(urn: Urn) -> bool:
    """Whether people can describe such an entity."""
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

    `edited` is what people wrote, exactly as it is kept, and `ingested` what came in; either is
    empty where there is none.
    """

    urn: Urn
    name: str
    path: str | None
    column: str
    ingested: str
    edited: str

    @property
    def key(self) -> Key:
        """Which description it is."""
        return str(self.urn), self.path

    @property
    def text(self) -> str:
        """The text that counts now, which is where the writer starts."""
        return self.edited if self.edited.strip() else self.ingested

    @property
    def title(self) -> str:
        """What it is called in a sentence."""
        return self.column or self.name


class Descriptions:
    """The texts of one entity, and the order in which a writer goes through its columns."""

    def __init__(self, entity: "Entity") -> None:
        self.entity = entity
        self._written: dict[str | None, str] = {}
        self._order = [column.path.raw for column in entity.schema]

    def target(self, path: str | None) -> DescriptionTarget:
        """A description as it stands now."""
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
        """Take `text` for the edited text: it is on the server, or on its way there."""
        self._written[path] = text

    def beside(self, path: str | None, step: int) -> str | None:
        """The column some steps further in the order of the schema; nothing past its ends."""
        if path not in self._order:
            return None
        at = self._order.index(path) + step
        return self._order[at] if 0 <= at < len(self._order) else None

    def undocumented_after(self, path: str | None, but: Container[str] = ()) -> str | None:
        """The next column without a description, from the top again after the last; none of
        `but`."""
        at = self._order.index(path) + 1 if path in self._order else 0
        ahead = [*self._order[at:], *self._order[: max(at - 1, 0)]]
        return next((one for one in ahead if one not in but and not self._documented(one)), None)

    @property
    def undocumented(self) -> list[str]:
        """The columns without a description, in the order of the schema."""
        return [one for one in self._order if not self._documented(one)]

    def place(self, path: str | None) -> str:
        """Where a column stands among the others, and how many of them want a description."""
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
    """What people wrote of an entity, and what came in beside it."""
    from explorer.client.editable import place_of

    aspect = place_of(entity.urn, None).aspect
    edited = place_of(entity.urn, None).text(entity.raw(aspect) or {}) or ""
    # Some entities have one text only, whoever wrote it.
    apart = "ditable" in aspect
    return edited, entity.ingested_description if apart else ""


def _column_text(entity: "Entity", path: str) -> str:
    from explorer.client.editable import COLUMNS, column_text

    return column_text(entity.raw(COLUMNS) or {}, path) or ""
