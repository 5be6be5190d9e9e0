"""Sort orders as text."""

from typing import Any

import pytest

from explorer.metadata.registry import load_registry
from explorer.query import FilterSyntax, Order, read_sort, write_sort
from explorer.query.fields import USE

REGISTRY = load_registry()
ROWS_AND_SIZE = (Order("rowCount", True), Order("sizeInBytes", True))


@pytest.mark.parametrize(
    ("text", "orders", "written"),
    [
        ("", (), ""),
        ("name", (Order("name"),), "+name"),
        ("usage", (Order(USE, True),), f"-{USE}"),
        ("usage desc", (Order(USE, True),), f"-{USE}"),
        ("use ASC, name descending", (Order(USE), Order("name", True)), None),
        ("+usage", (Order(USE),), f"+{USE}"),
        ("rows size modified", (*ROWS_AND_SIZE, Order("lastModifiedAt")), None),
        ("-modified", (Order("lastModifiedAt", descending=True),), "-lastModifiedAt"),
        ("-rows, +name urn", (Order("rowCount", True), Order("name"), Order("urn")), None),
    ],
)
def test_an_order_is_read_and_written(text: str, orders: Any, written: str | None) -> None:
    assert read_sort(text, REGISTRY) == orders
    back = write_sort(orders)
    assert read_sort(back, REGISTRY) == orders
    assert written is None or back == written


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("name, -nmae", 7, "name"),
        ("popular", 0, "sorted by name, usage, rows, size, updated, created or any other field"),
        ("desc", 0, "unknown field “desc”"),
        ("usage description_", 6, "unknown field “description_”"),
        ("name, -", 6, "missing"),
        ("rows -rowCount", 6, "twice"),
    ],
)
def test_what_cannot_be_sorted_by_is_told_with_its_place(
    text: str, position: int, words: str
) -> None:
    with pytest.raises(FilterSyntax, match=words) as caught:
        read_sort(text, REGISTRY)
    assert caught.value.position == position


def test_fields_of_a_foreign_model_pass_when_they_are_let() -> None:
    assert read_sort("-score", REGISTRY, strict=False) == (Order("score", True),)


def test_the_wire_names_both_directions() -> None:
    assert Order("name").to_wire() == {"field": "name", "order": "ASCENDING"}
    assert Order("name", True).to_wire() == {"field": "name", "order": "DESCENDING"}
