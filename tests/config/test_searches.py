"""Saved searches outlive the program, and two programs lose nothing of each other's."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from explorer.config.searches import SavedSearch, SearchStore
from explorer.errors import InvalidFile


def test_searches_are_kept_renamed_and_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    searches = SearchStore.of("http://one")
    searches.save(SavedSearch("mine", "orders", "name"))
    searches.save(SavedSearch("other", "customers"))
    searches.rename("mine", "ours")
    kept = SearchStore.of("http://one").read()
    assert kept.saved == (SavedSearch("ours", "orders", "name"), SavedSearch("other", "customers"))
    assert searches.forget(name="other").saved == kept.saved[:1]
    assert not SearchStore.of("http://two").read().saved


def test_the_latest_search_stands_first_and_once(tmp_path: Path) -> None:
    searches = SearchStore(tmp_path / "x.json")
    for text in ("a", "b", "a"):
        searches.add_recent(text)
    assert searches.read().recent == ("a", "b")
    assert searches.forget(recent="a").recent == ("b",)


def test_of_many_changes_at_once_none_is_lost(tmp_path: Path) -> None:
    searches = SearchStore(tmp_path / "x.json")
    names = [f"n{n}" for n in range(20)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: searches.save(SavedSearch(name, name)), names))
    assert sorted(one.name for one in searches.read().saved) == sorted(names)


def test_a_broken_file_is_told_and_not_overwritten(tmp_path: Path) -> None:
    searches = SearchStore(tmp_path / "x.json")
    searches.path.write_text("{")
    with pytest.raises(InvalidFile, match="cannot be read"):
        searches.add_recent("a")
    assert searches.path.read_text() == "{"
