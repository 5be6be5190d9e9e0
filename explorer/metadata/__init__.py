"""The vocabulary of a catalog: URNs, field paths, the registry, proposals, filters, files.

Everything here is data and pure functions; nothing reaches a network or a disk but the registry's
own file.
"""

from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.filters import Condition, Criterion, Filter, all_of
from explorer.metadata.proposal import Proposal, read_proposal
from explorer.metadata.registry import Registry, load_registry
from explorer.metadata.urn import Urn

__all__ = [
    "Condition",
    "Criterion",
    "FieldPath",
    "Filter",
    "Proposal",
    "Registry",
    "Urn",
    "all_of",
    "load_registry",
    "read_proposal",
]
