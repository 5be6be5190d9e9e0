"""What agents ask beside searching and labelling: documents, queries, members, structured
properties, settings, and their long documents."""

import time
from typing import Any

import pytest

from explorer.server.app import Service
from explorer.server.catalog import CatalogEngine
from explorer.server.graphql.executor import DocumentCache
from explorer.server.graphql.session import OverBudget, RequestBudget
from tests.server.conftest import Caller

STAMP = {"time": 1, "actor": "urn:li:corpuser:writer"}
ABOUT = """query($u: String!, $i: RelatedDocumentsInput!) { dataset(urn: $u) {
  relatedDocuments(input: $i) { total documents {
    urn subType platform { urn }
    info { title contents { text } lastModified { actor { urn } } relatedAssets { asset { urn } } }
    settings { showInGlobalContext } parentDocuments { count documents { urn } }
  } }
} }"""


def write_document(caller: Any, urn: Any, **more: Any) -> None:
    info = {
        "title": "How to",
        "status": {"state": "PUBLISHED"},
        "contents": {"text": "# Steps"},
        "created": STAMP,
        "lastModified": STAMP,
    }
    caller.ingest(urn, "documentInfo", info | more)


def test_documents_about_an_entity_are_found_from_it(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, "status", {"removed": False})
    parent, child = "urn:li:document:agents-parent", "urn:li:document:agents-child"
    write_document(caller, parent, relatedAssets=[{"asset": dataset}])
    below = {"parentDocument": {"document": parent}, "relatedAssets": [{"asset": dataset}]}
    write_document(caller, child, **below)
    caller.ingest(child, "subTypes", {"typeNames": ["FAQ"]})

    def asked(**given: Any) -> Any:
        told = caller.graphql(ABOUT, u=dataset, i=given)["data"]["dataset"]["relatedDocuments"]
        return {one["urn"]: one for one in told["documents"]}

    assert set(asked()) == {parent, child}
    assert set(asked(rootOnly=True)) == {parent}
    assert set(asked(parentDocuments=[parent])) == set(asked(types=["FAQ"])) == {child}
    assert asked(sourceType="EXTERNAL") == {}
    document = asked()[child]
    assert document["subType"] == "FAQ"
    assert document["platform"] == {"urn": "urn:li:dataPlatform:datahub"}
    assert document["info"]["contents"] == {"text": "# Steps"}
    assert document["info"]["lastModified"] == {"actor": {"urn": "urn:li:corpuser:writer"}}
    assert document["info"]["relatedAssets"] == [{"asset": {"urn": dataset}}]
    assert document["settings"] is None
    assert document["parentDocuments"] == {"count": 1, "documents": [{"urn": parent}]}


def test_queries_are_listed_by_source_and_dataset_the_newest_first(
    caller: Caller, dataset: str
) -> None:
    for at, source in enumerate(("MANUAL", "SYSTEM", "MANUAL")):
        urn = f"urn:li:query:agents-{at}"
        stamp = STAMP | {"time": at}
        statement = {"value": f"select {at}", "language": "SQL"}
        said = {"statement": statement, "source": source, "created": stamp, "lastModified": stamp}
        caller.ingest(urn, "queryProperties", said)
        caller.ingest(urn, "querySubjects", {"subjects": [{"entity": dataset}]})
    query = "query($i: ListQueriesInput!) { listQueries(input: $i) { total queries { urn } } }"

    def asked(**given: Any) -> Any:
        told = caller.graphql(query, i={"datasetUrn": dataset, **given})["data"]["listQueries"]
        return [one["urn"].rpartition("-")[2] for one in told["queries"]]

    assert asked() == ["2", "1", "0"]
    assert asked(source="MANUAL") == ["2", "0"]
    assert asked(start=1, count=1) == ["1"]


