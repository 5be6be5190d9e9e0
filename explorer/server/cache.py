"""Caches with a limit in bytes, so that no request can make the service use much memory."""

from collections.abc import Callable
from functools import lru_cache, wraps
from operator import itemgetter
from threading import Lock
from typing import Generic, TypeVar

from cachetools import LRUCache

K = TypeVar("K")
V = TypeVar("V")
F = TypeVar("F", bound=Callable[..., object])

# An entry larger than this is specific to one request and not cached.
LARGEST_BYTES = 64 * 1024
_SHORT = 128
# The memory per character for a text, its result, and the cache entry.
_BYTES_PER_CHARACTER = 8


class ByteCache(Generic[K, V]):
    """A least-recently-used cache, bounded in bytes. Thread-safe.

    The caller gives the size of each entry in bytes. An entry larger than `largest` is not cached.
    """

    def __init__(self, most_bytes: int, largest: int = LARGEST_BYTES) -> None:
        self._largest = min(largest, most_bytes)
        self._entries: LRUCache[K, tuple[V, int]] = LRUCache(most_bytes, itemgetter(1))
        self._lock = Lock()

    @property
    def size_bytes(self) -> float:
        """The size of all entries."""
        return self._entries.currsize

    def get(self, key: K) -> V | None:
        """Return the value of a key, or `None` if it is not cached."""
        with self._lock:
            entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def put(self, key: K, value: V, size_bytes: int) -> None:
        """Cache a value, and evict the least recently used ones if there is no space."""
        with self._lock:
            self._entries.pop(key, None)
            if size_bytes <= self._largest:
                self._entries[key] = (value, size_bytes)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)


def cache_short(most_bytes: int, longest: int = _SHORT) -> Callable[[F], F]:
    """Decorate a function of a text, and possibly more arguments, to cache its results.

    The most recently used results for texts of up to `longest` characters are cached, in about
    `most_bytes`. Results for longer texts are computed each time.
    """
    entries = most_bytes // (longest * _BYTES_PER_CHARACTER)

    def decorate(function: F) -> F:
        wrapper = lru_cache(maxsize=entries)(function)

        @wraps(function)
        def call(text: str, *more: object) -> object:
            return wrapper(text, *more) if len(text) <= longest else function(text, *more)

        return call  # type: ignore[return-value]

    return decorate
