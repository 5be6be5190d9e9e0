"""What is pasted into the search box, and what its help and its steps write."""

from typing import get_args

from explorer.metadata import Urn
from explorer.metadata.registry import load_registry
from explorer.query.fields import guide_to
from explorer.query.filters import CONDITIONS
from explorer.query.search_text import SearchText
from explorer.tui.screens.search_dialogs import EXAMPLES, How, condition_of
from explorer.tui.widgets.inputs import LONGEST, pasted_line, pasted_urn

REGISTRY = load_registry()
PII = "urn:li:tag:PII"


def split(text: str) -> SearchText:
    return SearchText.split(text, guide_to(REGISTRY))


def test_every_example_of_the_help_can_be_read() -> None:
    for _, examples in EXAMPLES:
        for typed, _ in examples:
            split(typed).filter(REGISTRY)


def test_a_pasted_urn_or_the_address_of_its_page_names_an_entity() -> None:
    urn = Urn.dataset("hive", "a.b")
    for text in (
        str(urn),
        f"  {urn}\n",
        f"https://hub.example/dataset/{urn}/Schema?is_lineage_mode=false",
        "https://hub.example/dataset/urn%3Ali%3Adataset%3A(urn%3Ali%3AdataPlatform%3Ahive%2Ca.b%2CPROD)/",
    ):
        assert pasted_urn(text) == urn
    assert pasted_urn("https://hub.example/tag/urn:li:tag:PII/x?y") == Urn.parse(PII)
    assert pasted_urn("orders urn:li:tag:PII") is None
    assert pasted_urn("urn:li:dataset:(") is None


def test_a_paste_of_megabytes_is_one_line_and_cut() -> None:
    line, is_cut = pasted_line("a\nb " * 1_000_000)
    assert is_cut
    assert len(line) <= LONGEST
    assert "\n" not in line


def test_the_steps_lead_to_every_condition_that_there_is() -> None:
    values = {"from … to": "1..2", "is one of": "1, 2"}
    filters = {
        how: split(condition_of("rowCount", how, values.get(how, "1"))).filter(REGISTRY)
        for how in get_args(How)
    }
    criteria = {how: found.any_of[0][0] for how, found in filters.items()}
    # Those along a tree are for values that have others below them, which rows have not.
    along = {"DESCENDANTS_INCL", "ANCESTORS_INCL", "RELATED_INCL"}
    assert {one.condition for one in criteria.values()} == set(CONDITIONS) - along
    assert [how for how, one in criteria.items() if one.negated] == ["is not"]
    assert {one.field for one in criteria.values()} == {"rowCount"}
    assert criteria["from … to"].values == ("1", "2")
