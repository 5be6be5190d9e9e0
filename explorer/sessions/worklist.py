"""The worklist of undocumented tables and columns, which leave it once anybody has documented them;
and the documentation coverage."""

from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from explorer.client import AsyncCatalog
from explorer.errors import CatalogError
from explorer.metadata.urn import Urn
from explorer.query.fields import guide_to
from explorer.query.filters import Criterion
from explorer.query.search_text import SearchText, condition_text
from explorer.sessions.base import action
from explorer.sessions.changesets import ChangesetsSession
from explorer.sessions.listing import (
    EVERYTHING,
    DatasetQuestion,
    DatasetSession,
    DatasetState,
)
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.coverage import Coverage, CoverageTrend, Group, Grouping, Part
from explorer.stewardship.worklist import Item, Key, Worklist, documented_meanwhile
from explorer.views.stewardship import NO_DATASET, group_name

if TYPE_CHECKING:
    from explorer.stewardship.staging import StagedChangeset

_FIRST: Final = 500
_MOST: Final = 10_000
_DAYS: Final = 30
_TREND_DAYS: Final = 90
_EMPTY: Final = Worklist((), 0, _DAYS)
NO_MATCH: Final = f"{NO_DATASET.capitalize()}."
_ALL_DOCUMENTED: Final = "Everything here is documented."
_COUNTING_DAYS: Final = "counting the documented columns of each day …"
_PROPOSING: Final = "searching for texts"
_FILTERS: Final[dict[Grouping, str]] = {
    "domain": "domains",
    "folder": "browsePaths",
    "owner": "owners",
    "platform": "platform",
    "tag": "tags",
}
"""The field that is filtered to select a group."""


@dataclass(frozen=True, slots=True)
class WorklistState(DatasetState[Item]):
    """The undocumented items, of which `listed` are the first, and the number of items documented
    here."""

    worklist: Worklist = _EMPTY
    written_count: int = 0

    @property
    def progress(self) -> str:
        """The numbers of remaining and documented items, in words."""
        if not self.worklist.datasets:
            return NO_DATASET
        written = f", {self.written_count:,} written" if self.written_count else ""
        return f"{self.worklist.total:,} left{written}"


