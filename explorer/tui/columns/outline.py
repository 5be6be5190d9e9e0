"""Which columns are shown, in which order and how deep: the tree, or by use, or what passes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from explorer.client.entity import Column

__all__ = ["Shown", "by_use", "in_tree_order"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A column that is shown. One that is not `wanted` is there for what lies in it; one that is
    `flat` is called by its whole path."""

    column: "Column"
    wanted: bool = True
    flat: bool = False


def in_tree_order(
    columns: "Sequence[Column]", folded: Collection[str], chosen: Collection[int] | None = None
) -> list[Shown]:
    """Parents before their children. What lies in a record that is `folded` is left out, and with
    `chosen`, places in `columns`, all but those and what they lie in, whether folded or not."""
    if chosen is not None:
        kept = _with_parents(columns, chosen)
        return [Shown(columns[at], at in chosen) for at in sorted(kept)]
    shown: list[Shown] = []
    hidden_below: int | None = None
    for column in columns:
        if hidden_below is not None and column.depth > hidden_below:
            continue
        hidden_below = column.depth if column.path.raw in folded else None
        shown.append(Shown(column))
    return shown


def by_use(
    columns: "Sequence[Column]", counts: Mapping[str, int], chosen: Collection[int] | None = None
) -> list[Shown]:
    """Most used first, then as in the schema; `counts` by raw path."""
    places = range(len(columns)) if chosen is None else sorted(chosen)
    ranked = sorted(places, key=lambda at: (-counts.get(columns[at].path.raw, 0), at))
    return [Shown(columns[at], flat=True) for at in ranked]


def _with_parents(columns: "Sequence[Column]", chosen: Collection[int]) -> set[int]:
    kept: set[int] = set()
    above: list[int] = []
    for at, column in enumerate(columns):
        del above[column.depth :]
        above.append(at)
        if at in chosen:
            kept.update(above)
    return kept
