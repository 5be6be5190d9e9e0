"""A file is compared with the catalog line by line: nothing is lost and nothing is overwritten."""

from dataclasses import replace
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.client.http import HttpTransport
from explorer.errors import InvalidInput, Unreachable
from explorer.stewardship import Entry, Row, Stewardship, read_rows, write_rows
from explorer.stewardship.files import FORMATS


def entries(rows: Any, **edits: Any) -> Any:
    """The rows as lines of a file, in which people changed the texts of these columns."""
    return [
        Entry(f"line {at}", replace(row, edited=edits.get(row.column or "table", row.edited)))
        for at, row in enumerate(rows, start=1)
    ]


def told(changeset: Any) -> Any:
    return {change.column or "table": change.kind for change in changeset.changes}


@pytest.fixture
def orders(steward: Any, named: Any) -> Any:
    return steward.documentation([named("orders")])


def test_there_is_a_row_for_the_table_and_one_for_each_column(orders: Any, named: Any) -> None:
    assert [(row.column, row.ingested, row.edited) for row in orders] == [
        ("", "All orders.", ""),
        ("id", "The key.", ""),
        ("total", "", ""),
        ("note", "", "!"),
        ("city", "A city.", "Where it went."),
    ]
    assert {row.urn for row in orders} == {named("orders")}
    assert orders[1].type == "text"


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_that_is_imported_changes_nothing(
    steward: Any, catalog: Any, named: Any, form: Any
) -> None:
    catalog.describe(named("orders"), " \r\n=1\t'!clear ")
    catalog.describe(named("orders"), "# a\r\n\r\n## b  ", column="total")
    catalog.describe(named("side"), "  ")
    rows = steward.documentation()
    changeset = steward.changeset(read_rows(write_rows(rows, form), form))
    assert len(changeset) == len(rows) == 16
    assert changeset.counts() == {"unchanged": 16}
    assert changeset.to_apply(force_conflicts=True) == ()


def test_each_edit_is_of_its_kind_with_the_texts_beside_it(steward: Any, orders: Any) -> None:
    lines = entries(orders, table="Orders.", city="Elsewhere.", note="")
    lines[2] = replace(lines[2], clears=True)
    lines[3] = replace(lines[3], clears=True)
    changeset = steward.changeset(lines)
    assert told(changeset) == {
        "table": "new",
        "id": "unchanged",
        "total": "unchanged",
        "note": "cleared",
        "city": "changed",
    }
    city = changeset.of("changed")[0]
    assert (city.base, city.theirs, city.mine) == ("Where it went.",) * 2 + ("Elsewhere.",)
    assert len(changeset.to_apply()) == 3


def test_an_empty_text_destroys_nothing_unless_it_is_wanted(steward: Any, orders: Any) -> None:
    lines = entries(orders, city="", note="")
    kept = steward.changeset(lines)
    assert told(kept)["city"] == "emptied"
    assert kept.to_apply() == ()
    assert {change.column for change in kept.left} == {"city", "note"}
    assert told(steward.changeset(lines, clear_empty=True))["city"] == "cleared"


def test_what_somebody_else_wrote_meanwhile_is_a_conflict_only_where_both_wrote(
    steward: Any, catalog: Any, orders: Any, named: Any
) -> None:
    for column in ("city", "note", "total"):
        catalog.describe(named("orders"), f"theirs of {column}", column=column)
    changeset = steward.changeset(entries(orders, city="mine", note="theirs of note"))
    assert told(changeset) == {
        "table": "unchanged",
        "id": "unchanged",
        "total": "unchanged",
        "note": "unchanged",
        "city": "conflict",
    }
    (conflict,) = changeset.of("conflict")
    assert (conflict.base, conflict.theirs, conflict.mine) == (None, "theirs of city", "mine")
    assert changeset.to_apply() == ()
    assert changeset.to_apply(force_conflicts=True) == (conflict,)


def test_a_line_without_a_digest_writes_where_nothing_stands_and_nowhere_else(
    steward: Any, named: Any
) -> None:
    lines = [
        Entry(f"line {at}", Row(named("orders"), "", column, "", "", "from a list"))
        for at, column in enumerate(("id", "city", "total"))
    ]
    assert told(steward.changeset(lines)) == {"id": "new", "city": "conflict", "total": "new"}


def test_a_spreadsheets_ends_of_lines_are_no_change(steward: Any, catalog: Any, named: Any) -> None:
    catalog.describe(named("side"), "one\r\ntwo")
    rows = steward.documentation([named("side")])
    assert steward.changeset(entries(rows, table="one\ntwo")).counts() == {"unchanged": 3}


def test_lines_that_fit_nowhere_are_listed_and_never_applied(
    steward: Any, orders: Any, named: Any
) -> None:
    urn = named("orders")
    lines = [
        Entry("1", Row(named("nowhere"), "", "", "", "", "x")),
        Entry("2", Row("urn:li:corpuser:ann", "", "", "", "", "x")),
        Entry("3", Row("rubbish", "", "", "", "", "x")),
        Entry("4", Row(urn, "", "ID", "", "", "x")),
        Entry("5", Row(urn, "", "gone", "", "", "x")),
        Entry("6", Row("", "", "", "", "", "x"), problem="it makes no sense"),
    ]
    changeset = steward.changeset([*lines, *entries(orders)])
    assert [change.kind for change in changeset.left] == [
        "unknown table",
        "unknown table",
        "unknown table",
        "unknown column",
        "orphan",
        "unreadable",
    ]
    assert [change.entry.place for change in changeset.left] == list("123456")
    assert all(change.why for change in changeset.left)
    assert changeset.to_apply(force_conflicts=True) == ()
    assert len(changeset) == 11


