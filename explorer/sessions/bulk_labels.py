"""The labels of many items at once: which labels all or some of them have, and a staged change."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from explorer.client.display import line
from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.sessions.changesets import ChangesetsSession
from explorer.sessions.labels import (
    NOUNS,
    LabelChoice,
    LabelKind,
    LabelSession,
    LabelTarget,
    owner_and_type,
)
from explorer.stewardship.labels import (
    LabelledKind,
    LabelledPlaces,
    LabelsChange,
    read_labelled,
    stage_labels,
)

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.stewardship.staging import StagedChangeset
    from explorer.stewardship.worklist import Key

_A_NOUN: Final[Mapping[LabelledKind, str]] = {
    "domain": "a domain",
    "deprecation": "a deprecation",
}
_STAGED: Final = "A change of marked items is staged, to be reviewed."


@dataclass(slots=True)
class BulkStaging:
    """Reads one kind of label of the marked items, and stages a change of them. `subject` names all
    items in messages; `staged` is the changeset, once it was staged."""

    what: LabelledKind
    keys: "tuple[Key, ...]"
    subject: str
    places: LabelledPlaces | None = None
    staged: "StagedChangeset | None" = None

    async def read(self, catalog: "AsyncCatalog") -> LabelledPlaces:
        """Return the present labels of the items. Raises `InvalidInput` if none of them can have
        labels of this kind."""
        self.places = await read_labelled(catalog, self.keys, self.what)
        if not self.places.places:
            why = "is in the catalog" if self.places.missing else f"has {self._a_noun}"
            raise InvalidInput(f"nothing marked {why}")
        return self.places

    async def stage(self, catalog: "AsyncCatalog", change: LabelsChange, words: str) -> None:
        """Stage a change under a title. Raises `InvalidInput` if nothing would change."""
        edits = stage_labels(self.places or await self.read(catalog), change)
        if not edits:
            raise InvalidInput(f"{self.subject}: no changes to review")
        title = f"{NOUNS[self.what][1].capitalize()} of {line(self.subject)}: {words}"
        self.staged = await ChangesetsSession(catalog).stage(edits, title)

    @property
    def _a_noun(self) -> str:
        return _A_NOUN.get(self.what, NOUNS[self.what][1])

    def choice(self) -> LabelChoice:
        """Return a choice of the labels that all items have and those that only some have."""
        counts, every = self.counts, len(self.places or ())
        return LabelChoice.of(
            [label for label, count in counts.items() if count == every],
            partial=[label for label, count in counts.items() if count < every],
            single=self.what == "domain",
        )

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of items that have each label."""
        return self.places.counts() if self.places is not None else {}

    def describe_holders(self, label: str) -> str:
        """Return how many marked items have a label; empty for a single item."""
        count, every = self.counts.get(label), len(self.places or ())
        if not count or every < 2:
            return ""
        return f"all {every:,} have it" if count == every else f"{count:,} of {every:,} have it"

    def describe_left_out(self) -> str:
        """Return in a sentence how many marked items are left out and why; empty for none."""
        places = self.places
        if places is None or self.staged is None:
            return ""
        done = len(places) - len(self.staged.items)
        parts = (
            (done, "unchanged"),
            (places.unfit, f"cannot have {self._a_noun}"),
            (places.missing, "not in the catalog"),
        )
        facts = [f"{count:,} {words}" for count, words in parts if count]
        return f"Left out: {', '.join(facts)}." if facts else ""


class BulkLabelSession(LabelSession):
    """The labels of one kind that all, or only some, of the marked items have. Saving stages the
    choice as a changeset for review; nothing is written."""

    creation = "created when the change is written"

    def __init__(self, catalog: "AsyncCatalog", staging: BulkStaging, kind: LabelKind) -> None:
        self._staging = staging
        target = LabelTarget(Urn.parse(staging.keys[0][0]), staging.subject)
        super().__init__(catalog, target, kind, LabelChoice(single=kind == "domain"))

    async def _read_choice(self) -> LabelChoice:
        if self._staging.places is None:
            await self._staging.read(self.catalog)
        now = self._staging.choice()
        return replace(self.state.choice, partial=now.partial).rebase(now.current)

    async def _save(self) -> None:
        choice = self.state.choice
        urns = [owner_and_type(label)[0] for label in choice.selection]
        change = LabelsChange(
            choice.added,
            choice.removed,
            tuple(label for label in choice.added if label in choice.new),
            label_names={urn: self.name_of(urn) for urn in (*urns, *choice.removed)},
        )
        await self._staging.stage(self.catalog, change, self.describe_change())
        self._show(staged=self._staging.staged)

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is possible."""
        return _STAGED if name == "change" else super().why_not(name)

    def _holders(self, label: str) -> str:
        return self._staging.describe_holders(label)
