"""Structured properties over the wire: what may be written, what is found, and by what words."""

import json
from typing import Any

import httpx
import pytest

DATASET_TYPE = "urn:li:entityType:datahub.dataset"


class Properties:
    """Properties of one test's own, and the entities that have them."""

    def __init__(self, caller: Any, prefix: str) -> None:
        self.caller = caller
        self.prefix = prefix

    def define(self, name: str, kind: str = "string", /, **more: Any) -> str:
        urn = f"urn:li:structuredProperty:{self.prefix}.{name}"
        self.caller.ingest(
            urn,
            "propertyDefinition",
            {
                "qualifiedName": f"{self.prefix}.{name}",
                "displayName": name.title(),
                "valueType": f"urn:li:dataType:datahub.{kind}",
                "cardinality": "SINGLE",
                "entityTypes": [DATASET_TYPE],
                **more,
            },
        )
        return urn

    def field(self, name: str) -> str:
        return f"structuredProperties.{self.prefix}.{name}"

    def table(self, name: str) -> str:
        return f"urn:li:dataset:(urn:li:dataPlatform:hive,{self.prefix}.{name},PROD)"

    def send(self, entity: str, /, **values: Any) -> httpx.Response:
        """Give an entity exactly these values; a list is several."""
        assigned = [
            {
                "propertyUrn": f"urn:li:structuredProperty:{self.prefix}.{name}",
                "values": [_wire(one) for one in (given if isinstance(given, list) else [given])],
            }
            for name, given in values.items()
        ]
        answer: httpx.Response = self.caller.send(
            entity, "structuredProperties", {"properties": assigned}
        )
        return answer

    def give(self, entity: str, /, **values: Any) -> str:
        answer = self.send(entity, **values)
        assert answer.status_code == 200, answer.text
        return entity

    def refusal(self, entity: str, /, **values: Any) -> str:
        answer = self.send(entity, **values)
        assert answer.status_code == 422, answer.text
        return str(answer.json()["message"])

    def found(self, *criteria: dict[str, Any], text: str = "*", **more: Any) -> list[str]:
        """The names of the tables that are found, sorted."""
        only = {"field": "urn", "value": self.prefix, "condition": "CONTAIN"}
        given = {"or": [{"and": [only, *criteria]}]}
        value = self.caller.search(text, filter=given, **more)
        return sorted(urn.split(",")[1].rpartition(".")[2] for urn in value["entities"])

    def where(self, name: str, *values: str, condition: str = "EQUAL") -> dict[str, Any]:
        return {"field": self.field(name), "values": [*values], "condition": condition}


def _wire(value: Any) -> Any:
    if isinstance(value, str):
        return {"string": value}
    return {"double": value} if isinstance(value, int | float) else value


@pytest.fixture
def properties(caller: Any, request: pytest.FixtureRequest) -> Properties:
    name = "".join(part[:4] for part in request.node.originalname.split("_")[1:])
    return Properties(caller, f"io.{name}")


def test_a_value_must_be_of_the_propertys_type(properties: Properties) -> None:
    for kind in ("string", "number", "date", "urn"):
        properties.define(kind, kind)
    table = properties.table("t")
    assert "takes numbers (value type number), not 'soon'" in properties.refusal(
        table, number="soon"
    )
    assert "takes texts (value type string)" in properties.refusal(table, string=1.5)
    assert "takes dates such as 2026-01-31" in properties.refusal(table, date="2026-02-31")
    assert "takes URNs (value type urn)" in properties.refusal(table, urn="finance")
    properties.give(table, string="a", number=3, date="2026-02-28", urn="urn:li:tag:x")
    # A number may come as a text, as it may at DataHub's.
    properties.give(properties.table("u"), number="30")


def test_only_allowed_values_are_taken(properties: Properties) -> None:
    allowed = [{"value": {"double": 30}}, {"value": {"double": 90}}]
    properties.define("days", "number", allowedValues=allowed)
    table = properties.give(properties.table("t"), days=90)
    message = properties.refusal(table, days=60)
    assert message == (
        "structuredProperties.properties[0].values[0]: the structured property "
        f"{properties.prefix}.days allows 30 or 90, not 60; send one of these, or add it to its "
        "allowedValues"
    )
    assert properties.caller.value(table, "structuredProperties")["properties"][0]["values"] == [
        {"double": 90}
    ]


