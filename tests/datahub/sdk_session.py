"""What scripts over DataHub's SDK do, run by a Python that has it; the last line is what came back.

Only the SDK's own published names are used, as its users would.
"""

import json
import time
from typing import Any

from datahub.emitter.mce_builder import make_schema_field_urn
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.graph.client import DataHubGraph, get_default_graph
from datahub.metadata import schema_classes as model
from datahub.metadata.urns import (
    CorpUserUrn,
    DataJobUrn,
    DatasetUrn,
    GlossaryTermUrn,
    SchemaFieldUrn,
    TagUrn,
)
from datahub.sdk import DataHubClient, Dataset
from datahub.sdk import FilterDsl as F
from datahub.specific.dataset import DatasetPatchBuilder

ORDERS = str(DatasetUrn("hive", "shop.orders", "PROD"))
DAILY = str(DatasetUrn("hive", "shop.daily_orders", "PROD"))
REPORT = str(DatasetUrn("hive", "shop.report", "PROD"))
OLD = str(DatasetUrn("hive", "shop.old", "PROD"))
USER = str(CorpUserUrn("ada"))
PII = str(TagUrn("PII"))
RAW = str(TagUrn("raw"))
TERM = str(GlossaryTermUrn("Sales.Order"))
FIELD = model.SchemaFieldDataTypeClass(type=model.StringTypeClass())
STAMP = model.AuditStampClass(time=0, actor=USER)


def schema(*columns: str) -> model.SchemaMetadataClass:
    return model.SchemaMetadataClass(
        schemaName="shop",
        platform="urn:li:dataPlatform:hive",
        version=0,
        hash="",
        platformSchema=model.OtherSchemaClass(rawSchema=""),
        fields=[
            model.SchemaFieldClass(fieldPath=column, type=FIELD, nativeDataType="string")
            for column in columns
        ],
    )


def mcp(urn: str, aspect: model._Aspect) -> MetadataChangeProposalWrapper:
    return MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect)


def write(graph: DataHubGraph) -> None:
    graph.emit(mcp(ORDERS, model.DatasetPropertiesClass(description="One row an order")))
    graph.emit_mcps(
        [
            mcp(ORDERS, schema("id", "mail")),
            mcp(DAILY, model.DatasetPropertiesClass(description="Orders a day", name="Daily")),
            mcp(DAILY, schema("id", "day")),
            mcp(REPORT, model.StatusClass(removed=False)),
            mcp(PII, model.TagPropertiesClass(name="PII", description="Personal data")),
            mcp(RAW, model.TagPropertiesClass(name="raw")),
            mcp(TERM, model.GlossaryTermInfoClass(definition="An order", termSource="INTERNAL")),
            mcp(USER, model.CorpUserInfoClass(active=True, displayName="Ada")),
        ]
    )
    snapshot = model.DatasetSnapshotClass(
        urn=OLD,
        aspects=[
            model.DatasetPropertiesClass(description="From the old days"),
            model.OwnershipClass(
                owners=[model.OwnerClass(owner=USER, type="DATAOWNER")], lastModified=STAMP
            ),
        ],
    )
    graph.emit(model.MetadataChangeEventClass(proposedSnapshot=snapshot))


