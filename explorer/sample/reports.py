"""Charts, dashboards, and the pipelines that load what they show."""

from typing import Any

from explorer.metadata import Urn
from explorer.sample.datasets import ownership_value, tags_value
from explorer.sample.tables import AspectEdit, Changes, Days, audit_stamp, user
from explorer.sample.warehouse import Warehouse, read_data, rows

__all__ = ["chart_inputs", "pipelines", "reports"]

_AIRFLOW = "airflow"
_CLUSTER = "prod"
_AIRFLOW_SITE = "https://airflow.tarnwood.example/dags"


def pipelines(warehouse: Warehouse, days: Days) -> Changes:
    """Return every flow with its jobs after it."""
    flow = Urn.of("dataFlow", _AIRFLOW, "none", _CLUSTER)
    owner = ""
    for cells in rows(read_data("pipelines")):
        sign, _, name = cells[0].partition(" ")
        if sign == "=":
            title, schedule, owner, description = cells[1:]
            flow = Urn.of("dataFlow", _AIRFLOW, name, _CLUSTER)
            value: dict[str, Any] = {
                "name": title,
                "description": description,
                "externalUrl": f"{_AIRFLOW_SITE}/{name}",
                "customProperties": {"schedule": schedule},
                "created": {"time": days.millis(500)},
            }
            yield AspectEdit(flow, "dataFlowInfo", value)
            yield from _pipeline_common(flow, f"/{_AIRFLOW}/{_CLUSTER}", owner, days)
        else:
            yield from _job(flow, name, cells[1], cells[2:], warehouse)
            job = Urn.of("dataJob", flow, name)
            yield from _pipeline_common(job, f"/{_AIRFLOW}/{_CLUSTER}/{flow.parts[1]}", owner, days)


def _job(flow: Urn, name: str, moved: str, more: list[str], warehouse: Warehouse) -> Changes:
    job = Urn.of("dataJob", flow, name)
    info: dict[str, Any] = {
        "name": name,
        "type": {"string": "PYTHON"},
        "flowUrn": str(flow),
        "externalUrl": f"{_AIRFLOW_SITE}/{flow.parts[1]}/grid?task_id={name}",
    }
    yield AspectEdit(job, "dataJobInfo", info)
    inputs, _, outputs = moved.partition("=>")
    value: dict[str, Any] = {
        "inputDatasets": [str(warehouse[one].urn) for one in inputs.split()],
        "outputDatasets": [str(warehouse[one].urn) for one in outputs.split()],
    }
    before = [text.removeprefix("after ") for text in more]
    if before:
        value["inputDatajobs"] = [str(Urn.of("dataJob", flow, one)) for one in before]
    yield AspectEdit(job, "dataJobInputOutput", value)


def _pipeline_common(urn: Urn, path: str, owner: str, days: Days) -> Changes:
    platform = {"platform": str(Urn.of("dataPlatform", _AIRFLOW))}
    yield AspectEdit(urn, "dataPlatformInstance", platform)
    yield AspectEdit(urn, "browsePaths", {"paths": [path]})
    owners = ((owner, "TECHNICAL_OWNER"),)
    yield AspectEdit(urn, "ownership", ownership_value(owners, days.millis(45)))


_TOOL = "looker"
_SITE = "https://looker.tarnwood.example"


def reports(warehouse: Warehouse, days: Days) -> Changes:
    """Return every dashboard after the charts that are first shown on it."""
    dashboards: list[tuple[list[str], list[str]]] = []
    for cells in rows(read_data("reports")):
        sign, _, number = cells[0].partition(" ")
        if sign == "=":
            dashboards.append(([number, *cells[1:]], []))
            continue
        head, charts = dashboards[-1]
        charts.append(str(_chart_urn(number)))
        if len(cells) > 1:
            yield from _chart(number, cells[1:], head, warehouse, days)
    for head, charts in dashboards:
        yield from _dashboard(head, charts, days)


def chart_inputs() -> frozenset[str]:
    """Return the names of the datasets that some chart is drawn from."""
    charts = [cells for cells in rows(read_data("reports")) if cells[0].startswith("- ")]
    return frozenset(name for cells in charts if len(cells) > 1 for name in cells[3].split())


def _chart_urn(number: str) -> Urn:
    return Urn.of("chart", _TOOL, f"dashboard_elements.{number}")


def _chart(
    number: str, cells: list[str], head: list[str], warehouse: Warehouse, days: Days
) -> Changes:
    title, kind, inputs, description = cells
    _, _, folder, domain, owners, *_ = head
    value: dict[str, Any] = {
        "title": title,
        "description": description,
        "lastModified": _stamps(int(number), days),
        "chartUrl": f"{_SITE}/looks/{number}",
        "inputs": [{"string": str(warehouse[name].urn)} for name in inputs.split()],
        "type": kind,
        "access": "PUBLIC",
    }
    urn = _chart_urn(number)
    yield AspectEdit(urn, "chartInfo", value)
    yield from _common(urn, folder, domain)
    first, *_ = owners.split()
    yield from _owned(urn, first, days)


def _dashboard(head: list[str], charts: list[str], days: Days) -> Changes:
    number, title, folder, domain, owners, tags, description = head
    value: dict[str, Any] = {
        "title": title,
        "description": description.replace("\\n", "\n"),
        "charts": charts,
        "lastModified": _stamps(int(number), days),
        "dashboardUrl": f"{_SITE}/dashboards/{number}",
        "access": "PUBLIC",
    }
    urn = Urn.of("dashboard", _TOOL, f"dashboards.{number}")
    yield AspectEdit(urn, "dashboardInfo", value)
    yield from _common(urn, folder, domain)
    yield from _owned(urn, owners, days)
    if tags:
        yield AspectEdit(urn, "globalTags", tags_value(tags.split()))


def _common(urn: Urn, folder: str, domain: str) -> Changes:
    platform = {"platform": str(Urn.of("dataPlatform", _TOOL))}
    yield AspectEdit(urn, "dataPlatformInstance", platform)
    yield AspectEdit(urn, "browsePaths", {"paths": [f"/{_TOOL}/{folder}"]})
    yield AspectEdit(urn, "domains", {"domains": [f"urn:li:domain:{domain}"]})


def _owned(urn: Urn, owners: str, days: Days) -> Changes:
    pairs = tuple((name, kind) for name, _, kind in (o.partition("/") for o in owners.split()))
    yield AspectEdit(urn, "ownership", ownership_value(pairs, days.millis(45)))


def _stamps(number: int, days: Days) -> dict[str, Any]:
    ago = 4 + number % 37
    return {
        "created": audit_stamp(days.millis(300 + number % 211), user("jlarsen")),
        "lastModified": audit_stamp(days.millis(ago), user("jlarsen")),
    }
