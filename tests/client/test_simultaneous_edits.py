"""Many who edit the same thing at once: no save replaces what its writer did not see.

The long form is `python -m tests.benchmarks.edits`.
"""

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Abilities, Catalog
from explorer.client.editable import OWNERS, TextConflict
from explorer.client.edits import EditMethods
from explorer.client.http import HttpTransport
from explorer.errors import Unreachable
from explorer.metadata import Proposal, Urn
from tests.client.conftest import Site
from tests.conftest import schema_of

TABLE = Urn.dataset("hive", "simultaneous.orders")
TERM = Urn.parse("urn:li:glossaryTerm:simultaneous")
SHARED = "shared"
State = str | frozenset[str]
# What is written, by whom, over what was seen.
Write = Callable[[Catalog, str, Any], object]


@dataclass(frozen=True)
class Kind:
    """Something that people edit. `written` is the state that an edit leaves of the one seen,
    `read` takes a state out of a version of the aspect."""

    urn: Urn
    aspect: str
    write: Write
    read: Callable[[dict[str, Any]], State]
    labels: str = ""

    def written(self, seen: State, name: str) -> State:
        if isinstance(seen, str):
            return name
        label = f"{self.labels}{name}"
        match self.aspect:
            case "domains":
                return frozenset({label})
            case "ownership":
                return seen | {f"{label} TECHNICAL_OWNER"}
            case "institutionalMemory":
                return seen | {f"{label} a label"}
            case _:
                return seen | {label}


def of_column(value: dict[str, Any], path: str) -> str:
    infos = value.get("editableSchemaFieldInfo", ())
    found = (one.get("description", "") for one in infos if one["fieldPath"] == path)
    return next(found, "")


KINDS = {
    "column": Kind(
        TABLE,
        "editableSchemaMetadata",
        lambda c, name, seen: c.describe(TABLE, name, column=SHARED, instead_of=seen),
        lambda value: of_column(value, SHARED),
    ),
    "table": Kind(
        TABLE,
        "editableDatasetProperties",
        lambda c, name, seen: c.describe(TABLE, name, instead_of=seen),
        lambda value: value.get("description", ""),
    ),
    # No mutation writes the text of a term: the whole aspect is.
    "term": Kind(
        TERM,
        "glossaryTermInfo",
        lambda c, name, seen: c.describe(TERM, name, instead_of=seen),
        lambda value: value.get("definition", ""),
    ),
    "deprecation": Kind(
        TABLE,
        "deprecation",
        lambda c, name, seen: c.deprecate(TABLE, name, instead_of={"note": seen} if seen else {}),
        lambda value: value.get("note", "") if value.get("deprecated") else "",
    ),
    "tags": Kind(
        TABLE,
        "globalTags",
        lambda c, name, seen: c.add_tags(TABLE, f"{name}", instead_of=seen),
        lambda value: frozenset(one["tag"] for one in value.get("tags", ())),
        "urn:li:tag:",
    ),
    "terms": Kind(
        TABLE,
        "glossaryTerms",
        lambda c, name, seen: c.add_terms(TABLE, name, instead_of=seen),
        lambda value: frozenset(one["urn"] for one in value.get("terms", ())),
        "urn:li:glossaryTerm:",
    ),
    "owners": Kind(
        TABLE,
        "ownership",
        lambda c, name, seen: c.add_owners(TABLE, name, instead_of=seen),
        lambda value: frozenset(OWNERS.labels(value, None)),
        "urn:li:corpuser:",
    ),
    "domain": Kind(
        TABLE,
        "domains",
        lambda c, name, seen: c.set_domain(TABLE, name, instead_of=seen),
        lambda value: frozenset(value.get("domains", ())),
        "urn:li:domain:",
    ),
    "links": Kind(
        TABLE,
        "institutionalMemory",
        lambda c, name, seen: c.add_link(TABLE, f"https://{name}", "a label", instead_of=seen),
        lambda value: frozenset(
            f"{one['url']} {one['description']}" for one in value.get("elements", ())
        ),
        "https://",
    ),
}


MADE: dict[str, tuple[str, dict[str, Any]]] = {
    "urn:li:tag:": ("tagProperties", {"name": "n"}),
    "urn:li:glossaryTerm:": ("glossaryTermInfo", {"definition": "", "termSource": "INTERNAL"}),
    "urn:li:corpuser:": ("corpUserInfo", {"active": True}),
    "urn:li:domain:": ("domainProperties", {"name": "n"}),
}


