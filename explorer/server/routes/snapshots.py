"""Snapshot records: the entity types that have one, and what it is called."""

from explorer.metadata.registry import Registry

__all__ = ["WITH_SNAPSHOT", "snapshot_name"]

WITH_SNAPSHOT = frozenset(
    {
        "chart",
        "corpGroup",
        "corpuser",
        "dashboard",
        "dataFlow",
        "dataHubPolicy",
        "dataHubRetention",
        "dataJob",
        "dataPlatform",
        "dataProcess",
        "dataset",
        "glossaryNode",
        "glossaryTerm",
        "mlFeature",
        "mlFeatureTable",
        "mlModel",
        "mlModelDeployment",
        "mlModelGroup",
        "mlPrimaryKey",
        "schemaField",
        "tag",
    }
)
_SNAPSHOTS = "com.linkedin.metadata.snapshot."


def snapshot_name(registry: Registry, entity_type: str) -> str:
    """`…CorpUserSnapshot` for `corpuser`: snapshots are named as keys are."""
    key = registry.aspect(registry.entity(entity_type).key).record.rpartition(".")[2]
    return f"{_SNAPSHOTS}{key.removesuffix('Key')}Snapshot"
