"""What changed since the last visit shows itself, is a DataFrame, and is marked as read."""

from typing import Any

import pytest

from explorer.metadata import Proposal, Urn
from tests.conftest import schema_metadata


def test_changes_show_themselves_until_they_are_marked_as_read(
    cat: Any, read: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    urn = Urn.dataset("hive", "nb_fed.orders")
    cat.ingest(Proposal(urn, "schemaMetadata", schema_metadata({"cust_id": None, "b": None})))
    cat.describe(urn, "Who <b>bought</b>.", column="cust_id")
    cat.stewardship.feed().mark_read()
    cat.ingest(Proposal(urn, "schemaMetadata", schema_metadata({"customer_id": None, "b": None})))
    feed = cat.stewardship.feed()
    page = read(feed)
    for text in (page.text, repr(feed)):
        assert "2 changes of 1 entity, 1 to look after" in text
        assert "column dropped, likely renamed" in text
        assert "Since " in text
    frame = feed.df
    assert list(frame["kind"]) == ["orphaned text", "column added"]
    assert frame["likely_column"].tolist() == ["customer_id", "cust_id"]
    assert str(frame["at"].dtype) == "datetime64[ms, UTC]"
    feed.mark_read()
    nothing = cat.stewardship.feed()
    assert nothing.df.empty
    assert "nothing changed" in read(nothing).text