class Failing:
    """Carries requests, and loses some that write: before they arrive, or their answers."""

    def __init__(self, address: str, dice: random.Random, failures: float) -> None:
        self._carrier = HttpTransport(address, 60.0)
        self._dice = dice
        self._failures = failures
        self.lost = 0

    async def send(self, request: Any) -> Any:
        drawn = self._dice.random() if request.writes else 1.0
        if drawn < self._failures / 2:
            self.lost += 1
            raise Unreachable("the request got lost")
        answer = await self._carrier.send(request)
        if drawn < self._failures:
            self.lost += 1
            raise Unreachable("the answer got lost")
        return answer

    async def close(self) -> None:
        await self._carrier.close()


@dataclass
class Race:
    """Writers of one thing, each of which saves so many times over what it saw last.

    A save that is refused is made again, with another name, over what stands there by then; one
    whose answer got lost is made again as it was. After each, everyone writes a column of their
    own: another part of the same aspect as the column that is shared. A refused writer looks at
    what is there for up to `pause_seconds`.
    """

    address: str
    kind: Kind
    seed: int = 1
    failures: float = 0.1
    with_own: bool = True
    pause_seconds: float = 0.0
    saw: dict[str, State] = field(default_factory=dict)
    accepted: set[str] = field(default_factory=set)
    conflicts: int = 0
    lost: int = 0
    faults: list[str] = field(default_factory=list)

    def run(self, writers: int, saves: int) -> None:
        with ThreadPoolExecutor(writers) as threads:
            for done in [threads.submit(self._write, at, saves) for at in range(writers)]:
                done.result()
        self.check()

    def _write(self, writer: int, saves: int) -> None:
        dice = random.Random(self.seed * 1000 + writer)
        carrier = Failing(self.address, dice, self.failures)
        own, own_seen, tries = f"own{writer}", "", 0
        with Catalog(transport=carrier) as catalog:
            value = catalog.entity(self.kind.urn, [self.kind.aspect]).raw(self.kind.aspect) or {}
            seen = self.kind.read(value)
            for save in range(saves):
                while True:
                    name = f"n{writer}x{tries}"
                    tries += 1
                    self.saw[name] = seen
                    try:
                        self._until_answered(partial(self.kind.write, catalog, name, seen))
                    except TextConflict as conflict:
                        self.conflicts += 1
                        seen = self._theirs(catalog, conflict, name)
                        time.sleep(dice.uniform(0, self.pause_seconds))
                    else:
                        self.accepted.add(name)
                        seen = self.kind.written(seen, name)
                        break
                if not self.with_own:
                    continue
                text = f"{own} {save}"
                try:
                    self._until_answered(
                        partial(catalog.describe, TABLE, text, column=own, instead_of=own_seen)
                    )
                except TextConflict as conflict:
                    self.faults.append(f"{text}: a conflict with {conflict.theirs!r}")
                own_seen = text
        self.lost += carrier.lost

    @staticmethod
    def _until_answered(edit: Callable[[], object]) -> None:
        while True:
            try:
                edit()
            except Unreachable:
                continue
            return

    def _theirs(self, catalog: Catalog, conflict: TextConflict, name: str) -> State:
        theirs: State = conflict.theirs
        if isinstance(self.saw[name], frozenset):
            theirs = frozenset(filter(None, conflict.theirs.split(", ")))
        if theirs == self.kind.written(self.saw[name], name):
            self.faults.append(f"{name} was refused for itself")
        return theirs

    def check(self) -> None:
        """Every version holds one more save than the one before it, made over just that one."""
        with Catalog(self.address) as catalog:
            versions = list(catalog.every_version(self.kind.urn, self.kind.aspect, page_size=200))
        states = [self.kind.read(version.value) for version in reversed(versions)]
        made: dict[State, State] = {}
        for before, after in zip(["", *states], states, strict=False):
            earlier = before or type(after)()
            if after == earlier:
                continue
            if after in made:
                self.faults.append(f"{after!r} was written twice")
            made[after] = earlier
        for name, seen in self.saw.items():
            after = self.kind.written(seen, name)
            if name in self.accepted and after not in made:
                self.faults.append(f"{name} was accepted over {seen!r} and is not there")
            elif made.get(after, seen) != seen:
                self.faults.append(f"{name} replaced {made[after]!r}; its writer saw {seen!r}")


