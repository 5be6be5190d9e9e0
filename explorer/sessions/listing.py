"""What all lists with a detail beside them do: they are read, narrowed, and looked through."""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Generic, TypeVar

from explorer.client import AsyncCatalog
from explorer.errors import CatalogError, InvalidInput
from explorer.query import FilterSyntax
from explorer.query.fields import guide_to
from explorer.query.filters import Criterion, Filter, all_of
from explorer.query.search_text import SearchText
from explorer.sessions.base import Session, SessionState, action

RowT = TypeVar("RowT")

_PAUSE_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class ListState(SessionState, Generic[RowT]):
    """What a list shows: `rows` are all that were read, `listed` those that are shown of them, and
    `cursor` is the place of the one looked at.

    `instead` is said in place of rows: what is being read while it `is_reading`, else why there are
    none. `failure` is why they could not be read.
    """

    rows: Sequence[RowT] = ()
    listed: Sequence[RowT] = ()
    cursor: int = 0
    is_reading: bool = True
    instead: str = ""
    failure: CatalogError | None = None

    @property
    def current(self) -> RowT | None:
        """The row looked at."""
        return self.listed[self.cursor] if self.cursor < len(self.listed) else None


ListStateT = TypeVar("ListStateT", bound=ListState[Any])


class ListSession(Session[ListStateT], Generic[ListStateT]):
    """A list. What is looked at stays so while it is listed, however the rows around it change.

    A subclass reads rows and lists them with `put` (`read_rows`), and says what tells a row from
    the others (`key_of`). `at` is the key of the row that is looked at first.
    """

    READING: ClassVar[str]
    """What is said while the rows are read."""
    NONE: ClassVar[str] = ""
    """What is said where there are no rows."""
    NO_MATCH: ClassVar[str] = ""
    """What is said where none of them matches."""

    def __init__(
        self, catalog: AsyncCatalog | None, state: ListStateT, at: Hashable = None
    ) -> None:
        super().__init__(catalog, replace(state, instead=self.READING))
        self._key = at

    async def read_rows(self) -> None:
        """Read the rows, and list them."""
        raise NotImplementedError

    def key_of(self, row: Any) -> Hashable:
        """Return what tells a row from the others."""
        raise NotImplementedError

    def why_none(self, state: ListStateT) -> str:
        """Return what is said where no row is listed."""
        return self.NO_MATCH if state.rows else self.NONE

    @action("Read the list again", in_turn=False, supersedes=("read",))
    async def read(self) -> None:
        """Read and list the rows. If that fails, what was listed stays."""
        self.replace(failure=None, is_reading=True, instead=self.READING)
        try:
            await self.read_rows()
        except CatalogError as error:
            self.replace(failure=error, is_reading=False, instead=str(error))
            raise

    def look_at(self, at: int) -> None:
        """Look at the row at a place of the list."""
        if at < len(self.state.listed):
            self._key = self.key_of(self.state.listed[at])
        if at != self.state.cursor:
            self.replace(cursor=at)

    def look_for(self, key: Hashable) -> None:
        """Look at the row with a key, if it is listed."""
        self.look_at(self._place(self.state.listed, key, self.state.cursor))

    def put(self, listed: Sequence[Any], **changes: Any) -> None:
        """List rows, and replace other fields of the state. The same row is looked at; where it is
        not listed any more, the one at its place, or at the place `at`."""
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
        """Say what the rows are waited for."""
        if not self.state.listed:
            self.replace(instead=sentence)

    def tell_read(self, verb: str) -> Callable[[int, int], None]:
        """Return a function that says how many datasets of how many were read, while there are no
        rows."""

        def tell(done: int, total: int) -> None:
            if done < total:
                self.wait(f"{verb}: {done:,} of {total:,} tables …")

        return tell


@dataclass(frozen=True, slots=True)
class NarrowedState(ListState[RowT]):
    """A list of which those rows are shown that match the `words`."""

    words: str = ""


NarrowedStateT = TypeVar("NarrowedStateT", bound=NarrowedState[Any])


class NarrowedSession(ListSession[NarrowedStateT], Generic[NarrowedStateT]):
    """A list that is narrowed by words; `select` returns the rows that match them."""

    def __init__(self, catalog: AsyncCatalog, state: NarrowedStateT, at: Hashable = None) -> None:
        super().__init__(catalog, state, at)
        # The last listing is for the words typed last.
        self._listing = asyncio.Lock()

    def select(self, state: NarrowedStateT) -> Sequence[Any]:
        """Return the rows that match the words. May take long: it is called in a thread."""
        raise NotImplementedError

    @action("List only what has these words", in_turn=False, supersedes=("narrow",))
    async def narrow(self, words: str) -> None:
        """List the rows that match words, after a pause in typing."""
        self.replace(words=words)
        await asyncio.sleep(_PAUSE_SECONDS)
        await self.list_again()

    async def list_again(self) -> None:
        """List the rows that match. What is read for the first time is listed once it is read."""
        if self.state.rows:
            await self.show(cursor=0)

    async def show(self, **changes: Any) -> None:
        """Replace fields of the state, and list the rows that match, after the listing that is
        under way."""
        async with self._listing:
            listed = await asyncio.to_thread(self.select, replace(self.state, **changes))
            self.put(listed, **changes)


@dataclass(frozen=True, slots=True)
class DatasetQuestion:
    """The datasets to show: those that match a search text, or with `is_mine` those among them that
    the user owns. `title` is shown instead of the text."""

    text: str = ""
    is_mine: bool = False
    title: str = ""

    def words(self) -> str:
        """Return the question in words; empty for the whole catalog."""
        owned = "owned by you" if self.is_mine else ""
        return " · ".join(filter(None, (self.title or self.text, owned)))

    async def read(self, catalog: AsyncCatalog) -> tuple[str, Filter]:
        """Return the words and the filter to search for. Raises `InvalidInput` for a filter that is
        none, and if the server does not report who the user is."""
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
    """A list about the datasets of a question."""

    question: DatasetQuestion = EVERYTHING


DatasetStateT = TypeVar("DatasetStateT", bound=DatasetState[Any])


class DatasetSession(ListSession[DatasetStateT], Generic[DatasetStateT]):
    """A list about datasets. It is empty while it is read: its counts are not of what it was."""

    @action("List other datasets", in_turn=False, supersedes=("ask",))
    async def ask(self, question: DatasetQuestion) -> None:
        """Read the list of another question."""
        self._key = None
        self.put((), question=question, cursor=0, is_reading=True)
        await self.read()
