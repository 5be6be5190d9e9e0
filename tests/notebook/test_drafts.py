"""Drafts as a table: each is shown, written on, saved, discarded and restored by itself."""

import asyncio
import os
from dataclasses import replace
from typing import Any

import pytest

from explorer import AsyncCatalog, Catalog
from explorer.client import TextConflict
from explorer.errors import CatalogError, InvalidInput, NotFound
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.stewardship.drafts import Draft, Drafts
from tests.conftest import schema_of

WAIT_SECONDS = 30
STRING: dict[str, Any] = {"type": {"com.linkedin.schema.StringType": {}}}
# No process has such a number; one that runs always has 1.
ENDED, RUNNING = 4_194_305, 1


@pytest.fixture
def table(cat: Catalog, request: pytest.FixtureRequest) -> str:
    urn = Urn.dataset("hive", f"drafted.{request.node.name}")
    fields = [{"fieldPath": "zip", "nativeDataType": "text", "type": STRING}]
    cat.ingest(Proposal(urn, "schemaMetadata", schema_of(fields)))
    return str(urn)


def keep(cat: Catalog, urn: str, text: str, process: int = ENDED, **more: Any) -> None:
    """What a program of that number would keep."""
    told = {"path": "zip", "base": "", "name": "places", "column": "zip", "program": "terminal"}
    drafts = replace(Drafts.of_catalog(cat), process=process)
    drafts.keep(Draft(urn=urn, text=text, **told | more))


def texts(cat: Catalog) -> list[str]:
    return sorted(one.text for one in cat.drafts)


def test_without_drafts_the_table_says_that_everything_is_saved(cat: Catalog, read: Any) -> None:
    assert (len(cat.drafts), len(cat.drafts.df)) == (0, 0)
    for text in (repr(cat.drafts), read(cat.drafts).text):
        assert "No drafts: no text waits to be saved." in text


def test_each_draft_is_listed_with_what_it_describes_and_who_typed_it(
    cat: Catalog, table: str, read: Any
) -> None:
    keep(cat, table, "by a terminal\nthat ended")
    keep(cat, table, "by one that runs", RUNNING)
    keep(cat, table, "by <b>this</b> one", os.getpid(), path=None, column="", program="notebook")
    drafts = cat.drafts
    frame = drafts.df.set_index("text")
    assert set(frame["urn"]) == {table}
    assert frame["typed_in"].to_dict() == {
        "by a terminal\nthat ended": "terminal, ended",
        "by one that runs": "terminal 1, running",
        "by <b>this</b> one": "this program",
    }
    assert list(frame[frame["open_elsewhere"]].index) == ["by one that runs"]
    names = drafts.df[["name", "column", "path"]].dropna()
    assert set(names.itertuples(index=False, name=None)) == {("places", "zip", "zip")}
    assert frame["path"].isna().sum() == 1
    for text in (repr(drafts), read(drafts).text):
        assert "3 drafts, not saved" in text
        assert "by a terminal that ended" in text
        assert "terminal 1, running" in text
    own = next(one for one in drafts if one.draft.path is None)
    assert own.text == "by <b>this</b> one"
    assert {"places", "this program"} <= set(read(own).texts)
    assert table in repr(own)
    asynchronous = AsyncCatalog(cat.address)
    assert len(asynchronous.drafts) == 0
    asyncio.run(asynchronous.close())


def test_two_drafts_of_one_text_are_saved_and_discarded_by_themselves(
    cat: Catalog, table: str
) -> None:
    keep(cat, table, "the older")
    keep(cat, table, "the newer", ENDED + 1)
    older, newer = sorted(cat.drafts, key=lambda one: one.text, reverse=True)
    newer.discard()
    assert texts(cat) == ["the older"]
    with pytest.raises(NotFound, match="list the drafts again"):
        newer.save()
    newer.restore()
    assert texts(cat) == ["the newer", "the older"]
    edit = older.save()
    assert (edit.what, cat.entity(table).schema["zip"].edited) == ("description", "the older")
    assert texts(cat) == ["the newer"]
    cat.undo_save()
    assert not cat.entity(table).schema["zip"].edited


def test_a_draft_overwrites_no_text_of_others_and_stays(cat: Catalog, table: str) -> None:
    keep(cat, table, "mine")
    cat.describe(table, "theirs", column="zip")
    with pytest.raises(TextConflict):
        cat.drafts[0].save()
    assert (texts(cat), cat.entity(table).schema["zip"].edited) == (["mine"], "theirs")


def test_a_draft_that_another_running_program_edits_is_only_shown(cat: Catalog, table: str) -> None:
    keep(cat, table, "theirs", RUNNING)
    draft = cat.drafts[0]
    for act in (draft.save, draft.discard, draft.widget):
        with pytest.raises(InvalidInput, match="Another running program has this draft open"):
            act()
    assert texts(cat) == ["theirs"]


def test_what_was_typed_on_while_a_draft_was_saved_stays_a_draft(
    cat: Catalog, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(cat, table, "first", os.getpid())
    draft = cat.drafts[0]
    describe = type(cat).describe

    def describe_slowly(self: Any, *given: Any, **named: Any) -> Any:
        keep(cat, table, "first and second", os.getpid())
        return describe(self, *given, **named)

    monkeypatch.setattr(type(cat), "describe", describe_slowly)
    draft.save()
    assert cat.entity(table).schema["zip"].edited == "first"
    assert texts(cat) == ["first and second"]
    with pytest.raises(NotFound):
        draft.discard()


def test_a_draft_opens_in_its_editor(cat: Catalog, table: str) -> None:
    keep(cat, table, "half a sent")
    keep(cat, table, "another", ENDED + 1)
    explorer = next(one for one in cat.drafts if one.text == "half a sent").widget()
    try:
        assert explorer.wait(WAIT_SECONDS)
        assert (explorer.selected, explorer.tab["tab"]) == (table, "columns")
        assert (explorer.editor["path"], explorer.typed["text"]) == ("zip", "half a sent")
        assert "This is your unsaved draft" in explorer.editor["note"]
        assert texts(cat) == ["another", "half a sent"]
    finally:
        explorer.close()


def test_search_results_mark_entities_with_drafts(cat: Catalog, table: str, read: Any) -> None:
    found = cat.search(f'name:"{table.split(",")[1]}"')
    assert "draft" not in read(found).texts
    keep(cat, table, "theirs", RUNNING)
    assert "draft:" not in read(found).texts
    keep(cat, table, "mine")
    assert "draft:" in read(found).texts
    assert "draft: " in repr(found)
    cat.drafts[0].discard()
    assert "draft:" not in read(found).texts


def test_a_read_only_catalog_lists_drafts_and_saves_none(cat: Catalog, table: str) -> None:
    keep(cat, table, "mine")
    with Catalog(cat.address, read_only=True) as reader:
        keep(reader, table, "mine")
        with pytest.raises(CatalogError, match="read"):
            reader.drafts[0].save()
        assert texts(reader) == ["mine"]