def patch(graph: DataHubGraph) -> dict[str, object]:
    first = (
        DatasetPatchBuilder(ORDERS)
        .add_tag(model.TagAssociationClass(tag=PII))
        .add_tag(model.TagAssociationClass(tag=RAW))
        .add_owner(model.OwnerClass(owner=USER, type="DATAOWNER"))
        .add_term(model.GlossaryTermAssociationClass(urn=TERM))
        .add_custom_property("team", "shop")
    )
    first.for_field("mail").add_tag(model.TagAssociationClass(tag=PII))
    graph.emit_mcps(first.build())
    second = DatasetPatchBuilder(ORDERS).remove_tag(RAW).set_description("One row for each order")
    graph.emit_mcps(second.build())
    third = DatasetPatchBuilder(DAILY).add_upstream_lineage(
        model.UpstreamClass(dataset=ORDERS, type="TRANSFORMED")
    )
    third.add_fine_grained_upstream_lineage(
        model.FineGrainedLineageClass(
            upstreamType="FIELD_SET",
            downstreamType="FIELD",
            upstreams=[make_schema_field_urn(ORDERS, "id")],
            downstreams=[make_schema_field_urn(DAILY, "id")],
        )
    )
    graph.emit_mcps(third.build())
    tags = graph.get_aspect(ORDERS, model.GlobalTagsClass)
    owners = graph.get_aspect(ORDERS, model.OwnershipClass)
    terms = graph.get_aspect(ORDERS, model.GlossaryTermsClass)
    properties = graph.get_aspect(ORDERS, model.DatasetPropertiesClass)
    edited = graph.get_aspect(ORDERS, model.EditableSchemaMetadataClass)
    lineage = graph.get_aspect(DAILY, model.UpstreamLineageClass)
    return {
        "tags": [tag.tag for tag in tags.tags],
        "owners": [(owner.owner, str(owner.type)) for owner in owners.owners],
        "terms": [term.urn for term in terms.terms],
        "description": properties.description,
        "custom": properties.customProperties,
        "column tags": {
            info.fieldPath: [tag.tag for tag in info.globalTags.tags]
            for info in edited.editableSchemaFieldInfo
        },
        "upstreams": [upstream.dataset for upstream in lineage.upstreams],
        "columns": [
            (fine.upstreams, fine.downstreams) for fine in lineage.fineGrainedLineages or ()
        ],
    }


def read(graph: DataHubGraph) -> dict[str, object]:
    semityped = graph.get_entity_semityped(ORDERS)
    return {
        "aspect": graph.get_aspect(ORDERS, model.DatasetPropertiesClass) is not None,
        "no aspect": graph.get_aspect(ORDERS, model.ViewPropertiesClass),
        "exists": graph.exists(ORDERS),
        "exists not": graph.exists(str(DatasetUrn("hive", "never", "PROD"))),
        "semityped": sorted(semityped),
        "legacy": graph.get_aspect(OLD, model.OwnershipClass).owners[0].owner,
        "many": sorted(graph.get_entities("dataset", [ORDERS, DAILY], ["datasetProperties"])),
    }


def timeseries(graph: DataHubGraph) -> dict[str, object]:
    now = int(time.time() * 1000)
    for days in (2, 1, 0):
        graph.emit(
            mcp(
                ORDERS,
                model.DatasetProfileClass(timestampMillis=now - days * 86_400_000, rowCount=days),
            )
        )
    latest = graph.get_latest_timeseries_value(ORDERS, model.DatasetProfileClass, {})
    values = graph.get_timeseries_values(ORDERS, model.DatasetProfileClass, {}, limit=2)
    return {"latest": latest.rowCount, "values": [value.rowCount for value in values]}


def relate(graph: DataHubGraph) -> dict[str, object]:
    incoming = DataHubGraph.RelationshipDirection.INCOMING
    outgoing = DataHubGraph.RelationshipDirection.OUTGOING
    return {
        "owned": sorted(e.urn for e in graph.get_related_entities(USER, ["OwnedBy"], incoming)),
        "upstream": sorted(
            e.urn for e in graph.get_related_entities(DAILY, ["DownstreamOf"], outgoing)
        ),
    }


def find(graph: DataHubGraph, client: DataHubClient) -> dict[str, object]:
    tagged = {"field": "tags", "condition": "EQUAL", "values": [PII]}
    return {
        "by filter": sorted(graph.get_urns_by_filter(entity_types=["dataset"], platform="hive")),
        "by query": sorted(graph.get_urns_by_filter(entity_types=["dataset"], query="daily")),
        "by tag": sorted(graph.get_urns_by_filter(entity_types=["dataset"], extraFilters=[tagged])),
        "client": sorted(str(urn) for urn in client.search.get_urns("daily")),
        "client filter": sorted(
            str(urn)
            for urn in client.search.get_urns(
                filter=F.and_(F.platform("hive"), F.entity_type("dataset"))
            )
        ),
    }


def lineage(client: DataHubClient) -> dict[str, object]:
    client.lineage.add_lineage(upstream=DAILY, downstream=REPORT)
    down = client.lineage.get_lineage(source_urn=ORDERS, direction="downstream", max_hops=3)
    up = client.lineage.get_lineage(source_urn=REPORT, direction="upstream", max_hops=1)
    column = client.lineage.get_lineage(
        source_urn=ORDERS, source_column="id", direction="downstream"
    )
    return {
        "downstream": sorted((found.urn, found.hops) for found in down),
        "upstream": sorted((found.urn, found.hops) for found in up),
        "paths": {
            found.urn: [step.urn for step in found.paths or ()] for found in down if found.paths
        },
        "column": sorted(found.urn for found in column),
    }


