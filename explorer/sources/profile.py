"""Profile the columns of tables on a sample: counts, and values that do not look personal.

At most 50,000 rows and about 64 MB of text are read per table, and a source is profiled for at most
ten minutes. Values of columns that look personal, by their name or content, are left out.
"""

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal
from threading import Timer
from typing import Any, Final

from explorer.sources.source import (
    ColumnDefinition,
    Inventory,
    SkippedPart,
    SourceOptions,
    TableDefinition,
)

MOST_ROWS: Final = 50_000
"""The number of rows read per table; a table with more is profiled on a sample."""

Sample = Callable[[Sequence[str]], Iterator[Sequence[Any]]]
"""A function that yields rows of a table with the columns of the given names, at most one row more
than `MOST_ROWS`. For columns of types that are not in `SCALARS`, it may yield any value that is not
null in place of one that is not null."""

_MOST_BYTES: Final = 64 << 20
_SECONDS: Final = 600
_TABLE_SECONDS: Final = 60
_MOST_COLUMNS: Final = 300
_MOST_LOOKED_AT: Final = 1_000
_MOST_FREQUENT: Final = 10
_BINS: Final = 10
_LONGEST_VALUE: Final = 200
_QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
SCALARS: Final = frozenset(("Number", "String", "Boolean", "Date", "Time", "Enum", "Null"))
"""The types of columns whose values are profiled; of other columns only nulls are counted."""

