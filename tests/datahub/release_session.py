"""DataHub's command and SDK, used with what every release since 0.10 has; the last line is what
came back.

The commands run in this process, for most of a command's time goes into its imports.
"""

import json
from pathlib import Path

from click.testing import CliRunner
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.rest_emitter import DatahubRestEmitter
from datahub.entrypoints import datahub
from datahub.ingestion.graph.client import get_default_graph
from datahub.metadata import schema_classes as model

COMMANDED = "urn:li:dataset:(urn:li:dataPlatform:hive,released.commanded,PROD)"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,released.orders,PROD)"
NEVER = "urn:li:dataset:(urn:li:dataPlatform:hive,released.never,PROD)"
GHOST = "urn:li:dataset:(urn:li:dataPlatform:hive,released.ghost,PROD)"


def command(*arguments: str) -> str:
    """What a command writes; it must not fail."""
    done = CliRunner().invoke(datahub, arguments, catch_exceptions=False)
    assert done.exit_code == 0, f"{arguments}\n{done.output}"
    return str(done.output)


def commands() -> dict[str, object]:
    named = ("--urn", COMMANDED)
    file = Path("released.json")
    file.write_text(json.dumps({"description": "Put by a command"}))
    command("put", *named, "--aspect", "datasetProperties", "-d", str(file))
    said: dict[str, object] = {
        "get": "Put by a command" in command("get", *named),
        "exists": "true" in command("exists", *named),
        "exists not": "false" in command("exists", "--urn", NEVER),
    }
    if "dataset" in datahub.commands:
        said["dataset get"] = "Put by a command" in command("dataset", "get", *named)
    command("delete", *named, "--soft", "--force")
    said["hidden"] = '"removed": true' in command("get", *named, "--aspect", "status")
    command("delete", *named, "--hard", "--force")
    said["gone"] = "false" in command("exists", *named)
    return said


def round_trip() -> dict[str, object]:
    graph = get_default_graph()
    emitter = DatahubRestEmitter(graph.config.server)
    emitter.test_connection()
    written = model.DatasetPropertiesClass(description="One row an order")
    emitter.emit(MetadataChangeProposalWrapper(entityUrn=ORDERS, aspect=written))
    snapshot = model.DatasetSnapshotClass(urn=ORDERS, aspects=[model.StatusClass(removed=False)])
    emitter.emit(model.MetadataChangeEventClass(proposedSnapshot=snapshot))
    properties = graph.get_aspect(ORDERS, model.DatasetPropertiesClass)
    said: dict[str, object] = {
        "aspect": properties.description if properties else None,
        "no aspect": graph.get_aspect(ORDERS, model.ViewPropertiesClass),
        "semityped": "datasetProperties" in graph.get_entity_semityped(ORDERS),
        "exists": [graph.exists(ORDERS), graph.exists(NEVER)],
        "found": list(graph.get_urns_by_filter(entity_types=["dataset"], query="orders")),
    }
    graph.soft_delete_entity(ORDERS)
    graph.soft_delete_entity(GHOST)
    status = graph.get_aspect(GHOST, model.StatusClass)
    graph.hard_delete_entity(GHOST)
    said["hidden though never there"] = status.removed if status else None
    said["rows"] = [graph.hard_delete_entity(ORDERS)[0] > 0, graph.hard_delete_entity(ORDERS)[0]]
    return said


print(json.dumps({"commands": commands(), "sdk": round_trip()}))
