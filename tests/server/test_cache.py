"""Caches hold what was used last, and never more bytes than they may."""

import pytest

from explorer.server.cache import ByteCache, cache_short


def test_what_was_used_last_is_kept_within_the_bytes() -> None:
    cache: ByteCache[str, int] = ByteCache(100, largest=60)
    for number, name in enumerate("abc"):
        cache.put(name, number, 40)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (None, 1, 2)
    assert cache.get("b") == 1
    cache.put("d", 3, 40)
    assert (cache.get("b"), cache.get("c"), cache.get("d")) == (1, None, 3)
    assert (cache.size_bytes, len(cache)) == (80, 2)


def test_what_is_too_large_is_not_kept_and_takes_the_old_value_along() -> None:
    cache: ByteCache[str, int] = ByteCache(100, largest=60)
    cache.put("a", 1, 10)
    cache.put("a", 2, 61)
    assert cache.get("a") is None
    assert cache.size_bytes == 0


def test_a_value_put_again_is_counted_once() -> None:
    cache: ByteCache[str, int] = ByteCache(100)
    for size in (10, 30, 20):
        cache.put("a", size, size)
    assert (cache.get("a"), cache.size_bytes) == (20, 20)


@pytest.mark.parametrize(("text", "times"), [("x" * 8, 1), ("x" * 9, 2)])
def test_a_function_is_asked_again_about_long_texts_only(text: str, times: int) -> None:
    asked: list[str] = []

    @cache_short(1_024, longest=8)
    def upper(text: str) -> str:
        asked.append(text)
        return text.upper()

    assert upper(text) == upper(text) == text.upper()
    assert len(asked) == times
