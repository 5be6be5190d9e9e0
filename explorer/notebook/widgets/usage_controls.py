"""The usage chart of a dataset with controls for range and measure."""

import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar
from uuid import uuid4

import ipywidgets

from explorer.client.display import line
from explorer.errors import CatalogError
from explorer.notebook.widgets.base import SavedHtml, SavedWithHtml
from explorer.views.absence import LOADING

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from explorer.notebook.chart import ShownChart

_log = logging.getLogger(__name__)

_RANGES: Mapping[str, int | None] = {
    "7 days": 7,
    "30 days": 30,
    "90 days": 90,
    "a year": 365,
    "ever": None,
}


class UsageMeasures(Protocol):
    """The usage of a time range, whose measures have a chart each."""

    def over_time(self) -> "ShownChart":
        """Return the chart by time."""

    def by_column(self) -> "ShownChart":
        """Return the chart by column."""

    def by_user(self) -> "ShownChart":
        """Return the chart by user."""


_UsageT = TypeVar("_UsageT", bound=UsageMeasures)
_MEASURES: "Mapping[str, Callable[[UsageMeasures], ShownChart]]" = {
    "over time": lambda usage: usage.over_time(),
    "by column": lambda usage: usage.by_column(),
    "by user": lambda usage: usage.by_user(),
}
_LONGEST_SENTENCE = 300


class UsageControls(SavedWithHtml, ipywidgets.VBox, Generic[_UsageT]):  # type: ignore[misc]
    """A usage chart whose range and measure can be chosen.

        controls = cat["fct_orders"].usage().controls()
        controls

    `usage` is the usage shown, for use in the next cell. Requests never block the kernel's thread;
    `wait()` waits for them. The controls are ipywidgets, whose values can be set and observed:
    `controls.range.value = "90 days"`. marimo, which does not show ipywidgets, shows only the
    chart.
    """

    def __init__(
        self,
        usage: _UsageT,
        read_usage: "Callable[[int | None], _UsageT]",
        last_days: int | None = None,
        between: "tuple[str, Callable[[], _UsageT]] | None" = None,
    ) -> None:
        """Start with the usage of the last days, or `between` two times: a pair of the range in
        words and a function that reads it again. `read_usage` reads another number of days, and is
        called only when a range is chosen."""
        self._usage = usage
        self._lock = threading.Condition()
        self._requested, self._answered = 0, 0
        days_by_name = dict(_RANGES)
        if last_days is not None and last_days not in days_by_name.values():
            days_by_name = {f"{last_days:,} days": last_days, **days_by_name}
        range_name = next(name for name, days in days_by_name.items() if days == last_days)
        ranges = {name: partial(read_usage, days) for name, days in days_by_name.items()}
        self._ranges: Mapping[str, Callable[[], _UsageT]] = ranges
        if between is not None:
            range_name, _ = between
            self._ranges = dict([between]) | ranges
        self.range = ipywidgets.ToggleButtons(
            options=list(self._ranges),
            value=range_name,
            tooltips=[f"use of {name}" for name in self._ranges],
        )
        # Buttons as wide as their words.
        self.range.style.button_width = "auto"
        self.measure = ipywidgets.Dropdown(
            options=list(_MEASURES), value="over time", description="measure"
        )
        self.measure.layout.width = "auto"
        self._status = ipywidgets.Label()
        self._chart = ipywidgets.Output()
        self.still = uuid4().hex
        controls = ipywidgets.HBox([self.range, self.measure, self._status])
        controls.layout.flex_flow = "row wrap"
        super().__init__([controls, self._chart, SavedHtml(still=self.still)])
        self.add_class("catalog-controls")
        self.range.observe(lambda _: self._read(), "value")
        self.measure.observe(lambda _: self._draw(), "value")
        self._draw()

    @property
    def usage(self) -> _UsageT:
        """Return the usage shown."""
        return self._usage

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until the chart shows the chosen range; return whether that happened in time."""
        with self._lock:
            return self._lock.wait_for(lambda: self._answered == self._requested, timeout_seconds)

    def _read(self) -> None:
        with self._lock:
            self._requested += 1
            number, name = self._requested, self.range.value
        self._status.value = LOADING.phrase
        threading.Thread(
            target=self._read_range, args=(number, self._ranges[name]), name="catalog-usage"
        ).start()

    def _read_range(self, number: int, read_usage: "Callable[[], _UsageT]") -> None:
        chart, status = None, ""
        try:
            chart = read_usage()
        except CatalogError as error:
            status = line(str(error), _LONGEST_SENTENCE)
        # The outermost edge: no other code would show an unexpected exception.
        except Exception as error:
            _log.debug("the usage could not be read", exc_info=True)
            status = line(f"{type(error).__name__}: {error}", _LONGEST_SENTENCE)
        with self._lock:
            # Of several ranges chosen in a row the last one counts.
            if number == self._requested:
                self._usage = chart or self._usage
                self._draw()
                self._status.value = status
                self._answered = number
                self._lock.notify_all()

    def _build_chart(self) -> "ShownChart":
        return _MEASURES[self.measure.value](self._usage)

    def _draw(self) -> None:
        data = self._build_chart()._repr_mimebundle_()
        # The outputs are set at once, because an `Output` captures those of one thread only.
        self._chart.outputs = ({"output_type": "display_data", "data": data, "metadata": {}},)

    def __repr__(self) -> str:
        return repr(self._build_chart())

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the controls and the chart, and the chart alone for front ends without a
        kernel."""
        bundle = super()._repr_mimebundle_(**kwargs)
        return {
            **bundle,
            "text/plain": repr(self),
            "text/html": self._build_chart()._repr_html_(),
        }

    def _display_(self) -> "go.Figure":
        # Called by marimo.
        return self._build_chart().figure()