def prepare(address: str, kind: Kind, names: int) -> None:
    """Make what is edited, and the first `names` labels of each of eight writers."""
    paths = [SHARED, *(f"own{at}" for at in range(8))]
    with Catalog(address) as catalog:
        catalog.put(TABLE, "schemaMetadata", schema(paths))
        catalog.put(TERM, "glossaryTermInfo", {"definition": "", "termSource": "INTERNAL"})
        made = MADE.get(kind.labels)
        if made is not None:
            labels = (f"{kind.labels}n{at}x{n}" for at in range(8) for n in range(names))
            catalog.ingest_batch([Proposal(Urn.parse(label), *made) for label in labels])


def schema(paths: list[str]) -> dict[str, Any]:
    plain: dict[str, Any] = {"type": {"com.linkedin.schema.StringType": {}}}
    return schema_of([{"fieldPath": path, "nativeDataType": "s", "type": plain} for path in paths])


@pytest.fixture
def place(site: Site) -> Iterator[str]:
    """The address of a service on which nothing of these tests is yet."""
    yield site.address
    with Catalog(site.address) as catalog:
        for urn in (TABLE, TERM):
            catalog.delete(urn)


@pytest.fixture
def _without_conditional_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server whose mutations take no condition, but whose aspects have versions."""
    abilities = EditMethods.abilities

    async def without(self: EditMethods) -> Abilities:
        return replace(await abilities(self), conditional_edits=False)

    monkeypatch.setattr(EditMethods, "abilities", without)


@pytest.mark.parametrize(
    ("writers", "saves"), [(2, 50), pytest.param(8, 16, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("kind", ["column", "term"])
def test_every_accepted_save_replaced_the_text_that_its_writer_saw(
    place: str, kind: str, writers: int, saves: int
) -> None:
    prepare(place, KINDS[kind], 0)
    race = Race(place, KINDS[kind])
    race.run(writers, saves)
    assert race.faults == []
    assert len(race.accepted) == writers * saves
    assert race.conflicts > 0
    assert race.lost > 0


def test_a_save_that_is_gone_or_replaced_what_its_writer_did_not_see_is_noticed(place: str) -> None:
    prepare(place, KINDS["column"], 0)
    race = Race(place, KINDS["column"])
    race.run(1, 2)
    assert race.faults == []
    with Catalog(place) as catalog:
        catalog.describe(TABLE, "unseen", column=SHARED)
    race.saw |= {"gone": "unseen", "unseen": "another"}
    race.accepted |= {"gone", "unseen"}
    race.check()
    seen = max(race.saw.keys() - {"gone", "unseen"})
    assert race.faults == [
        "gone was accepted over 'unseen' and is not there",
        f"unseen replaced {seen!r}; its writer saw 'another'",
    ]


@pytest.mark.usefixtures("_without_conditional_edits")
@pytest.mark.parametrize("kind", ["column", "tags", "links"])
def test_so_did_those_on_a_server_that_has_conditions_for_whole_aspects_only(
    place: str, kind: str
) -> None:
    prepare(place, KINDS[kind], 60)
    race = Race(place, KINDS[kind])
    race.run(4, 6)
    assert race.faults == []
    assert len(race.accepted) == 24


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("column", "term")])
def test_so_do_saves_of_everything_else_that_people_edit(place: str, kind: str) -> None:
    prepare(place, KINDS[kind], 60)
    race = Race(place, KINDS[kind], with_own=False)
    race.run(4, 6)
    assert race.faults == []
    assert len(race.accepted) == 24


class LosingAnswers(Failing):
    """Loses the answer to the next request that writes, once."""

    def __init__(self, address: str) -> None:
        super().__init__(address, random.Random(0), 0.0)
        self.loses = False

    async def send(self, request: Any) -> Any:
        answer = await super().send(request)
        if self.loses and request.writes:
            self.loses = False
            raise Unreachable("the answer got lost")
        return answer


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "term"])
def test_an_edit_whose_answer_got_lost_is_undone_after_it_was_tried_again(
    place: str, kind: str, tmp_path: Path
) -> None:
    edited = KINDS[kind]
    prepare(place, edited, 2)
    with Catalog(place) as plain:
        edited.write(plain, "n0x0", None)
    carrier = LosingAnswers(place)
    with Catalog(transport=carrier) as catalog:
        catalog.keep_journal(tmp_path / "journal.jsonl")

        def now() -> State:
            return edited.read(catalog.entity(edited.urn, [edited.aspect]).raw(edited.aspect) or {})

        before = now()
        catalog.abilities()
        carrier.loses = True
        with pytest.raises(Unreachable):
            edited.write(catalog, "n0x1", before)
        stored = now()
        assert stored != before
        edited.write(catalog, "n0x1", before)
        assert now() == stored
        catalog.undo_save()
        assert now() == before
