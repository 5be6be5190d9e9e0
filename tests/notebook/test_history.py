"""What an aspect said earlier: versions by when, who and what changed, and their differences."""

from typing import Any

import pytest

from explorer import Catalog
from explorer.errors import InvalidInput, NotFound
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

ASPECT = "datasetProperties"


@pytest.fixture(scope="module")
def entity(cat: Catalog) -> Any:
    urn = Urn.dataset("hive", "notebook.versions")
    for text in ("First.", "Second.", "Second,\nand more."):
        cat.ingest(Proposal(urn, ASPECT, {"description": text}))
    return cat.dataset(urn)


def test_a_history_says_when_who_and_what_changed(entity: Any, read: Any) -> None:
    history = entity.history(ASPECT)
    assert [step.version.number for step in history] == [0, 2, 1]
    frame = history.df
    assert len(frame) == len(history) == 3
    assert str(frame["time"].dtype) == "datetime64[ms, UTC]"
    assert frame["time"].notna().all()
    assert list(frame["changed"]) == [
        "~ description: Second. → Second, and more.",
        "~ description: First. → Second.",
        "first version",
    ]
    for text in (repr(history), read(history).text):
        assert "datasetProperties of notebook.versions" in text
        assert "3 versions" in text
        assert "first version" in text


def test_a_part_of_a_history_knows_what_its_oldest_changed(entity: Any) -> None:
    history = entity.history(ASPECT, count=2)
    assert [step.summary for step in history] == [
        "~ description: Second. → Second, and more.",
        "~ description: First. → Second.",
    ]
    assert "2 of 3 versions" in repr(history)
    assert "a larger count reads them" in repr(history)


def test_a_difference_shows_lines(entity: Any, read: Any) -> None:
    latest = entity.diff(aspect=ASPECT)
    whole = entity.history(ASPECT).diff(1, 0)
    assert [change.place for change in latest] == ["/description"]
    assert (latest.changes[0].before, whole.changes[0].before) == ("Second.", "First.")
    # The words that changed are elements of their own.
    for text in (repr(latest), read(latest).text.replace("\n", "")):
        assert "-Second." in text
        assert "+and more." in text
    assert list(latest.df["before"]) == ["Second."]
    assert "nothing differs" in repr(entity.diff(0, 0, ASPECT))


def test_what_is_not_there_is_said(entity: Any) -> None:
    with pytest.raises(NotFound, match="no version 9"):
        entity.diff(9, 0, ASPECT)
    with pytest.raises(NotFound):
        entity.history("ownership")
    with pytest.raises(InvalidInput, match="timeseries"):
        entity.history("datasetProfile")
