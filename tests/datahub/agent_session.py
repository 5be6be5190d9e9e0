"""Runs in an environment of DataHub's tools for agents: writes what the sample has not, calls every
tool of the MCP server over stdio and every function of `datahub-agent-context`, and prints what
they gave as one JSON object. Needs the sample, and DATAHUB_GMS_URL."""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, TextIO

import datahub.metadata.schema_classes as models
import datahub_agent_context.mcp_tools as functions
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.sdk.main_client import DataHubClient
from datahub_agent_context.context import DataHubContext
from datahub_agent_context.mcp_tools.owners import OwnershipType
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SNOWFLAKE = "urn:li:dataPlatform:snowflake"
ORDERS = f"urn:li:dataset:({SNOWFLAKE},analytics.marts.fct_orders,PROD)"
STAGED = f"urn:li:dataset:({SNOWFLAKE},analytics.staging.stg_orders,PROD)"
ENRICHED = f"urn:li:dataset:({SNOWFLAKE},analytics.intermediate.int_orders_enriched,PROD)"
DASHBOARD = "urn:li:dashboard:(looker,dashboards.1)"
TAG = "urn:li:tag:Certified"
TERM = "urn:li:glossaryTerm:Commerce.ConversionRate"
OWNER = "urn:li:corpuser:akowalski"
BUSINESS = OwnershipType.BUSINESS_OWNER
DOMAIN = "urn:li:domain:marketing"
RETENTION = "urn:li:structuredProperty:retention_days"
AREA = "urn:li:structuredProperty:area"
RUNBOOK = "urn:li:document:late-orders"
FRESH = "urn:li:assertion:orders-are-fresh"
POSITIVE = "urn:li:assertion:amounts-are-positive"
MINE = "urn:li:query:orders-by-channel"
FOUND = "urn:li:query:orders-by-day"
STAMP = models.AuditStampClass(time=1_760_000_000_000, actor=OWNER)


def column(path: str) -> str:
    return f"urn:li:schemaField:({ORDERS},{path})"


def extras() -> list[MetadataChangeProposalWrapper]:
    """What the sample lacks: queries, assertions with runs, structured properties, a document."""
    now = time.time_ns() // 1_000_000
    found: list[tuple[str, Any]] = []
    for urn, source, text in (
        (MINE, "MANUAL", "SELECT channel, count(*) FROM fct_orders GROUP BY 1"),
        (FOUND, "SYSTEM", "SELECT ordered_on, count(*) FROM fct_orders GROUP BY 1"),
    ):
        statement = models.QueryStatementClass(value=text, language="SQL")
        said = models.QueryPropertiesClass(
            statement=statement, source=source, created=STAMP, lastModified=STAMP
        )
        subjects = [ORDERS, *([column("channel")] if urn == MINE else ())]
        found += [
            (urn, said),
            (urn, models.QuerySubjectsClass([models.QuerySubjectClass(one) for one in subjects])),
            (urn, models.DataPlatformInstanceClass(platform=SNOWFLAKE)),
        ]
    # Nothing but the assertion of their kind names the dataset, as connectors write them.
    positive = models.DatasetAssertionInfoClass(
        dataset=ORDERS,
        scope="DATASET_COLUMN",
        operator="GREATER_THAN",
        fields=[column("gross_amount")],
        parameters=models.AssertionStdParametersClass(
            value=models.AssertionStdParameterClass(value="0", type="NUMBER")
        ),
    )
    fresh = models.FreshnessAssertionInfoClass(
        type="DATASET_CHANGE",
        entity=ORDERS,
        schedule=models.FreshnessAssertionScheduleClass(
            type="CRON", cron=models.FreshnessCronScheduleClass(cron="0 6 * * *", timezone="UTC")
        ),
    )
    found += [
        (POSITIVE, models.AssertionInfoClass(type="DATASET", datasetAssertion=positive)),
        (POSITIVE, models.DataPlatformInstanceClass(platform="urn:li:dataPlatform:dbt")),
        (
            FRESH,
            models.AssertionInfoClass(
                type="FRESHNESS",
                freshnessAssertion=fresh,
                description="Loaded by six in the morning",
                source=models.AssertionSourceClass(type="NATIVE"),
            ),
        ),
    ]
    for urn, results in ((POSITIVE, ("FAILURE", "SUCCESS")), (FRESH, ("SUCCESS", "FAILURE"))):
        for age, result in enumerate(reversed(results)):
            found.append(
                (
                    urn,
                    models.AssertionRunEventClass(
                        timestampMillis=now - age * 1000,
                        runId=f"run-{age}",
                        asserteeUrn=ORDERS,
                        assertionUrn=urn,
                        status="COMPLETE",
                        result=models.AssertionResultClass(type=result, rowCount=7),
                    ),
                )
            )
    for urn, kind, name in ((RETENTION, "number", "Retention"), (AREA, "string", "Area")):
        definition = models.StructuredPropertyDefinitionClass(
            qualifiedName=urn.rpartition(":")[2],
            valueType=f"urn:li:dataType:datahub.{kind}",
            entityTypes=["urn:li:entityType:datahub.dataset"],
            displayName=name,
        )
        found.append((urn, definition))
    document = models.DocumentInfoClass(
        title="When orders are late",
        status=models.DocumentStatusClass(state="PUBLISHED"),
        contents=models.DocumentContentsClass(
            text="# Late orders\n\nRestart the loader.\nThen tell the warehouse team."
        ),
        created=STAMP,
        lastModified=STAMP,
        relatedAssets=[models.RelatedAssetClass(asset=ORDERS)],
    )
    found += [(RUNBOOK, document), (RUNBOOK, models.SubTypesClass(typeNames=["Runbook"]))]
    return [MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect) for urn, aspect in found]


