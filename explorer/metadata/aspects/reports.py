"""Charts and dashboards."""

from explorer.metadata.aspects.record import Camel
from explorer.metadata.aspects.shared import ChangeStamps

__all__ = ["ChartInfo", "ChartKey", "DashboardInfo", "DashboardKey"]


class ChartKey(Camel, frozen=True):
    """What a chart's URN says."""

    chart_id: str = ""
    dashboard_tool: str = ""


class DashboardKey(Camel, frozen=True):
    """What a dashboard's URN says."""

    dashboard_id: str = ""
    dashboard_tool: str = ""


class ChartInfo(Camel, frozen=True):
    """A chart; `inputs` are `{"string": dataset URN}`."""

    title: str = ""
    description: str = ""
    inputs: tuple[dict[str, str], ...] | None = None
    last_modified: ChangeStamps = ChangeStamps()
    chart_url: str | None = None

    @property
    def input_urns(self) -> tuple[str, ...]:
        """The datasets it is made from, as written."""
        return tuple(urn for member in self.inputs or () for urn in member.values())


class DashboardInfo(Camel, frozen=True):
    """A dashboard and the charts on it."""

    title: str = ""
    description: str = ""
    charts: tuple[str, ...] = ()
    last_modified: ChangeStamps = ChangeStamps()
    dashboard_url: str | None = None