def column_lineage(graph: DataHubGraph, client: DataHubClient) -> dict[str, object]:
    """A column that goes through three tables, by a query, by a job and plainly."""
    first, second, third = (
        Dataset(platform="hive", name=f"flow.{name}", schema=[("id", "string"), ("day", "string")])
        for name in ("first", "second", "third")
    )
    last = Dataset(platform="mysql", name="flow.last", schema=[("id", "string")])
    for table in (first, second, third, last):
        client.entities.upsert(table)
    client.lineage.add_lineage(
        upstream=first.urn,
        downstream=second.urn,
        column_lineage={"id": ["id"]},
        transformation_text="INSERT INTO second SELECT id FROM first",
    )
    job = DataJobUrn.create_from_ids("urn:li:dataFlow:(airflow,flow,PROD)", "copy")
    graph.emit(
        mcp(
            str(job),
            model.DataJobInputOutputClass(
                inputDatasets=[str(second.urn)],
                outputDatasets=[str(third.urn)],
                fineGrainedLineages=[
                    model.FineGrainedLineageClass(
                        upstreamType="FIELD_SET",
                        downstreamType="FIELD_SET",
                        upstreams=[make_schema_field_urn(str(second.urn), "id")],
                        downstreams=[make_schema_field_urn(str(third.urn), "id")],
                    )
                ],
            ),
        )
    )
    client.lineage.add_lineage(upstream=third.urn, downstream=last.urn, column_lineage=True)

    def ask(urn: object, column: str | None, **more: object) -> list[Any]:
        found = client.lineage.get_lineage(source_urn=urn, source_column=column, **more)
        return sorted(
            [one.urn, one.type, one.hops, [f"{s.entity_name}.{s.column_name}" for s in one.paths]]
            for one in found
        )

    down = {"direction": "downstream", "max_hops": 3}
    return {
        "down": ask(str(first.urn), "id", **down),
        "of a column's URN": ask(SchemaFieldUrn(first.urn, "id"), None, **down),
        "two hops": ask(str(first.urn), "id", direction="downstream", max_hops=2),
        "up": ask(str(last.urn), "id", direction="upstream", max_hops=3),
        "of mysql": ask(
            str(first.urn),
            "id",
            filter=F.and_(F.platform("mysql"), F.entity_type("dataset")),
            **down,
        ),
        "jobs": ask(str(first.urn), "id", filter=F.entity_type("dataJob"), **down),
        "of no lineage": ask(str(first.urn), "day", **down),
    }


def entities(client: DataHubClient) -> dict[str, object]:
    client.entities.upsert(
        Dataset(
            platform="hive",
            name="shop.customers",
            description="One row a customer",
            schema=[("id", "string", "The number"), ("mail", "string")],
            owners=[CorpUserUrn("ada")],
            tags=[TagUrn("PII")],
        )
    )
    found = client.entities.get(DatasetUrn("hive", "shop.customers", "PROD"))
    found.set_description("One row for each customer")
    client.entities.update(found)
    again = client.entities.get(DatasetUrn("hive", "shop.customers", "PROD"))
    return {
        "description": again.description,
        "columns": [column.field_path for column in again.schema],
        "owners": [str(owner.owner) for owner in again.owners or ()],
        "tags": [str(tag.tag) for tag in again.tags or ()],
    }


def remove(graph: DataHubGraph) -> dict[str, object]:
    graph.soft_delete_entity(OLD)
    hidden = OLD not in graph.get_urns_by_filter(entity_types=["dataset"])
    rows = graph.hard_delete_entity(OLD)
    references = graph.delete_references_to_urn(RAW, dry_run=True)
    return {
        "hidden": hidden,
        "rows": list(rows),
        "gone": not graph.exists(OLD),
        "references": references[0],
    }


def main() -> None:
    graph = get_default_graph()
    client = DataHubClient(graph=graph)
    write(graph)
    said = {
        "patch": patch(graph),
        "read": read(graph),
        "timeseries": timeseries(graph),
        "relate": relate(graph),
        "find": find(graph, client),
        "lineage": lineage(client),
        "column lineage": column_lineage(graph, client),
        "entities": entities(client),
        "remove": remove(graph),
    }
    print(json.dumps(said))


main()