def test_of_lines_that_agree_one_counts_and_of_those_that_do_not_none(
    steward: Any, orders: Any
) -> None:
    agreeing = entries(orders, total="sum")
    disagreeing = entries(orders, id="one") + entries(orders, id="two")
    changeset = steward.changeset([*agreeing, *disagreeing, *agreeing])
    assert [(c.column, c.mine) for c in changeset.to_apply()] == [("total", "sum")]
    duplicates = changeset.of("duplicate")
    assert sorted((c.column, c.mine) for c in duplicates) == [
        ("id", "one"),
        ("id", "two"),
        ("total", "sum"),
    ]


def test_what_is_applied_stands_in_the_catalog_and_a_second_import_has_nothing_to_do(
    steward: Any, catalog: Any, orders: Any, named: Any
) -> None:
    lines = entries(orders, table="Orders.", total="Sum\r\n=1", city="")
    applied = steward.apply(steward.changeset(lines, clear_empty=True).to_apply())
    assert (len(applied.done), applied.failed, applied.untried) == (3, (), ())
    entity = catalog.entity(named("orders"))
    assert entity.edited_description == "Orders."
    assert entity.schema.column("total").edited == "Sum\r\n=1"
    assert entity.schema.column("city").description == "A city."
    assert entity.schema.column("note").edited == "!"
    assert steward.changeset(lines, clear_empty=True).to_apply() == ()


def test_a_forced_conflict_still_never_overwrites_what_nobody_saw(
    steward: Any, catalog: Any, orders: Any, named: Any
) -> None:
    catalog.describe(named("orders"), "theirs", column="city")
    changeset = steward.changeset(entries(orders, city="mine"))
    catalog.describe(named("orders"), "unseen", column="city")
    applied = steward.apply(changeset.to_apply(force_conflicts=True))
    assert applied.done == ()
    assert [failure.change.column for failure in applied.failed] == ["city"]
    assert catalog.entity(named("orders")).schema.column("city").edited == "unseen"


def test_one_refusal_stops_nothing(steward: Any, catalog: Any, orders: Any, named: Any) -> None:
    changeset = steward.changeset(entries(orders, id="a", total="b", city="c"))
    catalog.describe(named("orders"), "in between", column="total")
    seen = []
    applied = steward.apply(changeset.to_apply(), progress=lambda *at: seen.append(at))
    assert [change.column for change, _ in applied.done] == ["id", "city"]
    assert [failure.change.column for failure in applied.failed] == ["total"]
    assert seen[-1] == (3, 3)


class Dying:
    """Carries requests until some texts have been written, then never again."""

    def __init__(self, inner: Any, edits: Any) -> None:
        self._inner, self._edits = inner, edits

    async def send(self, request: Any) -> Any:
        if "updateDescription" in str(request.body) or "updateDataset" in str(request.body):
            if not self._edits:
                raise Unreachable("the server is gone")
            self._edits -= 1
        return await self._inner.send(request)

    async def close(self) -> None:
        await self._inner.close()


def test_what_a_server_that_dies_halfway_did_not_get_is_what_a_second_import_finds(
    steward: Any, catalog: Any, named: Any
) -> None:
    rows = steward.documentation()
    lines = [Entry(str(at), replace(row, edited=f"text {at}")) for at, row in enumerate(rows)]
    with Catalog(transport=Dying(HttpTransport(catalog.address, 10.0), 5)) as dying:
        through = Stewardship(dying)
        applied = through.apply(through.changeset(lines).to_apply())
    assert isinstance(applied.ended_by, Unreachable)
    assert len(applied.done) == 5
    assert len(applied.done) + len(applied.failed) + len(applied.untried) == len(rows)
    again = steward.changeset(lines)
    assert len(again.of("unchanged")) == 5
    assert len(steward.apply(again.to_apply()).done) == len(rows) - 5
    assert steward.changeset(lines).to_apply() == ()


def test_datasets_are_named_searched_or_those_below_a_folder(steward: Any, named: Any) -> None:
    assert steward.datasets([named("side"), named("raw"), named("side")]) == tuple(
        row for row in steward.datasets([named("side"), named("raw")])
    )
    assert {urn.name for urn in steward.datasets(folder="/in")} == {"raw"}
    assert {urn.name for urn in steward.datasets(narrowed_by="owners:urn:li:corpuser:bob")} == {
        "orders"
    }
    assert {urn.name for urn in steward.datasets(text="mart")} >= {"mart"}
    assert len(steward.datasets()) == 5
    with pytest.raises(InvalidInput, match="no dataset"):
        steward.datasets(["urn:li:tag:x"])
    with pytest.raises(InvalidInput, match="not several"):
        steward.datasets([named("raw")], folder="/")