class WorklistSession(DatasetSession[WorklistState]):
    """The undocumented tables and columns, most important first. It serves as the queue of an
    editor, which goes from one item to the next. `worklist` is a list that was already read."""

    READING = "reading the undocumented columns …"

    def __init__(
        self,
        catalog: AsyncCatalog,
        question: DatasetQuestion = EVERYTHING,
        worklist: Worklist | None = None,
    ) -> None:
        super().__init__(catalog, WorklistState(question=question))
        self._whole = self.state.worklist
        self._order: dict[Key, int] = {}
        self._written: set[Key] = set()
        self._removed: set[Key] = set()
        if worklist is not None:
            self._extend(worklist)

    def key_of(self, row: Item) -> Key:
        """Return a key that identifies a row in the list."""
        return row.key

    def why_none(self, state: WorklistState) -> str:
        """Return the text shown in place of an empty list."""
        return _ALL_DOCUMENTED if state.worklist.datasets else NO_MATCH

    async def read_rows(self) -> None:
        """Read the top of the list first, then up to the limit."""
        # From here on the server counts the items documented here: if they also stayed recorded
        # here, they would be counted twice, and those whose save was undone would stay hidden.
        self._written.clear()
        self._removed.clear()
        self._extend(_EMPTY, is_reading=True)
        text, filter = await self.state.question.read(self.catalog)
        # If the client itself computes the list, reading the first items costs as much as reading
        # all.
        is_counted = (await self.catalog.abilities()).stewardship
        for most in (_FIRST, _MOST) if is_counted else (_MOST,):
            worklist = await AsyncStewardship(self.catalog).worklist(
                text=text,
                filter=filter,
                top=most,
                days=_DAYS,
                progress=self.tell_read("measuring usage and impact"),
                waiting=self.wait,
            )
            self._extend(worklist)
            if not worklist.truncated:
                return

    @action("Propose texts for the undocumented columns, for review")
    async def propose(self) -> "StagedChangeset | None":
        """Stage texts of upstream columns, or of columns with the same name. If there are none, set
        a message and return None. Nothing is written."""
        question = self.state.question
        text, filter = await question.read(self.catalog)
        proposing = AsyncStewardship(self.catalog).propose_descriptions(
            text=text, filter=filter, progress=self.tell_progress
        )
        edits = await self.work(_PROPOSING, proposing)
        if not edits:
            self.say("No text was found upstream or by name for any of these columns.")
            return None
        title = f"Proposed texts: {question.words() or 'the whole catalog'}"
        return await ChangesetsSession(self.catalog).stage(edits, title)

    @action("Remove what others documented meanwhile")
    async def look_again(self) -> None:
        """Remove the items that are documented by now, and set a message with their number. One
        request per hundred tables."""
        count = await self._drop([item.key for item in self.state.listed])
        gone = f"Documented by others, or no longer in the catalog: {count:,}."
        self.say(gone if count else "No changes.")

    def follow(self, changes: Iterable[Urn]) -> None:
        """Remove, in the background, the items of changed entities that others have documented."""
        urns = set(map(str, changes))
        keys = [item.key for item in self.state.listed if item.urn in urns]
        if keys:
            self.start(self._drop_quietly(keys))

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is possible."""
        if name == "propose" and self.state.work is not None:
            return "Texts are being searched for."
        if name in ("propose", "look_again") and not self.state.listed:
            return self.state.instead
        return ""

    @property
    def progress(self) -> str:
        """The numbers of remaining and documented items, in words."""
        return self.state.progress

    def after(self, key: Key, but: Container[Key] = ()) -> Key | None:
        """Return the next item after one, continuing at the top; `None` if there is none.

        Items in `but` are skipped.
        """
        keys, at = tuple(self._order), self._order.get(key, -1) + 1
        ahead = (*keys[at:], *keys[: max(at - 1, 0)])
        return next((key for key in ahead if self._is_left(key) and key not in but), None)

    def wrote(self, key: Key, text: str) -> None:
        """Record that a description was saved here, and remove its item; an empty text puts the
        item back."""
        if text.strip() and key in self._order:
            self._written.add(key)
        else:
            self._written.discard(key)
        self._list_left()

    async def _drop_quietly(self, keys: Sequence[Key]) -> None:
        with suppress(CatalogError):
            await self._drop(keys)

    async def _drop(self, keys: Sequence[Key]) -> int:
        """Remove those of the given items that others have documented or deleted; return their
        number."""
        documented = set(await documented_meanwhile(self.catalog, keys))
        dropped = {item.key for item in self.state.listed if item.key in documented}
        if dropped:
            self._removed |= dropped
            self._list_left()
        return len(dropped)

    def _is_left(self, key: Key) -> bool:
        return key not in self._written and key not in self._removed

    def _extend(self, worklist: Worklist, **changes: object) -> None:
        """List a longer worklist. Items that were documented stay out of it."""
        self._whole = worklist
        self._order = {item.key: at for at, item in enumerate(worklist.items)}
        self._list_left(**changes)

    def _list_left(self, **changes: object) -> None:
        whole = self._whole
        items = tuple(item for item in whole.items if self._is_left(item.key))
        total = whole.total - len(self._written | self._removed)
        worklist = replace(whole, items=items, total=total)
        written = len(self._written)
        self.put(items, rows=whole.items, worklist=worklist, written_count=written, **changes)


@dataclass(frozen=True, slots=True)
class CoverageState(DatasetState[Group]):
    """The documentation coverage, in total and by group, the least documented group first.

    `trend` is the change of coverage over time, shown for tables or columns (`part`);
    `trend_instead` is the text shown in its place.
    """

    by: Grouping = "platform"
    coverage: Coverage | None = None
    part: Part | None = None
    trend: CoverageTrend | None = None
    trend_instead: str = ""


class CoverageSession(DatasetSession[CoverageState]):
    """How many tables and columns are documented."""

    READING = "counting the documented columns …"
    NONE = NO_MATCH

    def __init__(self, catalog: AsyncCatalog, question: DatasetQuestion = EVERYTHING) -> None:
        super().__init__(catalog, CoverageState(question=question))

    def key_of(self, row: Group) -> str:
        """Return a key that identifies a row in the list."""
        return row.key

    async def read_rows(self) -> None:
        """Read the coverage, and then the trend, if it is shown."""
        self.put((), rows=(), coverage=None, trend=None, is_reading=True)
        text, filter = await self.state.question.read(self.catalog)
        coverage = await AsyncStewardship(self.catalog).coverage(
            text=text,
            filter=filter,
            by=self.state.by,
            progress=self.tell_read("counting"),
            waiting=self.wait,
        )
        self.put(coverage.groups, rows=coverage.groups, coverage=coverage)
        if self.state.part is not None:
            self.start(self.show_trend(self.state.part))

    @action("Group by something else", in_turn=False, supersedes=("group",))
    async def group(self, by: Grouping) -> None:
        """Read the coverage by other groups."""
        self._key = None
        self.put((), by=by, coverage=None, trend=None, cursor=0, is_reading=True)
        await self.read()

    @action("Show how the coverage changed over time", in_turn=False, supersedes=("show_trend",))
    async def show_trend(self, part: Part | None) -> None:
        """Show how the coverage of tables or columns changed over time; None hides the trend."""
        self.replace(part=part)
        state = self.state
        if part is None or state.trend is not None or state.coverage is None:
            return
        self.replace(trend_instead=_COUNTING_DAYS)
        try:
            text, filter = await state.question.read(self.catalog)
            trend = await AsyncStewardship(self.catalog).coverage_trend(
                text=text,
                filter=filter,
                by=state.by,
                days=_TREND_DAYS,
                waiting=lambda sentence: self.replace(trend_instead=sentence),
            )
        except CatalogError as error:
            self.replace(trend_instead=str(error))
            raise
        if state.coverage is self.state.coverage:
            self.replace(trend=trend, trend_instead="")

    def question_of(self, group: Group) -> DatasetQuestion:
        """Return a choice of the datasets of a group."""
        field, question = _FILTERS[self.state.by], self.state.question
        criterion = (
            Criterion(field, (group.key,))
            if group.key
            else Criterion(field, condition="EXISTS", negated=True)
        )
        registry = self.catalog.registry
        query = SearchText.split(question.text, guide_to(registry))
        name = f"{self.state.by} {group_name(group, self.state.by)}"
        title = " · ".join(filter(None, (question.text, name)))
        return DatasetQuestion(query.narrow(condition_text(criterion, registry)), title=title)
