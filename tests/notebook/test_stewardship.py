"""What stewardship says of a catalog shows itself in a notebook and is a DataFrame when asked."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer import stewardship
from explorer.errors import InvalidInput
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.stewardship import Entry
from explorer.stewardship.dbt_project import read_project

FOLDER = "/prod/snowflake/analytics/marts"


def test_coverage_shows_its_counts_and_has_a_row_for_each_group(cat: Any, read: Any) -> None:
    shown = cat.stewardship.coverage(by="domain")
    plain = stewardship.Stewardship(cat).coverage(by="domain")
    assert (shown.tables, shown.columns, shown.groups) == (
        plain.tables,
        plain.columns,
        plain.groups,
    )
    frame = shown.df.set_index("name")
    assert list(frame.index) == [group.name for group in plain.groups]
    for group in plain.groups:
        row = frame.loc[group.name]
        assert row["tables_total"] == group.tables.total
        assert row["columns_documented"] == group.columns.documented
        assert row["columns_percent"] == group.columns.percent
    page = read(shown)
    for text in (page.text, repr(shown)):
        assert f"{plain.columns.total:,}" in text
        assert f"({plain.columns.percent:.1f}%)" in text
        assert "by domain" in text
        assert "(no domain)" in text
    whole = cat.stewardship.coverage()
    assert list(whole.df["columns_total"]) == [plain.columns.total]
    assert whole == cat.stewardship.coverage()


@pytest.mark.filterwarnings("ignore::explorer.errors.IncompleteFrame")
def test_a_worklist_shows_what_comes_first(cat: Any, read: Any) -> None:
    shown = cat.stewardship.worklist(folder=FOLDER, top=3)
    first = shown.items[0]
    assert list(shown.df["path"]) == [item.column.raw for item in shown.items]
    assert list(shown.df["weight"]) == sorted(shown.df["weight"], reverse=True)
    page = read(shown)
    for text in (page.text, repr(shown)):
        assert f"3 of {shown.total:,}" in text
        assert first.column.simple in text
    assert cat.stewardship.worklist(
        ["urn:li:dataset:(urn:li:dataPlatform:x,nothing,PROD)"]
    ).df.empty


def test_a_folder_without_datasets_is_not_one_that_is_documented(cat: Any, read: Any) -> None:
    steward = cat.stewardship
    for shown in (
        steward.worklist(folder="/prod/nowhere"),
        steward.coverage(folder="/prod/nowhere"),
        cat.docs(folder="/prod/nowhere"),
    ):
        for text in (read(shown).text, repr(shown)):
            assert "no dataset matches" in text
            assert "documented" not in text.lower()
        assert shown.df.empty or not shown.df["tables_total"].any()


def test_changes_are_shown_by_kind_and_those_that_change_nothing_only_counted(
    cat: Any, read: Any
) -> None:
    rows = cat.stewardship.documentation(folder=FOLDER)[:4]
    rows = [rows[0], replace(rows[1], edited="my <b>text</b>"), replace(rows[2], column="nowhere")]
    shown = cat.stewardship.changeset(Entry(f"row {at}", row) for at, row in enumerate(rows))
    assert list(shown.df["kind"]) == ["unchanged", "new", "unknown column"]
    assert list(shown.df["mine"])[1] == "my <b>text</b>"
    assert [one.kind for one in shown.to_apply()] == ["new"]
    page = read(shown)
    for text in (page.text, repr(shown)):
        assert "1 new · 1 unchanged · 1 unknown column" in text
        assert "my <b>text</b>" in text
        assert "nowhere" in text
    assert "none" in repr(cat.stewardship.changeset([]))


def test_a_data_frame_is_compared_as_it_was_edited(cat: Any) -> None:
    documentation = cat.stewardship.documentation(folder=FOLDER)
    frame = documentation.df
    assert cat.stewardship.changeset(frame).counts() == {"unchanged": len(documentation)}
    described = frame.index[frame["edited"].notna()][0]
    blank = frame.index[frame["edited"].isna() & frame["path"].notna()][0]
    frame.loc[blank, "edited"] = "One text."
    frame.loc[described, "edited"] = "Another text."
    changes = cat.stewardship.changeset(frame.drop(columns=["table", "type"]).sort_values("urn"))
    assert {change.entry.place: change.kind for change in changes.to_apply()} == {
        f"row {blank}": "new",
        f"row {described}": "changed",
    }
    # Taking a text away has to be meant.
    frame.loc[described, "edited"] = None
    assert cat.stewardship.changeset(frame).counts()["emptied"] == 1
    assert cat.stewardship.changeset(frame, clear_empty=True).counts()["cleared"] == 1


def test_a_data_frame_without_what_is_needed_is_told(cat: Any) -> None:
    frame = cat.stewardship.documentation(folder=FOLDER).df
    with pytest.raises(InvalidInput, match="no column named edited"):
        cat.stewardship.changeset(frame.drop(columns="edited"))
    # Without the fingerprint a text that stands there is not replaced.
    described = frame.index[frame["edited"].notna()][0]
    frame.loc[described, "edited"] = "Another text."
    changes = cat.stewardship.changeset(frame.drop(columns="exported"))
    assert changes.counts()["conflict"] == 1


@pytest.mark.parametrize("count", [0, 2])
def test_a_load_says_what_went_in_and_what_was_refused_and_why(
    cat: Any, read: Any, count: int
) -> None:
    tag = Urn.parse("urn:li:tag:loaded")
    bad = [Proposal(tag, "tagProperties", {"name": 3})] * count
    shown = cat.ingest_batch([Proposal(tag, "tagProperties", {"name": "loaded"}), *bad])
    assert shown.written_count == 1
    assert list(shown.df["position"]) == [*range(1, 1 + count)]
    for text in (read(shown).text, repr(shown)):
        assert "1 written" in text
        assert text.count("expected a string") == count


def test_drafts_of_a_command_show_themselves_and_their_changeset(
    cat: Any, read: Any, tmp_path: Path
) -> None:
    path = tmp_path / "drafts.changes.jsonl"
    drafted = cat.stewardship.draft(
        folder=FOLDER, command="echo A text.", parts=["columns"], limit=2, path=path
    )
    assert [item.edit.text for item in drafted.changeset.items] == ["A text."] * 2
    assert list(drafted.df["text"]) == ["A text."] * 2
    failed = cat.stewardship.draft(folder=FOLDER, command="false", limit=1)
    assert failed.changeset is None
    assert list(failed.df["why"]) == ["the command failed with exit code 1"]
    for text in (read(drafted).text, repr(drafted)):
        assert "2 of 2 drafted" in text
        assert "A text." in text
        assert path.name in text
    assert "exit code 1" in read(failed).text


def test_the_trend_of_coverage_is_a_figure_and_a_frame(cat: Any, read: Any) -> None:
    trend = cat.stewardship.coverage_trend(folder=FOLDER)
    coverage = cat.stewardship.coverage(folder=FOLDER)
    assert trend.df["columns_documented"].iloc[-1] == coverage.columns.documented
    assert str(trend.df["day"].dtype) == "datetime64[ms, UTC]"
    assert [line.name for line in trend.figure().data] == ["tables", "columns"]
    page = read(trend)
    for text in (page.text, repr(trend)):
        assert f"{coverage.columns.percent:.1f}%" in text
    groups = cat.stewardship.coverage_trend(by="domain")
    assert "(no domain)" in read(groups).text


def test_a_concept_shows_its_texts_and_stages_one_for_columns(cat: Any, read: Any) -> None:
    shown = cat.stewardship.concept("customer_id")
    plain = stewardship.Stewardship(cat).concept("customer_id")
    first, second = plain.variants[:2]
    page = read(shown)
    for text in (page.text, repr(shown)):
        assert first.text in text
        assert f"{len(plain.undocumented):,} without a text" in text
    frame = shown.df
    assert list(frame["urn"]) == [column.urn for column in plain.columns]
    assert frame["variant"].isna().sum() == len(plain.undocumented)
    assert (frame["variant"] == 2).sum() == len(second)
    without = {column.key for column in plain.undocumented.columns}
    staged = shown.propose(1)
    assert {(one.edit.urn, one.edit.column) for one in staged.items} == without
    assert {one.edit.text for one in staged.items} == {first.text}
    more = shown.propose(1, replaced=(2,))
    assert len(more.items) == len(without) + len(second)
    everywhere = shown.propose("The customer.", everywhere=True)
    assert len(everywhere.items) == len(plain)
    assert stewardship.Stewardship(cat).concept("customer_id") == plain
    with pytest.raises(InvalidInput, match="no text 99"):
        shown.propose(99)
    assert "no column of this name" in read(cat.stewardship.concept("no_such_column")).text


def test_a_dbt_projects_plan_shows_what_is_written_and_writes_it(
    cat: Any, read: Any, tmp_path: Path
) -> None:
    rows = cat.stewardship.documentation(folder=FOLDER)
    row = next(one for one in rows if one.column and one.edited and not one.ingested)
    name = row.table.rpartition(".")[2]
    (tmp_path / "models").mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    schema = tmp_path / "models/schema.yml"
    schema.write_text(f"models:\n- name: {name}\n  columns:\n  - name: {row.column}   # keep\n")
    (tmp_path / f"models/{name}.sql").write_text("select 1")
    shown = cat.stewardship.dbt_plan(read_project(tmp_path), [Urn.parse(row.urn)])
    (written,) = [one for one in shown.df.to_dict("records") if one["column"] == row.column]
    assert (written["kind"], written["after"], written["urn"]) == ("new", row.edited, row.urn)
    page = read(shown)
    for text in (page.text, repr(shown)):
        assert "models/schema.yml" in text
        assert row.edited.split("`")[0].split("*")[0][:20] in text
    assert row.edited[:20] not in schema.read_text()
    shown.write()
    assert row.edited[:20] in schema.read_text()
    assert "# keep" in schema.read_text()