# Words in the names of columns that hold personal data or credentials.
_PERSONAL_WORDS: Final = frozenset(
    (
        *("address", "addr", "age", "birth", "birthday", "birthdate", "born", "card", "cell"),
        *("contact", "cookie", "cvc", "cvv", "dob", "email", "ethnicity", "fax", "firstname"),
        *("fname", "gender", "iban", "imei", "income", "ip", "ipaddress", "lastname", "lat"),
        *("latitude", "license", "lname", "lng", "login", "lon", "longitude", "mac", "mail"),
        *("maiden", "mobile", "msisdn", "name", "nationality", "nickname", "pan", "passport"),
        *("passwd", "password", "phone", "photo", "pin", "postcode", "postal", "pwd", "race"),
        *("religion", "salary", "secret", "session", "sex", "signature", "sin", "ssn", "street"),
        *("surname", "tax", "tel", "telephone", "token", "user", "username", "vat", "zip"),
        *("zipcode", "apikey", "credential", "credentials", "fullname", "diagnosis", "wage"),
        *("wages", "pay", "payroll", "bonus", "vorname", "nachname", "geburt", "geboren"),
        *("gehalt", "lohn", "strasse", "straße", "plz", "telefon", "handy", "anschrift"),
    )
)
# The longer words are also searched within other words, as in `dateofbirth`.
_LONG_WORDS: Final = tuple(word for word in _PERSONAL_WORDS if len(word) > 4 and word[1:] != "name")
# Dates in columns whose names have one of these words are those of events; others may be personal.
_EVENTS: Final = frozenset(
    (
        *("archived", "begin", "begins", "billing", "changed", "closed", "completed", "created"),
        *("creation", "deleted", "delivered", "delivery", "due", "effective", "end", "ended"),
        *("ends", "event", "expires", "expiry", "exported", "extracted", "finished", "fiscal"),
        *("imported", "ingested", "insert", "inserted", "invoice", "invoiced", "load", "loaded"),
        *("logged", "modified", "opened", "order", "ordered", "partition", "period", "placed"),
        *("processed", "published", "received", "recorded", "released", "run", "sale", "sales"),
        *("scheduled", "seen", "sent", "shipped", "shipping", "snapshot", "start", "started"),
        *("starts", "synced", "transaction", "update", "updated", "valid"),
    )
)
_MOMENTS: Final = frozenset(
    (
        *("at", "date", "datetime", "day", "dt", "from", "hour", "minute", "month", "on"),
        *("quarter", "time", "timestamp", "to", "ts", "until", "utc", "week", "year"),
    )
)
_WORD: Final = re.compile(r"[A-ZÄÖÜ]+(?![a-zäöüß])|[A-ZÄÖÜ]?[a-zäöüß]+")
_PERSONAL_VALUES: Final = re.compile(
    r"""
      [^@\s]+@[^@\s]+\.[^@\s]+                                       # a mail address
    | \+?\(?\d[\d\s().\-/]{7,20}\d                                   # a telephone number, a card
    | (?:\d{1,3}\.){3}\d{1,3}(?:/\d+)?                               # addresses in a network
    | (?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?:/\d+)? | (?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}
    | [A-Z]{2}\d{2}\s?(?:[A-Z0-9]{4}\s?){2,7}[A-Z0-9]{1,4}           # a bank account
    | eyJ[\w-]+\.[\w-]+\.[\w-]*                                      # tokens and keys
    | (?=[^\s]*\d)(?=[^\s]*[A-Za-z])[A-Za-z0-9_\-+/=.]{24,}
    | \d+[a-z]?,?\s+\w+.*\b(?:st|street|ave|avenue|road|rd|lane|drive|blvd)\b.*  # a street
    | [\w.\-äöüß]+(?:straße|strasse|weg|gasse|platz)\s+\d+.*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DATE_TEXT: Final = re.compile(r"\d{4}-\d\d-\d\d([T ][\d:.+Z -]*)?")
_MEASURES: Final = (bool, int, float, Decimal, date, clock, timedelta)
_PERSONAL_SHARE: Final = 0.01
_FREE_TEXT: Final = 60


def is_personal(column: ColumnDefinition, values: Sequence[Any]) -> bool:
    """Return whether a column looks as if it held personal data.

    This is the case if its name suggests it, if more than one value in a hundred looks personal, if
    its texts are long or mostly distinct, or if it contains dates and its name does not refer to an
    event.
    """
    words = {word.lower() for word in _WORD.findall(column.path.rpartition(".")[2])}
    joined = "".join(_WORD.findall(column.path)).lower()
    if words & _PERSONAL_WORDS or any(word in joined for word in _LONG_WORDS):
        return True
    distinct_values = list(dict.fromkeys(value for value in values if value is not None))
    numbers = [
        str(value)
        for value in distinct_values[:_MOST_LOOKED_AT]
        if isinstance(value, int | Decimal) and not isinstance(value, bool)
    ]
    if sum(map(_is_card, numbers)) > max(1, len(numbers) // 2):
        return True
    # As text, also network addresses, UUIDs and other types of the driver.
    texts = [str(value) for value in distinct_values if not isinstance(value, _MEASURES)]
    looked_at = texts[:_MOST_LOOKED_AT]
    has_dates = any(isinstance(value, date) for value in distinct_values) or (
        bool(looked_at) and all(map(_DATE_TEXT.fullmatch, looked_at))
    )
    if has_dates and not (words & _EVENTS or (words and words <= _MOMENTS)):
        return True
    if not looked_at:
        return False
    personal_count = sum(
        bool(_PERSONAL_VALUES.fullmatch(text.strip())) and not _DATE_TEXT.fullmatch(text.strip())
        for text in looked_at
    )
    if personal_count > _PERSONAL_SHARE * len(looked_at) or any("@" in text for text in texts):
        return True
    if all(_DATE_TEXT.fullmatch(text) or _is_number(text) for text in looked_at):
        return False
    is_free = sum(map(len, looked_at)) > _FREE_TEXT * len(looked_at)
    number = sum(value is not None for value in values)
    return is_free or (len(texts) > 20 and len(texts) > 0.5 * number)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_card(digits: str) -> bool:
    """Return whether digits have the length and check digit of a card number."""
    if not digits.isdigit() or not 13 <= len(digits) <= 19:
        return False
    doubled = (int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(digits)))
    return sum(product - 9 if product > 9 else product for product in doubled) % 10 == 0


@contextmanager
def limit_time(interrupt: Callable[[], Any]) -> Iterator[None]:
    """Call `interrupt` if the block runs longer than the time limit of a table."""
    timer = Timer(_TABLE_SECONDS, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@dataclass(slots=True)
class Profiler:
    """Profiles the tables of a source, one after another, within the time limit."""

    options: SourceOptions
    inventory: Inventory
    _ends: float = field(default_factory=lambda: time.monotonic() + _SECONDS)

    def profile(self, table: TableDefinition, sample: Sample) -> None:
        """Add column profiles to a table, if the options ask for them. Views are skipped; tables
        reached after the time limit are listed as skipped in the inventory."""
        listed = [column for column in table.columns or () if not column.is_nested][:_MOST_COLUMNS]
        is_kept = table.subtype in ("Table", "File", "Materialized View")
        if not self.options.profile or not listed or not is_kept:
            return
        if time.monotonic() > self._ends:
            reason = "not profiled: the time limit of ten minutes for a source was reached"
            self.inventory.skipped.append(SkippedPart(".".join(table.path), reason))
            return
        try:
            self._measure(table, listed, sample)
        except (ArithmeticError, TypeError, ValueError) as error:
            # Python cannot compare, hash or convert one of the values.
            reason = f"not profiled: {type(error).__name__} at one of its values"
            self.inventory.skipped.append(SkippedPart(".".join(table.path), reason))

    def _measure(
        self, table: TableDefinition, listed: Sequence[ColumnDefinition], sample: Sample
    ) -> None:
        columns: list[list[Any]] = [[] for _ in listed]
        rows = size = 0
        is_sample = False
        for row in sample([definition.path for definition in listed]):
            if rows == MOST_ROWS or size > _MOST_BYTES or time.monotonic() > self._ends:
                is_sample = True
                break
            rows += 1
            for values, value in zip(columns, row, strict=True):
                values.append(value)
                if isinstance(value, str | bytes):
                    size += len(value)
                elif isinstance(value, list | tuple | dict):
                    size += len(repr(value))
        is_sample = is_sample or (table.row_count or 0) > rows >= MOST_ROWS
        profiles = [
            self._column(column, values, is_sample=is_sample)
            for column, values in zip(listed, columns, strict=True)
        ]
        if not is_sample:
            table.row_count = rows
        table.sampled_rows = rows if is_sample else None
        table.field_profiles = profiles
        self.inventory.count("profiled table")

    def _column(
        self, column: ColumnDefinition, values: list[Any], *, is_sample: bool
    ) -> dict[str, Any]:
        present_values = [value for value in values if value is not None and not _is_nan(value)]
        profile: dict[str, Any] = {"fieldPath": column.path}
        if not values:
            return profile | ({} if is_sample else {"nullCount": 0})
        # Counts in a sample are not counts of the table.
        if not is_sample:
            profile["nullCount"] = len(values) - len(present_values)
        profile["nullProportion"] = round(1 - len(present_values) / len(values), 6)
        if column.kind not in SCALARS or not all(
            isinstance(value, Hashable) for value in present_values
        ):
            return profile
        counted = Counter(present_values)
        if not is_sample:
            profile["uniqueCount"] = len(counted)
        if present_values:
            profile["uniqueProportion"] = round(len(counted) / len(present_values), 6)
        if not present_values:
            return profile
        if not self.options.values and is_personal(column, present_values):
            self.inventory.count("column without values")
            return profile
        return profile | _values(present_values, counted, is_sample=is_sample)


def _is_nan(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float) and math.isnan(value)


def _values(values: list[Any], counts: Counter[Any], *, is_sample: bool) -> dict[str, Any]:
    """Return the statistics of values that may be shown."""
    statistics: dict[str, Any] = {}
    first = values[0]
    if isinstance(first, bool) or all(isinstance(value, bool) for value in counts):
        pass
    elif all(isinstance(value, int | float | Decimal) for value in counts):
        statistics |= _numbers(sorted(float(value) for value in values))
        statistics |= {"min": _text(min(counts)), "max": _text(max(counts))}
    elif any(
        all(isinstance(value, kind) for value in counts) for kind in (str, datetime, clock)
    ) or (all(isinstance(value, date) and not isinstance(value, datetime) for value in counts)):
        statistics |= {"min": _text(min(counts)), "max": _text(max(counts))}
    if not is_sample and len(counts) < len(values):
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], _text(pair[0])))
        statistics["distinctValueFrequencies"] = [
            {"value": _text(value), "frequency": number}
            for value, number in ranked[:_MOST_FREQUENT]
        ]
    return statistics


def _numbers(ordered: list[float]) -> dict[str, Any]:
    """Return the mean, median, standard deviation, quantiles and histogram of sorted numbers; empty
    if one is infinite."""
    if not math.isfinite(ordered[0]) or not math.isfinite(ordered[-1]):
        return {}
    number = len(ordered)
    mean = math.fsum(ordered) / number
    statistics: dict[str, Any] = {"mean": _text(mean), "median": _text(_quantile(ordered, 0.5))}
    if number > 1:
        spread = math.fsum((value - mean) ** 2 for value in ordered) / (number - 1)
        statistics["stdev"] = _text(math.sqrt(spread))
    statistics["quantiles"] = [
        {"quantile": str(part), "value": _text(_quantile(ordered, part))} for part in _QUANTILES
    ]
    low, high = ordered[0], ordered[-1]
    if low < high and math.isfinite(high - low):
        heights = [0] * _BINS
        for measure in ordered:
            heights[min(int((measure - low) / (high - low) * _BINS), _BINS - 1)] += 1
        bounds = [low + (high - low) * at / _BINS for at in range(_BINS + 1)]
        statistics["histogram"] = {
            "boundaries": [_text(bound) for bound in bounds],
            "heights": [round(height / number, 6) for height in heights],
        }
    return statistics


def _quantile(ordered: list[float], part: float) -> float:
    at = part * (len(ordered) - 1)
    low = int(at)
    above = ordered[min(low + 1, len(ordered) - 1)]
    return ordered[low] + (above - ordered[low]) * (at - low)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, date | clock):
        return value.isoformat()
    return str(value)[:_LONGEST_VALUE]
