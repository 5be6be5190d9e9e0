"""What scripts over DataHub's SDK scroll through, run by a Python that has it; prints what came
back as its last line."""

import json
from collections.abc import Callable
from typing import Any

import requests
from datahub.api.entities.platformresource.platform_resource import (
    ElasticPlatformResourceQuery,
    PlatformResource,
    PlatformResourceKey,
    PlatformResourceSearchFields,
)
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.graph.client import DataHubGraph, get_default_graph
from datahub.ingestion.graph.openapi import LineageDirection, RelationshipDirection
from datahub.ingestion.source.gc.execution_request_cleanup import (
    DatahubExecutionRequestCleanup,
    DatahubExecutionRequestCleanupConfig,
    DatahubExecutionRequestCleanupReport,
)
from datahub.metadata import schema_classes as model
from datahub.metadata.urns import CorpUserUrn, DatasetUrn
from datahub.utilities.search_utils import LogicalOperator

TABLES = [str(DatasetUrn("hive", f"scroll.t{at:02}", "PROD")) for at in range(25)]
HIDDEN = str(DatasetUrn("hive", "scroll.t99", "PROD"))
OWNER = str(CorpUserUrn("scroller"))


def write(graph: DataHubGraph) -> None:
    """A chain of tables of one owner, with a soft-deleted one at its end."""
    owner = model.OwnerClass(owner=OWNER, type=model.OwnershipTypeClass.DATAOWNER)
    before = None
    for urn in [*TABLES, HIDDEN]:
        aspects: list[Any] = [
            model.DatasetPropertiesClass(description="a table"),
            model.OwnershipClass(owners=[owner]),
            model.StatusClass(removed=urn == HIDDEN),
        ]
        if before is not None:
            upstream = model.UpstreamClass(dataset=before, type="TRANSFORMED")
            aspects.append(model.UpstreamLineageClass(upstreams=[upstream]))
        graph.emit_mcps(MetadataChangeProposalWrapper.construct_many(urn, aspects=aspects))
        before = urn


def pages(ask: Callable[..., Any], **asked: Any) -> list[Any]:
    """All pages of a scroll."""
    found = [ask(**asked)]
    while found[-1].scroll_id:
        found.append(ask(**asked, scroll_id=found[-1].scroll_id))
    return found


def entities(graph: DataHubGraph) -> dict[str, object]:
    datasets: dict[str, Any] = {"entity_names": ["dataset"], "count": 10}
    whole = pages(graph.scroll_entities, **datasets, aspects=["ownership"])
    rule = {"field": "urn", "condition": "EQUAL", "values": TABLES[3:5]}
    some: Any = {"filter": [{"and": [rule]}], "aspects": [], "with_system_metadata": True}
    (read,) = pages(graph.scroll_entities, **some)
    first, (_, system) = read.entities[TABLES[3]], read.entities[TABLES[3]]["ownership"]
    removed = pages(graph.scroll_entities, **datasets, include_soft_delete=True)
    backwards: Any = [{"field": "urn", "order": "DESCENDING"}]
    refused = None
    try:
        graph.scroll_entities(entity_names=["dataset"], scroll_id="nonsense")
    except requests.HTTPError as error:
        refused = error.response.status_code if error.response is not None else None
    return {
        "pages": [list(page.entities) for page in whole],
        "total": whole[0].total_count,
        "aspects": sorted(
            {name for page in whole for one in page.entities.values() for name in one}
        ),
        "of a filter": list(read.entities),
        "all aspects": sorted(first),
        "run": bool(system and system.runId),
        "with removed": [urn for page in removed for urn in page.entities],
        "backwards": list(graph.scroll_entities(**datasets, sort_criteria=backwards).entities),
        "refused": refused,
    }


def relationships(graph: DataHubGraph) -> dict[str, object]:
    def sources(**asked: Any) -> list[str]:
        found = pages(graph.scroll_relationships, **asked)
        return [one.source_urn for page in found for one in page.relationships]

    incoming = RelationshipDirection.INCOMING
    return {
        "incoming": sources(destination_urns=[OWNER]),
        "with removed": sources(destination_urns=[OWNER], include_soft_delete=True, count=7),
        "swapped": sources(source_urns=[OWNER], direction=incoming),
        "outgoing": sources(
            source_urns=TABLES[:2], relationship_types=["OwnedBy"], destination_types=["corpuser"]
        ),
        "by name": sources(relationship_types=["OwnedBy"], count=4),
    }


