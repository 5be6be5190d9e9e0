"""The review of a staged changeset, without a page: what is decided, typed, written and refused."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer import Catalog
from explorer.errors import InvalidInput
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook.widgets import stewardship as widget_module
from explorer.notebook.widgets.stewardship import ReviewWidget
from explorer.stewardship import StagedChangeset, StagedEdit, TextSource
from explorer.stewardship.drafts import Drafts
from tests.conftest import schema_of

WAIT_SECONDS = 30
COLUMNS = ("id", "zip", "city")
STRING: dict[str, Any] = {"type": {"com.linkedin.schema.StringType": {}}}
HOSTILE = '<img src=x onerror="window.__xss = 1">'
TYPES = """
import sys, time
from explorer.stewardship.drafts import Draft, Drafts
changeset, urn = sys.argv[1:]
Drafts.of_changeset(changeset).keep(Draft(urn, "zip", "Proposed zip.", "typed elsewhere"))
print("kept", flush=True)
time.sleep(60)
"""


@pytest.fixture
def table(cat: Catalog, request: pytest.FixtureRequest) -> str:
    """A table of three columns without a description, of this test alone."""
    urn = Urn.dataset("hive", f"reviewed.{request.node.name}")
    fields = [{"fieldPath": path, "nativeDataType": "text", "type": STRING} for path in COLUMNS]
    schema = schema_of(fields)
    cat.ingest(Proposal(urn, "schemaMetadata", schema))
    return str(urn)


@pytest.fixture
def staged(cat: Catalog, table: str, tmp_path: Path) -> StagedChangeset:
    """A text proposed for each column of the table."""
    edits = [
        StagedEdit(table, "reviewed", path, text=f"Proposed {path}.", sources=(TextSource("file"),))
        for path in COLUMNS
    ]
    return cat.stewardship.stage(edits, "Three texts", tmp_path / "three.changes.jsonl")


@pytest.fixture
def review(cat: Catalog, staged: StagedChangeset) -> Iterator[Any]:
    made = ReviewWidget(cat, staged)
    assert made.wait(WAIT_SECONDS)
    yield made
    made.close()


def hear(review: Any, kind: str, **more: Any) -> None:
    """What the page would send."""
    review._handle_custom_msg({"kind": kind, "seq": 1, "view": "page", **more}, [])
    assert review.wait(WAIT_SECONDS)


def type_(review: Any, text: str) -> None:
    """What a page would say of the text in its editor."""
    typed = {**review.typed, "text": text, "view": "page"}
    review.set_state({"typed": {**typed, "revision": review.typed["revision"] + 1}})
    assert review.wait(WAIT_SECONDS)


def strings(value: Any) -> Iterator[str]:
    """Every text that is somewhere in a value."""
    match value:
        case str():
            yield value
        case dict():
            yield from strings([*value.values()])
        case list() | tuple():
            for one in value:
                yield from strings(one)


def states(review: Any) -> list[str]:
    """The states as the page has them, and as they are in the file."""
    shown = [row["state"] for row in review.review["rows"]]
    filed: list[str] = [item.state for item in StagedChangeset.open(review.changeset.path).items]
    assert shown == filed
    return filed


def texts(cat: Catalog, table: str) -> dict[str, str]:
    schema = cat.entity(table).schema
    return {column.path.simple: column.edited for column in schema if column.edited}


def test_each_decision_is_in_the_file_at_once_and_the_next_is_shown(review: Any) -> None:
    assert review.item["title"] == "reviewed · id"
    assert "+Proposed id." in review.item["lines"]
    assert "@from a file" in review.item["lines"]
    hear(review, "decide", number=1, state="accepted")
    assert states(review) == ["accepted", "open", "open"]
    assert review.item["number"] == 2
    hear(review, "decide", number=2, state="refused")
    assert states(review) == ["accepted", "refused", "open"]
    assert review.item["number"] == 3
    hear(review, "decide", number=1, state="open")
    assert states(review) == ["open", "refused", "open"]
    decided = review.changeset.items[1].decided_by
    assert decided
    assert review.item["people"] == f"proposed by {Urn.label(review.changeset.proposed_by)}"
    hear(review, "show", number=2)
    assert review.item["people"].endswith(f"refused by {Urn.label(decided)}")


def test_a_key_pressed_twice_decides_one_edit(review: Any) -> None:
    """Each view names the edit that it shows: the second press comes before the next is there."""
    for _ in range(2):
        review._handle_custom_msg({"kind": "decide", "number": 1, "state": "accepted"}, [])
    assert review.wait(WAIT_SECONDS)
    assert states(review) == ["accepted", "open", "open"]


def test_what_was_accepted_is_written_as_one_save_and_undone(
    cat: Catalog, table: str, review: Any
) -> None:
    hear(review, "decide", number=1, state="accepted")
    hear(review, "decide", number=2, state="accepted")
    assert texts(cat, table) == {}
    # A number that is not the one that was confirmed writes nothing.
    hear(review, "apply", count=3)
    assert "Meanwhile 2 are accepted" in review.problem
    assert texts(cat, table) == {}
    seen: list[Any] = []
    review.observe(lambda change: seen.append(change["new"]), "progress")
    hear(review, "apply", count=2)
    assert review.said.startswith("Written: 2 changes.")
    assert {"done": 2, "total": 2} in seen
    assert review.progress == {}
    assert states(review) == ["applied", "applied", "open"]
    assert texts(cat, table) == {"id": "Proposed id.", "zip": "Proposed zip."}
    save = cat.last_save()
    assert save is not None
    assert {one.proposed_by for one in save.entries} == {review.changeset.proposed_by}
    cat.undo_save()
    assert texts(cat, table) == {}

    # What was undone is undecided again where the changeset is opened the next time.
    again = ReviewWidget(cat, review.changeset)
    assert again.wait(WAIT_SECONDS)
    assert again.said == "2 changes were undone since: they are open again."
    assert again.item["number"] == 1
    assert states(again) == ["open", "open", "open"]
    hear(again, "decide", number=1, state="accepted")
    hear(again, "apply", count=1)
    assert texts(cat, table) == {"id": "Proposed id."}
    again.close()


def test_what_somebody_else_wrote_is_shown_and_replaced_only_when_it_was_seen(
    cat: Catalog, table: str, review: Any
) -> None:
    hear(review, "decide", number=1, state="accepted")
    hear(review, "decide", number=3, state="accepted")
    cat.describe(table, "Theirs.", column="id")
    hear(review, "apply", count=2)
    assert review.said.startswith("Written: 1 change; 1 failed, see the reasons. ")
    assert review.item["number"] == 1
    assert review.item["state"] == "failed"
    assert " Theirs." in review.item["lines"]
    assert texts(cat, table) == {"id": "Theirs.", "city": "Proposed city."}
    hear(review, "decide", number=1, state="accepted")
    hear(review, "apply", count=1)
    assert texts(cat, table)["id"] == "Proposed id."


def test_a_text_is_changed_and_accepted(cat: Catalog, table: str, review: Any) -> None:
    hear(review, "edit", number=2)
    assert review.typed["text"] == "Proposed zip."
    assert review.editor["title"] == "zip of reviewed"
    assert review.editor["note"] == "from a file"
    type_(review, "The **postal** code.")
    assert review.preview == [["p", "", ["The ", ["strong", "", ["postal"]], " code."]]]
    hear(review, "accept")
    assert review.editor == {}
    item = StagedChangeset.open(review.changeset.path).items[1]
    assert (item.state, item.edit.text) == ("accepted", "The **postal** code.")
    assert item.is_changed
    hear(review, "apply", count=1)
    assert texts(cat, table) == {"zip": "The **postal** code."}


def test_leaving_the_editor_keeps_the_text_undecided(review: Any) -> None:
    hear(review, "decide", number=2, state="accepted")
    hear(review, "edit", number=2)
    type_(review, "Half a sent")
    hear(review, "leave")
    item = StagedChangeset.open(review.changeset.path).items[1]
    assert (item.state, item.edit.text) == ("open", "Half a sent")
    assert review.editor == {}
    # What was not changed decides nothing.
    hear(review, "decide", number=2, state="accepted")
    hear(review, "edit", number=2)
    hear(review, "leave")
    assert states(review)[1] == "accepted"


def test_what_is_typed_is_on_disk_at_once_and_gone_on_with_in_another_kernel(
    cat: Catalog, staged: StagedChangeset, review: Any
) -> None:
    hear(review, "edit", number=2)
    type_(review, "Typed, not decided.")
    (kept,) = Drafts.of_changeset(staged.id).all()
    assert (kept.draft.path, kept.draft.text) == ("zip", "Typed, not decided.")
    # No draft of the server's text is made of it, and nothing stands in the changeset.
    assert Drafts.of(cat.identity or cat.address).all() == []
    assert StagedChangeset.open(staged.path).items[1].edit.text == "Proposed zip."
    review.close()
    again = ReviewWidget(cat, StagedChangeset.open(staged.path))
    assert again.wait(WAIT_SECONDS)
    assert [row["draft"] for row in again.review["rows"]] == [False, True, False]
    # The key that accepts does not pass it by.
    hear(again, "decide", number=2, state="accepted")
    assert again.typed["text"] == "Typed, not decided."
    assert "your unsaved draft" in again.editor["note"]
    hear(again, "accept")
    assert again.changeset.items[1].edit.text == "Typed, not decided."
    assert Drafts.of_changeset(staged.id).all() == []
    assert again.review["typed"] == 0
    again.close()


def test_turning_to_another_edit_keeps_what_was_typed(review: Any) -> None:
    hear(review, "edit", number=1)
    type_(review, "Typed.")
    hear(review, "move", by=1)
    assert review.editor == {}
    assert review.review["rows"][0]["draft"]
    hear(review, "decide", number=2, state="refused")
    hear(review, "edit", number=1)
    assert review.typed["text"] == "Typed."
    hear(review, "discard")
    assert not review.review["rows"][0]["draft"]
    hear(review, "edit", number=1)
    assert review.typed["text"] == "Proposed id."


def test_a_text_that_another_program_types_is_left_alone(
    table: str, staged: StagedChangeset, review: Any
) -> None:
    command = (sys.executable, "-c", TYPES, staged.id, table)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "kept\n"
            hear(review, "edit", number=2)
            assert review.typed["text"] == "Proposed zip."
            type_(review, "Mine.")
            hear(review, "accept")
            (kept,) = Drafts.of_changeset(staged.id).all()
            assert (kept.draft.text, kept.open) == ("typed elsewhere", True)
        finally:
            other.kill()


def test_a_cell_that_runs_again_goes_on_with_what_is_typed(
    cat: Catalog, staged: StagedChangeset, review: Any
) -> None:
    hear(review, "edit", number=3)
    type_(review, "Typed here.")
    again = ReviewWidget(cat, StagedChangeset.open(staged.path), instead_of=review)
    assert again.wait(WAIT_SECONDS)
    hear(again, "edit", number=3)
    assert again.typed["text"] == "Typed here."
    again.close()


def test_a_cell_that_runs_again_closes_the_review_that_it_made(
    cat: Catalog, staged: StagedChangeset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(widget_module, "running_cell", lambda: "one")
    first = cat.stewardship.review(staged)
    again = cat.stewardship.review(staged.path)
    assert first.comm is None
    assert again.comm is not None
    monkeypatch.setattr(widget_module, "running_cell", lambda: "two")
    other = cat.stewardship.review(staged)
    assert again.comm is not None
    for one in (again, other):
        assert one.wait(WAIT_SECONDS)
        one.close()


def test_all_that_is_open_is_accepted_where_it_is_as_much_as_was_said(review: Any) -> None:
    hear(review, "decide", number=1, state="refused")
    hear(review, "all", count=3)
    assert "Meanwhile 2 are undecided" in review.problem
    assert states(review) == ["refused", "open", "open"]
    hear(review, "all", count=2)
    assert states(review) == ["refused", "accepted", "accepted"]


def test_what_is_decided_elsewhere_is_taken_in(staged: StagedChangeset, review: Any) -> None:
    colleague = StagedChangeset.open(staged.path)
    colleague.decide(1, "refused", "urn:li:corpuser:nina")
    hear(review, "decide", number=3, state="accepted")
    assert states(review) == ["refused", "open", "accepted"]
    colleague.decide(2, "refused", "urn:li:corpuser:nina")
    review.read_again()
    assert review.wait(WAIT_SECONDS)
    assert states(review) == ["refused", "refused", "accepted"]
    # What somebody took back meanwhile is not written.
    colleague.decide(3, "refused", "urn:li:corpuser:nina")
    hear(review, "apply", count=1)
    assert "Meanwhile 0 are accepted" in review.problem


def test_only_edits_of_one_state_are_listed_when_that_is_wanted(review: Any) -> None:
    hear(review, "decide", number=2, state="accepted")
    hear(review, "only", state="open")
    assert [row["number"] for row in review.review["rows"]] == [1, 3]
    hear(review, "move", by=1)
    assert review.item["number"] == 3
    hear(review, "only", state="accepted")
    assert review.item["number"] == 2
    assert review.review["counts"] == [["open", 2], ["accepted", 1]]


def test_a_long_changeset_is_sent_a_page_at_a_time(
    cat: Catalog, table: str, tmp_path: Path
) -> None:
    edits = [StagedEdit(table, "reviewed", f"c{at}", text="A text.") for at in range(250)]
    staged = cat.stewardship.stage(edits, "Many", tmp_path / "many.changes.jsonl")
    review = ReviewWidget(cat, staged)
    assert review.wait(WAIT_SECONDS)
    assert len(review.review["rows"]) == 100
    hear(review, "move", by=100)
    assert (review.review["start"], review.item["number"]) == (100, 101)
    hear(review, "move", by=1_000)
    assert (len(review.review["rows"]), review.item["number"]) == (50, 250)
    assert "60 of 250" in repr(review)
    assert len(review.df) == 250
    review.close()


def test_a_catalog_that_is_only_read_is_decided_and_not_written(
    cat: Catalog, staged: StagedChangeset
) -> None:
    with Catalog(cat.address, read_only=True) as reader:
        review = reader.stewardship.review(staged)
        assert review.wait(WAIT_SECONDS)
        assert "read-only" in review.review["why_not"]
        hear(review, "decide", number=1, state="accepted")
        hear(review, "apply", count=1)
        assert "read-only" in review.problem
        assert states(review) == ["accepted", "open", "open"]
        review.close()


def test_a_changeset_of_another_catalog_is_marked_not_written_and_imported(
    cat: Catalog, staged: StagedChangeset, table: str, tmp_path: Path
) -> None:
    cat.describe(table, "Theirs.", column="city")
    foreign = StagedChangeset.create(
        tmp_path / "foreign.changes.jsonl",
        [item.edit for item in staged.items],
        title="Of another",
        server="http://there",
        proposed_by="",
        catalog="another",
    )
    review = ReviewWidget(cat, foreign)
    try:
        assert review.wait(WAIT_SECONDS)
        assert review.review["foreign"] == "of another catalog, at http://there"
        assert "of another catalog, at http://there" in str([*review.parts()])
        hear(review, "decide", number=1, state="accepted")
        hear(review, "apply", count=1)
        assert "import it first" in review.problem
        assert "Proposed id." not in str(cat.entity(table).schema)
        hear(review, "import")
        assert review.said == "Imported: 3 changes; 1 cannot be written as they are."
        assert (review.review["foreign"], review.review["why_not"]) == ("", "")
        assert review.changeset.id != foreign.id
        assert [item.state for item in review.changeset.items] == ["open", "open", "failed"]
        hear(review, "decide", number=1, state="accepted")
        hear(review, "apply", count=1)
        assert review.changeset.counts() == {"applied": 1, "open": 1, "failed": 1}
    finally:
        review.close()


def test_a_server_that_is_gone_leaves_what_was_accepted(
    cat: Catalog, staged: StagedChangeset
) -> None:
    with Catalog("http://127.0.0.1:9", timeout_seconds=2) as away:
        review = ReviewWidget(away, staged)
        assert review.wait(WAIT_SECONDS)
        hear(review, "decide", number=1, state="accepted")
        hear(review, "apply", count=1)
        assert "0 written" in review.problem
        assert states(review) == ["accepted", "open", "open"]
        assert review.progress == {}
        assert review.item["decidable"]
        review.close()


def test_a_file_that_cannot_be_written_decides_nothing_and_keeps_what_was_typed(
    staged: StagedChangeset, review: Any, tmp_path: Path
) -> None:
    hear(review, "edit", number=1)
    type_(review, "Typed.")
    away = staged.path.rename(tmp_path / "away")
    hear(review, "accept")
    assert "cannot be" in review.problem
    assert review.typed["text"] == "Typed."
    assert Drafts.of_changeset(staged.id).all()[0].draft.text == "Typed."
    away.rename(staged.path)
    hear(review, "accept")
    assert review.changeset.items[0].edit.text == "Typed."


def test_what_is_edited_in_a_frame_is_staged_and_reviewed(cat: Catalog, table: str) -> None:
    docs = cat.stewardship.documentation([table])
    docs.df.loc[docs.df["column"] == "id", "edited"] = "From a frame."
    review = cat.stewardship.review(docs.diff(), title="From a frame")
    assert review.wait(WAIT_SECONDS)
    assert review.review["title"] == "From a frame"
    assert "+From a frame." in review.item["lines"]
    again = cat.stewardship.review(str(review.changeset.path))
    assert again.changeset.id == review.changeset.id
    for one in (review, again):
        one.close()
    with pytest.raises(InvalidInput, match="nothing to stage"):
        cat.stewardship.review(cat.stewardship.documentation([table]).diff())
    with pytest.raises(InvalidInput, match="not a changeset"):
        cat.stewardship.review(__file__)


def test_what_was_reviewed_is_read_where_no_kernel_runs(review: Any, page: Any) -> None:
    hear(review, "decide", number=1, state="accepted")
    data, _ = review._repr_mimebundle_()
    shown = page(data["text/html"])
    assert shown.wrong == []
    for text in (shown.text, data["text/plain"]):
        for word in ("Three texts", "2 open · 1 accepted", "✓ accepted", "Proposed zip."):
            assert word in text
    assert str(review.changeset.path) not in data["text/html"] + data["text/plain"]


def test_hostile_texts_of_a_changeset_are_text(
    cat: Catalog, table: str, tmp_path: Path, page: Any
) -> None:
    bad = f"{HOSTILE}\x1b[31m\u202e"
    source = TextSource("lineage", "urn:li:x", bad, bad)
    edits = [StagedEdit(table, bad, "id", text=bad, before=bad, ingested=bad, sources=(source,))]
    staged = cat.stewardship.stage(edits, bad, tmp_path / "bad.changes.jsonl")
    review = ReviewWidget(cat, staged)
    assert review.wait(WAIT_SECONDS)
    data, _ = review._repr_mimebundle_()
    assert page(data["text/html"]).wrong == []
    for told in (data["text/html"], data["text/plain"], *strings([review.review, review.item])):
        assert not set(told) & set("\x1b\u202e")
    # What is edited stays byte for byte what it was.
    hear(review, "edit", number=1)
    assert review.typed["text"] == bad
    hear(review, "accept")
    assert review.changeset.items[0].edit.text == bad
    review.close()


def test_messages_that_make_no_sense_are_passed_over(review: Any) -> None:
    for content in ("x", {"kind": "decide"}, {"kind": "decide", "number": 99, "state": "accepted"}):
        review._handle_custom_msg(content, [])
    hear(review, "decide", number=1, state="applied")
    hear(review, "only", state="nonsense")
    hear(review, "apply", count=-1)
    assert states(review) == ["open", "open", "open"]
