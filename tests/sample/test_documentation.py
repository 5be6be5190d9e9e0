"""What is documented, what is not, and where both texts stand."""

from collections import Counter, defaultdict
from typing import Any

import pytest

from explorer.metadata import FieldPath, Proposal, Urn


@pytest.fixture(scope="module")
def columns(latest: dict[str, dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    """URN, field path, ingested text and edited text of every column."""
    found = []
    for urn, aspects in latest.items():
        edited = {
            field["fieldPath"]: field.get("description", "")
            for field in aspects.get("editableSchemaMetadata", {}).get(
                "editableSchemaFieldInfo", ()
            )
        }
        for field in aspects.get("schemaMetadata", {}).get("fields", ()):
            path = field["fieldPath"]
            found.append((urn, path, field.get("description", ""), edited.get(path, "")))
    return found


def test_more_than_half_of_the_columns_have_no_text(
    columns: list[tuple[str, str, str, str]],
) -> None:
    undocumented = sum(1 for _, _, ingested, edited in columns if not ingested and not edited)
    assert 0.50 <= undocumented / len(columns) <= 0.70
    assert 0.35 <= sum(1 for column in columns if column[2]) / len(columns) <= 0.45


def test_about_three_of_five_datasets_have_a_description(
    latest: dict[str, dict[str, Any]],
) -> None:
    datasets = [a["datasetProperties"] for a in latest.values() if "datasetProperties" in a]
    described = sum(1 for value in datasets if value.get("description"))
    assert 0.5 <= described / len(datasets) <= 0.7


def test_edited_texts_fill_gaps_and_differ_from_ingested_ones(
    columns: list[tuple[str, str, str, str]], latest: dict[str, dict[str, Any]]
) -> None:
    both = [c for c in columns if c[2] and c[3]]
    assert len(both) >= 8
    assert all(ingested != edited for _, _, ingested, edited in both)
    assert sum(1 for c in columns if c[3] and not c[2]) >= 8
    tables = [a for a in latest.values() if "editableDatasetProperties" in a]
    assert any(a["datasetProperties"].get("description") for a in tables)
    assert any(not a["datasetProperties"].get("description") for a in tables)


def test_an_edit_is_signed_by_the_person_who_wrote_it(
    proposals: list[Proposal], latest: dict[str, dict[str, Any]]
) -> None:
    edits = [p for p in proposals if p.aspect.startswith("editable")]
    assert edits
    for edit in edits:
        assert edit.actor == edit.value["lastModified"]["actor"]
        assert edit.actor in latest


@pytest.mark.parametrize("name", ["customer_id", "order_id", "status", "created_at", "currency"])
def test_columns_of_one_name_are_documented_here_and_not_there(
    columns: list[tuple[str, str, str, str]], name: str
) -> None:
    texts = [ingested for _, path, ingested, _ in columns if FieldPath(path).name == name]
    assert len(texts) >= 10
    assert "" in texts
    assert len(set(texts) - {""}) >= 2


def test_the_most_used_columns_have_conspicuous_gaps(
    columns: list[tuple[str, str, str, str]], series: Any
) -> None:
    asked: Counter[tuple[str, str]] = Counter()
    for urn, days in series("datasetUsageStatistics").items():
        for day in days:
            for field in day["fieldCounts"]:
                asked[urn, field["fieldPath"]] += field["count"]
    texts = {(urn, path): a or b for urn, path, a, b in columns}
    top = [key for key, _ in asked.most_common(40)]
    gaps = [key for key in top if not texts[key]]
    assert 10 <= len(gaps) <= 30
    assert (str(Urn.dataset("snowflake", "analytics.marts.fct_orders")), "status") in gaps


def test_schemas_come_in_both_forms_with_nesting(latest: dict[str, dict[str, Any]]) -> None:
    versions: dict[int, set[str]] = defaultdict(set)
    kinds: set[str] = set()
    for urn, aspects in latest.items():
        for field in aspects.get("schemaMetadata", {}).get("fields", ()):
            path = FieldPath(field["fieldPath"])
            platform = Urn.parse(urn).platform
            assert platform is not None
            versions[path.version].add(platform)
            kinds |= {name.rpartition(".")[2] for name in field["type"]["type"]}
    assert versions[1] == {"postgres", "snowflake", "dbt"}
    assert versions[2] == {"kafka", "s3"}
    assert {
        "RecordType",
        "ArrayType",
        "UnionType",
        "MapType",
        "EnumType",
        "StringType",
        "NumberType",
        "BooleanType",
        "DateType",
        "TimeType",
    } <= kinds


def test_every_nested_column_stands_below_a_record_of_its_schema(
    latest: dict[str, dict[str, Any]],
) -> None:
    nested = 0
    for aspects in latest.values():
        paths = [f["fieldPath"] for f in aspects.get("schemaMetadata", {}).get("fields", ())]
        assert len(paths) == len(set(paths))
        for path in map(FieldPath, paths):
            if len(path.names) > 1:
                nested += 1
                assert any(parent in paths for parent in path.ancestors()), path
    assert nested > 50


def test_topics_have_a_key_part_and_an_avro_document(latest: dict[str, dict[str, Any]]) -> None:
    urn = str(Urn.dataset("kafka", "shop.order-placed.v1"))
    schema = latest[urn]["schemaMetadata"]
    keys = [f["fieldPath"] for f in schema["fields"] if f["isPartOfKey"]]
    assert keys == ["[version=2.0].[key=True].[type=OrderPlacedKey].[type=long].order_id"]
    ((name, body),) = schema["platformSchema"].items()
    assert name.endswith(".KafkaSchema")
    assert '"name": "shipping_address"' in body["documentSchema"]
    assert '"name": "order_id"' in body["keySchema"]


def test_one_table_is_wide(latest: dict[str, dict[str, Any]]) -> None:
    widths = sorted(
        len(a["schemaMetadata"]["fields"]) for a in latest.values() if "schemaMetadata" in a
    )
    assert 110 <= widths[-1] <= 135
    assert widths[-2] < 40


def test_descriptions_use_lists_tables_code_quotes_and_links(
    latest: dict[str, dict[str, Any]],
) -> None:
    texts = [
        a["datasetProperties"].get("description", "")
        for a in latest.values()
        if "datasetProperties" in a
    ]
    for mark in ("\n- ", "|---|", "```sql\n", "\n> ", "](https://", "**", "\n1. "):
        assert any(mark in text for text in texts), mark
    assert not any("lorem" in text.lower() for text in texts)


def test_most_datasets_are_owned_in_several_ways_and_some_by_nobody(
    latest: dict[str, dict[str, Any]],
) -> None:
    datasets = [a for a in latest.values() if "datasetProperties" in a]
    kinds = {owner["type"] for a in datasets for owner in a.get("ownership", {}).get("owners", ())}
    assert {"DATAOWNER", "TECHNICAL_OWNER", "DATA_STEWARD", "BUSINESS_OWNER"} <= kinds
    ownerless = sum(1 for a in datasets if not a.get("ownership", {}).get("owners"))
    assert 3 <= ownerless <= len(datasets) * 0.15


def test_every_tag_term_and_domain_is_used(
    latest: dict[str, dict[str, Any]], proposals: list[Proposal]
) -> None:
    text = "\n".join(str(p.value) for p in proposals)
    for urn in latest:
        if Urn.parse(urn).entity_type in ("tag", "domain", "glossaryTerm"):
            assert f"'{urn}'" in text, urn
