"""A staged changeset keeps in its file what was proposed, decided and written."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.errors import InvalidInput, StorageFault
from explorer.stewardship.staging import (
    ReviewItem,
    ReviewState,
    StagedChangeset,
    StagedEdit,
    TextSource,
)

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"


def edit_of(column: str, text: str = "A text.", **more: object) -> StagedEdit:
    return StagedEdit(ORDERS, "orders", column, text=text, **more)  # type: ignore[arg-type]


def made(path: Path, *edits: StagedEdit) -> StagedChangeset:
    chosen = edits or (edit_of("a"), edit_of("b"), edit_of("c"))
    return StagedChangeset.create(
        path, chosen, title="Orders", server="http://here", proposed_by="nina"
    )


def states(changeset: StagedChangeset) -> list[str]:
    return [item.state for item in changeset.items]


def test_what_was_noted_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "one.changes.jsonl"
    source = TextSource("lineage", "urn:li:x", "raw_orders", "id", hops=2, agreeing=3)
    changeset = made(path, edit_of("a", sources=(source,)), edit_of("b"), edit_of("c"))
    changeset.decide(1, "accepted", "omar")
    changeset.decide(2, "refused", "omar")
    changeset.decide(3, "accepted", "omar", text="Another.", before="Theirs.")
    changeset.note_outcome(1, "applied")
    changeset.note_outcome(3, "failed", why="changed meanwhile", theirs="New.")

    again = StagedChangeset.open(path)

    assert again.items == changeset.items
    assert (again.id, again.title, again.proposed_by) == (changeset.id, "Orders", "nina")
    assert again.counts() == {"refused": 1, "applied": 1, "failed": 1}
    first, second, third = again.items
    assert first.edit.sources == (source,)
    assert second.decided_by == "omar"
    assert (third.edit.text, third.edit.before, third.theirs) == ("Another.", "Theirs.", "New.")
    assert third.is_changed


def test_the_file_calls_the_ingested_text_and_the_names_of_labels_as_it_always_did(
    tmp_path: Path,
) -> None:
    edit = edit_of("a", ingested="Loaded.", label_names={"urn:li:tag:PII": "Personal"})
    changeset = made(tmp_path / "one", edit)
    lines = [json.loads(line) for line in changeset.path.read_text().splitlines()]
    written = next(line for line in lines if line["type"] == "edit")
    assert written["edit"]["shown"] == "Loaded."
    assert written["edit"]["called"] == {"urn:li:tag:PII": "Personal"}
    assert StagedChangeset.open(changeset.path).items[0].edit == edit


def test_a_changeset_never_replaces_a_file(tmp_path: Path) -> None:
    path = tmp_path / "one"
    path.write_text("mine")
    with pytest.raises(InvalidInput, match="already exists"):
        made(path)
    assert path.read_text() == "mine"
    assert [one.name for one in tmp_path.iterdir()] == ["one"]


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    assert made(tmp_path / "deep" / "one").path.stat().st_mode & 0o777 == 0o600


def test_of_edits_for_one_place_the_last_counts(tmp_path: Path) -> None:
    changeset = made(tmp_path / "one", edit_of("a", "First."), edit_of("a", "Second."))
    assert [item.edit.text for item in changeset.items] == ["Second."]


def test_nothing_is_no_changeset(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nothing to stage"):
        StagedChangeset.create(tmp_path / "one", [], title="", server="", proposed_by="")


def test_everything_that_is_open_is_decided_in_one_go(tmp_path: Path) -> None:
    changeset = made(tmp_path / "one")
    changeset.decide(2, "refused", "omar")
    assert changeset.decide_open("accepted", "nina") == 2
    assert changeset.decide_open("accepted", "nina") == 0
    again = StagedChangeset.open(changeset.path)
    shown = f"<StagedChangeset 'Orders': 2 accepted, 1 refused; {changeset.path}>"
    assert repr(again) == shown
    assert states(again) == states(changeset) == ["accepted", "refused", "accepted"]
    assert [item.decided_by for item in again.items] == ["nina", "omar", "nina"]


def test_what_is_applied_cannot_be_decided_anew(tmp_path: Path) -> None:
    changeset = made(tmp_path / "one")
    changeset.note_outcome(1, "applied")
    with pytest.raises(InvalidInput, match="use undo to reverse it"):
        changeset.decide(1, "refused", "omar")


@pytest.mark.parametrize("content", ["", "{}\n", "name,text\n", '{"type":"edit","number":1}\n'])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "one"
    path.write_text(content)
    with pytest.raises(InvalidInput, match="not a changeset"):
        StagedChangeset.open(path)


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path / "one").path
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | {"version": 2}), *others, ""]))
    with pytest.raises(InvalidInput, match="newer version"):
        StagedChangeset.open(path)


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    changeset = made(tmp_path / "one")
    changeset.path.unlink()
    with pytest.raises(StorageFault, match="cannot be written"):
        changeset.decide(1, "accepted", "omar")
    with pytest.raises(StorageFault, match="cannot be read"):
        StagedChangeset.open(changeset.path)


def test_a_line_cut_short_by_a_crash_spoils_no_other(tmp_path: Path) -> None:
    changeset = made(tmp_path / "one")
    changeset.decide(1, "accepted", "omar")
    with changeset.path.open("ab") as file:
        file.write(b'{"type":"decision","number":2,"st')
    again = StagedChangeset.open(changeset.path)
    assert states(again) == ["accepted", "open", "open"]
    again.decide(3, "refused", "omar")
    assert states(StagedChangeset.open(changeset.path)) == ["accepted", "open", "refused"]


_DECISIONS = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from(["open", "accepted", "refused", "applied"]))
)


# Every example syncs files, which takes long on a busy disk.
@settings(deadline=None)
@given(_DECISIONS, st.data())
def test_a_file_cut_anywhere_holds_what_was_noted_before(
    tmp_path_factory: pytest.TempPathFactory, decisions: list[tuple[int, ReviewState]], data: object
) -> None:
    path = tmp_path_factory.mktemp("cut") / "one"
    changeset = made(path)
    sizes, noted = [path.stat().st_size], [states(changeset)]
    for number, state in decisions:
        item: ReviewItem = changeset.items[number - 1]
        if item.state == "applied":
            continue
        if state == "applied":
            changeset.note_outcome(number, state)
        elif state != "failed":
            changeset.decide(number, state, "omar")
        sizes.append(path.stat().st_size)
        noted.append(states(changeset))
    length = data.draw(st.integers(sizes[0], sizes[-1]))  # type: ignore[attr-defined]
    path.write_bytes(path.read_bytes()[:length])
    last = max(at for at, size in enumerate(sizes) if size <= length)
    assert states(StagedChangeset.open(path)) == noted[last]


def test_what_another_program_noted_is_taken_in(tmp_path: Path) -> None:
    mine = made(tmp_path / "one")
    assert not mine.read_again()
    mine.decide(1, "accepted", "nina")
    assert not mine.read_again()
    theirs = StagedChangeset.open(mine.path)
    assert not theirs.read_again()
    theirs.decide(2, "refused", "omar")
    # What is noted after it hides nothing of it.
    mine.decide(3, "accepted", "nina")
    assert mine.read_again()
    assert states(mine) == ["accepted", "refused", "accepted"]
    assert not mine.read_again()
    mine.path.unlink()
    with pytest.raises(StorageFault, match="cannot be read"):
        mine.read_again()


def test_the_next_open_edit_is_found_from_the_top_again(tmp_path: Path) -> None:
    changeset = made(tmp_path / "one")

    def following(number: int) -> int | None:
        found = changeset.next_open(number)
        return found.number if found else None

    assert [following(number) for number in (0, 1, 3)] == [1, 2, 1]
    changeset.decide(1, "accepted", "nina")
    assert following(3) == 2
    changeset.decide_open("refused", "nina")
    assert following(0) is None
