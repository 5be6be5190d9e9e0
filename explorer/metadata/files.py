"""Metadata files: the lists of changes that ingestion writes, in every form in use.

    MCE     {"proposedSnapshot": {"….DatasetSnapshot": {"urn": …, "aspects": […]}}}
    MCP     {"entityUrn": …, "aspectName": …, "aspect": {"value": "…", "contentType": …}}
    MCP     {"entityUrn": …, "aspectName": …, "aspect": {"json": {…}}}
    usage   {"buckets": [{"bucket": …, "resource": …, "metrics": {…}}]}

Files written from Avro name their record types with `.pegasus2avro` and wrap optional values in
one-key objects; both are undone here, as the real clients do before they send.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import orjson

from explorer.errors import CatalogError, InvalidInput
from explorer.metadata.proposal import Proposal, read_proposal
from explorer.metadata.registry import Registry, read_type
from explorer.metadata.urn import Urn

__all__ = ["Refused", "read_file", "read_record"]

_MARK = "pegasus2avro."


@dataclass(frozen=True, slots=True)
class Refused:
    """A record that could not be read: its place in the file (from 0), and why."""

    index: int
    reason: str
    urn: str | None = None


def read_file(data: bytes, registry: Registry) -> Iterator[Proposal | Refused]:
    """Every change in a file's bytes, in its order; a record that cannot be read is `Refused`
    and loses no other.

    Takes a JSON list, one JSON object, or one object a line. Raises `InvalidInput` when the bytes
    are neither.
    """
    for index, record in enumerate(_records(data)):
        try:
            yield from read_record(record, registry)
        except CatalogError as error:
            yield Refused(index, str(error), _urn_of(record))


def read_record(record: Any, registry: Registry) -> list[Proposal]:
    """The changes that one record of a file stands for; raises `InvalidInput`."""
    match record:
        case {"proposedSnapshot": {**snapshot}} if len(snapshot) == 1:
            ((name, body),) = snapshot.items()
            return _snapshot(str(name), body, record, registry)
        case {"aspectName": _}:
            return [_change(record, registry)]
        case {"buckets": [*buckets]}:
            return [_usage(bucket) for bucket in buckets]
        case _:
            keys = ", ".join(record) if isinstance(record, dict) else type(record).__name__
            raise InvalidInput(
                f"expected proposedSnapshot, aspectName or buckets; found {keys or 'nothing'}"
            )


def _records(data: bytes) -> list[Any]:
    try:
        whole = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        lines = [line for line in data.splitlines() if line.strip()]
        try:
            return [orjson.loads(line) for line in lines] if len(lines) > 1 else _not_json(error)
        except orjson.JSONDecodeError:
            return _not_json(error)
    return whole if isinstance(whole, list) else [whole]


def _not_json(error: orjson.JSONDecodeError) -> list[Any]:
    raise InvalidInput(f"not JSON: {error}")


def _urn_of(record: Any) -> str | None:
    match record:
        case {"entityUrn": str(urn)}:
            return urn
        case {"proposedSnapshot": {**snapshot}}:
            for body in snapshot.values():
                if isinstance(body, dict) and isinstance(body.get("urn"), str):
                    return str(body["urn"])
    return None


def _snapshot(name: str, body: Any, record: dict[str, Any], registry: Registry) -> list[Proposal]:
    entity_type = registry.entity_named_by(name)
    match body:
        case {"urn": str(text), "aspects": [*aspects]}:
            urn = Urn.parse(text)
        case _:
            raise InvalidInput(f"{name} needs a urn and a list of aspects")
    if urn.entity_type != entity_type:
        raise InvalidInput(f"{urn} is no {entity_type}, as its snapshot {name} says")
    named: list[tuple[str, Any]] = []
    for element in aspects:
        if not isinstance(element, dict) or len(element) != 1:
            raise InvalidInput(f"an aspect of {urn} is an object with one key, its record name")
        ((record_name, value),) = element.items()
        named.append((registry.aspect_named_by(record_name), value))
    # The specification's snapshot of a glossary term has its ownership beside the aspects.
    for name, value in body.items():
        if name in ("urn", "aspects") or value is None:
            continue
        if name not in registry.aspects_of(entity_type):
            raise InvalidInput(f"{name!r} is neither urn nor aspects nor an aspect of {urn}")
        named.append((name, value))
    system = _no_nulls(record.get("systemMetadata"))
    plain = [(name, _plain(value, registry.aspect(name).record, registry)) for name, value in named]
    return [Proposal(urn, name, value, system=system) for name, value in plain]


def _change(record: dict[str, Any], registry: Registry) -> Proposal:
    change = read_proposal(record, registry)
    aspect = registry.aspects.get(change.aspect)
    # A name that is not in this registry may be in the server's, whose word it is to refuse it.
    if aspect is None or change.value is None or change.change == "PATCH":
        return change
    plain = _plain(change.value, aspect.record, registry)
    return replace(change, value=plain)


def _no_nulls(system: Any) -> dict[str, Any] | None:
    if not isinstance(system, dict):
        return None
    return {key: value for key, value in system.items() if value is not None}


def _plain(value: Any, expression: str, registry: Registry) -> Any:
    """The value as it goes over the wire: no nulls, no Avro wrapping, no file-only prefixes."""
    kind, arguments = read_type(expression.removesuffix("?"))
    match kind, value:
        case "array", list():
            return [_plain(element, arguments[0], registry) for element in value]
        case "map", dict():
            wrapped = value.get("map") if len(value) == 1 else None
            inner = wrapped if isinstance(wrapped, dict) else value
            return {key: _plain(part, arguments[0], registry) for key, part in inner.items()}
        case "array", {"array": [*elements]} if len(value) == 1:
            return [_plain(element, arguments[0], registry) for element in elements]
        case "union", dict() if len(value) == 1:
            ((name, part),) = value.items()
            member = name.replace(_MARK, "")
            return {member: _plain(part, member, registry)}
        case "union", str() if "string" in arguments:
            return {"string": value}
        case "name", dict():
            return _plain_record(value, arguments[0], registry)
        case _:
            return value


def _plain_record(value: dict[str, Any], name: str, registry: Registry) -> Any:
    if len(value) == 1:
        ((key, part),) = value.items()
        if key.replace(_MARK, "") == name:
            return _plain(part, name, registry)
    record = registry.records.get(name)
    fields = record.fields if record else {}
    return {
        key: _plain(part, fields[key].base, registry) if key in fields else part
        for key, part in value.items()
        if part is not None
    }


def _usage(bucket: Any) -> Proposal:
    match bucket:
        case {"bucket": int(start), "resource": str(urn), "metrics": dict(metrics)}:
            value: dict[str, Any] = {
                "timestampMillis": start,
                "eventGranularity": {"unit": bucket.get("duration", "DAY"), "multiple": 1},
            }
        case _:
            raise InvalidInput("a usage bucket needs bucket, resource and metrics")
    for key in ("uniqueUserCount", "totalSqlQueries", "topSqlQueries"):
        if metrics.get(key) is not None:
            value[key] = metrics[key]
    if metrics.get("users"):
        value["userCounts"] = [
            {key: user[key] for key in ("user", "count", "userEmail") if user.get(key) is not None}
            for user in metrics["users"]
        ]
    if metrics.get("fields"):
        value["fieldCounts"] = [
            {"fieldPath": field.get("fieldName"), "count": field.get("count")}
            for field in metrics["fields"]
        ]
    return Proposal(Urn.parse(urn), "datasetUsageStatistics", value)
