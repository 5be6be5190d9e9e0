"""The change log, in pages and as server-sent events."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

from explorer.client.answers.shape import Json, as_object, read_as, value_of
from explorer.client.records import ChangeEvent, ChangePage
from explorer.errors import Unreadable
from explorer.metadata.urn import Urn

__all__ = ["EventReader", "StreamEvent", "parse_changes"]


@read_as("changes")
def parse_changes(body: Any) -> ChangePage:
    """A page of the log."""
    value = value_of(body, "changes")
    listed = tuple(_parse_change(entry) for entry in value.get("changes") or ())
    return ChangePage(listed, int(value.get("next", 0)), int(value.get("head", 0)))


_MAX_EVENT_BYTES = 64 * 1024 * 1024
_MAX_OFFSET_DIGITS = 18


class StreamEvent(NamedTuple):
    """What a stream said at once: how far it has come, and a change where there is one."""

    offset: int | None
    change: ChangeEvent | None


class EventReader:
    """Puts events together from the lines of a stream, one line after the other."""

    def __init__(self) -> None:
        self._id: int | None = None
        self._name = ""
        self._data: list[bytes] = []
        self._bytes = 0

    def read(self, line: bytes) -> StreamEvent | None:
        """What this line completes, if it completes anything. Comments, which keep the connection
        alive, and events of other names complete nothing."""
        if line:
            self._take(line)
            return None
        offset, name, data = self._id, self._name, b"\n".join(self._data)
        self._id, self._name, self._data, self._bytes = None, "", [], 0
        if data and name == "change":
            return StreamEvent(offset, _parse_change(_parse_json(data)))
        return None if offset is None else StreamEvent(offset, None)

    def _take(self, line: bytes) -> None:
        field, _, text = line.partition(b":")
        text = text.removeprefix(b" ")
        match field:
            case b"id" if text.isdigit() and len(text) <= _MAX_OFFSET_DIGITS:
                self._id = int(text)
            case b"event":
                self._name = text.decode(errors="replace")
            case b"data":
                self._bytes += len(text)
                if self._bytes > _MAX_EVENT_BYTES:
                    raise Unreadable("the server's stream of changes has an event without an end")
                self._data.append(text)


@read_as("a change")
def _parse_change(entry: Any) -> ChangeEvent:
    change = as_object(entry, "a change")
    created = as_object(change.get("created") or {}, "a change")
    return ChangeEvent(
        int(change["offset"]),
        Urn.parse(change["entityUrn"]),
        str(change["aspectName"]),
        str(change["changeType"]),
        _parse_value(change.get("aspect")),
        _parse_value(change.get("previousAspectValue")),
        datetime.fromtimestamp(int(created.get("time", 0)) / 1000, UTC),
        str(created.get("actor", "")),
    )


def _parse_value(envelope: Any) -> Json | None:
    if not isinstance(envelope, dict):
        return None
    return as_object(_parse_json(envelope.get("value", "")), "a change's value")


def _parse_json(data: str | bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"a change cannot be read: {error}") from error
