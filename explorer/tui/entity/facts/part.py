"""What an entity's page is put together from: headings, texts, and facts that lead somewhere."""

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
    """A value as it is written."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment, in milliseconds since 1970."""

    millis: int


@dataclass(frozen=True, slots=True)
class Mention:
    """Another entity, which can be opened; `remark` says what it is to this one."""

    urn: Urn
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Stamped:
    """When something was done, and by whom where that is said."""

    millis: int
    actor: Urn | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Web:
    """An address of the web, with what it is called and who added it when."""

    url: str
    label: str = ""
    added: Stamped | None = None


Value = Plain | Moment | Mention | Stamped | Web


@dataclass(frozen=True, slots=True)
class Heading:
    """What follows, in a word or two; `remark` is said quietly beside it."""

    words: str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Prose:
    """A text of a catalog, which is markdown; `missing` is said where there is none."""

    text: str
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """A text in a language of machines."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing known, with all of its values; `loud` is said so that it is not overlooked."""

    label: str
    values: tuple[Value, ...]
    loud: bool = False


Part = Heading | Prose | Code | Fact


def mentioned(parts: Iterable[Part]) -> Iterator[Urn]:
    """Every entity that is named, in the order in which it is."""
    for part in parts:
        for value in part.values if isinstance(part, Fact) else ():
            match value:
                case Mention(urn) | Stamped(actor=Urn() as urn):
                    yield urn
                case Web(added=Stamped(actor=Urn() as urn)):
                    yield urn
                case _:
                    pass