def test_ownership_types_are_listed_by_name(caller: Caller) -> None:
    for name in ("Producer", "Protector"):
        stamps = {"created": STAMP, "lastModified": STAMP}
        caller.ingest(
            f"urn:li:ownershipType:{name}-id", "ownershipTypeInfo", {"name": name, **stamps}
        )
    query = """query($q: String) { listOwnershipTypes(input: {query: $q}) {
      ownershipTypes { urn info { name } } } }"""
    told = caller.graphql(query, q="producer")["data"]["listOwnershipTypes"]["ownershipTypes"]
    assert [one["info"]["name"] for one in told] == ["Producer"]


def test_members_of_domains_and_data_products_are_counted_by_kind(
    caller: Caller, dataset: str
) -> None:
    domain, product = "urn:li:domain:agents", "urn:li:dataProduct:agents"
    other = dataset.replace("PROD", "DEV")
    caller.ingest(domain, "domainProperties", {"name": "Agents"})
    caller.ingest(product, "domains", {"domains": [domain]})
    listed = {"name": "P", "assets": [{"destinationUrn": dataset}]}
    caller.ingest(product, "dataProductProperties", listed)
    caller.ingest(dataset, "domains", {"domains": [domain]})
    caller.ingest(other, "dataProducts", {"dataProducts": [{"destinationUrn": product}]})
    kinds = '{field: "_entityType", values: ["DATA_PRODUCT"], negated: %s}'
    query = f"""query($d: String!, $p: String!) {{
      domain(urn: $d) {{
        data: entities(input: {{start: 0, count: 0, filters: [{kinds % "true"}]}}) {{ total }}
        products: entities(input: {{start: 0, count: 0, filters: [{kinds % "false"}]}}) {{ total }}
      }}
      dataProduct(urn: $p) {{
        entities(input: {{start: 0, count: 20, query: "*"}}) {{
          total searchResults {{ entity {{ urn }} }}
        }}
        relationships(input: {{types: ["DataProductContains"], direction: OUTGOING}}) {{ total }}
      }}
    }}"""
    told = caller.graphql(query, d=domain, p=product)["data"]
    assert told["domain"] == {"data": {"total": 1}, "products": {"total": 1}}
    members = told["dataProduct"]["entities"]["searchResults"]
    assert {one["entity"]["urn"] for one in members} == {dataset, other}
    assert told["dataProduct"]["relationships"] == {"total": 1}


def test_structured_properties_are_given_changed_and_taken_away(
    desk: Any, caller: Caller, dataset: str
) -> None:
    caller.ingest(dataset, "status", {"removed": False})
    days, area = (f"urn:li:structuredProperty:agents.{name}" for name in ("days", "area"))
    for urn, kind in ((days, "number"), (area, "string")):
        definition = {
            "qualifiedName": urn.rpartition(":")[2],
            "valueType": f"urn:li:dataType:datahub.{kind}",
            "entityTypes": ["urn:li:entityType:datahub.dataset"],
        }
        caller.ingest(urn, "propertyDefinition", definition)
    values = "properties { structuredProperty { urn definition { valueType { info { type } } } } }"
    give = f"""mutation($i: UpsertStructuredPropertiesInput!) {{
      upsertStructuredProperties(input: $i) {{ {values} }} }}"""

    def given(urn: Any, **value: Any) -> Any:
        one = {"structuredPropertyUrn": urn, "values": [value]}
        return caller.graphql(give, i={"assetUrn": dataset, "structuredPropertyInputParams": [one]})

    given(area, stringValue="web")
    given(days, numberValue=30)
    told = given(days, numberValue=90)["data"]["upsertStructuredProperties"]["properties"]
    types = [one["structuredProperty"]["definition"]["valueType"]["info"]["type"] for one in told]
    assert types == ["STRING", "NUMBER"]
    stored = caller.value(dataset, "structuredProperties")["properties"]
    assert [(one["propertyUrn"], one["values"]) for one in stored] == [
        (area, [{"string": "web"}]),
        (days, [{"double": 90.0}]),
    ]
    assert "does not exist" in desk.one_error(given(f"{days}-not", numberValue=1))["message"]
    assert "either a stringValue or a numberValue" in desk.one_error(given(days))["message"]
    take = f"""mutation($i: RemoveStructuredPropertiesInput!) {{
      removeStructuredProperties(input: $i) {{ {values} }} }}"""
    caller.graphql(take, i={"assetUrn": dataset, "structuredPropertyUrns": [area]})
    (left,) = caller.value(dataset, "structuredProperties")["properties"]
    assert left["propertyUrn"] == days


