"""Documentation is edited as a data frame: shown as a difference, then written, and no text is lost
by what is done to the frame."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from explorer import Catalog
from explorer.errors import InvalidInput
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from tests.conftest import schema_of

STRING: dict[str, Any] = {"type": {"com.linkedin.schema.StringType": {}}}
COLUMNS = ("id", "[version=2.0].[type=struct].[type=string].zip", "city", "note", "kept")


@pytest.fixture
def table(cat: Catalog, request: pytest.FixtureRequest) -> str:
    """A table of five columns, one of them described by people, of this test alone."""
    urn = Urn.dataset("hive", f"framed.{request.node.name}")
    fields = [{"fieldPath": path, "nativeDataType": "text", "type": STRING} for path in COLUMNS]
    schema = schema_of(fields)
    cat.ingest(Proposal(urn, "schemaMetadata", schema))
    cat.describe(urn, "As it was.", column="kept")
    return str(urn)


@pytest.fixture
def docs(cat: Catalog, table: str) -> Any:
    return cat.stewardship.documentation([table])


def write(docs: Any, **texts: Any) -> None:
    """Write texts into the frame, by the names of the columns."""
    for name, text in texts.items():
        docs.df.loc[docs.df["column"] == name, "edited"] = text


def texts(cat: Catalog, table: str) -> dict[str, str]:
    """What the catalog holds, by the names that people call the columns."""
    schema = cat.entity(table).schema
    return {column.path.simple: column.edited or "" for column in schema if column.edited}


def kinds(changes: Any) -> dict[str, str]:
    frame = changes.df
    names = frame["column"].fillna("").str.rpartition(".")[2]
    return {name: kind for name, kind in zip(names, frame["kind"], strict=True) if name}


def test_what_a_search_finds_is_edited_compared_written_and_undone(
    cat: Catalog, table: str, read: Any
) -> None:
    docs = cat.docs(filter=f'name:"{table.split(",")[1]}"')
    assert {row.urn for row in docs} == {table}
    assert docs.df is docs.df
    write(docs, id="The key.", kept="Another.\nTwo lines.")
    shown = docs.diff()
    for page in (repr(shown), read(shown).text):
        assert "1 new · 1 changed · 4 unchanged" in page
        assert "The key." in page
        assert "As it was." in page
    assert texts(cat, table) == {"kept": "As it was."}
    applied = docs.apply()
    assert "2 written" in repr(applied)
    assert list(applied.df["outcome"]) == ["written", "written"]
    assert texts(cat, table) == {"id": "The key.", "kept": "Another.\nTwo lines."}
    # All of it is one save of the journal.
    cat.undo_save()
    assert texts(cat, table) == {"kept": "As it was."}


def test_nothing_is_written_that_was_not_shown(cat: Catalog, table: str, docs: Any) -> None:
    write(docs, id="Hasty.")
    with pytest.raises(InvalidInput, match="diff"):
        docs.apply()
    docs.diff()
    write(docs, city="Later.")
    applied = docs.apply()
    assert (len(applied.done), applied.later_count) == (1, 1)
    assert "not written: 1 text" in repr(applied)
    assert texts(cat, table) == {"kept": "As it was.", "id": "Hasty."}
    # What was shown once is not written twice.
    with pytest.raises(InvalidInput, match="diff"):
        docs.apply()


def test_what_others_wrote_meanwhile_is_shown_and_never_overwritten(
    cat: Catalog, table: str, docs: Any
) -> None:
    write(docs, id="Mine.", city="Mine too.", note="And this.")
    cat.describe(table, "Theirs.", column="city")
    cat.describe(table, "Changed.", column="kept")
    shown = docs.diff()
    assert kinds(shown)["city"] == "conflict"
    conflict = next(change for change in shown.changes if change.kind == "conflict")
    assert (conflict.base, conflict.theirs, conflict.mine) == ("", "Theirs.", "Mine too.")
    assert [change.column for change in shown.by_others] == ["kept"]
    text = repr(shown)
    assert text.index("Changed by others meanwhile") < text.index("+Changed.")
    # Between looking and writing too.
    cat.describe(table, "Faster.", column="note")
    applied = docs.apply()
    assert list(applied.df["outcome"]) == ["refused", "conflict", "written"]
    assert list(applied.df["theirs"])[:2] == ["Faster.", "Theirs."]
    assert "Faster." in repr(applied)
    held = {"id": "Mine.", "city": "Theirs.", "note": "Faster.", "kept": "Changed."}
    assert texts(cat, table) == held
    # Whoever has seen their text may write over it, by force.
    docs.diff()
    docs.apply(force_conflicts=True)
    assert texts(cat, table) == {**held, "city": "Mine too.", "note": "And this."}


def test_a_text_that_was_written_is_edited_again_without_a_conflict(
    cat: Catalog, table: str, docs: Any
) -> None:
    for text in ("First.", "Second."):
        write(docs, id=text)
        assert kinds(docs.diff())["id"] in ("new", "changed")
        docs.apply()
        assert docs.diff().counts() == {"unchanged": len(docs)}
    assert texts(cat, table)["id"] == "Second."


def test_a_row_that_is_dropped_doubled_or_moved_changes_nothing(
    cat: Catalog, table: str, docs: Any
) -> None:
    write(docs, city="In.")
    frame = docs.df
    docs.df = pd.concat([frame[frame["column"] != "kept"], frame[frame["column"] == "city"]])
    docs.df = docs.df.sample(frac=1, random_state=3)
    shown = docs.diff()
    # The row of the table itself is gone with it: its column is missing, and no other text.
    assert shown.dropped_count == 2
    assert "left unchanged: 2 texts" in repr(shown)
    assert sorted(change.kind for change in shown.changes if change.mine == "In.") == [
        "duplicate",
        "new",
    ]
    docs.apply()
    assert texts(cat, table) == {"kept": "As it was.", "city": "In."}


def test_two_texts_for_one_column_are_told_and_neither_is_written(
    cat: Catalog, table: str, docs: Any
) -> None:
    write(docs, city="One.")
    twice = docs.df[docs.df["column"] == "city"].assign(edited="Two.")
    docs.df = pd.concat([docs.df, twice])
    shown = docs.diff()
    assert shown.counts()["duplicate"] == 2
    assert "has another text" in repr(shown)
    assert "line 7 of the frame" in repr(shown)
    docs.apply()
    assert "city" not in texts(cat, table)


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT, ""])
def test_an_empty_cell_takes_no_text_away_unless_that_is_meant(
    cat: Catalog, table: str, docs: Any, nothing: Any
) -> None:
    docs.df = docs.df.astype({"edited": "object"})
    write(docs, kept=nothing)
    assert kinds(docs.diff())["kept"] == "emptied"
    assert "emptied" in repr(docs.apply())
    assert texts(cat, table) == {"kept": "As it was."}
    assert kinds(docs.diff(clear_empty=True))["kept"] == "cleared"
    docs.apply()
    assert texts(cat, table) == {}


def test_what_is_no_text_is_told_and_the_rest_written(cat: Catalog, table: str, docs: Any) -> None:
    docs.df = docs.df.astype({"edited": "object"})
    write(docs, id=3.5, city="\ud83d", note="a\x00b\r\nc\td")
    shown = docs.diff()
    assert (kinds(shown)["id"], kinds(shown)["city"]) == ("unreadable", "unreadable")
    assert "must be a text, not a float" in repr(shown)
    assert "half of a surrogate pair" in repr(shown)
    assert "1 character in it cannot be seen" in repr(shown)
    docs.apply()
    assert texts(cat, table) == {"kept": "As it was.", "note": "a\x00b\r\nc\td"}


def test_only_the_columns_that_say_what_is_meant_are_needed(
    cat: Catalog, table: str, docs: Any
) -> None:
    write(docs, kept="Another.", zip="Postal code.")
    whole = docs.df
    for name in ("urn", "edited"):
        docs.df = whole.drop(columns=name)
        with pytest.raises(InvalidInput, match=f"no column named {name}"):
            docs.diff()
    docs.df = whole.set_index("urn")
    with pytest.raises(InvalidInput, match=r"reset_index\(\)"):
        docs.diff()
    docs.df = "no frame"
    with pytest.raises(InvalidInput, match="not a data frame"):
        docs.diff()
    # Without the fingerprints, and by the names that people call columns.
    docs.df = whole[["edited", "column", "urn"]].reset_index(drop=True)
    assert docs.diff().counts() == {"new": 1, "changed": 1, "unchanged": 4}
    docs.apply()
    assert texts(cat, table) == {"kept": "Another.", "zip": "Postal code."}


def test_a_column_or_table_that_is_not_there_is_told(docs: Any, table: str) -> None:
    more = docs.df.tail(1).assign(path="nowhere", edited="x")
    other = docs.df.tail(1).assign(urn="", edited="x")
    docs.df = pd.concat([docs.df, more, other], ignore_index=True)
    counts = docs.diff().counts()
    assert (counts["unknown column"], counts["unknown table"]) == (1, 1)
    assert docs.apply().done == ()


@pytest.fixture
def reader(cat: Catalog, tmp_path: Any) -> Iterator[Catalog]:
    with Catalog(cat.address, read_only=True) as found:
        yield found


def test_a_catalog_that_is_only_read_is_told_and_the_texts_stay_in_the_frame(
    reader: Catalog, table: str
) -> None:
    docs = reader.stewardship.documentation([table])
    write(docs, id="Mine.")
    docs.diff()
    applied = docs.apply()
    assert (len(applied.done), len(applied.untried)) == (0, 1)
    assert "read" in repr(applied)
    assert list(docs.diff().df["kind"]).count("new") == 1
