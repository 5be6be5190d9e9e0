"""Who wrote which text of a column: read off the versions of a schema and of what people wrote.

Pure: versions are given newest first, an aspect at a time, as far back as it takes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from explorer.client.records import ColumnChange, Origin, Version

__all__ = ["Authorship", "Track"]

_Texts = dict[str, str]


@dataclass(slots=True)
class Track:
    """The texts that one aspect gives to columns, followed back through its versions."""

    origin: Origin
    aspect: str
    array: str
    latest: _Texts = field(default_factory=dict)
    order: tuple[str, ...] = ()
    changes: dict[str, list[ColumnChange]] = field(default_factory=dict)
    _newer: tuple[Version, _Texts] | None = None

    def read(self, version: Version) -> None:
        """Take in the next older version."""
        elements = tuple(_elements(version.value.get(self.array)))
        texts = {path: text for path, text in elements if text}
        if self._newer is None:
            self.latest, self.order = texts, tuple(dict.fromkeys(path for path, _ in elements))
        else:
            self._compare(texts)
        self._newer = version, texts

    def end(self) -> None:
        """There is nothing older: what the oldest version says, it brought."""
        if self._newer is not None:
            self._compare({})
            self._newer = None

    def _compare(self, older: _Texts) -> None:
        if self._newer is None:
            return
        version, newer = self._newer
        for path in dict.fromkeys((*newer, *older)):
            before, after = older.get(path), newer.get(path)
            if before != after:
                change = ColumnChange(
                    path,
                    self.origin,
                    before,
                    after,
                    version.number,
                    version.created,
                    version.run_id,
                )
                self.changes.setdefault(path, []).append(change)


@dataclass(slots=True)
class Authorship:
    """Both aspects that describe columns."""

    ingested: Track = field(default_factory=lambda: Track("ingested", "schemaMetadata", "fields"))
    edited: Track = field(
        default_factory=lambda: Track("edited", "editableSchemaMetadata", "editableSchemaFieldInfo")
    )

    def unexplained(self, track: Track) -> bool:
        """Whether the author of a text that counts now lies further back."""
        return any(
            counting is track and path not in track.changes for path, counting in self._counting()
        )

    def of_column(self, path: str) -> tuple[ColumnChange, ...]:
        """Every change of one column, newest first; those without a time after the one that the
        same aspect had next."""
        timed = []
        for track in (self.edited, self.ingested):
            track.end()
            latest_millis: float = float("inf")
            for change in track.changes.get(path, ()):
                if change.created is not None:
                    latest_millis = min(latest_millis, change.created.time)
                timed.append((latest_millis, change))
        # Stable: each aspect's changes stay in their order.
        timed.sort(key=lambda one: one[0], reverse=True)
        return tuple(change for _, change in timed)

    def blamed(self) -> dict[str, ColumnChange]:
        """The change that gave each documented column its text."""
        self.edited.end()
        self.ingested.end()
        return {path: track.changes[path][0] for path, track in self._counting()}

    def _counting(self) -> Iterator[tuple[str, Track]]:
        """Each documented column, with the aspect whose text counts."""
        for path in self.ingested.order or self.edited.order:
            for track in (self.edited, self.ingested):
                if track.latest.get(path, "").strip():
                    yield path, track
                    break


def _elements(listed: Any) -> Iterator[tuple[str, str | None]]:
    for element in listed if isinstance(listed, list) else ():
        path = element.get("fieldPath") if isinstance(element, dict) else None
        if isinstance(path, str):
            text = element.get("description")
            yield path, text if isinstance(text, str) else None
