"""DataHub's tools for agents: every tool of its MCP server, run as a process over stdio, and every
function of its `datahub-agent-context`, against the sample in a catalog served by us."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.datahub.conftest import DataHub, Served, installed
from tests.datahub.environments import install_agents

# The first test may install the tools.
SCRIPT = Path(__file__).with_name("agent_session.py")
WITHOUT_GRAPHQL = (
    "import sys; sys.modules['graphql'] = None; from datahub.entrypoints import main; main()"
)
# Only DataHub's cloud lists it; it can be called all the same.
UNLISTED = {"get_dataset_assertions"}


def snowflake(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:snowflake,{name},PROD)"


ORDERS = snowflake("analytics.marts.fct_orders")
STAGED = snowflake("analytics.staging.stg_orders")
ENRICHED = snowflake("analytics.intermediate.int_orders_enriched")
OWNER = "urn:li:corpuser:akowalski"
RUNBOOK = "urn:li:document:late-orders"
FRESH = "urn:li:assertion:orders-are-fresh"
POSITIVE = "urn:li:assertion:amounts-are-positive"


@pytest.fixture(scope="module")
def sample(served: Served) -> Any:
    """The served catalog with the sample in it."""
    command = [sys.executable, "-m", "explorer.cli", "sample", "load", "--url", served.address]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return served


@pytest.fixture(scope="module")
def agents(sample: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The environment of the tools, pointed at the served catalog."""
    folder = installed(install_agents)
    return DataHub(folder, sample.address, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def said(agents: Any) -> Any:
    """What every tool and every function gave."""
    return agents.python(SCRIPT)


@pytest.fixture(scope="module")
def tools(said: Any) -> Any:
    return said["tools"]["given"]


@pytest.fixture(scope="module")
def functions(said: Any) -> Any:
    return said["functions"]["given"]


def found(answer: Any) -> Any:
    return [one["entity"]["urn"] for one in answer["searchResults"]]


def counts(answer: Any, field: Any) -> Any:
    (facet,) = [one for one in answer["facets"] if one["field"] == field]
    return {one["value"]: one["count"] for one in facet["aggregations"]}


def test_every_tool_is_offered_and_none_fails(said: Any) -> None:
    for part, offered in (("tools", "listed"), ("functions", "offered")):
        told = said[part]
        unlisted = UNLISTED if part == "tools" else set()
        assert set(told["called"]) - unlisted == set(told[offered])
        failed = {name: one for name, one in told["given"].items() if "failed" in one}
        # What DataHub's own cloud alone has says so by itself, and asks nothing.
        assert set(failed) <= {"ask", "read chat"}, failed


def test_search_finds_counts_and_sorts(tools: Any) -> None:
    assert found(tools["search"])[0] == ORDERS
    facets = tools["facets"]
    assert "searchResults" not in facets
    assert counts(facets, "platform") == {"urn:li:dataPlatform:snowflake": facets["total"]}
    assert counts(facets, "_entityType") == {"DATASET": facets["total"]}
    assert len(found(tools["sorted"])) == 3
    assert STAGED in found(tools["by tag"])


def test_entities_are_told_whole(tools: Any) -> None:
    orders, dashboard, missing = tools["entities"]
    assert orders["properties"]["name"] == "fct_orders"
    assert orders["platform"]["name"] == "snowflake"
    assert {one["fieldPath"] for one in orders["schemaMetadata"]["fields"]} >= {"order_id"}
    health = {one["type"]: one for one in orders["health"]}
    assert health["INCIDENTS"]["status"] == "PASS"
    assert health["ASSERTIONS"]["message"] == "1 of 2 assertions are failing"
    assert health["ASSERTIONS"]["causes"] == [FRESH]
    assert [one["urn"] for one in orders["relatedDocuments"]["documents"]] == [RUNBOOK]
    group = next(one["owner"] for one in orders["ownership"]["owners"] if "name" in one["owner"])
    assert group["info"]["members"]
    assert dashboard["dashboardId"] == "dashboards.1"
    assert "not found" in missing["error"]


def test_queries_properties_assertions_domains_and_terms_are_told(tools: Any) -> None:
    query, retention, document, fresh, domain, term = tools["others"]
    assert query["properties"]["source"] == "MANUAL"
    assert query["platform"]["name"] == "snowflake"
    assert retention["definition"]["valueType"]["urn"] == "urn:li:dataType:datahub.number"
    assert document["urn"] == RUNBOOK
    assert fresh["info"]["source"] == {"type": "NATIVE"}
    assert (fresh["runEvents"]["failed"], fresh["runEvents"]["total"]) == (1, 2)
    assert domain["entities"]["total"] > 0
    assert domain["dataProducts"]["total"] == 0
    assert term["properties"]["name"] == "Conversion rate"


def test_columns_are_listed_by_word(tools: Any) -> None:
    listed = tools["fields"]
    assert (listed["totalFields"], listed["matchingCount"], listed["returned"]) == (29, 5, 3)
    assert {"gross_amount", "discount_amount"} <= {one["fieldPath"] for one in listed["fields"]}


def test_lineage_is_followed_and_paths_are_found(tools: Any) -> None:
    assert {STAGED, ENRICHED} <= set(found(tools["upstream"]["upstreams"]))
    down = tools["downstream"]["downstreams"]
    assert {one["degree"] for one in down["searchResults"]} >= {1, 2}
    assert set(counts(down, "_entityType")) == {"DATASET", "CHART", "DASHBOARD", "DATA_JOB"}
    (column,) = tools["column"]["upstreams"]["searchResults"]
    assert column["lineageColumns"] == ["gross_amount_eur"]
    (path,) = tools["paths"]["paths"]
    assert [one["urn"] for one in path["path"]] == [STAGED, ORDERS]
    columns = [one["fieldPath"] for one in tools["column paths"]["paths"][0]["path"]]
    assert columns == ["gross_amount_eur", "gross_amount"]


def test_queries_of_a_table_and_of_a_column_are_listed(tools: Any) -> None:
    urns = {name: [one["urn"] for one in tools[name]["queries"]] for name in ("queries",)}
    assert set(urns["queries"]) == {"urn:li:query:orders-by-channel", "urn:li:query:orders-by-day"}
    for name in ("own queries", "column queries"):
        (query,) = tools[name]["queries"]
        assert query["urn"] == "urn:li:query:orders-by-channel"
        assert "GROUP BY 1" in query["properties"]["statement"]["value"]
        assert query["subjects"] == [ORDERS]


def test_assertions_are_told_with_their_runs_and_found_by_column_status_and_type(
    tools: Any,
) -> None:
    every = {one["urn"]: one for one in tools["assertions"]["data"]["assertions"]}
    assert set(every) == {FRESH, POSITIVE}
    positive, fresh = every[POSITIVE], every[FRESH]
    assert positive["column"] == "gross_amount"
    assert positive["platform"] == "dbt"
    assert positive["definition"]["parameters"]["value"] == {"value": "0", "type": "NUMBER"}
    assert [one["resultType"] for one in positive["runHistory"]] == ["SUCCESS", "FAILURE"]
    assert fresh["latestResultType"] == "FAILURE"
    assert fresh["runSummary"] == {"total": 2, "succeeded": 1, "failed": 1}
    assert fresh["definition"]["schedule"]["cron"]["cron"] == "0 6 * * *"
    for name, urn in (("of a column", POSITIVE), ("failing", FRESH), ("of a type", FRESH)):
        assert [one["urn"] for one in tools[name]["data"]["assertions"]] == [urn], name


def test_documents_are_found_read_and_saved(tools: Any) -> None:
    for name in ("documents", "hybrid", "runbooks"):
        (document,) = tools[name]["searchResults"]
        assert document["entity"]["urn"] == RUNBOOK, name
        assert document["entity"]["subType"] == "Runbook"
        assert document["entity"]["info"]["title"] == "When orders are late"
    (matched,) = tools["grep"]["results"]
    assert "Then tell the warehouse team." in matched["matches"][0]["excerpt"]
    (saved,) = tools["saved"]["searchResults"]
    assert saved["entity"]["urn"] == tools["save_document"]["urn"]
    assert saved["entity"]["subType"] == "Insight"
    assert saved["entity"]["tags"]["tags"][0]["tag"]["urn"] == "urn:li:tag:refunds"


def labels(entity: Any) -> Any:
    """What people added to an entity, each as a set of names."""
    properties = entity.get("structuredProperties", {}).get("properties", [])
    tags = entity.get("tags", {}).get("tags", [])
    terms = entity.get("glossaryTerms", {}).get("terms", [])
    return {
        "tags": {one["tag"]["urn"] for one in tags},
        "terms": {one["term"]["urn"] for one in terms},
        "owners": {one["owner"]["urn"] for one in entity["ownership"]["owners"]},
        "domain": (entity.get("domain") or {}).get("domain", {}).get("urn"),
        "properties": {one["structuredProperty"]["urn"]: one["values"][0] for one in properties},
        "description": entity.get("editableProperties", {}).get("description"),
    }


def test_what_tools_write_is_there_and_what_they_take_away_is_gone(tools: Any) -> None:
    edited, bare = labels(tools["edited"]), labels(tools["bare"])
    assert "urn:li:tag:Certified" in edited["tags"] - bare["tags"]
    assert edited["terms"] - bare["terms"] == {"urn:li:glossaryTerm:Commerce.ConversionRate"}
    assert edited["owners"] - bare["owners"] == {OWNER}
    assert (edited["domain"], bare["domain"]) == ("urn:li:domain:marketing", None)
    assert edited["properties"] == {
        "urn:li:structuredProperty:retention_days": {"numberValue": 90.0},
        "urn:li:structuredProperty:area": {"stringValue": "web"},
    }
    assert set(bare["properties"]) == {"urn:li:structuredProperty:area"}
    assert (edited["description"], bare["description"]) == ("Orders, tidied and typed", "")
    columns = {one["fieldPath"]: one for one in tools["edited"]["schemaMetadata"]["fields"]}
    assert columns["order_id"]["editedDescription"] == "One of ours"
    assert columns["order_id"]["editedTags"] == ["Certified"]


def test_functions_give_what_the_tools_give(functions: Any) -> None:
    assert found(functions["search"])[0] == ORDERS
    assert functions["entity"][0]["properties"]["name"] == "fct_orders"
    assert functions["fields"]["totalFields"] == 29
    assert STAGED in found(functions["upstream"]["upstreams"])
    assert functions["paths"]["pathCount"] == 1
    assert [one["urn"] for one in functions["queries"]["queries"]] == ["urn:li:query:orders-by-day"]
    assert [one["urn"] for one in functions["passing"]["data"]["assertions"]] == [POSITIVE]
    assert RUNBOOK in found(functions["documents"])
    assert functions["grep"]["documents_with_matches"] == 1
    assert functions["me"]["data"]["corpUser"]["username"]
    (edited,), (bare,) = functions["edited"], functions["bare"]
    edited, bare = labels(edited), labels(bare)
    assert edited["owners"] - bare["owners"] == {OWNER}
    assert edited["domain"] == "urn:li:domain:marketing"
    assert edited["description"] == "With prices"
    assert set(edited["properties"]) == {"urn:li:structuredProperty:area"}
    assert bare["properties"] == {}


def test_an_incident_is_raised_shown_and_resolved(functions: Any) -> None:
    assert functions["no incidents"]["data"]["total"] == 0
    (incident,) = functions["incidents"]["data"]["incidents"]
    assert incident["urn"] == functions["raise_incident"]["incidentUrn"]
    assert (incident["type"], incident["priority"]) == ("FRESHNESS", "HIGH")
    assert (incident["title"], incident["state"]) == ("No rows since noon", "ACTIVE")
    assert functions["resolved"]["data"]["total"] == 0
    (resolved,) = functions["all incidents"]["data"]["incidents"]
    assert (resolved["state"], resolved["statusMessage"]) == ("RESOLVED", "The loader runs again.")
    (unwell,), (well,) = functions["unwell"], functions["well"]
    told = {one["type"]: one for one in unwell["health"]}["INCIDENTS"]
    assert (told["status"], told["message"]) == ("FAIL", "1 active incident")
    assert {one["type"]: one["status"] for one in well["health"]}["INCIDENTS"] == "PASS"


@pytest.fixture
def bare(agents: Any, said: Any) -> Any:
    """The command `datahub` without graphql-core, which a bare acryl-datahub does not bring: it
    cannot ask which fields there are, and sends all it knows."""

    def run(*arguments: Any) -> Any:
        return agents.interpret("-c", WITHOUT_GRAPHQL, *arguments)

    return run


@pytest.mark.nightly
def test_the_search_of_a_bare_installation_works(bare: Any) -> None:
    answer = bare("search", "fct_orders", "--filter", "entity_type=dataset")
    assert "Failed to adapt query" in answer.stderr
    assert found(json.loads(answer.stdout))[0] == ORDERS
    answer = bare("search", "late", "--filter", "entity_type=document", "--urns-only")
    assert RUNBOOK in answer.stdout.split()


@pytest.mark.nightly
def test_a_search_by_meaning_is_said_to_be_off(bare: Any) -> None:
    answer = bare("search", "query", "late orders", "--semantic")
    assert json.loads(answer.stderr.splitlines()[-1])["error"] == "semantic_search_unavailable"
    told = bare("search", "diagnose")
    assert "Cannot connect" not in told.stdout
