"""The parts of a page: headings, texts, code, and facts.

The values of facts may name another entity, a time, or an address; a front end renders these as
links and in the reader's time zone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from explorer.metadata.urn import Urn

__all__ = [
    "Code",
    "Fact",
    "Heading",
    "Mention",
    "Moment",
    "Part",
    "Plain",
    "Prose",
    "Stamped",
    "Value",
    "Web",
    "mentioned",
]


@dataclass(frozen=True, slots=True)
class Plain:
    """A text; `style` is an attribute of text such as "dim"."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """A time, in milliseconds since 1970 UTC."""

    millis: int


@dataclass(frozen=True, slots=True)
class Mention:
    """Another entity; `remark` says how it is related."""

    urn: Urn
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Stamped:
    """A time, in milliseconds since 1970 UTC, and who did it where that is known."""

    millis: int
    actor: Urn | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Web:
    """A web address with its label, and when and by whom it was added."""

    url: str
    label: str = ""
    added: Stamped | None = None


Value = Plain | Moment | Mention | Stamped | Web


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of the parts that follow; `remark` stands beside it, dimmed."""

    words: str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Prose:
    """A description in Markdown; `missing` is shown where it is empty."""

    text: str
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """A text in a programming or schema language, such as "sql" or "json"."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A label with its values; one that is `loud` is emphasized."""

    label: str
    values: tuple[Value, ...]
    loud: bool = False


Part = Heading | Prose | Code | Fact


def mentioned(parts: Iterable[Part]) -> Iterator[Urn]:
    """Yield the entities that the parts name, in their order; one may come more than once."""
    for part in parts:
        for value in part.values if isinstance(part, Fact) else ():
            match value:
                case Mention(urn) | Stamped(actor=Urn() as urn):
                    yield urn
                case Web(added=Stamped(actor=Urn() as urn)):
                    yield urn
                case _:
                    pass
