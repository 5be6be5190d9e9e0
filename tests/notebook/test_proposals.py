"""Changesets that the server keeps, in a notebook: a table of them, and the review of one."""

from pathlib import Path
from typing import Any

import pytest

from explorer.errors import InvalidInput
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook.stewardship import ProposalsTable
from explorer.stewardship import StagedChangeset, StagedEdit
from tests.conftest import schema_metadata

WAIT_SECONDS = 30
COLUMNS = ("id", "zip", "city")


@pytest.fixture
def shared(cat: Any, request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A changeset of three texts in its file, which the server keeps too."""
    table = Urn.dataset("hive", f"proposals.{request.node.name}")
    cat.ingest(Proposal(table, "schemaMetadata", schema_metadata(dict.fromkeys(COLUMNS))))
    edits = [StagedEdit(str(table), table.name, path, text=f"Proposed {path}.") for path in COLUMNS]
    staged = cat.stewardship.stage(edits, request.node.name, tmp_path / "three.changes.jsonl")
    cat.stewardship.share(staged)
    return staged


def hear(review: Any, kind: str, **more: Any) -> None:
    """What the page would send."""
    review._handle_custom_msg({"kind": kind, "seq": 1, "view": "page", **more}, [])
    assert review.wait(WAIT_SECONDS)


def colleague_decides(cat: Any, shared: StagedChangeset, number: int, state: Any) -> None:
    shared.decide(number, state, "urn:li:corpuser:colleague")
    cat.stewardship.sync_changeset(shared)


def test_the_queue_is_a_table_and_a_frame(cat: Any, shared: StagedChangeset) -> None:
    found = cat.stewardship.proposals()
    assert isinstance(found, ProposalsTable)
    mine = next(one for one in found if one.urn.name == shared.id)
    assert (mine.title, mine.edits, mine.counts) == (shared.title, 3, {"open": 3})
    frame = found.df
    row = frame[frame["id"] == shared.id].iloc[0]
    assert (row["title"], row["edits"], row["open"], row["applied"]) == (shared.title, 3, 3, 0)
    assert str(frame["open"].dtype) == "int64"
    assert shared.id in repr(found)
    assert shared.id in found._repr_html_()


def test_one_of_the_queue_is_reviewed_by_its_urn_or_its_id(
    cat: Any, shared: StagedChangeset
) -> None:
    for given in (Urn("changeset", (shared.id,)), f"urn:li:changeset:{shared.id}", shared.id):
        review = cat.stewardship.review(given)
        assert review.wait(WAIT_SECONDS)
        assert review.review["shared"] == "shared"
        assert review.changeset.path != shared.path
        review.close()
    review = cat.stewardship.review(shared.id)
    hear(review, "decide", number=1, state="accepted")
    assert review.review["shared"] == "shared"
    cat.stewardship.sync_changeset(shared)
    assert shared.items[0].state == "accepted"
    colleague_decides(cat, shared, 2, "refused")
    review.read_again()
    assert review.wait(WAIT_SECONDS)
    assert [row["state"] for row in review.review["rows"]] == ["accepted", "refused", "open"]
    hear(review, "apply", count=1)
    cat.stewardship.sync_changeset(shared)
    assert [item.state for item in shared.items] == ["applied", "refused", "open"]
    review.close()
    with pytest.raises(InvalidInput, match="not a changeset"):
        cat.stewardship.review(__file__)


def test_the_file_that_was_shared_is_reviewed_with_the_others(
    cat: Any, shared: StagedChangeset
) -> None:
    review = cat.stewardship.review(shared.path)
    assert review.wait(WAIT_SECONDS)
    hear(review, "all", count=3)
    (mine,) = [one for one in cat.stewardship.proposals() if one.urn.name == shared.id]
    assert mine.counts == {"accepted": 3}
    review.close()
