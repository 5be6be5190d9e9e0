"""How much of the past a catalog keeps: rows of the change log, older versions, documents."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

import orjson
from msgspec import Struct

if TYPE_CHECKING:
    from explorer.server.store import Reader, Store, Transaction, Trimmed

__all__ = [
    "LEAST_DOCUMENT_DAYS",
    "Retention",
    "trim_documents",
    "trim_versions",
    "whole_since",
]

LEAST_DOCUMENT_DAYS: Final = 31
"""Use is counted over 30 days."""

_SINCE: Final = "versions_since"
# What one job of the writer looks at: with fifty versions of an aspect each some 10 ms.
_ENTITIES: Final = 25
_DAY_MILLIS: Final = 86_400_000


class Retention(Struct, frozen=True):
    """What is kept; None keeps all of it.

    `changes_days` is for the rows of the change log, `versions` how many older ones are kept of
    each aspect, and `document_days` is for the documents of timeseries aspects, by their own time.
    """

    changes_days: int | None = 30
    versions: int | None = None
    document_days: int | None = None


def trim_versions(store: "Store", keep: int, is_ended: Callable[[], bool]) -> int:
    """Drop the older versions of every aspect but the newest `keep`, and return how many went.

    What the change log still tells of stays until that goes. `is_ended` is asked between the jobs.
    """

    def trim(transaction: "Transaction", after: int) -> "Trimmed":
        trimmed = transaction.trim_versions(keep, after, _ENTITIES)
        if trimmed.since:
            since = whole_since(transaction)
            for aspect, millis in trimmed.since.items():
                since[aspect] = max(millis, since.get(aspect, millis))
            transaction.set_note(_SINCE, orjson.dumps(since).decode())
        return trimmed

    return _trim_all(store, trim, is_ended)


def trim_documents(store: "Store", days: int, is_ended: Callable[[], bool]) -> int:
    """Drop the documents of timeseries aspects that tell of a time more than so many days ago, and
    return how many went; otherwise as `trim_versions`.

    The newest of each aspect of an entity stays, and the newest that tells of the whole of it.
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
    gone = 0

    def job(transaction: "Transaction") -> "Trimmed":
        return trim(transaction, after or 0)

    while after is not None and not is_ended():
        trimmed = store.write(job).result()
        gone, after = gone + trimmed.gone, trimmed.after
    return gone


def whole_since(reader: "Reader", aspects: Collection[str] | None = None) -> dict[str, int]:
    """Return by aspect since when (milliseconds since 1970) every version there was is still
    there; only aspects of which some were dropped."""
    note = reader.note(_SINCE)
    since: dict[str, int] = orjson.loads(note) if note else {}
    return {name: at for name, at in since.items() if aspects is None or name in aspects}
