"""Writes that the conformance suite makes, and short ways to make them."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import orjson

from explorer.server.store import (
    Job,
    Store,
    StoredAspect,
    StoredEdge,
    TimeseriesDocument,
    Transaction,
    Write,
)

T = TypeVar("T")

ACTOR = "urn:li:corpuser:writer"
KEY = "tagKey"
INFO = "tagProperties"
USAGE = "datasetUsageStatistics"
PROFILE = "datasetProfile"
STAMP = (77, "urn:li:corpuser:remover")


def tag(name: str) -> str:
    return f"urn:li:tag:{name}"


def dataset(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def write(
    urn: str,
    value: object = "x",
    aspect: str = INFO,
    *,
    run: str | None = None,
    edges: Sequence[StoredEdge] = (),
    at_millis: int = 1,
) -> Write:
    entity_type = urn.split(":", 3)[2]
    system = orjson.dumps({"runId": run, "lastObserved": at_millis} if run else {})
    given = orjson.dumps(value if isinstance(value, dict) else {"name": value})
    return Write(urn, entity_type, aspect, given, at_millis, ACTOR, system, run, tuple(edges))


def document(
    urn: str,
    at_millis: int,
    value: object = 1,
    aspect: str = USAGE,
    *,
    series: str = "",
    run: str | None = None,
    seen_millis: int = 1,
) -> TimeseriesDocument:
    entity_type = urn.split(":", 3)[2]
    given = orjson.dumps({"timestampMillis": at_millis, "value": value})
    system = orjson.dumps({"lastObserved": seen_millis})
    return TimeseriesDocument(
        urn, entity_type, aspect, at_millis, series, given, seen_millis, ACTOR, system, run
    )


def do(store: Store, job: Job[T]) -> T:
    """Do a job, and return what it gives once it is committed."""
    return store.write(job).result(60)


def put(store: Store, *writes: Write) -> list[bool]:
    """Write aspects in one transaction."""
    return do(store, lambda tx: [tx.put(one) for one in writes])


def append(store: Store, *documents: TimeseriesDocument) -> list[bool]:
    """Write documents in one transaction."""
    return do(store, lambda tx: [tx.append(one) for one in documents])


def refused(store: Store, job: Callable[[Transaction], object]) -> BaseException | None:
    """Do a job that fails, and return the error it left."""
    return store.write(job).exception(10)


def stored(store: Store, urn: str, aspect: str = INFO, version: int = 0) -> StoredAspect:
    found = store.aspect(urn, aspect, version)
    assert found is not None
    return found


def name_of(aspect: StoredAspect) -> object:
    return orjson.loads(aspect.value)["name"]


def version_in(aspect: StoredAspect) -> str:
    """The version that the system metadata names."""
    found = orjson.loads(aspect.system)["version"]
    assert isinstance(found, str)
    return found