# Tool, arguments, and under which name the answer is printed; in this order.
TOOLS: list[tuple[str, dict[str, Any], str]] = [
    ("search", {"query": "/q fct+orders", "num_results": 5}, "search"),
    (
        "search",
        {
            "query": "*",
            "filter": "entity_type = dataset AND platform = snowflake AND env = PROD",
            "num_results": 0,
        },
        "facets",
    ),
    (
        "search",
        {
            "query": "*",
            "filter": "entity_type = dataset",
            "sort_by": "lastOperationTime",
            "num_results": 3,
        },
        "sorted",
    ),
    ("get_entities", {"urns": [ORDERS, DASHBOARD, "urn:li:tag:nowhere"]}, "entities"),
    ("get_entities", {"urns": [MINE, RETENTION, RUNBOOK, FRESH, DOMAIN, TERM]}, "others"),
    ("list_schema_fields", {"urn": ORDERS, "keywords": ["amount"], "limit": 3}, "fields"),
    ("get_lineage", {"urn": ORDERS, "upstream": True, "max_hops": 1}, "upstream"),
    ("get_lineage", {"urn": ORDERS, "upstream": False, "max_hops": 3}, "downstream"),
    ("get_lineage", {"urn": ORDERS, "column": "gross_amount", "upstream": True}, "column"),
    (
        "get_lineage_paths_between",
        {"source_urn": STAGED, "target_urn": ORDERS},
        "paths",
    ),
    (
        "get_lineage_paths_between",
        {
            "source_urn": ENRICHED,
            "source_column": "gross_amount_eur",
            "target_urn": ORDERS,
            "target_column": "gross_amount",
        },
        "column paths",
    ),
    ("get_dataset_queries", {"urn": ORDERS}, "queries"),
    ("get_dataset_queries", {"urn": ORDERS, "source": "MANUAL"}, "own queries"),
    ("get_dataset_queries", {"urn": ORDERS, "column": "channel"}, "column queries"),
    ("get_dataset_assertions", {"urn": ORDERS, "run_events_count": 5}, "assertions"),
    ("get_dataset_assertions", {"urn": ORDERS, "column": "gross_amount"}, "of a column"),
    ("get_dataset_assertions", {"urn": ORDERS, "status": "FAILING"}, "failing"),
    ("get_dataset_assertions", {"urn": ORDERS, "assertion_type": "FRESHNESS"}, "of a type"),
    ("search_documents", {"query": "late"}, "documents"),
    (
        "search_documents",
        {"query": "late orders", "semantic_query": "what to do when orders are late"},
        "hybrid",
    ),
    ("search_documents", {"filter": "subtype = Runbook"}, "runbooks"),
    ("grep_documents", {"urns": [RUNBOOK], "pattern": "warehouse"}, "grep"),
    ("get_me", {}, "me"),
    ("add_tags", {"tag_urns": [TAG], "entity_urns": [STAGED, DASHBOARD]}, "add_tags"),
    (
        "add_tags",
        {"tag_urns": [TAG], "entity_urns": [STAGED], "column_paths": ["order_id"]},
        "add_tags of a column",
    ),
    ("add_terms", {"term_urns": [TERM], "entity_urns": [STAGED]}, "add_terms"),
    (
        "add_owners",
        {"owner_urns": [OWNER], "entity_urns": [STAGED], "ownership_type": "DATA_STEWARD"},
        "add_owners",
    ),
    ("set_domains", {"domain_urn": DOMAIN, "entity_urns": [STAGED]}, "set_domains"),
    (
        "update_description",
        {"entity_urn": STAGED, "operation": "replace", "description": "Orders, tidied"},
        "update_description",
    ),
    (
        "update_description",
        {"entity_urn": STAGED, "operation": "append", "description": " and typed"},
        "append",
    ),
    (
        "update_description",
        {"entity_urn": STAGED, "column_path": "order_id", "description": "One of ours"},
        "describe a column",
    ),
    (
        "add_structured_properties",
        {"property_values": {RETENTION: [90], AREA: ["web"]}, "entity_urns": [STAGED]},
        "add_structured_properties",
    ),
    ("get_entities", {"urns": STAGED}, "edited"),
    ("search", {"query": "/q tag:Certified AND stg", "num_results": 3}, "by tag"),
    (
        "save_document",
        {
            "document_type": "Insight",
            "title": "Refunds come late",
            "content": "Refunds arrive two days after the order.",
            "topics": ["refunds"],
            "related_assets": [ORDERS],
        },
        "save_document",
    ),
    ("search_documents", {"query": "refunds"}, "saved"),
    ("remove_tags", {"tag_urns": [TAG], "entity_urns": [STAGED, DASHBOARD]}, "remove_tags"),
    ("remove_terms", {"term_urns": [TERM], "entity_urns": [STAGED]}, "remove_terms"),
    ("remove_owners", {"owner_urns": [OWNER], "entity_urns": [STAGED]}, "remove_owners"),
    ("remove_domains", {"entity_urns": [STAGED]}, "remove_domains"),
    (
        "remove_structured_properties",
        {"property_urns": [RETENTION], "entity_urns": [STAGED]},
        "remove_structured_properties",
    ),
    ("update_description", {"entity_urn": STAGED, "operation": "remove"}, "undescribe"),
    ("get_entities", {"urns": STAGED}, "bare"),
]


