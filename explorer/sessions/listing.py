"""The base of lists with details beside them: they are read, filtered by words, and looked
through."""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from explorer.errors import CatalogError, InvalidInput
from explorer.query import FilterSyntax
from explorer.query.fields import guide_to
from explorer.query.filters import Criterion, Filter, all_of
from explorer.query.search_text import SearchText
from explorer.sessions.base import Session, SessionState, action

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

RowT = TypeVar("RowT")

_PAUSE_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class ListState(SessionState, Generic[RowT]):
    """The state of a list: `rows` are all rows that were read, `listed` those that are shown, and
    `cursor` is the position of the selected one.

    `instead` is the text shown in place of rows: while `is_reading` what is being read, else why
    there are none. `failure` is the error if they could not be read.
    """

    rows: Sequence[RowT] = ()
    listed: Sequence[RowT] = ()
    cursor: int = 0
    is_reading: bool = True
    instead: str = ""
    failure: CatalogError | None = None

    @property
    def current(self) -> RowT | None:
        """The selected row; None if the list is empty."""
        return self.listed[self.cursor] if self.cursor < len(self.listed) else None


ListStateT = TypeVar("ListStateT", bound=ListState[Any])


class ListSession(Session[ListStateT], Generic[ListStateT]):
    """A list. The selected row stays selected as long as it is listed, however the rows around it
    change.

    A subclass defines `read_rows`, which reads rows and lists them with `put`, and `key_of`, which
    identifies a row. `at` is the key of the row selected first.
    """

    READING: ClassVar[str]
    """The text shown while the rows are read."""
    NONE: ClassVar[str] = ""
    """The text shown if there are no rows."""
    NO_MATCH: ClassVar[str] = ""
    """The text shown if no row matches."""

    def __init__(
        self, catalog: "AsyncCatalog | None", state: ListStateT, at: Hashable = None
    ) -> None:
        super().__init__(catalog, replace(state, instead=self.READING))
        self._key = at

    async def read_rows(self) -> None:
        """Read the rows, and list them."""
        raise NotImplementedError

    def key_of(self, row: Any) -> Hashable:
        """Return a key that identifies a row in the list."""
        raise NotImplementedError

    def why_none(self, state: ListStateT) -> str:
        """Return the text shown in place of an empty list."""
        return self.NO_MATCH if state.rows else self.NONE

    @action("Read the list again", in_turn=False, supersedes=("read",))
    async def read(self) -> None:
        """Read and list the rows. If reading fails, the listed rows stay."""
        self.replace(failure=None, is_reading=True, instead=self.READING)
        try:
            await self.read_rows()
        except CatalogError as error:
            self.replace(failure=error, is_reading=False, instead=str(error))
            raise

    def look_at(self, at: int) -> None:
        """Select the row at a position of the list."""
        if at < len(self.state.listed):
            self._key = self.key_of(self.state.listed[at])
        if at != self.state.cursor:
            self.replace(cursor=at)

    def look_for(self, key: Hashable) -> None:
        """Select the row with a key, if it is listed."""
        self.look_at(self._place(self.state.listed, key, self.state.cursor))

    def put(self, listed: Sequence[Any], **changes: Any) -> None:
        """List rows, and replace other fields of the state. The same row stays selected; if it is
        no longer listed, the row at its position is selected."""
        state = replace(self.state, **{"is_reading": False, **changes})
        at = self._place(listed, self._key, max(min(state.cursor, len(listed) - 1), 0))
        if listed:
            self._key = self.key_of(listed[at])
        instead = state.instead if state.is_reading else self.why_none(state)
        changes |= {
            "is_reading": state.is_reading,
            "listed": listed,
            "cursor": at,
            "instead": instead,
        }
        self.replace(**changes)

    def _place(self, listed: Sequence[Any], key: Hashable, otherwise: int) -> int:
        places = (place for place, row in enumerate(listed) if self.key_of(row) == key)
        return next(places, otherwise)

    def wait(self, sentence: str) -> None:
        """Show a sentence in place of the rows, as long as there are none."""
        if not self.state.listed:
            self.replace(instead=sentence)

    def tell_read(self, verb: str) -> Callable[[int, int], None]:
        """Return a callback for progress, which shows how many of the tables were read, as long as
        there are no rows. `verb` begins the text."""

        def tell(done: int, total: int) -> None:
            if done < total:
                self.wait(f"{verb}: {done:,} of {total:,} tables …")

        return tell


