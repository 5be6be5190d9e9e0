"""The profile of one column, day by day."""

from datetime import date, timedelta
from random import Random
from typing import Any

from msgspec.structs import replace

from explorer.sample.days import Days
from explorer.sample.drift import NewValue, RisingNulls
from explorer.sample.tables import Column
from explorer.sample.values import USUAL, Values, read_values

__all__ = ["ColumnProfile"]

_SINCE = "2016-01-04"
_NUMBERS = frozenset({"int", "money", "float", "share"})
_TIMES = frozenset({"date", "ts"})

# Different values among the filled ones, where the notation does not say: a share or a number.
_DISTINCT = {"id": 0.61, "uuid": 0.97, "text": 0.43, "ts": 0.94, "hash": 0.98, "enum": 6.0}


class ColumnProfile:
    """What can be said of a column on each day: made once, asked for every day."""

    def __init__(
        self,
        table: str,
        column: Column,
        rows: int,
        days: Days,
        rising: RisingNulls | None,
        new: NewValue | None,
        dice: Random,
    ) -> None:
        values = read_values(column.values or USUAL.get(column.name, ""))
        if column.kind == "bool" and not values.weights:
            values = replace(values, weights=(("false", 70.0), ("true", 30.0)))
        if column.kind in _TIMES and not values.low:
            values = replace(values, low=_SINCE)
        self.described = bool(column.values)
        self._column = column
        self._values = values
        self._days = days
        self._rising = rising
        self._new = new
        self._dice = dice
        self._seed = f"{table} {column.field_path}"
        self._empty = values.empty
        if self._empty is None:
            self._empty = 0.0 if column.required else dice.choice((0.0, 0.0, 0.002, 0.018))
        self._total_weight = sum(weight for _, weight in values.weights)
        self._mean = float(values.mean or 0)
        self._span = _span(column, values)
        self._samples = list(values.samples) or self._drawn(rows)

    def on(self, ago: int, rows: int) -> dict[str, Any]:
        """The field profile that many days ago, in a table of so many rows."""
        # What moved is the same on every day that the sample is made for.
        self._dice.seed(f"{self._seed} {ago}")
        empty = self._empty or 0.0
        if self._rising:
            empty = self._rising.on(ago, empty)
        nulls = round(rows * empty * self._dice.uniform(0.996, 1.004)) if empty else 0
        filled = rows - nulls
        profile: dict[str, Any] = {"fieldPath": self._column.field_path}
        if self._values.weights:
            frequencies = self._frequencies(ago, filled)
            profile["distinctValueFrequencies"] = frequencies
            unique = len(frequencies)
        else:
            unique = self._unique(ago, filled)
        profile["uniqueCount"] = unique
        profile["uniqueProportion"] = round(unique / rows, 9)
        profile["nullCount"] = nulls
        profile["nullProportion"] = round(nulls / rows, 9)
        if self._column.kind in _TIMES:
            self._add_times(profile, ago)
        elif self._mean:
            self._add_numbers(profile)
        if self._samples:
            profile["sampleValues"] = self._samples
        return profile

    def _frequencies(self, ago: int, filled: int) -> list[dict[str, Any]]:
        """Each value with its rows, the most frequent first; together all that are filled."""
        new = self._new.on(ago) if self._new else 0
        part = (filled - new) / self._total_weight
        counts = {value: int(part * weight) for value, weight in self._values.weights}
        if self._new and new:
            counts[self._new.value] = new
        ranked = sorted(counts, key=counts.__getitem__, reverse=True)
        counts[ranked[0]] += filled - sum(counts.values())
        return [{"value": value, "frequency": counts[value]} for value in ranked]

    def _unique(self, ago: int, filled: int) -> int:
        distinct = self._values.distinct
        kind = self._column.kind
        if distinct is None:
            if kind == "date":
                return min(filled, (self._last(ago) - self._first(ago)).days + 1)
            if kind in _NUMBERS:
                return min(int(filled**0.62), self._span)
            distinct = _DISTINCT.get(kind, 12.0)
        if distinct <= 1:
            return int(filled * distinct)
        return min(filled, int(distinct * (1 - 0.0003 * ago)))

    def _add_times(self, profile: dict[str, Any], ago: int) -> None:
        if self._column.kind == "date":
            profile["min"] = str(self._first(ago))
            profile["max"] = str(self._last(ago))
        else:
            profile["min"] = f"{self._first(ago)} 07:12:09"
            profile["max"] = f"{self._last(ago)} 23:58:{17 + ago}"

    def _add_numbers(self, profile: dict[str, Any]) -> None:
        values = self._values
        mean = self._mean * self._dice.uniform(0.9985, 1.0015)
        profile["min"] = values.low
        profile["max"] = values.high
        profile["mean"] = f"{mean:.{values.decimals}f}"
        profile["median"] = values.median

    def _first(self, ago: int) -> date:
        return self._date(self._values.low, ago)

    def _last(self, ago: int) -> date:
        return self._date(self._values.high or "today", ago)

    def _date(self, text: str, ago: int) -> date:
        """A date of the notation, as seen that many days ago: the day that has just ended."""
        if not text.startswith("today"):
            return date.fromisoformat(text)
        return self._days.on(ago + 1) + timedelta(days=int(text.removeprefix("today") or 0))

    def _drawn(self, rows: int) -> list[str]:
        """Samples drawn from what the values are; none of what could name a person."""
        column = self._column
        if self._values.weights:
            ranked = sorted(self._values.weights, key=lambda pair: -pair[1])
            return [value for value, _ in ranked[:5]]
        if "PII" in column.tags:
            return []
        return [sample for _ in range(4) if (sample := self._draw(rows))]

    def _draw(self, rows: int) -> str:
        dice = self._dice
        column = self._column
        match column.kind:
            case "id":
                distinct = self._values.distinct or 1.0
                return str(dice.randrange(1, int(distinct) if distinct > 1 else rows))
            case "uuid":
                bits = f"{dice.getrandbits(128):032x}"
                return f"{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-a{bits[17:20]}-{bits[20:]}"
            case "date":
                return str(self._draw_date())
            case "ts":
                hour, minute, second = dice.randrange(7, 23), dice.randrange(60), dice.randrange(60)
                return f"{self._draw_date()} {hour:02}:{minute:02}:{second:02}"
            case _ if self._mean:
                low, high = float(self._values.low), float(self._values.high)
                drawn = low + dice.expovariate(1 / max(self._mean - low, 0.01))
                return (
                    f"{min(drawn, high):.{0 if column.kind == 'int' else self._values.decimals}f}"
                )
            case _:
                return ""

    def _draw_date(self) -> date:
        first = self._first(0)
        return first + timedelta(days=self._dice.randrange((self._last(0) - first).days + 1))


def _span(column: Column, values: Values) -> int:
    """How many different numbers there can be between the lowest and the highest."""
    if column.kind not in _NUMBERS or not values.mean:
        return 10_000
    decimals = 0 if column.kind == "int" else values.decimals
    return int((float(values.high) - float(values.low)) * 10**decimals) + 1
