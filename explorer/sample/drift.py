"""What goes wrong, or changes, in the last days of the sample: there to be noticed.

dim_customers.country_code   ever more rows have none, since the address book is moved
fct_shipments                no new rows: the carriers' feed hangs
fct_payments.method          a way to pay that was not there before
"""

from typing import NamedTuple

__all__ = ["NEW_VALUES", "RISING_NULLS", "STALLED", "NewValue", "RisingNulls"]


class RisingNulls(NamedTuple):
    """A share of empty values that rises from `since` days ago up to `share` today."""

    since: int
    share: float

    def on(self, ago: int, usual: float) -> float:
        """The share that many days ago, where it was `usual` before."""
        steps = max(self.since + 1 - ago, 0) / (self.since + 1)
        return usual + (self.share - usual) * steps


class NewValue(NamedTuple):
    """A value first seen `since` days ago, and how many rows get it a day."""

    value: str
    since: int
    rows_a_day: int

    def on(self, ago: int) -> int:
        """The rows that have it that many days ago."""
        return max(self.since + 1 - ago, 0) * self.rows_a_day


RISING_NULLS = {("analytics.marts.dim_customers", "country_code"): RisingNulls(9, 0.118)}

STALLED = {"analytics.marts.fct_shipments": 4}
"""Days since a table got its last row."""

NEW_VALUES = {("analytics.marts.fct_payments", "method"): NewValue("wero", 6, 184)}