def test_one_value_or_many_as_the_cardinality_says(properties: Properties) -> None:
    properties.define("one")
    properties.define("many", cardinality="MULTIPLE")
    table = properties.table("t")
    assert "has only one value (cardinality SINGLE), and 2 were given" in properties.refusal(
        table, one=["a", "b"]
    )
    properties.give(table, one=["a"], many=["a", "b"])


def test_a_property_is_for_the_entity_types_it_names(properties: Properties) -> None:
    properties.define(
        "owner", "urn", typeQualifier={"allowedTypes": ["urn:li:entityType:corpuser"]}
    )
    chart = f"urn:li:chart:(looker,{properties.prefix})"
    assert "is for dataset, not for a chart" in properties.refusal(chart, owner="urn:li:corpuser:a")
    table = properties.table("t")
    assert "takes the URN of a corpuser" in properties.refusal(table, owner="urn:li:tag:a")
    properties.give(table, owner="urn:li:corpuser:a")


def test_a_property_that_is_not_defined_or_was_removed_is_refused(properties: Properties) -> None:
    table = properties.table("t")
    assert "has no definition; write its propertyDefinition first" in properties.refusal(
        table, nowhere="x"
    )
    assert not properties.caller.exists(table)
    urn = properties.define("gone")
    properties.give(table, gone="x")
    properties.caller.ingest(urn, "status", {"removed": True})
    assert "was removed; restore it" in properties.refusal(properties.table("u"), gone="x")
    # What stands there stays readable, and keeps nobody from writing other properties.
    properties.define("other")
    properties.give(table, gone="x", other="y")
    assert len(properties.caller.value(table, "structuredProperties")["properties"]) == 2
    assert "was removed; restore it" in properties.refusal(table, gone="z")


def test_an_immutable_value_stays(properties: Properties) -> None:
    properties.define("fixed", immutable=True)
    properties.define("loose")
    table = properties.give(properties.table("t"), fixed="a")
    assert "is immutable" in properties.refusal(table, fixed="b")
    assert "is immutable" in properties.refusal(table, loose="b")
    properties.give(table, fixed="a", loose="b")


def test_a_patch_is_checked_like_a_whole_value(properties: Properties) -> None:
    urn = properties.define("days", "number")
    table = properties.give(properties.table("t"), days=3)

    def patch(value: Any) -> httpx.Response:
        assigned = {"propertyUrn": urn, "values": [value]}
        body = [{"op": "add", "path": f"/properties/{urn}", "value": assigned}]
        proposal = properties.caller.proposal(table, "structuredProperties", body, "PATCH")
        proposal["aspect"]["contentType"] = "application/json-patch+json"
        answer: httpx.Response = properties.caller.post(
            "/aspects?action=ingestProposal", {"proposal": proposal}
        )
        return answer

    assert patch({"string": "soon"}).status_code == 422
    assert patch({"double": 4}).status_code == 200
    assert properties.found(properties.where("days", "4")) == ["t"]


def test_a_batch_may_define_a_property_after_its_values(properties: Properties) -> None:
    """As files have them that are sorted by URN."""
    urn, table = f"urn:li:structuredProperty:{properties.prefix}.late", properties.table("t")
    assigned = {"properties": [{"propertyUrn": urn, "values": [{"string": "x"}]}]}
    definition = {
        "qualifiedName": f"{properties.prefix}.late",
        "valueType": "urn:li:dataType:datahub.string",
        "entityTypes": [DATASET_TYPE],
    }
    answer = properties.caller.batch(
        properties.caller.proposal(table, "structuredProperties", assigned),
        properties.caller.proposal(urn, "propertyDefinition", definition),
    )
    assert answer.status_code == 200, answer.text
    assert properties.found(properties.where("late", "x")) == ["t"]


