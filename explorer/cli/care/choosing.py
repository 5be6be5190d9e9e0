"""The options by which a command is told which datasets it is about."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Final, TypedDict

import click

from explorer.cli.parameters import WORDS

if TYPE_CHECKING:
    from explorer.client import Catalog
    from explorer.metadata.urn import Urn
    from explorer.query.filters import Criterion, Filter

__all__ = ["Choice", "Selection", "chooses_datasets", "own_urn", "require_any", "watched"]

_OWNERS: Final = ("corpuser", "corpGroup")


class Selection(TypedDict):
    """The datasets that stewardship is asked about, as its methods take them."""

    urns: Sequence[str]
    text: str
    narrowed_by: "Filter"
    folder: str | None


@dataclass(frozen=True, slots=True)
class Choice:
    """Datasets by their URNs, or those in a folder, or those that a search finds; all of them
    where nothing is said."""

    urns: tuple[str, ...] = ()
    text: str = ""
    filters: tuple[str, ...] = ()
    folder: str | None = None

    def read(self, catalog: "Catalog", owners: Sequence[str] = ()) -> "tuple[Urn, ...]":
        """Their URNs; with `owners` only of what one of them owns.

        Raises `NotFound` where a search or a folder has none.
        """
        from explorer.stewardship import Stewardship

        found = Stewardship(catalog).datasets(**self.selection(catalog, owners))
        require_any(len(found))
        return found

    def selection(self, catalog: "Catalog", owners: Sequence[str] = ()) -> "Selection":
        """What stewardship is asked about; with `owners` only what one of them owns."""
        from explorer.cli.reading import read_urns
        from explorer.errors import InvalidInput
        from explorer.query import read_filter
        from explorer.query.filters import Filter, all_of

        narrowed_by = Filter()
        for one in self.filters:
            narrowed_by = narrowed_by.narrowed_by(read_filter(one, catalog.registry))
        if owners:
            narrowed_by = narrowed_by.narrowed_by(all_of(_owned_by(owners)))
        urns = read_urns(self.urns)
        if self.urns and not urns:
            raise InvalidInput("there is no URN on standard input; give one a line")
        return {
            "urns": urns,
            "text": self.text or "*",
            "narrowed_by": narrowed_by,
            "folder": self.folder,
        }


def own_urn(catalog: "Catalog") -> str:
    """The URN of the user that the catalog takes the caller for.

    Raises `InvalidInput` where it does not say.
    """
    from explorer.errors import InvalidInput

    user = catalog.info().user
    if not user:
        raise InvalidInput("this server does not say who you are; use --owner with your name")
    return user


def _owned_by(owners: Sequence[str]) -> "Criterion":
    """The test for what one of them owns; a text that is no URN is the id or the name of a person
    or group, as in `owner:"Nina Weber"`."""
    from explorer.client.editable import urns_of
    from explorer.query.filters import Criterion

    values: list[str] = []
    names = [owner for owner in owners if not owner.startswith("urn:")]
    for owner in owners:
        (user,) = urns_of(owner, *_OWNERS)
        values.append(str(user))
        if owner in names:
            values.append(f"urn:li:corpGroup:{owner}")
    return Criterion("owners", tuple(values), names=tuple(names))


def require_any(datasets: int) -> None:
    """Raise `NotFound` where no dataset is meant."""
    from explorer.errors import NotFound

    if not datasets:
        raise NotFound("no dataset is found so")


def chooses_datasets(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command URNs, `--search`, `--filter` and `--folder`; it gets a `choice`."""

    @click.argument("urns", nargs=-1, type=WORDS, metavar="[URN]...")
    @click.option("--search", "text", type=WORDS, default="", help="The datasets found so.")
    @click.option(
        "--filter",
        "filters",
        type=WORDS,
        metavar="FILTER",
        multiple=True,
        help="Only what matches; given several times, all must be met.",
    )
    @click.option(
        "--folder", type=WORDS, metavar="PATH", help="The datasets in and below this folder."
    )
    @wraps(command)
    def with_choice(
        *args: object,
        urns: tuple[str, ...],
        text: str,
        filters: tuple[str, ...],
        folder: str | None,
        **kwargs: object,
    ) -> None:
        searched = text or filters or kwargs.get("owners") or kwargs.get("is_mine")
        if sum(map(bool, (urns, searched, folder))) > 1:
            raise click.UsageError("give URNs, a folder or a search, not several of them")
        command(*args, choice=Choice(urns, text, filters, folder), **kwargs)

    return with_choice


@contextmanager
def watched(name: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error, where that is a terminal, gone when the work is done; what is given
    is told how many are done of how many."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from explorer.cli.output import notes

    console = notes()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bars:
        task = bars.add_task(name, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
