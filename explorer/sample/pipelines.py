"""The Airflow flows and their jobs, with what they read and write."""

from typing import Any

from explorer.metadata import Urn
from explorer.sample.change import Change, Changes
from explorer.sample.datasets import ownership_value
from explorer.sample.days import Days
from explorer.sample.notation import rows
from explorer.sample.warehouse import Warehouse, read_data

__all__ = ["pipelines"]

_TOOL = "airflow"
_CLUSTER = "prod"
_SITE = "https://airflow.tarnwood.example/dags"


def pipelines(warehouse: Warehouse, days: Days) -> Changes:
    """Every flow with its jobs after it."""
    flow = Urn.of("dataFlow", _TOOL, "none", _CLUSTER)
    owner = ""
    for cells in rows(read_data("pipelines")):
        sign, _, name = cells[0].partition(" ")
        if sign == "=":
            title, schedule, owner, description = cells[1:]
            flow = Urn.of("dataFlow", _TOOL, name, _CLUSTER)
            value: dict[str, Any] = {
                "name": title,
                "description": description,
                "externalUrl": f"{_SITE}/{name}",
                "customProperties": {"schedule": schedule},
                "created": {"time": days.millis(500)},
            }
            yield Change(flow, "dataFlowInfo", value)
            yield from _common(flow, f"/{_TOOL}/{_CLUSTER}", owner, days)
        else:
            yield from _job(flow, name, cells[1], cells[2:], warehouse)
            job = Urn.of("dataJob", flow, name)
            yield from _common(job, f"/{_TOOL}/{_CLUSTER}/{flow.parts[1]}", owner, days)


def _job(flow: Urn, name: str, moved: str, more: list[str], warehouse: Warehouse) -> Changes:
    job = Urn.of("dataJob", flow, name)
    info: dict[str, Any] = {
        "name": name,
        "type": {"string": "PYTHON"},
        "flowUrn": str(flow),
        "externalUrl": f"{_SITE}/{flow.parts[1]}/grid?task_id={name}",
    }
    yield Change(job, "dataJobInfo", info)
    inputs, _, outputs = moved.partition("=>")
    value: dict[str, Any] = {
        "inputDatasets": [str(warehouse[one].urn) for one in inputs.split()],
        "outputDatasets": [str(warehouse[one].urn) for one in outputs.split()],
    }
    before = [text.removeprefix("after ") for text in more]
    if before:
        value["inputDatajobs"] = [str(Urn.of("dataJob", flow, one)) for one in before]
    yield Change(job, "dataJobInputOutput", value)


def _common(urn: Urn, path: str, owner: str, days: Days) -> Changes:
    platform = {"platform": str(Urn.of("dataPlatform", _TOOL))}
    yield Change(urn, "dataPlatformInstance", platform)
    yield Change(urn, "browsePaths", {"paths": [path]})
    owners = ((owner, "TECHNICAL_OWNER"),)
    yield Change(urn, "ownership", ownership_value(owners, days.millis(45)))