def test_a_filter_finds_values(properties: Properties) -> None:
    properties.define("tier")
    properties.define("days", "number")
    properties.define("until", "date")
    properties.define("team", "urn", cardinality="MULTIPLE")
    properties.give(
        properties.table("gold"),
        tier="Gold",
        days=30,
        until="2026-03-01",
        team="urn:li:corpGroup:a",
    )
    properties.give(
        properties.table("lead"),
        tier="Lead 2",
        days=400.5,
        until="2027-01-01",
        team=["urn:li:corpGroup:a", "urn:li:corpGroup:b"],
    )
    properties.caller.ingest(properties.table("none"), "status", {"removed": False})
    found, where = properties.found, properties.where
    assert found(where("tier", "gold")) == ["gold"]
    assert found(where("tier", "lead", condition="START_WITH")) == ["lead"]
    assert found(where("tier", "o", condition="CONTAIN")) == ["gold"]
    assert found(where("days", "30.0")) == ["gold"]
    assert found(where("days", "100", condition="GREATER_THAN")) == ["lead"]
    assert found(where("days", "30", "400.5", condition="BETWEEN")) == ["gold", "lead"]
    assert found(where("until", "2026-12-31", condition="LESS_THAN")) == ["gold"]
    assert found(where("team", "b")) == ["lead"]
    assert found(where("team", "urn:li:corpGroup:a")) == ["gold", "lead"]
    assert found(where("tier", condition="EXISTS")) == ["gold", "lead"]
    assert found(where("tier", condition="IS_NULL")) == ["none"]
    # As DataHub's own index spells it, and its untokenised twin.
    plain = f"structuredProperties.{properties.prefix.replace('.', '_')}_tier"
    for spelled in (plain, f"{plain}.keyword", f"{properties.field('tier')}.keyword"):
        assert found({"field": spelled, "values": ["Gold"]}) == ["gold"], spelled


def test_what_a_filter_finds_on_disk_is_what_it_finds_in_memory(properties: Properties) -> None:
    properties.define("days", "number")
    for at in (1, 20, 300):
        properties.give(properties.table(f"t{at}"), days=at)
    wanted = properties.where("days", "10", condition="GREATER_THAN_OR_EQUAL_TO")
    before = properties.found(wanted)
    properties.caller.catalog.index.flush()
    assert properties.found(wanted) == before == ["t20", "t300"]
    assert properties.found(properties.where("days", "20")) == ["t20"]


def test_text_finds_values_and_says_where(properties: Properties) -> None:
    properties.define("purpose")
    word = f"zebra{properties.prefix.rpartition('.')[2]}"
    table = properties.give(properties.table("t"), purpose=f"For the {word} report")
    properties.caller.ingest(properties.table("u"), "status", {"removed": False})
    value = properties.caller.search(word)
    assert value["entities"] == [table]
    (match,) = value["metadata"]["matches"][0]["matchedFields"]
    assert (match["name"], match["value"]) == (
        properties.field("purpose"),
        f"For the {word} report",
    )
    field = properties.field("purpose")
    assert properties.caller.search(f'{field}:"For the {word} report"')["entities"] == [table]
    assert properties.caller.search(f"/q {field}:*{word}*")["entities"] == [table]


def test_a_property_shown_in_filters_is_a_facet(properties: Properties) -> None:
    urn = properties.define("tier")
    for name, tier in (("a", "Gold"), ("b", "Gold"), ("c", "Lead")):
        properties.give(properties.table(name), tier=tier)

    def facet() -> tuple[str, dict[str, int]] | None:
        metadata = properties.caller.search("*", count=0)["metadata"]
        for one in metadata["aggregations"]:
            if one["name"] == properties.field("tier"):
                return one["displayName"], one["aggregations"]
        return None

    assert facet() is None
    properties.caller.ingest(urn, "structuredPropertySettings", {"showInSearchFilters": True})
    assert facet() == ("Tier", {"Gold": 2, "Lead": 1})
    for value, count in (("Gold", 2), ("Lead", 1)):
        assert len(properties.found(properties.where("tier", value))) == count


