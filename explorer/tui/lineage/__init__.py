"""The lineage of an entity, drawn in cells."""

from explorer.tui.lineage.asking import AskLine
from explorer.tui.lineage.impact import ImpactRows
from explorer.tui.lineage.map import LineageMap
from explorer.tui.lineage.tab import LineageTab

__all__ = ["AskLine", "ImpactRows", "LineageMap", "LineageTab"]