@dataclass(frozen=True, slots=True)
class NarrowedState(ListState[RowT]):
    """The state of a list that shows only the rows that match `words`."""

    words: str = ""


NarrowedStateT = TypeVar("NarrowedStateT", bound=NarrowedState[Any])


class NarrowedSession(ListSession[NarrowedStateT], Generic[NarrowedStateT]):
    """A list that is filtered by words. A subclass defines `select`, which returns the rows that
    match."""

    def __init__(self, catalog: "AsyncCatalog", state: NarrowedStateT, at: Hashable = None) -> None:
        super().__init__(catalog, state, at)
        # Listings are made one at a time, so that the last one is for the words typed last.
        self._listing = asyncio.Lock()

    def select(self, state: NarrowedStateT) -> Sequence[Any]:
        """Return the rows that match the words of the state. May take long: it is called in a
        thread."""
        raise NotImplementedError

    @action("List only what has these words", in_turn=False, supersedes=("narrow",))
    async def narrow(self, words: str) -> None:
        """List the rows that match words, after a pause in typing."""
        self.replace(words=words)
        await asyncio.sleep(_PAUSE_SECONDS)
        await self.list_again()

    async def list_again(self) -> None:
        """List the rows that match. Does nothing before the first rows were read."""
        if self.state.rows:
            await self.show(cursor=0)

    async def show(self, **changes: Any) -> None:
        """Replace fields of the state, and list the rows that match. Waits for a listing in
        progress."""
        async with self._listing:
            listed = await asyncio.to_thread(self.select, replace(self.state, **changes))
            self.put(listed, **changes)


@dataclass(frozen=True, slots=True)
class DatasetQuestion:
    """A choice of datasets: those that match a search text, or with `is_mine` those among them that
    the user owns. `title` is shown in place of the text."""

    text: str = ""
    is_mine: bool = False
    title: str = ""

    def words(self) -> str:
        """Return the question in words; empty for the whole catalog."""
        owned = "owned by you" if self.is_mine else ""
        return " · ".join(filter(None, (self.title or self.text, owned)))

    async def read(self, catalog: "AsyncCatalog") -> tuple[str, Filter]:
        """Return the words and the filter to search for. Raises `InvalidInput` for an invalid
        filter, and if the server does not report who the user is."""
        try:
            query = SearchText.split(self.text, guide_to(catalog.registry))
            filter = query.filter(catalog.registry)
        except FilterSyntax as error:
            raise InvalidInput(f"the filter cannot be read: {error}") from error
        if self.is_mine:
            user = await catalog.me()
            if user is None:
                raise InvalidInput(
                    "the server does not report who you are; filter by owner:NAME instead"
                )
            filter = filter.and_(all_of(Criterion("owners", (str(user),))))
        return query.words or "*", filter


EVERYTHING: Final = DatasetQuestion()


@dataclass(frozen=True, slots=True)
class DatasetState(ListState[RowT]):
    """The state of a list about the datasets chosen by `question`."""

    question: DatasetQuestion = EVERYTHING


DatasetStateT = TypeVar("DatasetStateT", bound=DatasetState[Any])


class DatasetSession(ListSession[DatasetStateT], Generic[DatasetStateT]):
    """A list about chosen datasets. It is empty while it is read, because old counts would be
    wrong."""

    @action("List other datasets", in_turn=False, supersedes=("ask",))
    async def ask(self, question: DatasetQuestion) -> None:
        """Read the list for another choice of datasets."""
        self._key = None
        self.put((), question=question, cursor=0, is_reading=True)
        await self.read()