def test_an_unknown_property_is_an_unknown_field(properties: Properties) -> None:
    properties.define("tier")
    properties.give(properties.table("t"), tier="Gold")
    body = {"input": "*", "entity": "dataset", "start": 0, "count": 1}
    wrong = {"or": [{"and": [{"field": properties.field("teir"), "values": ["Gold"]}]}]}
    path = "/entities?action=search"
    answer = properties.caller.post(path, body | {"filter": wrong})
    assert answer.status_code == 400
    assert properties.field("tier") in answer.json()["message"]
    dialect = {"X-Catalog-Dialect": "datahub"}
    forgiven = properties.caller.post(path, body | {"filter": wrong}, **dialect)
    assert forgiven.json()["value"]["numEntities"] == 0


def test_a_definition_is_not_narrowed_without_a_later_version(properties: Properties) -> None:
    allowed = [{"value": {"string": "Gold"}}, {"value": {"string": "Lead"}}]
    first = {"cardinality": "MULTIPLE", "allowedValues": allowed}
    urn = properties.define("tier", **first)

    def refusal(kind: str = "string", /, **changed: Any) -> str:
        said = {
            "qualifiedName": f"{properties.prefix}.tier",
            "valueType": f"urn:li:dataType:datahub.{kind}",
            "entityTypes": [DATASET_TYPE],
            **first,
            **changed,
        }
        answer = properties.caller.send(urn, "propertyDefinition", said)
        return "" if answer.status_code == 200 else str(answer.json()["message"])

    assert "value type cannot be changed" in refusal("number")
    assert "from MULTIPLE to SINGLE" in refusal(cardinality="SINGLE")
    assert "allowed value 'Lead' cannot be removed" in refusal(allowedValues=allowed[:1])
    assert "qualified name" in refusal(qualifiedName="io.other", version="20260101000000")
    assert "expected 14 digits" in refusal(version="2.0")
    # What allows more is taken, and anything with a later version.
    assert refusal(allowedValues=[*allowed, {"value": {"string": "Tin"}}]) == ""
    assert refusal(allowedValues=allowed, cardinality="SINGLE", version="20260101000000") == ""
    assert "value type cannot be changed" in refusal("number", version="20260101000000")
    assert refusal("number", allowedValues=None, version="20260101000001") == ""
    assert "restricted to some" in refusal("number", version="20260101000001")


def test_the_definition_of_a_removed_property_is_changed_only_when_it_is_restored(
    properties: Properties,
) -> None:
    urn = properties.define("gone")
    stored = properties.caller.value(urn, "propertyDefinition")
    properties.caller.ingest(urn, "status", {"removed": True})
    answer = properties.caller.send(urn, "propertyDefinition", {**stored, "description": "New."})
    assert answer.status_code == 422
    assert "was removed; restore it (status removed=false)" in answer.json()["message"]
    properties.caller.ingest(urn, "status", {"removed": False})
    answer = properties.caller.send(urn, "propertyDefinition", {**stored, "description": "New."})
    assert answer.status_code == 200, answer.text


def test_results_are_sorted_by_a_property(properties: Properties) -> None:
    properties.define("tier")
    properties.define("days", "number")
    for name, tier, days in (("a", "T10", 90), ("b", "T2", 100.5), ("c", "T2", -3)):
        properties.give(properties.table(name), tier=tier, days=days)
    properties.caller.ingest(properties.table("d"), "status", {"removed": False})

    def names(*criteria: dict[str, str], **more: Any) -> str:
        only = {"field": "urn", "value": properties.prefix, "condition": "CONTAIN"}
        found = properties.caller.search(
            "*", filter={"or": [{"and": [only]}]}, sortCriteria=[*criteria], **more
        )
        return "".join(urn.split(",")[1].rpartition(".")[2] for urn in found["entities"])

    def by(name: str, order: str = "ASCENDING") -> dict[str, str]:
        return {"field": properties.field(name), "order": order}

    assert names(by("days")) == "cabd"
    assert names(by("days", "DESCENDING")) == "bacd"
    assert names(by("tier")) == "bcad"
    assert names(by("tier"), by("days")) == "cbad"
    assert names(by("tier", "DESCENDING"), by("days", "DESCENDING")) == "abcd"
    assert names(by("tier"), start=1, count=2) == "ca"
    underscored = properties.field("days").partition(".")[2].replace(".", "_")
    assert names({"field": f"structuredProperties.{underscored}"}) == "cabd"


