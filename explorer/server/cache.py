"""Caches with a limit in bytes, so that no request can make the service use much memory."""

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, wraps
from threading import Lock
from typing import Generic, TypeVar

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
        self._most_bytes = most_bytes
        self._largest = min(largest, most_bytes)
        # The least recently used comes first.
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.size_bytes = 0
        """The size of all entries."""
        self._lock = Lock()

    def get(self, key: K) -> V | None:
        """Return the value of a key, or `None` if it is not cached."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V, size_bytes: int) -> None:
        """Cache a value, and evict the least recently used ones if there is no space."""
        with self._lock:
            _, former_bytes = self._entries.pop(key, (None, 0))
            self.size_bytes -= former_bytes
            if size_bytes > self._largest:
                return
            self._entries[key] = (value, size_bytes)
            self.size_bytes += size_bytes
            while self.size_bytes > self._most_bytes:
                _, (_, evicted_bytes) = self._entries.popitem(last=False)
                self.size_bytes -= evicted_bytes

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._entries.clear()
            self.size_bytes = 0

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
