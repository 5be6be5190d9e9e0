"""The texts that columns of one name share, as ingestion finds them in many tables.

Columns that are used a lot keep their gap where nobody wrote a text of their own: those are the
ones a worklist should put first.
"""

from collections.abc import Iterable
from dataclasses import replace
from zlib import crc32

import msgspec

from explorer.sample.notation import rows
from explorer.sample.tables import Column, Table

__all__ = ["Phrases"]

_LAYERS = {"postgres": "pg", "kafka": "topic", "s3": "s3", "dbt": "seeds"}

# In a hundred columns that could take a shared text, so many have it: people who describe their
# table describe its columns, too.
_DESCRIBED = 78
_UNDESCRIBED = 36
_UNOWNED = 12


class Phrases:
    """The shared texts, by column name and layer."""

    def __init__(self, text: str) -> None:
        self._texts: dict[tuple[str, str], str] = {}
        for name, layers, phrase in rows(text):
            for layer in layers.split():
                self._texts.setdefault((name, layer), phrase)

    def fill(self, table: Table) -> Table:
        """The table with shared texts on part of its columns that have none."""
        layer = _LAYERS.get(table.platform) or table.folders[-1]
        return replace(table, columns=tuple(self._filled(table, layer)))

    def _filled(self, table: Table, layer: str) -> Iterable[Column]:
        share = _UNOWNED if not table.owners else _DESCRIBED if table.about else _UNDESCRIBED
        for column in table.columns:
            phrase = self._texts.get((column.name, layer)) or self._texts.get((column.name, "*"))
            if phrase is None or column.doc or (column.hot and not column.key):
                yield column
            elif crc32(f"{table.name} {column.name}".encode()) % 100 < share:
                yield msgspec.structs.replace(column, doc=phrase)
            else:
                yield column