def test_values_of_a_soft_deleted_property_are_left_out_until_it_is_restored(
    caller: Caller, dataset: str
) -> None:
    kept, gone = (f"urn:li:structuredProperty:hidden.{name}" for name in ("kept", "gone"))
    for urn in (kept, gone):
        definition = {
            "qualifiedName": urn.rpartition(":")[2],
            "valueType": "urn:li:dataType:datahub.string",
            "entityTypes": ["urn:li:entityType:datahub.dataset"],
        }
        caller.ingest(urn, "propertyDefinition", definition)
    values = [{"propertyUrn": urn, "values": [{"string": "a"}]} for urn in (kept, gone)]
    caller.ingest(dataset, "structuredProperties", {"properties": values})
    query = """query($u: String!) { dataset(urn: $u) {
      structuredProperties { properties { structuredProperty { urn } } } } }"""

    def shown() -> list[str]:
        read = caller.graphql(query, u=dataset)["data"]["dataset"]["structuredProperties"]
        return [one["structuredProperty"]["urn"] for one in read["properties"]]

    assert shown() == [kept, gone]
    caller.ingest(gone, "status", {"removed": True})
    assert shown() == [kept]
    assert len(caller.value(dataset, "structuredProperties")["properties"]) == 2
    caller.ingest(gone, "status", {"removed": False})
    assert shown() == [kept, gone]


def test_the_views_that_people_search_in_are_told(caller: Caller) -> None:
    everybody = "{ globalViewsSettings { defaultView } }"
    assert caller.graphql(everybody)["data"] == {"globalViewsSettings": {"defaultView": None}}
    view, user = "urn:li:dataHubView:mine", "urn:li:corpuser:viewer"
    caller.ingest(user, "corpUserSettings", {"appearance": {}, "views": {"defaultView": view}})
    query = (
        "query($u: String!) { corpUser(urn: $u) { settings { views { defaultView { urn } } } } }"
    )
    told = caller.graphql(query, u=user)["data"]["corpUser"]["settings"]
    assert told == {"views": {"defaultView": {"urn": view}}}


def test_a_search_in_a_view_finds_what_the_view_lets_through(caller: Caller, dataset: str) -> None:
    view = "urn:li:dataHubView:agents"
    tag, chart = "urn:li:tag:in-the-view", "urn:li:chart:(looker,in-the-view)"
    other = dataset.replace("PROD", "DEV")
    for urn in (dataset, other, chart):
        caller.ingest(urn, "globalTags", {"tags": [{"tag": tag}]})
    criterion = {"field": "origin", "values": ["DEV"], "condition": "EQUAL", "negated": True}
    definition = {"entityTypes": ["dataset"], "filter": {"or": [{"and": [criterion]}]}}
    stamps = {"created": STAMP, "lastModified": STAMP}
    info = {"name": "Mine", "type": "PERSONAL", "definition": definition, **stamps}
    caller.ingest(view, "dataHubViewInfo", info)
    query = """query($i: SearchAcrossEntitiesInput!) { searchAcrossEntities(input: $i) {
      searchResults { entity { urn } } } }"""
    tagged = [{"field": "tags", "values": [tag]}]

    def asked(dialect: str = "plain", **given: Any) -> Any:
        asking = {"query": "*", "filters": tagged, **given}
        body = {"query": query, "variables": {"i": asking}}
        answer = caller.post("/api/graphql", body, **{"X-Catalog-Dialect": dialect}).json()
        results = answer["data"]["searchAcrossEntities"]["searchResults"]
        return {one["entity"]["urn"] for one in results}

    assert asked() == {dataset, other, chart}
    assert asked(viewUrn=view) == {dataset}
    assert asked(viewUrn=view, types=["CHART"]) == set()
    # As DataHub does where a view that somebody chose is gone.
    assert asked("datahub", viewUrn=f"{view}-gone") == {dataset, other, chart}


