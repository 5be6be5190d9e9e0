"""What an object shows of itself, said once and drawn twice: as plain text and as HTML.

The parts hold a catalog's text as it is. Both drawings clean it (`explorer.client.display`), and
the HTML one escapes it; nothing else in this package writes text into a page.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from explorer.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd
    from itables.widget import ITable

__all__ = [
    "Cell",
    "Difference",
    "Facts",
    "Fold",
    "Grid",
    "Part",
    "Picture",
    "Prose",
    "Say",
    "Shown",
    "Table",
    "Title",
]

_MOMENT = "%Y-%m-%d %H:%M"

Tone = Literal["plain", "quiet", "loud"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table, or one value of the facts.

    `mark` stands before the text and is ours, `below` follows on lines of its own, `detail` is
    for those who have room. `link` leads somewhere where it is a safe address. `indent` counts
    levels. `markdown` says that the text is a description, and is read as one.
    """

    text: str
    mark: str = ""
    below: tuple[str, ...] = ()
    detail: str = ""
    link: str = ""
    indent: int = 0
    tone: Tone = "plain"
    markdown: bool = False


@dataclass(frozen=True, slots=True)
class Title:
    """The name of what is shown, and what it is."""

    text: str
    after: str = ""


@dataclass(frozen=True, slots=True)
class Say:
    """A sentence of ours, into which a catalog's words may be set."""

    text: str
    tone: Tone = "quiet"


@dataclass(frozen=True, slots=True)
class Prose:
    """A text of the catalog's over several lines, markdown, under a label of ours."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Short facts by name."""

    rows: Sequence[tuple[str, Cell]]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. `numbers` names the headers whose cells stand to the right."""

    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numbers: frozenset[str] = field(default=frozenset())


@dataclass(frozen=True, slots=True)
class Fold:
    """Parts that matter less: folded away where that can be done."""

    label: str
    parts: Sequence["Part"]


@dataclass(frozen=True, slots=True)
class Difference:
    """The lines of a unified diff: each begins with a plus, a minus, a space, or is a head."""

    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing as SVG, our own, and `alt`, what it shows in a sentence.

    `instead` is for those who see no pictures at all; `listed` is folded away below a picture.
    """

    svg: str
    alt: str
    instead: Sequence["Part"] = ()
    listed: Sequence["Part"] = ()


Part = Title | Say | Prose | Facts | Grid | Fold | Difference | Picture


class Shown(ABC):
    """Gives a class its `repr` and its HTML, both drawn from what `parts` gives."""

    __slots__ = ()

    @abstractmethod
    def parts(self) -> Iterable[Part]:
        """What it shows of itself, from top to bottom."""

    def __repr__(self) -> str:
        from explorer.notebook import plain

        return plain.draw(self.parts())

    def _repr_html_(self) -> str:
        from explorer.notebook import markup

        return markup.draw(self.parts())


class Table(Shown):
    """Something shown that is a DataFrame when asked."""

    __slots__ = ()

    @abstractmethod
    def to_frame(self) -> "pd.DataFrame":
        """The same as a DataFrame, whole however much of it is drawn."""

    @property
    def df(self) -> "pd.DataFrame":
        """The same as `to_frame()`, made anew each time."""
        return self.to_frame()

    def sortable(self, **options: Any) -> "ITable":
        """The same as a table that sorts by its headers, filters and pages, in any notebook.

        It is a widget of itables', which takes the `options` and which the extra `tables` brings;
        raises `MissingExtra` without it.

        Example: `cat.search("orders").sortable(paging=False)`
        """
        try:
            from itables.widget import ITable
        except ImportError:
            raise MissingExtra("tables that sort are itables'", "tables") from None
        frame = self.to_frame()
        # The longest text of a row, which people look at last.
        if "urn" in frame:
            frame = frame[[*frame.columns.drop("urn"), "urn"]]
        # Moments as texts that sort like them.
        moments = frame.select_dtypes("datetimetz").columns
        frame = frame.assign(**{name: frame[name].dt.strftime(_MOMENT) for name in moments})
        if frame.index.dtype.kind == "M":
            frame = frame.set_axis(frame.index.map(lambda at: f"{at:{_MOMENT}}"))
        return ITable(frame, **options)
