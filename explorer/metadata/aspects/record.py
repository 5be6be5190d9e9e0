"""The base of the typed records."""

import msgspec

__all__ = ["Camel"]


class Camel(msgspec.Struct, frozen=True, rename="camel"):
    """Base: snake case here, camel case on the wire."""
