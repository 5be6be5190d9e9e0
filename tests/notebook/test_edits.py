"""Edits on an entity give it as it is afterwards, and can be taken back."""

import asyncio
import json
import re
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from explorer import AsyncCatalog, Catalog
from explorer.client import TextConflict
from explorer.errors import Conflict, NotFound
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook.explorer import columns
from tests.conftest import schema_metadata

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"


def names(urns: Any) -> Any:
    return [urn.name for urn in urns]


def test_labels_are_put_on_by_name_and_taken_back(own_cat: Any, read: Any) -> None:
    before = own_cat.dataset(ORDERS)
    after = before.add_tags(["PII", "urn:li:tag:Sensitive"])
    assert {"PII", "Sensitive"} <= set(names(after.tags))
    assert not {"PII", "Sensitive"} & set(names(before.tags))
    for text in (repr(after), read(after).text):
        assert "just edited: tags: + PII, + Sensitive; .edit.undo() undoes it" in text
    assert "+ PII" in read(after.edit).text
    assert after.edit.undo().tags == before.tags

    column = before.add_tags("PII", column="order_id")
    assert names(column.schema["order_id"].tags) == ["PII"]
    assert "tags of order_id: + PII" in repr(column)
    assert not column.edit.undo().schema["order_id"].tags

    term = before.add_terms("Net revenue").remove_terms("Net revenue")
    assert "NetRevenue" in term.edit.summary


def test_owners_and_the_domain_are_given_by_name_and_taken_back(own_cat: Any) -> None:
    before = own_cat.dataset(ORDERS)
    after = before.add_owners("Nina Weber", "DATA_STEWARD")
    assert "Nina Weber (data steward)" in after.owners.display_names
    again = after.edit.undo()
    assert again.owners.display_names == before.owners.display_names
    # The undoing is an edit too.
    assert "Nina Weber (data steward)" in again.edit.undo().owners.display_names
    assert (
        "Nina Weber (data steward)" not in before.remove_owners("Nina Weber").owners.display_names
    )

    moved = before.set_domain("Finance")
    assert names(moved.domains) == ["finance"]
    assert moved.edit.undo().domains == before.domains
    assert before.set_domain(None).edit.undo().domains == before.domains


def test_a_domain_that_somebody_changed_meanwhile_is_not_overwritten(own_cat: Any) -> None:
    before = own_cat.dataset(ORDERS)
    own_cat.set_domain(ORDERS, "urn:li:domain:marketing")
    with pytest.raises(Conflict):
        before.set_domain("Finance")
    assert names(before.set_domain("Finance", force=True).domains) == ["finance"]
    own_cat.set_domain(ORDERS, before.domains[0])


def test_a_description_can_be_taken_back(own_cat: Any) -> None:
    before = own_cat.dataset(ORDERS)
    after = before.describe("Written here.", column="status")
    assert "description of status changed" in repr(after)
    assert after.edit.undo().schema["status"].edited in (None, "")
    same = after.edit.undo().add_tags(names(before.tags)[0])
    assert "nothing changed" in repr(same)
    assert same.edit.undo().tags == same.tags


def test_edits_of_the_catalog_and_what_takes_them_back_are_shown(own_cat: Any, read: Any) -> None:
    made = own_cat.add_tags(ORDERS, ["PII", "Sensitive"])
    save = own_cat.last_save()
    for shown in (repr(save), read(save).text):
        assert "1 edit" in shown
        assert "analytics.marts.fct_orders" in shown
    assert list(save.df["what"]) == ["tags"]
    undone, redone = own_cat.undo_save(save), own_cat.redo()
    for shown in (repr(made), read(made).text):
        assert "tags: + PII, + Sensitive" in shown
    for edits, change in ((undone, "tags: - PII, - Sensitive"), (redone, "tags: + PII")):
        for shown in (repr(edits), read(edits).text):
            assert "Edits" in shown
            assert f"{change}" in shown
        assert list(edits.df["urn"]) == [ORDERS]
    assert undone.df["before"][0][-2:] == ["PII", "Sensitive"]
    assert "PII" not in names(redone[0].undo().tags)


@pytest.mark.parametrize("name", ["PII", "Net revenue", "Sales", "Classification"])
def test_tags_terms_domains_and_groups_of_terms_are_described(own_cat: Any, name: str) -> None:
    before = own_cat[name]
    after = before.describe("Written here.").describe("Written again.")
    assert after.description == "Written again."
    # Of these it is the only text, whoever wrote it: one that is no longer there is a conflict.
    with pytest.raises(TextConflict) as raised:
        before.describe("Mine.")
    assert (raised.value.base, raised.value.theirs) == (before.description, "Written again.")
    assert before.describe(before.description, force=True).description == before.description


@pytest.mark.parametrize("column", [None, "status"])
def test_a_description_of_white_space_is_none_and_can_be_replaced(
    own_cat: Any, column: str | None
) -> None:
    removed = own_cat.dataset(ORDERS).describe("Some.", column).describe(" \n ", column)
    assert removed.edit.after in (None, "")
    # Other programs store it.
    own_cat.describe(ORDERS, "  ", column=column)
    replaced = own_cat.dataset(ORDERS).describe("Some.", column)
    assert replaced.edit.after == "Some."
    replaced.describe("", column)


