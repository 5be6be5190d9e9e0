"""What this session last read of the texts that people edit, so that writing them notices who wrote
in between."""

import threading
from typing import TYPE_CHECKING

from explorer.client.entity import Entity as ClientEntity
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TextsSeen", "edited_text"]

_MOST_KEPT = 1_000


class TextsSeen:
    """The edited texts of the entities last read; for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: dict[Urn, Mapping[str | None, str]] = {}

    def see(self, entity: ClientEntity) -> None:
        """Remember them of an entity read whole."""
        texts: dict[str | None, str] = {None: entity.edited_description}
        texts |= {column.path.raw: column.edited or "" for column in entity.schema}
        with self._lock:
            self._texts.pop(entity.urn, None)
            self._texts[entity.urn] = texts
            for urn in list(self._texts)[: len(self._texts) - _MOST_KEPT]:
                del self._texts[urn]

    def of(self, urn: Urn, column: str | None) -> str | None:
        """The edited text of an entity, or of its column of that exact path, as it was read last;
        "" where there was none, None where it was not read."""
        with self._lock:
            return self._texts.get(urn, {}).get(column)


def edited_text(entity: ClientEntity, column: str | None) -> str:
    """What people wrote of it, or of its column of that exact path; "" for nothing."""
    if column is None:
        return entity.edited_description
    found = entity.schema.column(column)
    return (found.edited or "") if found else ""