def lineage(graph: DataHubGraph) -> dict[str, object]:
    def edges(**asked: Any) -> list[tuple[str, str]]:
        found = pages(graph.scroll_lineage, **asked, count=4)
        return [
            (one.upstream_urn, one.downstream_urn) for page in found for one in page.relationships
        ]

    return {
        "all": edges(),
        "around": edges(urns=TABLES[4:6]),
        "up": edges(urns=TABLES[4:6], direction=LineageDirection.UPSTREAM),
        "down": edges(urns=TABLES[4:6], direction=LineageDirection.DOWNSTREAM),
    }


def resources(graph: DataHubGraph) -> dict[str, object]:
    keys = ["plain", "with space", 'a:b/c-d(e)"f"', "plain2"]
    for key in keys:
        PlatformResource.create(
            PlatformResourceKey(platform="slack", resource_type="channel", primary_key=key),
            value={"name": key},
            secondary_keys=[f"second {key}"],
        ).to_datahub(graph)

    def named(found: Any) -> list[str]:
        return sorted(one.resource_info.primary_key for one in found)

    fields = PlatformResourceSearchFields
    either = ElasticPlatformResourceQuery.create_from().group(LogicalOperator.OR)
    for key in keys[:2]:
        either.add_field_match(fields.PRIMARY_KEY, key)
    of_platform = ElasticPlatformResourceQuery.create_from().group(LogicalOperator.AND)
    of_platform.add_field_match(fields.RESOURCE_TYPE, "channel")
    of_platform.add_field_match(fields.PLATFORM, "slack")
    by_key = PlatformResource.search_by_key
    return {
        "keys": keys,
        "by key": [named(by_key(graph, key)) for key in keys],
        "by second key": [named(by_key(graph, f"second {key}", primary=False)) for key in keys],
        "by either": named(PlatformResource.search_by_filters(graph, either.end())),
        "by platform": named(PlatformResource.search_by_filters(graph, of_platform.end())),
        "by none": named(by_key(graph, "never")),
    }


def specifications(graph: DataHubGraph) -> dict[str, object]:
    specs = graph.get_entity_aspect_specs()
    assert specs is not None
    return {
        "key": specs.supports("dataset", "datasetKey"),
        "aspect": specs.supports("dataset", "upstreamLineage"),
        "no aspect": specs.supports("tag", "upstreamLineage"),
    }


def version_2(graph: DataHubGraph) -> dict[str, object]:
    made = [f"urn:li:dataHubExecutionRequest:run{at:02}" for at in range(12)]
    for at, urn in enumerate(made):
        asked = model.ExecutionRequestInputClass(
            task="RUN_INGEST",
            args={},
            executorId="default",
            requestedAt=1_700_000_000_000 + at,
            source=model.ExecutionRequestSourceClass(
                type="SCHEDULED", ingestionSource="urn:li:a:b"
            ),
        )
        result = model.ExecutionRequestResultClass(status="SUCCESS", startTimeMs=1)
        graph.emit_mcps(MetadataChangeProposalWrapper.construct_many(urn, aspects=[asked, result]))
    config = DatahubExecutionRequestCleanupConfig(
        keep_history_min_count=2, keep_history_max_count=5, batch_read_size=3
    )
    report = DatahubExecutionRequestCleanupReport()
    DatahubExecutionRequestCleanup(graph, report, config).run()
    read = graph.get_entities_v2("dataset", TABLES[:2], ["ownership"], with_system_metadata=True)
    return {
        "read": report.ergc_records_read,
        "failures": len(report.failures),
        "kept": [urn for urn in made if graph.exists(urn)],
        "made": made,
        "entities": {urn: sorted(aspects) for urn, aspects in read.items()},
        "owner": read[TABLES[0]]["ownership"]["value"]["owners"][0]["owner"],
    }


def main() -> None:
    graph = get_default_graph()
    write(graph)
    parts = (entities, relationships, lineage, resources, specifications, version_2)
    print(json.dumps({part.__name__: part(graph) for part in parts}))


main()