def test_a_conflict_in_a_cell_shows_what_is_there_now_and_how_to_go_on(
    own_cat: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = InteractiveShell()
    shell.user_ns["read_before"] = own_cat.dataset(ORDERS)
    own_cat.describe(ORDERS, "Of a colleague,\n" + "long " * 100)
    shell.run_cell("read_before.describe('Mine.')")
    said, now, advice = capsys.readouterr().out.strip().splitlines()
    assert said.startswith("TextConflict: the description of")
    assert re.match("now there, by .*: Of a colleague, long .*…$", now)
    assert advice == "reload() reads it again; force=True writes over what is there"
    shell.run_cell("again = read_before.reload().describe('Mine.')")
    assert shell.user_ns["again"].edited_description == "Mine."
    own_cat.describe(ORDERS, "")


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        # A word of three letters is not corrected by the search.
        (lambda cat, orders: orders.add_tags("PPI"), "no tag is named 'PPI'; did you mean PII?"),
        (lambda cat, orders: cat.add_tags(ORDERS, "PPI"), "'PPI'; did you mean PII?"),
        (lambda cat, orders: cat.add_tags(ORDERS, ["PII", "urn:li:tag:Finnance"]), "mean Finance?"),
        (lambda cat, orders: orders.set_domain("Finanz"), "did you mean finance (Finance)?"),
        (lambda cat, orders: cat.set_domain(ORDERS, "Finanz"), "did you mean finance (Finance)?"),
        (lambda cat, orders: orders.add_owners("Nina Webr"), "did you mean nweber (Nina Weber)?"),
        (lambda cat, orders: cat.add_owners(ORDERS, "nwebber"), "did you mean nweber (Nina Weber)"),
        (
            lambda cat, orders: cat.add_terms(ORDERS, "Finance.NetRevenu"),
            "did you mean Finance.NetRevenue (Net revenue)",
        ),
        (lambda cat, orders: cat.add_tags(ORDERS, "Zzyzx"), "; cat.new('tag', 'Zzyzx') creates it"),
    ],
)
def test_a_label_that_does_not_exist_is_told_with_similar_ones(
    own_cat: Any, edit: Any, said: str
) -> None:
    before = own_cat.dataset(ORDERS)
    with pytest.raises(NotFound) as raised:
        edit(own_cat, before)
    assert said in str(raised.value)
    assert own_cat.dataset(ORDERS) == before


def test_labels_are_suggested_to_those_who_await_them_too(own_cat: Catalog) -> None:
    async def add() -> None:
        async with AsyncCatalog(own_cat.address) as catalog:
            await catalog.add_tags(ORDERS, "PPI")

    with pytest.raises(NotFound, match=r"did you mean PII\?"):
        asyncio.run(add())


def test_what_was_written_for_an_earlier_case_is_told_and_moved(own_cat: Any, read: Any) -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.recased,PROD)"
    own_cat.put(urn, "schemaMetadata", schema_metadata({"note": None}))
    own_cat.describe(urn, "A remark.", column="note")
    own_cat.put(urn, "schemaMetadata", schema_metadata({"NOTE": None}))
    before = own_cat.dataset(urn)
    told = "written for the earlier note; carry_over() of the dataset moves it here"
    assert told in read(before.schema).text
    assert told in read(before.schema["NOTE"]).text
    assert told in json.dumps(columns(own_cat.entity(urn), {}))
    assert before.schema.df["earlier"].tolist() == ["note"]
    after = before.carry_over()
    assert after.schema["NOTE"].edited == "A remark."
    assert "earlier" not in read(after.schema).text
    own_cat.undo_save()
    assert own_cat.dataset(urn).schema["NOTE"].earlier.raw == "note"


def test_a_label_that_does_not_exist_looks_so_and_a_tag_has_its_colour(
    own_cat: Catalog, read: Any
) -> None:
    table = Urn.dataset("hive", "shown.labels")
    colours = {"Bright": "#F0F0F0", "Dark": "#101010", "Odd": "red;x:url(y)", "Plain": None}
    proposals = [
        Proposal(Urn.of("tag", name), "tagProperties", {"name": name, "colorHex": colour})
        for name, colour in colours.items()
    ]
    tags = [{"tag": f"urn:li:tag:{name}"} for name in (*colours, "Vanished")]
    proposals.append(Proposal(table, "globalTags", {"tags": tags}))
    own_cat.ingest_batch(proposals)
    entity = own_cat.dataset(table)
    page = read(entity)
    assert "Vanished (gone)" in page.text
    styles = [style for style in page.styles if style.startswith("background:#")]
    assert [style[:33] for style in styles] == [
        "background:#F0F0F0;color:#000000;",
        "background:#101010;color:#ffffff;",
    ]
    assert "Bright, Dark, Odd, Plain, Vanished (gone)" in repr(entity)
    # Data frames have the names alone.
    assert "gone" not in entity.df.to_csv()