UPSERT = """
mutation upsert($input: UpsertStructuredPropertiesInput!) {
  upsertStructuredProperties(input: $input) {
    properties {
      structuredProperty { urn }
      values { ... on StringValue { stringValue } ... on NumberValue { numberValue } }
      associatedUrn
    }
  }
}
"""
REMOVE = """
mutation remove($input: RemoveStructuredPropertiesInput!) {
  removeStructuredProperties(input: $input) { properties { structuredProperty { urn } } }
}
"""
DEFINITION = """
  urn
  settings { showInSearchFilters isHidden }
  definition {
    qualifiedName displayName cardinality immutable filterStatus
    valueType { urn ... on DataTypeEntity { info { type qualifiedName } } }
    entityTypes { urn ... on EntityTypeEntity { info { type } } }
    allowedValues { value { ... on NumberValue { numberValue } } description }
    typeQualifier { allowedTypes { urn } }
  }
"""
CREATE = f"""
mutation create($input: CreateStructuredPropertyInput!) {{
  createStructuredProperty(input: $input) {{ {DEFINITION} }}
}}
"""
UPDATE = f"""
mutation update($input: UpdateStructuredPropertyInput!) {{
  updateStructuredProperty(input: $input) {{ {DEFINITION} }}
}}
"""
DELETE = """
mutation remove($input: DeleteStructuredPropertyInput!) { deleteStructuredProperty(input: $input) }
"""
FACETS = """
query facets($input: AggregateAcrossEntitiesInput!) {
  aggregateAcrossEntities(input: $input) {
    facets { field displayName entity { urn } aggregations { value count } }
  }
}
"""


def test_lineage_is_narrowed_by_a_property(properties: Properties) -> None:
    properties.define("tier")
    begin, gold, plain = (properties.table(name) for name in ("begin", "gold", "plain"))
    properties.give(gold, tier="gold")
    upstreams = [{"dataset": urn, "type": "TRANSFORMED"} for urn in (gold, plain)]
    properties.caller.ingest(begin, "upstreamLineage", {"upstreams": upstreams})
    asked = {
        "urn": begin,
        "direction": "UPSTREAM",
        "includeGhostEntities": True,
        "orFilters": [{"and": [{"field": properties.field("tier"), "values": ["gold"]}]}],
    }
    answer = properties.caller.graphql(
        "query ($input: SearchAcrossLineageInput!) "
        "{searchAcrossLineage(input: $input) {searchResults {entity {urn}}}}",
        input=asked,
    )
    assert answer["data"]["searchAcrossLineage"]["searchResults"] == [{"entity": {"urn": gold}}]


def test_graphql_defines_changes_and_deletes_a_property(properties: Properties) -> None:
    graphql = properties.caller.graphql
    name = f"{properties.prefix}.retention"
    made = graphql(
        CREATE,
        input={
            "id": name,
            "displayName": "Retention",
            "valueType": "urn:li:dataType:datahub.number",
            "allowedValues": [{"numberValue": 30, "description": "short"}],
            "entityTypes": [DATASET_TYPE],
            "settings": {"showInSearchFilters": True},
        },
    )["data"]["createStructuredProperty"]
    urn = f"urn:li:structuredProperty:{name}"
    assert made == {
        "urn": urn,
        "settings": {"showInSearchFilters": True, "isHidden": False},
        "definition": {
            "qualifiedName": name,
            "displayName": "Retention",
            "cardinality": "SINGLE",
            "immutable": False,
            "filterStatus": "ENABLED",
            "valueType": {
                "urn": "urn:li:dataType:datahub.number",
                "info": {"type": "NUMBER", "qualifiedName": "datahub.number"},
            },
            "entityTypes": [{"urn": DATASET_TYPE, "info": {"type": "DATASET"}}],
            "allowedValues": [{"value": {"numberValue": 30.0}, "description": "short"}],
            "typeQualifier": None,
        },
    }
    table = properties.give(properties.table("t"), retention=30)
    properties.refusal(table, retention=90)
    chart = "urn:li:entityType:datahub.chart"
    changed = graphql(
        UPDATE,
        input={
            "urn": urn,
            "newAllowedValues": [{"numberValue": 90}],
            "newEntityTypes": [chart],
            "setCardinalityAsMultiple": True,
        },
    )["data"]["updateStructuredProperty"]["definition"]
    assert changed["cardinality"] == "MULTIPLE"
    assert [one["urn"] for one in changed["entityTypes"]] == [DATASET_TYPE, chart]
    properties.give(table, retention=[30, 90])
    assert graphql(DELETE, input={"urn": urn})["data"] == {"deleteStructuredProperty": True}
    assert not properties.caller.exists(urn)
    assert properties.caller.value(table, "structuredProperties") == {"properties": []}
    again = graphql(DELETE, input={"urn": urn})
    assert "does not exist" in again["errors"][0]["message"]


