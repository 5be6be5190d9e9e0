"""Numbers as people read them, and the round ones that stand on an axis."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Literal

__all__ = ["Unit", "compact", "round_numbers", "written"]

Unit = Literal["number", "share", "bytes", "times"]

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))
_SIZES = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_STEPS = (1, 2, 2.5, 5, 10)
_ALMOST = 1e-9


def written(value: float, unit: Unit = "number") -> str:
    """A number in full; a share that is not nothing is not said to be nothing."""
    if unit == "share":
        return "<0.1%" if 0 < value < 0.0005 else f"{value:.1%}"
    if unit == "bytes":
        return _size(value)
    if unit == "times":
        return f"{value:,.1f}×"
    return f"{value:,.6g}" if value % 1 else f"{value:,.0f}"


def compact(value: float, unit: Unit = "number") -> str:
    """A number for an axis: short, with as many digits as neighbours on an axis differ by."""
    if unit == "share":
        return f"{value * 100:.4g}%"
    if unit == "bytes":
        return _size(value)
    if unit == "times":
        return f"{value:.4g}×"
    size = abs(value)
    for least, prefix in _PREFIXES:
        if size >= least:
            return f"{value / (1e3 if prefix == 'k' else least):,.4g} {prefix}"
    return f"{value:,.4g}" if size % 1 else f"{value:,.0f}"


def round_numbers(low: float, high: float, most: int = 4) -> Sequence[float]:
    """Round numbers, the same distance apart, the first at or below `low` and the last at or above
    `high`, about `most` of them."""
    if not high > low:
        low, high = low - (abs(low) * 0.005 or 0.5), high + (abs(high) * 0.005 or 0.5)
    rough = (high - low) / max(most - 1, 1)
    size = 10.0 ** floor(log10(rough))
    step = next(size * one for one in _STEPS if size * one >= rough * (1 - _ALMOST))
    first, last = floor(low / step + _ALMOST), ceil(high / step - _ALMOST)
    return [at * step for at in range(first, last + 1)]


def _size(value: float) -> str:
    size, at = abs(value), 0
    while size >= 1000 and at < len(_SIZES) - 1:
        size, at = size / 1000, at + 1
    return f"{'-' if value < 0 else ''}{size:.3g} {_SIZES[at]}"