@pytest.mark.parametrize(
    ("urn", "aspect"),
    [
        ("urn:li:dataset:(urn:li:dataPlatform:hive,agents.described,PROD)", "Dataset"),
        ("urn:li:chart:(looker,agents)", "Chart"),
        ("urn:li:dashboard:(looker,agents)", "Dashboard"),
        ("urn:li:dataFlow:(airflow,agents,PROD)", "DataFlow"),
        ("urn:li:dataJob:(urn:li:dataFlow:(airflow,agents,PROD),agents)", "DataJob"),
    ],
)
def test_agents_of_datahub_describe_whole_entities(
    desk: Any, caller: Caller, urn: str, aspect: str
) -> None:
    caller.ingest(urn, "status", {"removed": False})
    body = {
        "query": "mutation($i: DescriptionUpdateInput!) { updateDescription(input: $i) }",
        "variables": {"i": {"resourceUrn": urn, "description": "Said by an agent"}},
    }
    assert "errors" in caller.post("/api/graphql", body).json()
    answer = caller.post("/api/graphql", body, **{"X-Catalog-Dialect": "datahub"})
    assert answer.json()["data"] == {"updateDescription": True}
    assert caller.value(urn, f"editable{aspect}Properties")["description"] == "Said by an agent"


def test_a_long_document_that_comes_again_is_kept(catalog: CatalogEngine) -> None:
    documents = DocumentCache(Service(catalog).graphql.ready().schema)
    fields = " ".join(f"a{at}: exists" for at in range(900))
    text = f'{{ dataset(urn: "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)") {{ {fields} }} }}'
    kept = documents.read(text)
    assert documents.get(text) is kept


def test_a_document_that_asks_for_much_and_finds_little_is_answered(
    caller: Caller, dataset: str
) -> None:
    """Fragments within fragments write out to more than ten thousand fields; one entity has few of
    them."""
    caller.ingest(dataset, "status", {"removed": False})
    owners = " ".join(f"o{at}: ownership {{ owners {{ type }} }}" for at in range(50))
    tags = " ".join(f"x{at}: tags {{ tags {{ tag {{ ...T }} }} }}" for at in range(9))
    kinds = " ".join(
        f"... on {kind} {{ {tags} }}"
        for kind in ("Dataset", "Chart", "Dashboard", "DataFlow", "DataJob", "Container", "MLModel")
    )
    document = f"""query($u: String!) {{ entity(urn: $u) {{ urn {kinds} }} }}
      fragment T on Tag {{ {owners} }}"""
    answer = caller.graphql(document, u=dataset)
    assert answer["data"]["entity"]["x0"] is None


def test_documents_over_time_count_for_what_a_query_reads(caller: Caller, dataset: str) -> None:
    now = time.time_ns() // 1_000_000
    for at in range(3):
        operation = {"timestampMillis": now - at, "operationType": "INSERT"}
        caller.ingest(dataset, "operation", operation | {"lastUpdatedTimestamp": now})
    profile = {"timestampMillis": now, "rowCount": 12, "sizeInBytes": 34}
    caller.ingest(dataset, "datasetProfile", profile)
    query = """query($u: String!) { dataset(urn: $u) { statsSummary {
      rowCount sizeInBytes updateCountLast30Days queryCountLast30Days } } }"""
    told = caller.graphql(query, u=dataset)["data"]["dataset"]["statsSummary"]
    assert told == {
        "rowCount": 12,
        "sizeInBytes": 34,
        "updateCountLast30Days": 3,
        "queryCountLast30Days": None,
    }
    budget = RequestBudget(entities=3)
    budget.read_documents(20)
    with pytest.raises(OverBudget, match="entities"):
        budget.read_documents(20)
