"""What became of a change, and what a change is made from."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from explorer.client.answers.reading import parse_entity
from explorer.client.answers.shape import Json, as_object, read_as, value_of
from explorer.client.records import Reference, Rollback, Run
from explorer.errors import Unreadable
from explorer.metadata.aspects import AuditStamp
from explorer.metadata.urn import Urn

__all__ = [
    "Stored",
    "parse_deleted",
    "parse_references",
    "parse_rollback",
    "parse_runs",
    "parse_stored",
]

_ABSENT = -1


class Stored(NamedTuple):
    """What is stored of an entity right now.

    `versions` are those that a conditional write names; none where the server keeps none. `stamps`
    say who wrote each aspect last and when, where the server says so.
    """

    exists: bool
    values: dict[str, Json]
    versions: dict[str, int] | None
    stamps: dict[str, AuditStamp]

    def value(self, aspect: str) -> Json:
        """The aspect's value; empty where there is none."""
        return self.values.get(aspect, {})

    def version(self, aspect: str) -> int | None:
        """The version that a write of the aspect may depend on."""
        return None if self.versions is None else self.versions.get(aspect, _ABSENT)


def parse_stored(body: Any) -> Stored:
    """Endpoint 3, as a basis for a write."""
    entity = parse_entity(body)
    values = {name: aspect.value for name, aspect in entity.aspects.items()}
    wrappers = as_object(as_object(body, "an entity").get("aspects") or {}, "an entity")
    versions = {
        name: version
        for name, wrapper in wrappers.items()
        if (version := _stored_version(wrapper)) is not None
    }
    stamps = {name: one.created for name, one in entity.aspects.items() if one.created is not None}
    return Stored(entity.exists, values, versions or None, stamps)


@read_as("rollback")
def parse_rollback(body: Any) -> Rollback:
    """What undoing a run did."""
    value = value_of(body, "rollback")
    return Rollback(
        int(value.get("aspectsReverted", 0)),
        int(value.get("entitiesDeleted", 0)),
        int(value.get("unsafeEntitiesCount", 0)),
    )


@read_as("runs")
def parse_runs(body: Any) -> tuple[Run, ...]:
    """The runs, newest first."""
    listed = as_object(body, "runs").get("value")
    if not isinstance(listed, list):
        raise Unreadable("the server's list of runs is no list")
    return tuple(
        Run(
            str(entry["runId"]),
            datetime.fromtimestamp(int(entry.get("timestamp", 0)) / 1000, UTC),
            int(entry.get("rows", 0)),
        )
        for entry in listed
    )


@read_as("delete")
def parse_deleted(body: Any) -> tuple[int, int]:
    """How many versions and how many points in time went."""
    value = value_of(body, "delete")
    return int(value.get("rows", 0)), int(value.get("timeseriesRows", 0))


@read_as("references")
def parse_references(body: Any) -> tuple[int, tuple[Reference, ...]]:
    """How many references there are, and some of them."""
    value = value_of(body, "references")
    listed = [*(value.get("relatedAspects") or ()), *(value.get("leftAspects") or ())]
    found = tuple(
        Reference(
            Urn.parse(entry["entity"]), entry.get("aspect", ""), entry.get("relationship", "")
        )
        for entry in listed
    )
    return int(value.get("total", 0)) + int(value.get("leftTotal", 0)), found


def _stored_version(wrapper: Any) -> int | None:
    system = wrapper.get("systemMetadata") if isinstance(wrapper, dict) else None
    text = system.get("version") if isinstance(system, dict) else None
    return int(text) if isinstance(text, str | int) and str(text).isdecimal() else None
