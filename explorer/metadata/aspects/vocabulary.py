"""Tags and glossary terms."""

import msgspec

from explorer.metadata.aspects.record import Camel

__all__ = ["GlossaryTermInfo", "TagProperties"]


class TagProperties(Camel, frozen=True):
    """A tag."""

    name: str = ""
    description: str | None = None


class GlossaryTermInfo(Camel, frozen=True):
    """A glossary term."""

    definition: str = ""
    name: str | None = None
    term_source: str = ""
    source_ref: str | None = None
    source_url: str | None = None
    custom_properties: dict[str, str] = msgspec.field(default_factory=dict)
