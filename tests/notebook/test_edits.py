"""Edits on an entity give it as it is afterwards, and can be taken back."""

from typing import Any

import pytest

from explorer.errors import Conflict

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
    assert "Nina Weber (data steward)" in after.owners.called
    again = after.edit.undo()
    assert again.owners.called == before.owners.called
    # The undoing is an edit too.
    assert "Nina Weber (data steward)" in again.edit.undo().owners.called
    assert "Nina Weber (data steward)" not in before.remove_owners("Nina Weber").owners.called

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
