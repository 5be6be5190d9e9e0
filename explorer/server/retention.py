"""Retention: how long a catalog keeps rows of the change log, older versions of aspects, and
timeseries documents; and how long it keeps the audit log by default."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

import orjson
from msgspec import Struct

if TYPE_CHECKING:
    from explorer.server.store import Reader, Store, Transaction, Trimmed

LEAST_DOCUMENT_DAYS: Final = 31
"""The shortest time for which documents may be kept, because use is counted over 30 days."""

AUDIT_DAYS: Final = 365
"""The default number of days for which the audit log is kept."""

_SINCE: Final = "versions_since"
# The number of entities in one job of the writer, which takes about 10 ms if each has fifty
# versions of an aspect.
_ENTITIES: Final = 25
_DAY_MILLIS: Final = 86_400_000


class Retention(Struct, frozen=True):
    """The retention settings of a catalog; `None` keeps everything.

    `changes_days` is for rows of the change log, `versions` is the number of older versions to keep
    of each aspect, and `document_days` is for timeseries documents, by the time that they describe.
    """

    changes_days: int | None = 30
    versions: int | None = None
    document_days: int | None = None


def trim_versions(store: "Store", keep: int, is_ended: Callable[[], bool]) -> int:
    """Drop all but the newest `keep` older versions of every aspect, and return how many were
    dropped.

    A version that a row of the change log refers to is kept until that row is dropped. The work is
    done in many jobs of the writer; it stops between two jobs once `is_ended` returns true.
    """

    def trim(transaction: "Transaction", after: int) -> "Trimmed":
        trimmed = transaction.trim_versions(keep, after, _ENTITIES)
        if trimmed.since:
            since = complete_since(transaction)
            for aspect, millis in trimmed.since.items():
                since[aspect] = max(millis, since.get(aspect, millis))
            transaction.set_note(_SINCE, orjson.dumps(since).decode())
        return trimmed

    return _trim_all(store, trim, is_ended)


def trim_documents(store: "Store", days: int, is_ended: Callable[[], bool]) -> int:
    """Drop timeseries documents that describe a time more than `days` days ago, and return how many
    were dropped. The work is done in many jobs of the writer; it stops between two jobs once
    `is_ended` returns true.

    For each aspect of an entity the newest document is kept, and so is the newest one that
    describes the entity as a whole.
    """
    before_millis = store.now_millis() - days * _DAY_MILLIS

    def trim(transaction: "Transaction", after: int) -> "Trimmed":
        return transaction.trim_documents(before_millis, after, _ENTITIES)

    return _trim_all(store, trim, is_ended)


def _trim_all(
    store: "Store",
    trim: Callable[["Transaction", int], "Trimmed"],
    is_ended: Callable[[], bool],
) -> int:
    after: int | None = 0
    count = 0

    def job(transaction: "Transaction") -> "Trimmed":
        return trim(transaction, after or 0)

    while after is not None and not is_ended():
        trimmed = store.write(job).result()
        count, after = count + trimmed.count, trimmed.after
    return count


def complete_since(reader: "Reader", aspects: Collection[str] | None = None) -> dict[str, int]:
    """Return, by aspect, the time since which all versions are still stored, in milliseconds since
    1970, for the given aspects or for all. Aspects that have never lost a version are left out."""
    note = reader.note(_SINCE)
    since: dict[str, int] = orjson.loads(note) if note else {}
    return {name: at for name, at in since.items() if aspects is None or name in aspects}