async def tools(log: TextIO) -> dict[str, Any]:
    """What the MCP server lists, and what its tools give."""
    server = StdioServerParameters(
        command=str(Path(sys.executable).with_name("mcp-server-datahub")),
        env={
            **os.environ,
            "TOOLS_IS_MUTATION_ENABLED": "true",
            "TOOLS_IS_USER_ENABLED": "true",
            "DATA_QUALITY_TOOLS_ENABLED": "true",
        },
    )
    given: dict[str, Any] = {}
    async with (
        stdio_client(server, errlog=log) as (reader, writer),
        ClientSession(reader, writer) as session,
    ):
        await session.initialize()
        listed = [tool.name for tool in (await session.list_tools()).tools]
        for tool, arguments, name in TOOLS:
            result = await session.call_tool(tool, arguments)
            text = "".join(getattr(part, "text", "") for part in result.content)
            given[name] = {"failed": text} if result.isError else json.loads(text)
    return {"listed": listed, "called": sorted({tool for tool, _, _ in TOOLS}), "given": given}


# Function of `datahub-agent-context`, arguments, and under which name the answer is printed.
FUNCTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("search", {"query": "/q fct+orders", "num_results": 2}, "search"),
    ("get_entities", {"urns": [ORDERS]}, "entity"),
    ("list_schema_fields", {"urn": ORDERS, "limit": 2}, "fields"),
    ("get_lineage", {"urn": ORDERS, "upstream": True}, "upstream"),
    (
        "get_lineage_paths_between",
        {"source_urn": STAGED, "target_urn": ORDERS},
        "paths",
    ),
    ("get_dataset_queries", {"urn": ORDERS, "source": "SYSTEM"}, "queries"),
    ("get_dataset_assertions", {"urn": ORDERS, "status": "PASSING"}, "passing"),
    ("search_documents", {"query": "late"}, "documents"),
    ("grep_documents", {"urns": [RUNBOOK], "pattern": "warehouse"}, "grep"),
    ("get_me", {}, "me"),
    ("add_tags", {"tag_urns": [TAG], "entity_urns": [ENRICHED]}, "add_tags"),
    ("add_glossary_terms", {"term_urns": [TERM], "entity_urns": [ENRICHED]}, "add_terms"),
    ("set_domains", {"domain_urn": DOMAIN, "entity_urns": [ENRICHED]}, "set_domains"),
    (
        "add_owners",
        {"owner_urns": [OWNER], "entity_urns": [ENRICHED], "ownership_type": BUSINESS},
        "add_owners",
    ),
    (
        "update_description",
        {"entity_urn": ENRICHED, "operation": "replace", "description": "With prices"},
        "update_description",
    ),
    (
        "add_structured_properties",
        {"property_values": {AREA: ["web"]}, "entity_urns": [ENRICHED]},
        "add_structured_properties",
    ),
    ("get_entities", {"urns": [ENRICHED]}, "edited"),
    ("remove_tags", {"tag_urns": [TAG], "entity_urns": [ENRICHED]}, "remove_tags"),
    ("remove_glossary_terms", {"term_urns": [TERM], "entity_urns": [ENRICHED]}, "remove_terms"),
    ("remove_domains", {"entity_urns": [ENRICHED]}, "remove_domains"),
    (
        "remove_owners",
        {"owner_urns": [OWNER], "entity_urns": [ENRICHED], "ownership_type": BUSINESS},
        "remove_owners",
    ),
    (
        "remove_structured_properties",
        {"property_urns": [AREA], "entity_urns": [ENRICHED]},
        "remove_structured_properties",
    ),
    ("get_entities", {"urns": [ENRICHED]}, "bare"),
    (
        "save_document",
        {"document_type": "FAQ", "title": "What is net?", "content": "Without tax."},
        "save_document",
    ),
    ("list_incidents", {"urn": ENRICHED}, "no incidents"),
    (
        "raise_incident",
        {
            "urn": ENRICHED,
            "incident_type": "FRESHNESS",
            "title": "No rows since noon",
            "description": "The loader stands.",
            "priority": "HIGH",
        },
        "raise_incident",
    ),
    ("list_incidents", {"urn": ENRICHED}, "incidents"),
    ("get_entities", {"urns": [ENRICHED]}, "unwell"),
]


