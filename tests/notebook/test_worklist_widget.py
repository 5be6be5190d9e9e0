"""A worklist is written in a widget, without a page: one text is saved, and the next one opens."""

from collections.abc import Iterator
from typing import Any

import pytest

from explorer import Catalog
from explorer.errors import InvalidInput
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook.stewardship import WorklistTable
from explorer.stewardship.drafts import Drafts
from tests.conftest import schema_of

WAIT_SECONDS = 30
STRING: dict[str, Any] = {"type": {"com.linkedin.schema.StringType": {}}}


@pytest.fixture
def table(cat: Catalog, request: pytest.FixtureRequest) -> str:
    """A described table of three columns that are not, of this test alone."""
    urn = Urn.dataset("hive", f"listed.{request.node.name}")
    fields = [
        {"fieldPath": path, "nativeDataType": "text", "type": STRING}
        for path in ("id", "zip", "city")
    ]
    schema = schema_of(fields)
    cat.ingest(Proposal(urn, "schemaMetadata", schema))
    cat.ingest(Proposal(urn, "datasetProperties", {"description": "Described."}))
    return str(urn)


@pytest.fixture
def widget(cat: Catalog, table: str) -> Iterator[Any]:
    made = cat.stewardship.worklist([table]).widget()
    yield made
    made.close()


def hear(widget: Any, kind: str, **more: Any) -> None:
    """What the page would send."""
    widget._handle_custom_msg({"kind": kind, "seq": 1, "view": "page", **more}, [])
    assert widget.wait(WAIT_SECONDS)


def type_(widget: Any, text: str) -> None:
    """What a page would say of the text in its editor."""
    typed = {**widget.typed, "text": text, "view": "page"}
    widget.set_state({"typed": {**typed, "revision": widget.typed["revision"] + 1}})
    assert widget.wait(WAIT_SECONDS)


def left(widget: Any) -> list[str]:
    return [row["cells"][5] for row in widget.worklist_shown["rows"]]


def texts(cat: Catalog, table: str) -> dict[str, str]:
    schema = cat.entity(table).schema
    return {column.path.simple: column.edited for column in schema if column.edited}


def test_a_selection_without_datasets_is_not_one_that_is_documented(
    cat: Catalog, widget: Any
) -> None:
    assert widget.worklist_shown["nothing"] == "Everything here is documented."
    empty = cat.stewardship.worklist(folder="/prod/nowhere").widget()
    assert empty.worklist_shown["nothing"] == "No dataset matches."
    assert empty.worklist_shown["progress"] == "no dataset matches"
    assert repr(empty) == "Worklist  no dataset matches"
    empty.close()


def test_a_text_is_saved_and_the_next_one_opens(cat: Catalog, table: str, widget: Any) -> None:
    assert left(widget) == ["id", "zip", "city"]
    assert "no use was measured" in widget.worklist_shown["facts"]
    hear(widget, "edit")
    assert widget.editor["title"].startswith("id of ")
    type_(widget, "The key.")
    hear(widget, "store")
    assert texts(cat, table) == {"id": "The key."}
    assert widget.editor["title"].startswith("zip of ")
    assert widget.typed["text"] == ""
    assert widget.worklist_shown["progress"] == "2 left, 1 written"
    assert left(widget) == ["zip", "city"]
    for text in ("Postal code.", "Town."):
        type_(widget, text)
        hear(widget, "store")
    assert texts(cat, table) == {"id": "The key.", "zip": "Postal code.", "city": "Town."}
    assert widget.editor == {}
    assert left(widget) == []
    assert len(widget.worklist) == 0
    # Each is a save of the journal.
    cat.undo_save()
    assert "city" not in texts(cat, table)


def test_what_somebody_else_wrote_is_shown_and_not_overwritten(
    cat: Catalog, table: str, widget: Any
) -> None:
    hear(widget, "edit")
    cat.describe(table, "Theirs.", column="id")
    type_(widget, "Mine.")
    hear(widget, "store")
    assert widget.editor["stage"] == "conflict"
    assert {"-Theirs.", "+Mine."} <= set(widget.editor["diff"])
    assert texts(cat, table) == {"id": "Theirs."}
    hear(widget, "mine")
    assert texts(cat, table) == {"id": "Mine."}
    assert widget.editor["title"].startswith("zip of ")
    # What is described by the time it is opened is compared first.
    cat.describe(table, "Theirs too.", column="city")
    hear(widget, "show", at=1)
    hear(widget, "edit")
    assert widget.typed["text"] == "Theirs too."
    type_(widget, "Better.")
    hear(widget, "store")
    assert widget.editor["stage"] == "comparing"
    assert texts(cat, table)["city"] == "Theirs too."
    hear(widget, "save")
    assert texts(cat, table)["city"] == "Better."


def test_what_is_typed_is_kept_where_the_terminal_keeps_it(
    cat: Catalog, table: str, widget: Any
) -> None:
    hear(widget, "edit")
    hear(widget, "store")
    assert widget.problem == "Write a text first."
    type_(widget, "Half a sent")
    hear(widget, "skip")
    assert widget.editor["title"].startswith("zip of ")
    (kept,) = Drafts.of(cat.identity or cat.address).all()
    assert (kept.draft.path, kept.draft.text) == ("id", "Half a sent")
    assert [row["draft"] for row in widget.worklist_shown["rows"]] == [True, False, False]
    # As after the kernel's end: another widget that was told nothing.
    other = cat.stewardship.worklist([table]).widget()
    assert other.wait(WAIT_SECONDS)
    assert [row["draft"] for row in other.worklist_shown["rows"]] == [True, False, False]
    other.close()
    # What was skipped is not opened again by itself.
    type_(widget, "Postal code.")
    hear(widget, "store")
    assert widget.editor["title"].startswith("city of ")
    hear(widget, "leave")
    hear(widget, "show", at=0)
    hear(widget, "edit")
    assert widget.typed["text"] == "Half a sent"
    assert texts(cat, table) == {"zip": "Postal code."}


def test_what_others_documented_leaves_the_list(cat: Catalog, table: str, widget: Any) -> None:
    cat.describe(table, "Theirs.", column="zip")
    hear(widget, "again")
    assert left(widget) == ["id", "city"]
    assert widget.said == "Documented by others, or no longer in the catalog: 1."
    hear(widget, "move", by=1)
    assert widget.worklist_shown["title"].endswith("· city")


def test_a_worklist_is_read_where_no_kernel_runs(widget: Any, page: Any) -> None:
    data, _ = widget._repr_mimebundle_()
    shown = page(data["text/html"])
    assert shown.wrong == []
    for text in (shown.text, data["text/plain"]):
        for word in ("Worklist", "3 left", "zip"):
            assert word in text
    with pytest.raises(InvalidInput, match="has no catalog"):
        WorklistTable((), 0, 30).widget()
