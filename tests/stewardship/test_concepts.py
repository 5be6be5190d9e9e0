"""All columns of one name are found, with their different texts, and chosen ones get one text."""

from typing import Any

import pytest

from explorer.errors import InvalidInput, NotFound, UnknownName
from explorer.metadata import Proposal, Urn
from explorer.stewardship import stage_concept
from explorer.views.stewardship import (
    NO_TEXT,
    concept_sentence,
    concept_table,
    concept_variants,
    variants_page,
)
from explorer.views.table import places_for, to_objects
from tests.conftest import people_rows, schema_metadata


def names(columns: Any) -> list[str]:
    return [f"{column.table}.{column.path.simple}" for column in columns]


def test_a_concept_has_every_column_of_the_name_with_its_text(steward: Any) -> None:
    concept = steward.concept("id")
    assert names(concept.columns) == ["mart.id", "orders.id", "raw.id", "report.id"]
    assert (concept.datasets, concept.truncated) == (4, False)
    assert [(one.text, len(one)) for one in concept.variants] == [("The key.", 1), ("x", 1)]
    assert names(concept.undocumented.columns) == ["mart.id", "raw.id"]


def test_the_edited_text_counts_and_both_are_there(steward: Any) -> None:
    (column,) = steward.concept("CITY").columns
    assert (column.text, column.ingested, column.edited) == (
        "Where it went.",
        "A city.",
        "Where it went.",
    )


def test_the_most_frequent_text_is_first(steward: Any, catalog: Any, named: Any) -> None:
    for table, text in (("raw", "x"), ("mart", " x\n"), ("orders", "The key.")):
        catalog.describe(named(table), text, column="id")
    assert [(one.text, len(one)) for one in steward.concept("id").variants] == [
        ("x", 3),
        ("The key.", 1),
    ]


@pytest.fixture
def nested(catalog: Any, named: Any) -> Any:
    """A table whose columns lie in records, in both forms of paths, and one that is removed."""
    typed = "[version=2.0].[type=struct].[type=struct].address.[type=string].zip"
    schema = schema_metadata({"billing.zip": "Where the bill goes.", typed: None, "zipped": "No."})
    deep, gone = Urn.parse(named("deep")), Urn.parse(named("gone"))
    written = [
        Proposal(deep, "schemaMetadata", schema),
        Proposal(gone, "schemaMetadata", schema_metadata({"zip": "Gone."})),
        Proposal(gone, "status", {"removed": True}),
    ]
    assert not catalog.ingest_batch(written).refused
    yield typed
    catalog.delete(deep)
    catalog.delete(gone)


def test_columns_in_records_have_the_name_of_the_end_of_their_path(
    steward: Any, nested: str
) -> None:
    assert names(steward.concept("Zip").columns) == ["deep.billing.zip", "deep.address.zip"]
    (column,) = steward.concept("address.zip").columns
    assert column.key[1] == nested
    assert steward.concept("ip").columns == ()


def test_a_concept_can_be_narrowed_and_cut_short(steward: Any) -> None:
    assert names(steward.concept("id", filter="name:mart").columns) == ["mart.id"]
    short = steward.concept("id", limit=2)
    assert (len(short), short.datasets, short.truncated) == (2, 2, True)


def test_without_a_name_there_is_no_concept(steward: Any) -> None:
    with pytest.raises(InvalidInput, match="the name of a column"):
        steward.concept("  ")


def test_chosen_columns_are_brought_to_one_text(steward: Any) -> None:
    concept = steward.concept("id")
    chosen = [column.key for column in concept.columns if column.table != "raw"]
    edits = stage_concept(concept, "The key.", chosen)
    # orders.id has the text already.
    assert [(edit.name, edit.column, edit.text, edit.ingested) for edit in edits] == [
        ("mart", "id", "The key.", ""),
        ("report", "id", "The key.", "x"),
    ]
    (source,) = edits[0].sources
    assert (source.found_by, source.table, source.column) == ("elsewhere", "orders", "id")


def test_a_text_of_nobody_has_no_source_and_replaces_what_was_edited(steward: Any) -> None:
    concept = steward.concept("city")
    (edit,) = stage_concept(concept, "The city.", [concept.columns[0].key])
    assert (edit.before, edit.text, edit.sources) == ("Where it went.", "The city.", ())


def test_what_cannot_be_staged_is_refused(steward: Any, named: Any) -> None:
    concept = steward.concept("id")
    with pytest.raises(InvalidInput, match="is empty"):
        stage_concept(concept, " ", [concept.columns[0].key])
    with pytest.raises(UnknownName, match="no column named 'total'"):
        stage_concept(concept, "A text.", [(named("orders"), "total")])


def test_a_term_has_the_columns_that_carry_it_whoever_put_it_on(
    steward: Any, catalog: Any, named: Any
) -> None:
    term = "urn:li:glossaryTerm:Key of a concept"
    info = {"name": "Key", "definition": "", "termSource": "INTERNAL"}
    catalog.create(term, "glossaryTermInfo", info)
    catalog.add_terms(named("raw"), [term], column="id")
    schema = schema_metadata({"code": "The key.", "other": "No."})
    terms = {"terms": [{"urn": term}], "auditStamp": {"time": 0, "actor": "urn:li:corpuser:ann"}}
    schema["fields"][0]["glossaryTerms"] = terms
    coded = Urn.parse(named("coded"))
    assert not catalog.ingest_batch([Proposal(coded, "schemaMetadata", schema)]).refused
    concept = steward.term_concept(term)
    assert (concept.name, concept.term) == ("Key", term)
    assert names(concept.columns) == ["coded.code", "raw.id"]
    assert steward.term_concept("Key of a concept") == concept
    assert steward.term_concept("key") == concept
    assert [one.text for one in concept.variants] == ["The key."]
    (edit,) = stage_concept(concept, "The key.", [one.key for one in concept.columns])
    assert (edit.name, edit.column) == ("raw", "id")
    catalog.delete(coded)


def test_a_term_that_is_none_is_told(steward: Any, named: Any) -> None:
    with pytest.raises(NotFound, match="no glossary term"):
        steward.term_concept("Nowhere")
    with pytest.raises(InvalidInput, match="is not a glossaryTerm"):
        steward.term_concept(named("raw"))


def test_a_concept_is_shown_by_its_texts_and_by_its_columns(steward: Any) -> None:
    concept = steward.concept("id")
    assert concept_sentence(concept) == "4 columns of 4 tables, 2 texts, 2 without a text"
    shown = [(one.number, one.count, one.text) for one in concept_variants(concept)]
    assert shown == [(1, 1, "The key."), (2, 1, "x"), (0, 2, "")]
    rows = [
        dict(zip(names_of(concept_table(concept)), row, strict=True)) for row in rows_of(concept)
    ]
    assert [(row["table"], row["variant"], row["by"]) for row in rows] == [
        ("mart", None, ""),
        ("orders", 1, "ingestion"),
        ("raw", None, ""),
        ("report", 2, "ingestion"),
    ]
    assert [row[-1] for row in variants_page(concept).rows] == ["The key.", "x", NO_TEXT]
    assert to_objects(concept_table(concept))[1]["column"] == "id"
    assert concept_sentence(steward.concept("nothing_so")) == "no column of this name"


def names_of(table: Any) -> list[str]:
    return [table.columns[at].name for at in places_for("people", table.columns)]


def rows_of(concept: Any) -> Any:
    return people_rows(concept_table(concept))