def called(client: DataHubClient) -> dict[str, Any]:
    """What the functions for agents give."""
    given: dict[str, Any] = {}

    def call(name: str, arguments: dict[str, Any], called: str) -> None:
        try:
            given[called] = getattr(functions, name)(**arguments)
        except Exception as error:  # noqa: BLE001 - told as the answer
            given[called] = {"failed": str(error)}

    with DataHubContext(client):
        for name, arguments, told in FUNCTIONS:
            call(name, arguments, told)
        incident = given["raise_incident"].get("incidentUrn", "")
        resolved = {"incident_urn": incident, "message": "The loader runs again."}
        call("resolve_incident", resolved, "resolve_incident")
        call("list_incidents", {"urn": ENRICHED}, "resolved")
        call("list_incidents", {"urn": ENRICHED, "state": None}, "all incidents")
        call("get_entities", {"urns": [ENRICHED]}, "well")
        # Only for DataHub's own cloud, and said so before anything is sent.
        call("ask_datahub_chat", {"message": "Which tables are there?"}, "ask")
        call("get_datahub_chat", {"conversation_urn": "urn:li:x:1"}, "read chat")
    known = {name for name, _, _ in FUNCTIONS}
    known |= {"resolve_incident", "ask_datahub_chat", "get_datahub_chat"}
    return {"offered": sorted(functions.__all__), "called": sorted(known), "given": given}


def main() -> None:
    client = DataHubClient.from_env()
    client._graph.emit_mcps(extras())
    with Path(os.devnull).open("w") as log:
        given = asyncio.run(tools(log))
    print(json.dumps({"tools": given, "functions": called(client)}))


main()
