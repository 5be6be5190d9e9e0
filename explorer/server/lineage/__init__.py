"""Lineage: what data is made of and what is made of it, walked next to the edges."""

from explorer.server.lineage.engine import ColumnForm, Lineage, LineageAnswer, Question, Reached
from explorer.server.lineage.lists import LineageLists
from explorer.server.lineage.narrowing import Candidate, Narrowing
from explorer.server.lineage.walk import EVERY_HOP, MOST, Limits

__all__ = [
    "EVERY_HOP",
    "MOST",
    "Candidate",
    "ColumnForm",
    "Limits",
    "Lineage",
    "LineageAnswer",
    "LineageLists",
    "Narrowing",
    "Question",
    "Reached",
]
