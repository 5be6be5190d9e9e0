"""The parts of a page, or of an object shown in a notebook: titles, texts, facts, tables.

The values of a fact may be another entity, a time, or an address, which a front end renders as
links and in the reader's time zone. The cells of facts and grids are text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, Literal, TypeVar
from urllib.parse import urlsplit

from explorer.client.display import moment
from explorer.metadata.urn import Urn
from explorer.views.chart import Bars, Lines
from explorer.views.diff import Diff
from explorer.views.table import Table
from explorer.views.text import TextLine

LINK_SCHEMES: Final = frozenset({"http", "https", "mailto"})
"""The schemes of addresses that are shown as links."""


def is_safe_link(address: str) -> bool:
    """Return whether an address may be shown as a link: a web page or a mail address."""
    try:
        return urlsplit(address).scheme.lower() in LINK_SCHEMES
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Plain:
    """Text; `style` is a text attribute such as "dim"."""

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
    """The time of an action, in milliseconds since 1970 UTC, and who did it, if known."""

    millis: int
    actor: Urn | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Web:
    """A web address with its label, and when and by whom it was added."""

    url: str
    label: str = ""
    stamp: Stamped | None = None


@dataclass(frozen=True, slots=True)
class Trail:
    """The folders that contain something, from the top; a folder that stands for an entity is given
    by its URN."""

    folders: tuple[Urn | str, ...]

    def text(self, names: Mapping[Urn, str]) -> str:
        """Return the names of the folders, as `prod / sales`."""
        return " / ".join(
            folder if isinstance(folder, str) else names.get(folder) or folder.name
            for folder in self.folders
        )


Value = Plain | Moment | Mention | Stamped | Web | Trail


Tone = Literal["plain", "quiet", "loud"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a grid, or the value in a row of facts.

    `mark` is shown before the text, `below` on lines of its own after it, `detail` only if there is
    room. `link` is an address, shown as a link if its scheme is safe. `indent` is a number of
    levels. `markdown` is true for a description. `labels` are texts that together make the text,
    each with its colour, as `#ff0000`, or an empty string.
    """

    text: str
    mark: str = ""
    below: tuple[str, ...] = ()
    detail: str = ""
    link: str = ""
    indent: int = 0
    tone: Tone = "plain"
    markdown: bool = False
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Title:
    """The title of the parts that follow; `remark` is shown next to it, dimmed."""

    text: str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Say:
    """A sentence written by the program, which may contain text from the catalog."""

    text: str
    tone: Tone = "quiet"


@dataclass(frozen=True, slots=True)
class Prose:
    """A description in Markdown, with a label; `missing` is shown if it is empty."""

    text: str
    missing: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """Text in a programming or schema language, such as "sql" or "json"."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A label with its values; `loud` emphasizes it."""

    label: str
    values: tuple[Value, ...]
    loud: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """Rows of a name and a cell."""

    rows: Sequence[tuple[str, Cell]]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; `numbers` are the headers whose cells are aligned to the right."""

    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numbers: frozenset[str] = field(default=frozenset())


@dataclass(frozen=True, slots=True)
class Fold:
    """Parts that are collapsed in front ends that support it."""

    label: str
    parts: Sequence["Part"]


@dataclass(frozen=True, slots=True)
class Difference:
    """The differences between two texts or values."""

    lines: Diff


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG drawing, and a sentence that describes it.

    `instead` is shown where pictures are not supported; `details` is collapsed below the picture.
    """

    svg: str
    alt: str
    instead: Sequence["Part"] = ()
    details: Sequence["Part"] = ()


Part = Title | Say | Prose | Code | Fact | Facts | Grid | Fold | Difference | Picture
"""A part of a page that every front end shows."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps in a row, after a number or a mark (`start`); steps that do not fit on the line are
    shown below."""

    start: str
    steps: Sequence[TextLine]


@dataclass(frozen=True, slots=True)
class Fitted:
    """Two layouts of the same content: `wide` for pages of at least `width` cells, `narrow` for
    others. `is_cut` is true if the wide layout cuts long lines; files and pipes then get the narrow
    one."""

    width: int
    wide: Sequence["ReportPart"]
    narrow: Sequence["ReportPart"]
    is_cut: bool = False


ReportPart = Part | TextLine | Chain | Table | Bars | Lines | Fitted
"""A part of a report, which a command prints."""

Note = str | TextLine
"""A remark beside a view."""


@dataclass(frozen=True, slots=True)
class Report:
    """A report in all the forms in which a command can print it.

    People see `parts`, by default the `table`, with the `names` of entities. Programs get the
    table, or URNs (`urns`, by default those in the table), or as JSON the `document`, by default
    the rows of the table; with `rows_name` the rows become an entry of the document. `notes`
    accompany every form, except JSON if `is_complete` says that it already contains them; `remarks`
    are only for people.
    """

    table: Table | None = None
    parts: Iterable[ReportPart] | None = None
    document: Any = ...
    rows_name: str = ""
    urns: Iterable[Urn | str] | None = None
    names: Mapping[Urn, str] = field(default_factory=dict)
    notes: Sequence[Note] = ()
    remarks: Sequence[Note] = ()
    is_complete: bool = False


_AnyPart = TypeVar("_AnyPart", Part, ReportPart)


def mentions_of(parts: Iterable[Part]) -> Iterator[Urn]:
    """Yield the entities in the parts, in order, possibly several times."""
    for part in parts:
        for value in part.values if isinstance(part, Fact) else ():
            match value:
                case Mention(urn) | Stamped(actor=Urn() as urn):
                    yield urn
                case Web(stamp=Stamped(actor=Urn() as urn)):
                    yield urn
                case Trail(folders):
                    yield from (folder for folder in folders if isinstance(folder, Urn))
                case _:
                    pass


_MOST_VALUES = 20


def with_names(parts: Iterable[_AnyPart], names: Mapping[Urn, str]) -> "Iterator[_AnyPart | Facts]":
    """Yield the parts, with each run of facts merged into one `Facts` with text cells.

    `names` are the names of the entities in the facts; times are in the local time zone.
    """
    for is_fact, group in groupby(parts, lambda part: isinstance(part, Fact)):
        if is_fact:
            facts = (part for part in group if isinstance(part, Fact))
            yield Facts([(fact.label, Cell(fact_text(fact, names))) for fact in facts])
        else:
            yield from group


def fact_text(fact: Fact, names: Mapping[Urn, str]) -> str:
    """Return the values of a fact, at most twenty, with the names of the entities in them."""
    texts = [_value_text(value, names) for value in fact.values[:_MOST_VALUES]]
    more = len(fact.values) - _MOST_VALUES
    return ", ".join(texts) + (f", and {more:,} more" if more > 0 else "")


def _value_text(value: Value, names: Mapping[Urn, str]) -> str:
    match value:
        case Plain(text):
            return text
        case Moment(millis):
            return moment(millis)
        case Mention(urn, remark):
            name = names.get(urn) or urn.name
            return f"{name} ({remark})" if remark else name
        case Stamped(millis, actor, remark):
            who = (names.get(actor) or actor.name) if actor else ""
            return " ".join(piece for piece in (remark, moment(millis), who) if piece)
        case Web(url, label):
            return f"{label} {url}" if label else url
        case Trail():
            return value.text(names)
