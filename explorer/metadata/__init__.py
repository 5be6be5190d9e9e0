"""The vocabulary of a catalog: URNs, field paths, the registry, aspects, proposals, files.

Everything here is data and pure functions; nothing uses the network, and the only file read is the
registry.
"""

from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.proposal import Proposal, read_proposal
from explorer.metadata.registry import Registry, load_registry
from explorer.metadata.urn import Urn

__all__ = [
    "FieldPath",
    "Proposal",
    "Registry",
    "Urn",
    "load_registry",
    "read_proposal",
]
