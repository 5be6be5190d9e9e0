"""What a search finds, as front ends show it."""

import pytest

from explorer.client.records import Facet, FacetValue
from explorer.views.search import facet_groups

GROUP, NINA, OMAR = "urn:li:corpGroup:nina", "urn:li:corpuser:nina", "urn:li:corpuser:omar"


@pytest.mark.parametrize(
    ("counted", "chosen", "shown"),
    [
        # A name that one of its two meanings has, and one that only other owners have.
        ({NINA: 3, OMAR: 1}, (GROUP, NINA), [("nina", "3", True), ("omar", "1", False)]),
        ({OMAR: 9}, (GROUP, NINA), [("nina", "", True), ("omar", "9", False)]),
        ({OMAR: 9}, (NINA,), [("nina", "0", True), ("omar", "9", False)]),
    ],
)
def test_a_name_among_the_chosen_values_is_one_row(
    counted: dict[str, int], chosen: tuple[str, ...], shown: list[tuple[str, str, bool]]
) -> None:
    values = tuple(FacetValue(value, count) for value, count in counted.items())
    facet = Facet("owners", "Owned By", values)
    (group,) = facet_groups([facet], filtered_by={"owners": chosen})
    assert [(row.label, row.count_label, row.is_chosen) for row in group.rows] == shown