def test_graphql_gives_and_takes_values(properties: Properties) -> None:
    days, tier = properties.define("days", "number"), properties.define("tier")
    table = properties.give(properties.table("t"), tier="Gold")
    params = [{"structuredPropertyUrn": days, "values": [{"numberValue": 30}]}]
    wanted = {"assetUrn": table, "structuredPropertyInputParams": params}
    given = properties.caller.graphql(UPSERT, input=wanted)["data"]["upsertStructuredProperties"]
    assert given["properties"] == [
        {
            "structuredProperty": {"urn": tier},
            "values": [{"stringValue": "Gold"}],
            "associatedUrn": table,
        },
        {
            "structuredProperty": {"urn": days},
            "values": [{"numberValue": 30.0}],
            "associatedUrn": table,
        },
    ]
    wrong = [{"structuredPropertyUrn": days, "values": [{"stringValue": "soon"}]}]
    refused = properties.caller.graphql(
        UPSERT, input={"assetUrn": table, "structuredPropertyInputParams": wrong}
    )
    assert "takes numbers" in refused["errors"][0]["message"]
    left = properties.caller.graphql(
        REMOVE, input={"assetUrn": table, "structuredPropertyUrns": [tier]}
    )["data"]["removeStructuredProperties"]["properties"]
    assert left == [{"structuredProperty": {"urn": days}}]
    stored = properties.caller.value(table, "structuredProperties")["properties"]
    assert [one["propertyUrn"] for one in stored] == [days]


def test_graphql_counts_a_property_that_is_asked_for(properties: Properties) -> None:
    urn = properties.define("tier")
    properties.give(properties.table("a"), tier="Gold")
    field = properties.field("tier")
    spelled = f"structuredProperties.{properties.prefix.replace('.', '_')}_tier"
    for name in (field, spelled):
        asked = {"query": "*", "types": ["DATASET"], "facets": [name]}
        (facet,) = properties.caller.graphql(FACETS, input=asked)["data"][
            "aggregateAcrossEntities"
        ]["facets"]
        assert facet == {
            "field": name,
            "displayName": "Tier",
            "entity": {"urn": urn},
            "aggregations": [{"value": "Gold", "count": 1}],
        }


def test_definitions_are_known_when_the_catalog_is_opened_again(fresh: Any) -> None:
    from explorer.metadata import Urn
    from explorer.metadata.proposal import Proposal
    from explorer.query import Criterion, all_of
    from explorer.server.search.query import SearchQuery

    catalog = fresh()
    table = Urn.dataset("hive", "db.t")
    definition = {
        "qualifiedName": "io.x",
        "valueType": "urn:li:dataType:datahub.string",
        "entityTypes": [DATASET_TYPE],
    }
    assigned = {
        "properties": [
            {"propertyUrn": "urn:li:structuredProperty:io.x", "values": [{"string": "v"}]}
        ]
    }
    catalog.seed(
        lambda: [
            Proposal(Urn.parse("urn:li:structuredProperty:io.x"), "propertyDefinition", definition),
            Proposal(table, "structuredProperties", assigned),
        ]
    )
    query = SearchQuery("*", None, all_of(Criterion("structuredProperties.io.x", ("v",))), 0, 10)
    assert [hit.urn for hit in catalog.index.search(query).hits] == [str(table)]
    again = fresh()
    assert [hit.urn for hit in again.index.search(query).hits] == [str(table)]
    assert json.loads(again.store.aspect(str(table), "structuredProperties").value) == assigned
