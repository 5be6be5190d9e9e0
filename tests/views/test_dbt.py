"""What a dbt project and the catalog say of each other, as rows, counts and differences."""

from pathlib import Path
from typing import Any

from explorer.metadata.urn import Urn
from explorer.stewardship.changeset import Change, Changeset
from explorer.stewardship.dbt import FileUpdate as File
from explorer.stewardship.dbt import (
    ProjectChanges,
    ProjectLabel,
    ProjectPlan,
    Property,
    Unmatched,
    Update,
    UpdateKind,
)
from explorer.stewardship.dbt_project import DbtResource
from explorer.stewardship.documentation import Entry
from explorer.stewardship.documentation import Row as FileRow
from explorer.views.dbt import (
    files_sentences,
    import_remark,
    item_diff,
    items_with,
    no_match_sentence,
    nothing_sentence,
    plan_counts,
    plan_items,
    plan_sentence,
    plan_table,
    unmatched_table,
)
from explorer.views.table import to_objects
from tests.conftest import people_rows

URN = str(Urn.dataset("dbt", "dev.core.orders"))


def update(
    kind: UpdateKind,
    file: str = "a.yml",
    column: str | None = None,
    after: str = "new\ntext",
    why: str | None = None,
    what: Property = "description",
) -> Update:
    return Update(file, "orders", column, what, kind, "old", after, URN, why)


def plan_of(*updates: Update, **more: Any) -> ProjectPlan:
    return ProjectPlan(Path("shop"), updates, more.pop("files", ()), **more)


LOST = Unmatched(DbtResource("model", "lost", ("lost",), file="a.yml"), "there is no dataset lost")
TORN = Unmatched(
    DbtResource("seed", "torn", ("torn",)), "several could be meant", (Urn.parse(URN),)
)


def test_items_are_listed_by_file_and_what_is_not_compared_is_last() -> None:
    plan = plan_of(
        update("changed", "b.yml"),
        update("unchanged", "a.yml"),
        update("conflict", "a.yml", "id", why="it says something else"),
        update("new", "b.yml", "total"),
        unmatched=(LOST, TORN),
        problems=(("c.yml", "it is not UTF-8"),),
    )
    rows = people_rows(plan_table(plan_items(plan)))
    assert [row[0] for row in rows] == [
        *("changed", "new", "conflict", "not read", "ambiguous", "no dataset")
    ]
    assert list(rows[0]) == ["changed", "orders", "(the table itself)", "new text", "b.yml"]
    assert list(rows[2]) == ["conflict", "orders", "id", "it says something else", "a.yml"]
    assert list(rows[5]) == ["no dataset", "model lost", "", LOST.why, "a.yml"]


def test_tags_and_owners_are_named_in_the_change() -> None:
    tags = update("new", what="tags", after="PII, daily")
    owner = update("conflict", what="owner", why="the project has another owner")
    rows = people_rows(plan_table(plan_items(plan_of(tags, owner))))
    assert [row[3] for row in rows] == [
        "tags: PII, daily",
        "owner: the project has another owner",
    ]


def test_programs_get_the_exact_texts_as_far_as_files_can_hold_them() -> None:
    items = plan_items(plan_of(update("unwritable", after="\ud800", why="no"), unmatched=(LOST,)))
    first, last = to_objects(plan_table(items))
    assert first["after"] == "\\ud800"
    assert (first["before"], first["property"], first["urn"]) == ("old", "description", URN)
    assert (last["kind"], last["property"], last["after"], last["urn"]) == (
        "no dataset",
        *[None] * 3,
    )
    (torn,) = to_objects(unmatched_table([TORN]))
    assert torn == {"resource": "torn", "kind": "seed", "why": TORN.why, "candidates": [URN]}


def test_words_narrow_by_kind_place_reason_and_text() -> None:
    items = plan_items(
        plan_of(update("new", column="id", after="The key"), update("conflict", why="Else"))
    )
    assert [one.kind for one in items_with(items, "KEY a.yml")] == ["new"]
    assert [one.kind for one in items_with(items, "else")] == ["conflict"]
    assert items_with(items, "key else") == []
    assert items_with(items, "") == list(items)


def test_a_difference_says_where_why_and_what() -> None:
    written, left = plan_items(
        plan_of(update("changed", column="id"), update("conflict", why="somebody wrote it"))
    )
    assert [one.text for one in item_diff(written)] == ["a.yml  orders · id", "old", "new", "text"]
    lines = [(one.kind, one.text) for one in item_diff(left)]
    assert lines[:3] == [
        ("place", "a.yml  orders"),
        ("note", "somebody wrote it"),
        ("note", "in the project (-), in the catalog (+):"),
    ]
    assert ("removed", "old") in lines
    hidden = plan_items(plan_of(update("new", after="a\x1bb")))[0]
    assert "1 character in it cannot be seen" in [one.text for one in item_diff(hidden)]
    (torn,) = plan_items(plan_of(unmatched=(TORN,)))
    assert [one.text for one in item_diff(torn)] == ["seed torn", TORN.why, URN]


def test_counts_and_files_are_said_in_words() -> None:
    files = (File("a.yml", b"", b"1"), File("b.yml", None, b"1"))
    plan = plan_of(
        *(update("new", column=name) for name in "xyz"), update("changed", "b.yml"), files=files
    )
    assert plan_sentence(plan) == "4 changes in 2 files"
    assert plan_counts(plan) == ("3 new", "1 changed")
    assert files_sentences(plan) == ("a.yml: 3 changes", "b.yml: 1 change, a new file")
    assert nothing_sentence(plan) == ""
    assert nothing_sentence(plan_of(update("unchanged"))) == "there is nothing to write"
    assert "no text of people" in nothing_sentence(plan_of())


def test_a_project_of_nothing_that_the_catalog_has_says_what_helps() -> None:
    assert "dbt parse" in no_match_sentence(1, [LOST], has_manifest=False)
    assert no_match_sentence(1, [LOST], has_manifest=True) == (
        "no dataset was found for the project's 1 resource; catalog add with the project's "
        "directory adds them"
    )
    assert no_match_sentence(2, [LOST], has_manifest=False) == ""
    assert no_match_sentence(1, [TORN], has_manifest=False) == ""
    assert "no models" in no_match_sentence(0, [], has_manifest=False)


def test_what_is_not_taken_in_is_counted() -> None:
    entry = Entry("a.yml orders", FileRow(URN, "orders", "", "", "", "new"))
    changes = ProjectChanges(
        Changeset(
            (Change(entry, "conflict"), Change(entry, "new"), Change(entry, "unknown column"))
        ),
        (),
        (),
        (("c.yml", "no"),),
    )
    label = ProjectLabel("a.yml", "orders", "tags", URN, None, "urn:li:tag:daily")
    assert import_remark(changes, [label], force_conflicts=False) == (
        "Not taken in: 1 conflict, 1 unknown column, 1 label that the catalog does not have "
        "(daily), 1 file that cannot be read."
    )
    assert "conflict" not in import_remark(changes, [], force_conflicts=True)
    assert import_remark(ProjectChanges(Changeset(()), (), (), ()), [], force_conflicts=False) == ""
