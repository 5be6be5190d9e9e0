"""The value of any aspect as facts, whatever its shape: nothing is asked of the model."""

from collections.abc import Iterator, Mapping
from typing import Any

from explorer.metadata.urn import Urn
from explorer.tui.entity.facts.part import (
    Code,
    Fact,
    Mention,
    Moment,
    Part,
    Plain,
    Prose,
    Stamped,
    Value,
    Web,
)
from explorer.tui.entity.facts.wording import CODE, label_of

__all__ = ["facts_of", "stamp_of", "urn_of", "values_of"]

_DEEP = 4
_LONG = 300
_FIRST_MOMENT = 100_000_000_000
_MOMENTS = ("time", "millis", "ms", "at", "timestamp", "date", "refreshed", "created", "modified")
_STAMP = frozenset(("time", "actor", "impersonator", "message"))
_POINTERS = ("urn", "destinationUrn", "dataset", "entity", "schemaFieldUrn", "owner", "tag")
_SECRET = ("password", "secret", "salt", "token", "credential")
_AGAIN = ("Edges", "Edge")
_SAID_ELSEWHERE = "8 Raw shows it"


def facts_of(value: Mapping[str, Any], skipped: frozenset[str] = frozenset()) -> Iterator[Part]:
    """What a value says, in its own order, texts and code last; fields in `skipped` are left
    out, and so is what would be said twice."""
    late: list[Part] = []
    said: set[Value] = set()
    for key, held in value.items():
        if key in skipped or held in (None, "", [], {}):
            continue
        for part in _parts_of(str(key), held, _DEEP):
            if not isinstance(part, Fact):
                late.append(part)
                continue
            values = part.values
            if str(key).endswith(_AGAIN):
                # Newer servers say a list of URNs a second time as edges.
                values = tuple(one for one in values if one not in said)
            said.update(values)
            if values:
                yield Fact(part.label, values)
    yield from late


def values_of(key: str, value: object) -> tuple[Value, ...]:
    """A simple value, or a list of them; nothing for a record of several fields."""
    match value:
        case bool():
            return (Plain("yes" if value else "no"),)
        case int() | float():
            return (_number(key, value),)
        case str():
            return _text(value)
        case list():
            found = [values_of(key, one) for one in value]
            return tuple(one for some in found for one in some)
        case dict():
            return _record(key, value)
        case _:
            return ()


def stamp_of(value: object) -> Stamped | None:
    """An audit stamp; nothing for what is none, or has no time."""
    if not isinstance(value, dict) or not value.keys() <= _STAMP:
        return None
    millis = value.get("time")
    if not isinstance(millis, int) or isinstance(millis, bool) or millis <= 0:
        return None
    message = value.get("message")
    return Stamped(millis, urn_of(value.get("actor")), message if isinstance(message, str) else "")


def urn_of(value: object) -> Urn | None:
    """The URN that a text is; nothing for any other."""
    found = Urn.parse_all([value]) if isinstance(value, str) else ()
    return found[0] if found else None


def _parts_of(key: str, value: object, deep: int) -> Iterator[Part]:
    label = label_of(key)
    if any(word in key.lower() for word in _SECRET):
        yield Fact(label, (Plain(_SAID_ELSEWHERE, "dim italic"),))
    elif isinstance(value, str) and key in CODE:
        yield Code(value, CODE[key])
    elif isinstance(value, str) and (len(value) > _LONG or "\n" in value.strip()):
        yield Prose(value)
    elif values := values_of(key, value):
        yield Fact(label, values)
    elif not deep:
        yield Fact(label, (Plain(_SAID_ELSEWHERE, "dim italic"),))
    elif isinstance(value, dict) and value.keys() <= _STAMP and value.get("time") == 0:
        return
    elif isinstance(value, dict):
        for inner, held in value.items():
            for part in _parts_of(str(inner), held, deep - 1):
                if isinstance(part, Fact) and inner != key:
                    within = "" if key in value else f"{label}: "
                    yield Fact(f"{within}{part.label}", part.values)
                else:
                    yield part
    elif isinstance(value, list):
        for one in value:
            yield from _parts_of(key, one, deep - 1)


def _number(key: str, value: float) -> Value:
    if isinstance(value, int) and value >= _FIRST_MOMENT and key.lower().endswith(_MOMENTS):
        return Moment(value)
    return Plain(f"{value:,}")


def _text(value: str) -> tuple[Value, ...]:
    urn = urn_of(value) if value.startswith("urn:li:") else None
    if urn is not None:
        return (Mention(urn),)
    if value.startswith(("http://", "https://")):
        return (Web(value),)
    return (Plain(value),) if value else ()


def _record(key: str, value: dict[str, Any]) -> tuple[Value, ...]:
    stamp = stamp_of(value)
    if stamp is not None:
        return (stamp,)
    if len(value) == 1:
        # A union: `{"string": …}`.
        ((name, inner),) = value.items()
        if name in ("string", "array", "int", "long", "double", "float", "boolean") or "." in name:
            return values_of(key, inner)
    # What is asserted of an entity is more than which.
    for pointer in () if key.endswith("Assertion") else _POINTERS:
        urn = urn_of(value.get(pointer))
        if urn is not None:
            kind = value.get("type")
            return (Mention(urn, kind.lower() if isinstance(kind, str) else ""),)
    return ()
