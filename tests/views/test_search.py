"""What a search finds, as front ends show it."""

import pytest

from explorer.client.entity import AspectRead, Entity
from explorer.client.records import Facet, FacetValue, Hit, SearchPage
from explorer.metadata import Urn
from explorer.tui.widgets.dialogs import entity_entries
from explorer.views.search import facet_groups, result_rows, search_report

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


def test_results_that_look_alike_are_told_apart_by_environment_and_instance() -> None:
    urns = [
        Urn.parse(f"urn:li:dataset:(urn:li:dataPlatform:postgres,{instance}.shop.same,{origin})")
        for instance in ("prod", "staging")
        for origin in ("PROD", "DEV")
    ]
    other = Urn.dataset("postgres", "shop.other")
    hits = tuple(Hit(urn) for urn in (*urns, other))
    entities = {
        urn: Entity(
            urn, {"datasetProperties": AspectRead("datasetProperties", 0, {"name": name}, None)}
        )
        for urn, name in [*((urn, "same") for urn in urns), (other, "other")]
    }
    page = SearchPage("same", 0, len(hits), hits)
    shown = [row.place for row in result_rows(page, entities)]
    assert shown == [*(f"{o} · {i}.shop" for i in ("prod", "staging") for o in ("PROD", "DEV")), ""]
    table = search_report(page, entities).table
    assert table is not None
    assert "DEV · staging.shop" in str([*table.rows])
    picked = entity_entries([hit.urn for hit in hits], entities, lambda _: None, "Entities")
    assert picked[-2].aside == "Entities · dataset · postgres · DEV · staging.shop"
    assert picked[-1].aside == "Entities · dataset · postgres"


def test_columns_of_the_first_tables_are_not_told_as_those_of_all() -> None:
    notes = search_report(SearchPage("email", 0, 0, tables=(200, 1_234)), {}).notes
    assert "columns in the first 200 of 1,234 tables" in notes
    whole = search_report(SearchPage("email", 0, 0, tables=(7, 7)), {}).notes
    assert not [note for note in whole if "tables" in str(note)]
