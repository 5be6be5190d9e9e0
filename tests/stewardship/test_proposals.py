"""Changesets that the server keeps: colleagues on several machines decide and apply the same
edits."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from explorer.client import Catalog, KnownCatalog
from explorer.client.http import HttpTransport
from explorer.client.journal import Journal
from explorer.errors import (
    CatalogError,
    Forbidden,
    Gone,
    InvalidInput,
    NotFound,
    StorageFault,
    Unreachable,
)
from explorer.metadata import Proposal, Urn
from explorer.server.authentication import ROLES, Gate, Keyring, Role, create_token
from explorer.stewardship import StagedChangeset, StagedEdit, Stewardship, proposals, staging
from explorer.stewardship.proposals import why_foreign
from explorer.stewardship.staging import ReviewItem
from tests.client.test_simultaneous_edits import Failing
from tests.conftest import schema_metadata, serving_catalog

COLUMNS = [f"c{number}" for number in range(12)]


def table(name: str) -> str:
    return str(Urn.dataset("hive", f"proposals.{name}"))


@dataclass(frozen=True)
class Site:
    """A service that asks for tokens, and a token of each role and person."""

    address: str
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("proposals")
    file = folder / "tokens.json"
    roles: dict[str, Role] = {
        "ann": "editor",
        "ben": "editor",
        "eve": "reader",
        "root": "admin",
        "bot": "proposer",
    }
    tokens = {
        name: create_token(file, name, f"urn:li:corpuser:{name}", role=role)[0]
        for name, role in roles.items()
    }
    assert {*roles.values()} == {*ROLES}
    (folder / "data").mkdir()
    with serving_catalog(folder / "data", Gate(Keyring(file))) as address:
        yield Site(address, tokens)


@dataclass
class Person:
    """Somebody on a machine of their own: a client, and a state directory."""

    name: str
    catalog: Catalog
    home: Path
    patch: pytest.MonkeyPatch

    @property
    def urn(self) -> str:
        return f"urn:li:corpuser:{self.name}"

    @property
    def steward(self) -> Stewardship:
        self.patch.setenv("CATALOG_STATE_DIR", str(self.home))
        return Stewardship(self.catalog)

    def propose(self, urn: str, *columns: str, title: str = "Texts") -> StagedChangeset:
        edits = [StagedEdit(urn, "t", column, text=f"About {column}.") for column in columns]
        return self.steward.stage(edits, title)

    def entries(self) -> list[Any]:
        return list(Journal(self.home / "journal.jsonl"))


Meet = Callable[..., Person]


@pytest.fixture
def meet(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Meet]:
    """Makes people by their names; each has a machine of their own."""
    people: list[Person] = []

    def make(name: str, transport: Any = None, **options: Any) -> Person:
        home = tmp_path / f"{name}-{len(people)}"
        home.mkdir()
        if transport is None:
            catalog = Catalog(site.address, token=site.tokens[name], **options)
        else:
            catalog = Catalog(transport=transport, token=site.tokens[name])
        catalog.keep_journal(home / "journal.jsonl")
        people.append(Person(name, catalog, home, monkeypatch))
        return people[-1]

    yield make
    for person in people:
        person.catalog.close()


@pytest.fixture
def orders(site: Site, request: pytest.FixtureRequest) -> str:
    """A table of this test, whose columns nobody has described."""
    urn = table(request.node.name.replace("[", ".").replace("]", ""))
    with Catalog(site.address, token=site.tokens["root"]) as catalog:
        schema = schema_metadata(dict.fromkeys(COLUMNS))
        catalog.ingest(Proposal(Urn.parse(urn), "schemaMetadata", schema))
    return urn


def states(changeset: StagedChangeset) -> list[str]:
    return [item.state for item in changeset.items]


def said(changeset: StagedChangeset) -> list[ReviewItem]:
    """What a changeset says, as it is when its file is opened again."""
    found = list(StagedChangeset.open(changeset.path).items)
    assert found == list(changeset.items)
    return found


def texts(person: Person, urn: str) -> dict[str, str]:
    schema = person.catalog.entity(urn).schema
    return {column.path.raw: column.edited for column in schema if column.edited}


def test_a_changeset_that_was_shared_is_decided_on_two_machines(meet: Meet, orders: str) -> None:
    ann, ben = meet("ann"), meet("ben")
    mine = ann.propose(orders, "c0", "c1", "c2", title="From upstream")
    mine.decide(3, "refused", ann.urn)
    urn = ann.steward.share_changeset(mine)
    (listed,) = [one for one in ben.steward.shared_changesets() if one.urn == urn]
    assert (listed.title, listed.proposed_by, listed.edits) == ("From upstream", ann.urn, 3)
    assert listed.counts == {"open": 2, "refused": 1}
    assert abs(listed.at - mine.at) < timedelta(milliseconds=2)
    theirs = ben.steward.fetch_changeset(urn)
    assert theirs.path.is_relative_to(ben.home / "changesets" / "shared")
    assert theirs.path.stat().st_mode & 0o777 == 0o600
    assert said(theirs) == said(mine)
    assert (theirs.id, theirs.title, theirs.proposed_by) == (mine.id, mine.title, ann.urn)

    mine.decide(1, "accepted", ann.urn, text="Better.")
    theirs.decide(2, "accepted", ben.urn)
    ann.steward.sync_changeset(mine)
    outcome = ben.steward.sync_changeset(theirs)
    assert (outcome.sent, outcome.received, outcome.overtaken) == (1, 1, ())
    assert ann.steward.sync_changeset(mine).received == 1
    assert said(mine) == said(theirs)
    assert states(mine) == ["accepted", "accepted", "refused"]
    assert mine.items[0].edit.text == "Better."
    assert [item.decided_by for item in mine.items] == [ann.urn, ben.urn, ann.urn]
    (listed,) = [one for one in ann.steward.shared_changesets() if one.urn == urn]
    assert listed.counts == {"accepted": 2, "refused": 1}


def test_the_queue_is_the_same_for_all_and_the_newest_is_first(meet: Meet, orders: str) -> None:
    ann, ben = meet("ann"), meet("ben")
    urns = [
        person.steward.share_changeset(person.propose(orders, "c0", title=title))
        for person, title in ((ann, "First"), (ben, "Second"), (ann, "Third"))
    ]
    for person in (ann, ben, meet("eve")):
        found = person.steward.shared_changesets()
        assert [one.urn for one in found if one.urn in urns] == urns[::-1]
    ben.steward.withdraw_changeset(urns[0])
    assert urns[0] not in [one.urn for one in ann.steward.shared_changesets()]


def test_sharing_again_changes_nothing(meet: Meet, orders: str) -> None:
    ann = meet("ann")
    mine = ann.propose(orders, *COLUMNS)
    mine.decide(1, "accepted", ann.urn)
    ann.steward.share_changeset(mine)
    before = ann.catalog.changes(limit=0).head
    ann.steward.share_changeset(mine)
    ann.steward.share_changeset(StagedChangeset.open(mine.path))
    assert ann.catalog.changes(limit=0).head == before


def test_a_share_that_the_file_cannot_note_is_told_as_shared(
    meet: Meet, orders: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, ben = meet("ann"), meet("ben")
    mine = ann.propose(orders, *COLUMNS)

    def full(self: StagedChangeset, lines: bytes, *, is_synced: bool) -> None:
        raise StorageFault("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(StagedChangeset, "_append_lines", full)
        with pytest.raises(StorageFault, match="is shared, but its file cannot note it: the disk"):
            ann.steward.share_changeset(mine)
    (shared,) = [one for one in ben.steward.shared_changesets() if one.urn.name == mine.id]
    assert ann.steward.share_changeset(mine) == shared.urn


class Dying:
    """Carries so many requests that write, and none after them."""

    def __init__(self, address: str, left: int) -> None:
        self._carrier = HttpTransport(address, 60.0)
        self.left = left

    async def send(self, request: Any) -> Any:
        if request.writes:
            if not self.left:
                raise Unreachable("killed")
            self.left -= 1
        return await self._carrier.send(request)

    async def close(self) -> None:
        await self._carrier.close()


@pytest.mark.nightly
def test_sharing_that_was_killed_is_completed_by_sharing_again(
    site: Site, meet: Meet, orders: str
) -> None:
    many = [StagedEdit(orders, "t", f"c{number}", text="A text.") for number in range(450)]
    ben, left = meet("ben"), 0
    mine = meet("ann").steward.stage(many, "Many")
    mine.decide_open("accepted", "urn:li:corpuser:ann")
    while True:
        ann = meet("ann", Dying(site.address, left))
        try:
            urn = ann.steward.share_changeset(StagedChangeset.open(mine.path))
        except CatalogError:
            # Nobody sees a part of it.
            assert mine.id not in [one.urn.name for one in ben.steward.shared_changesets()]
            with pytest.raises(NotFound):
                ben.steward.fetch_changeset(mine.id)
            left += 1
            continue
        break
    assert left > 2
    assert said(ben.steward.fetch_changeset(urn)) == said(mine)


def test_a_decision_is_on_disk_without_a_network_and_is_sent_later(
    site: Site, meet: Meet, orders: str
) -> None:
    line = Dying(site.address, 100)
    ann, ben = meet("ann"), meet("ben", line)
    urn = ann.steward.share_changeset(ann.propose(orders, "c0", "c1"))
    theirs = ben.steward.fetch_changeset(urn)
    key = proposals.server_key(ben.catalog.core)
    line.left = 0
    theirs.decide(1, "accepted", ben.urn)
    with pytest.raises(Unreachable):
        ben.steward.sync_changeset(theirs)
    assert len(theirs.unsent(key)) == 1
    # Another program of theirs knows what is still to be sent.
    again = StagedChangeset.open(theirs.path)
    assert (states(again), len(again.unsent(key))) == (["accepted", "open"], 1)
    line.left = 100
    assert ben.steward.sync_changeset(again).sent == 1
    assert not again.unsent(key)
    assert states(ann.steward.fetch_changeset(urn)) == ["accepted", "open"]


def test_who_decides_what_somebody_decided_meanwhile_is_told_and_both_say_the_same(
    meet: Meet, orders: str
) -> None:
    ann, ben = meet("ann"), meet("ben")
    mine = ann.propose(orders, "c0", "c1", "c2")
    theirs = ben.steward.fetch_changeset(ann.steward.share_changeset(mine))
    mine.decide(1, "accepted", ann.urn, text="Ann's.")
    mine.decide(2, "refused", ann.urn)
    mine.decide(3, "accepted", ann.urn)
    theirs.decide(1, "accepted", ben.urn)
    theirs.decide(2, "accepted", ben.urn)
    theirs.decide(3, "accepted", ben.urn)
    ann.steward.sync_changeset(mine)
    # Both told it to be accepted as it is, so there is nothing to look at in the third.
    told = ben.steward.sync_changeset(theirs).overtaken
    told += ann.steward.sync_changeset(mine).overtaken
    assert {*told} == {1, 2}
    assert said(mine) == said(theirs)
    # The later decision counts, with the text that its maker saw.
    assert mine.items[0].edit.text == "About c0."
    assert mine.items[0].decided_by == ben.urn
    assert not mine.items[0].is_changed
    # Who has seen it may decide otherwise, and nobody needs to be told of more than that.
    mine.decide(1, "refused", ann.urn)
    ann.steward.sync_changeset(mine)
    outcome = ben.steward.sync_changeset(theirs)
    assert (outcome.received, outcome.overtaken) == (1, ())
    assert states(theirs) == ["refused", *states(mine)[1:]]


class Clock(datetime):
    """A clock that is wrong by `off`."""

    off = timedelta()

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime.now(tz) + cls.off


def test_a_slow_clock_lets_no_older_decision_win(
    meet: Meet, orders: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "datetime", Clock)
    ann, ben = meet("ann"), meet("ben")
    Clock.off = timedelta(days=3)
    mine = ann.propose(orders, "c0")
    theirs = ben.steward.fetch_changeset(ann.steward.share_changeset(mine))
    mine.decide(1, "accepted", ann.urn, text="Of a fast clock.")
    ann.steward.sync_changeset(mine)
    ben.steward.sync_changeset(theirs)
    Clock.off = timedelta(hours=-5)
    theirs.decide(1, "refused", ben.urn)
    ben.steward.sync_changeset(theirs)
    ann.steward.sync_changeset(mine)
    assert said(mine) == said(theirs)
    assert states(mine) == ["refused"]
    Clock.off = timedelta()


@pytest.mark.parametrize("groups", [1, 20])
def test_two_machines_apply_each_edit_once(
    meet: Meet, orders: str, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.stewardship.proposals._GROUP", groups)
    ann, ben = meet("ann"), meet("ben")
    mine = ann.propose(orders, *COLUMNS)
    mine.decide_open("accepted", ann.urn)
    urn = ann.steward.share_changeset(mine)
    theirs = ben.steward.fetch_changeset(urn)
    theirs.decide(1, "accepted", ben.urn, text="By Ben.")
    first = ann.steward.core.apply_staged(mine)
    second = ben.steward.core.apply_staged(theirs)
    runs = [ann.catalog.wait(first), ben.catalog.wait(second)]
    assert all(run.ended_by is None and not run.failed for run in runs)
    ann.steward.sync_changeset(mine)
    assert said(mine) == said(theirs)
    assert {*states(mine)} == {"applied"}
    written = [entry.column for person in (ann, ben) for entry in person.entries()]
    assert sorted(written) == sorted(COLUMNS)
    assert [*texts(ann, orders)] == COLUMNS


def test_outcomes_are_sent_while_it_is_applied(
    meet: Meet, orders: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.stewardship.proposals._GROUP", 2)
    ann = meet("ann")
    mine = ann.propose(orders, *COLUMNS)
    mine.decide_open("accepted", ann.urn)
    ann.steward.share_changeset(mine)
    key = proposals.server_key(ann.catalog.core)
    left: list[int] = []
    ann.steward.apply_staged(mine, lambda *_: left.append(len(mine.unsent(key))))
    assert len(left) == len(COLUMNS)
    assert max(left) == 1
    assert not mine.unsent(key)


def test_what_is_applied_stays_applied_whatever_was_decided_at_that_moment(
    meet: Meet, orders: str
) -> None:
    ann, ben = meet("ann"), meet("ben")
    mine = ann.propose(orders, "c0", "c1")
    mine.decide_open("accepted", ann.urn)
    theirs = ben.steward.fetch_changeset(ann.steward.share_changeset(mine))
    ann.steward.apply_staged(mine)
    theirs.decide(1, "refused", ben.urn)
    outcome = ben.steward.sync_changeset(theirs)
    assert outcome.overtaken == (1,)
    ann.steward.sync_changeset(mine)
    assert said(mine) == said(theirs)
    assert states(mine) == ["applied", "applied"]


def test_what_somebody_refused_meanwhile_is_not_applied(meet: Meet, orders: str) -> None:
    ann, ben = meet("ann"), meet("ben")
    mine = ann.propose(orders, "c0", "c1")
    mine.decide_open("accepted", ann.urn)
    theirs = ben.steward.fetch_changeset(ann.steward.share_changeset(mine))
    theirs.decide(2, "refused", ben.urn)
    ben.steward.sync_changeset(theirs)
    assert ann.steward.apply_staged(mine).applied == 1
    assert states(mine) == ["applied", "refused"]
    assert texts(ann, orders) == {"c0": "About c0."}


def test_journal_and_run_say_who_proposed_and_who_approved(meet: Meet, orders: str) -> None:
    ann, ben, root = meet("ann"), meet("ben"), meet("root")
    urn = ann.steward.share_changeset(ann.propose(orders, "c0"))
    theirs = ben.steward.fetch_changeset(urn)
    theirs.decide(1, "accepted", ben.urn)
    ben.steward.sync_changeset(theirs)
    third = root.steward.fetch_changeset(urn)
    assert root.steward.apply_staged(third).applied == 1
    (entry,) = root.entries()
    assert (entry.proposed_by, entry.approved_by) == (ann.urn, ben.urn)
    assert entry.save == theirs.id
    name = f"changeset {theirs.id}, proposed by ann, approved by ben"
    assert name in {run.run_id for run in root.catalog.runs()}
    # The outcome is everybody's.
    ann.steward.sync_changeset(mine := ann.steward.fetch_changeset(urn))
    assert states(mine) == ["applied"]


class TestRoles:
    """What a token of each role may do with a changeset that the server keeps."""

    def test_a_reader_sees_everything_and_changes_nothing(self, meet: Meet, orders: str) -> None:
        ann, eve = meet("ann"), meet("eve")
        mine = ann.propose(orders, "c0", "c1")
        mine.decide(1, "accepted", ann.urn)
        urn = ann.steward.share_changeset(mine)
        before = ann.catalog.changes(limit=0).head
        assert urn in [one.urn for one in eve.steward.shared_changesets()]
        theirs = eve.steward.fetch_changeset(urn)
        assert said(theirs) == said(mine)
        theirs.decide(1, "refused", eve.urn)
        theirs.decide(2, "accepted", eve.urn)
        outcome = eve.steward.sync_changeset(theirs)
        assert (outcome.sent, outcome.taken_back) == (0, 2)
        assert "role reader" in outcome.why
        assert said(theirs) == said(mine)
        assert eve.steward.sync_changeset(theirs).taken_back == 0
        applied = eve.steward.apply_staged(theirs)
        assert isinstance(applied.ended_by, Forbidden)
        assert (applied.applied, applied.untried) == (0, 1)
        with pytest.raises(Forbidden, match="role reader"):
            eve.steward.withdraw_changeset(urn)
        with pytest.raises(Forbidden, match="role reader"):
            eve.steward.share_changeset(eve.propose(orders, "c2"))
        assert said(theirs) == said(mine)
        assert ann.catalog.changes(limit=0).head == before

    def test_a_proposer_proposes_and_does_no_more(self, meet: Meet, orders: str) -> None:
        ann, bot = meet("ann"), meet("bot")
        mine = bot.propose(orders, "c0", "c1")
        urn = bot.steward.share_changeset(mine)
        theirs = ann.steward.fetch_changeset(urn)
        assert states(theirs) == ["open", "open"]
        before = ann.catalog.changes(limit=0).head
        # Neither decided, nor changed, nor withdrawn, nor written.
        mine.decide(1, "accepted", bot.urn)
        outcome = bot.steward.sync_changeset(mine)
        assert (outcome.sent, outcome.taken_back) == (0, 1)
        for writes in (
            lambda: bot.steward.withdraw_changeset(urn),
            lambda: bot.catalog.describe(orders, "Mine."),
            lambda: bot.catalog.add_tags(orders, ["urn:li:tag:PII"]),
            lambda: bot.catalog.delete(urn),
        ):
            with pytest.raises(Forbidden, match="this token has the role proposer"):
                writes()
        assert ann.catalog.changes(limit=0).head == before
        assert states(ann.steward.fetch_changeset(urn)) == ["open", "open"]

    def test_a_proposer_cannot_pretend_that_somebody_decided(self, meet: Meet, orders: str) -> None:
        ann, bot = meet("ann"), meet("bot")
        decided = bot.propose(orders, "c0")
        decided.decide(1, "accepted", ann.urn)
        with pytest.raises(Forbidden, match="a changeset of your own needs the role editor"):
            bot.steward.share_changeset(decided)
        seen = bot.propose(orders, "c1")
        urn = bot.steward.share_changeset(seen)
        (line,) = [note.line for note in seen.edit_notes()]
        key = {"timestampMillis": 1, "messageId": "edit-1"}
        for aspect, value in (
            ("changesetNote", {**key, "line": line.replace("About c1.", "Another text.")}),
            ("changesetInfo", {**proposals._info(seen), "title": "Another"}),
            ("changesetInfo", {**proposals._info(seen), "proposedBy": ann.urn}),
            ("changesetProgress", {"open": 0, "applied": 1}),
            ("status", {"removed": True}),
        ):
            with pytest.raises(Forbidden, match="needs the role editor"):
                bot.catalog.ingest(Proposal(urn, aspect, value))
        theirs = ann.steward.fetch_changeset(urn)
        assert (theirs.title, theirs.proposed_by) == ("Texts", bot.urn)
        assert [item.edit.text for item in theirs.items] == ["About c1."]
        assert decided.id not in {one.urn.name for one in ann.steward.shared_changesets()}

    def test_an_editor_does_all_but_delete_for_good(self, meet: Meet, orders: str) -> None:
        ann, ben = meet("ann"), meet("ben")
        mine = ann.propose(orders, "c0")
        urn = ann.steward.share_changeset(mine)
        ben.steward.withdraw_changeset(urn)
        with pytest.raises(NotFound, match="withdrawn"):
            ann.steward.sync_changeset(mine)
        with pytest.raises(NotFound, match="withdrawn"):
            ben.steward.fetch_changeset(urn)
        # What was decided of it is not lost, and its file brings it back.
        mine.decide(1, "accepted", ann.urn)
        assert ann.steward.share_changeset(mine) == urn
        assert states(ben.steward.fetch_changeset(urn)) == ["accepted"]
        with pytest.raises(Forbidden, match="needs the role admin"):
            ben.catalog.delete(urn)
        meet("root").catalog.delete(urn)
        with pytest.raises(NotFound):
            ben.steward.fetch_changeset(urn.name[::-1])


def test_it_is_found_only_by_who_asks_for_changesets(site: Site, meet: Meet, orders: str) -> None:
    ann = meet("ann")
    mine = ann.propose(orders, "c0", title="Neverfound")
    urn = ann.steward.share_changeset(mine)
    catalog = ann.catalog
    for text in ("*", "Neverfound", mine.id, str(urn)):
        page = catalog.search(text, count=500)
        assert urn not in [hit.urn for hit in page]
        types = [facet for facet in page.facets if facet.name == "_entityType"]
        assert "changeset" not in {one.value.casefold() for facet in types for one in facet.values}
    assert "changeset" not in catalog.counts()
    assert catalog.counts(["changeset"])["changeset"] > 0
    assert urn in list(catalog.urns("changeset"))
    assert urn not in list(catalog.urns())
    assert urn in [hit.urn for hit in catalog.search("*", filter="type:changeset")]
    assert urn not in [one.urn for one in catalog.suggest("Neverf")]
    found = catalog.graphql(
        '{ search: searchAcrossEntities(input: {types: [], query: "*", start: 0, count: 500}) '
        "{ searchResults { entity { urn } } } }"
    )["search"]["searchResults"]
    assert str(urn) not in [one["entity"]["urn"] for one in found]
    feed = ann.steward.feed()
    assert "changeset" not in {entity.urn.entity_type for entity in feed.entities}
    documentation = httpx.get(f"{site.address}/restli/docs", timeout=120).text
    for name in ("changeset", "changesetInfo", "changesetNote", "changesetProgress"):
        assert f'"{name}"' in documentation


def test_a_server_that_keeps_none_is_told_apart(
    meet: Meet, orders: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = meet("ann")
    mine = ann.propose(orders, "c0")
    theirs = replace(ann.catalog.abilities(), product="datahub", proposals=False)
    monkeypatch.setattr(ann.catalog.core._connection, "_abilities", theirs)
    for ask in (
        ann.steward.shared_changesets,
        lambda: ann.steward.share_changeset(mine),
        lambda: ann.steward.fetch_changeset(mine.id),
        lambda: ann.steward.withdraw_changeset(mine.id),
    ):
        with pytest.raises(InvalidInput, match="cannot store changesets"):
            ask()
    # Its file is reviewed and applied as ever.
    mine.decide(1, "accepted", ann.urn)
    assert ann.steward.apply_staged(mine).applied == 1


def test_what_is_no_changeset_is_refused(meet: Meet) -> None:
    ann = meet("ann")
    for text in ("urn:li:tag:x", "../../etc/passwd", "a b", "urn:li:changeset:..%2Fx"):
        with pytest.raises(InvalidInput, match="not a changeset"):
            ann.steward.fetch_changeset(text)
    with pytest.raises(InvalidInput, match="not shared"):
        ann.steward.sync_changeset(ann.propose(table("x"), "c0"))


def test_a_file_of_an_older_version_is_shared_as_it_is(meet: Meet, orders: str) -> None:
    ann, ben = meet("ann"), meet("ben")
    mine = ann.propose(orders, "c0", "c1")
    late, early = (mine.at + timedelta(seconds=5)).isoformat(), mine.at.isoformat()
    old = [
        {"type": "decision", "number": 1, "state": "refused", "by": "x", "at": late},
        # By a machine whose clock was slow; the file says what came later.
        {"type": "decision", "number": 1, "state": "accepted", "by": "y", "at": early},
        {"type": "unheard of", "number": 1},
        {"type": "decision", "number": 2, "state": "accepted", "by": "y", "at": late},
    ]
    with mine.path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in old)
    mine = StagedChangeset.open(mine.path)
    assert states(mine) == ["accepted", "accepted"]
    theirs = ben.steward.fetch_changeset(ann.steward.share_changeset(mine))
    assert said(theirs) == said(mine)
    theirs.decide(1, "refused", ben.urn)
    ben.steward.sync_changeset(theirs)
    assert ann.steward.sync_changeset(mine).received == 1
    assert states(mine) == ["refused", "accepted"]
    assert ann.steward.sync_changeset(StagedChangeset.open(mine.path)).sent == 0


def test_more_lines_than_fit_a_page_are_all_there(
    meet: Meet, orders: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.stewardship.proposals._PAGE", 500)
    many = [StagedEdit(orders, "t", f"c{number}", text="A text.") for number in range(700)]
    ann, ben = meet("ann"), meet("ben")
    mine = ann.steward.stage(many, "Many")
    mine.decide_open("accepted", ann.urn)
    mine.decide(7, "open", ann.urn)
    mine.decide_open("refused", ann.urn)
    theirs = ben.steward.fetch_changeset(ann.steward.share_changeset(mine))
    assert said(theirs) == said(mine)
    assert theirs.counts() == {"accepted": 699, "refused": 1}


def test_what_came_is_read_again_where_the_log_does_not_reach_back(
    meet: Meet, orders: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, ben = meet("ann"), meet("ben")
    mine = ann.propose(orders, "c0")
    theirs = ben.steward.fetch_changeset(ann.steward.share_changeset(mine))
    mine.decide(1, "refused", ann.urn)
    ann.steward.sync_changeset(mine)

    async def gone(*_: Any) -> Any:
        raise Gone("old rows were dropped")

    monkeypatch.setattr(proposals, "_read_changes", gone)
    assert ben.steward.sync_changeset(theirs).received == 1
    assert states(theirs) == ["refused"]


STEP = st.tuples(
    st.sampled_from([0, 1]),
    st.sampled_from(["accepted", "refused", "open", "text", "sync", "reopen file"]),
    st.integers(1, 3),
)


@pytest.mark.nightly
@settings(
    max_examples=8,
    deadline=None,
    # Each example asks a real service; making a failing one smaller takes minutes.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(STEP, min_size=5, max_size=30), st.integers(0, 1000))
def test_two_reviewers_agree_whatever_they_do_over_a_bad_line(
    site: Site, meet: Meet, orders: str, steps: list[tuple[int, str, int]], seed: int
) -> None:
    dice = random.Random(seed)
    lines = [Failing(site.address, dice, 0.5) for _ in range(2)]
    people = [meet(name, line) for name, line in zip(("ann", "ben"), lines, strict=True)]
    author = meet("root")
    urn = author.steward.share_changeset(author.propose(orders, "c0", "c1", "c2"))
    copies = [person.steward.fetch_changeset(urn) for person in people]
    for at, what, number in steps:
        person, copy = people[at], copies[at]
        if what == "sync":
            try:
                person.steward.sync_changeset(copy)
            except CatalogError:
                continue
        elif what == "reopen file":
            copies[at] = StagedChangeset.open(copy.path)
        elif what == "text":
            copy.decide(number, "accepted", person.urn, text=f"{person.name} {dice.random()}")
        else:
            copy.decide(number, what, person.urn)  # type: ignore[arg-type]
    noted = [len(copy.notes()) for copy in copies]
    lost = 0
    for _ in range(40):
        for person, copy in zip(people, copies, strict=True):
            try:
                outcome = person.steward.sync_changeset(copy)
                lost += outcome.taken_back
            except CatalogError:
                continue
    assert not lost
    assert said(copies[0]) == said(copies[1])
    assert [note.id for note in copies[0].notes()] == [note.id for note in copies[1].notes()]
    assert len(copies[0].notes()) >= max(noted)
    fresh = author.steward.fetch_changeset(urn)
    assert said(fresh) == said(copies[0])
    for person in people:
        person.catalog.close()


def test_a_changeset_of_one_catalog_is_not_written_into_another_unless_it_is_imported(
    meet: Meet, orders: str, tmp_path: Path
) -> None:
    ann = meet("ann")
    changeset = ann.propose(orders, "c0")
    changeset.decide(1, "accepted", ann.urn)
    (tmp_path / "other").mkdir()
    with serving_catalog(tmp_path / "other") as address, Catalog(address) as other:
        schema = schema_metadata(dict.fromkeys(COLUMNS))
        other.ingest(Proposal(Urn.parse(orders), "schemaMetadata", schema))
        steward = Stewardship(other)
        outcome = steward.apply_staged(StagedChangeset.open(changeset.path))
        assert (outcome.applied, outcome.untried) == (0, 1)
        assert changeset.server in str(outcome.ended_by)
        assert address in str(outcome.ended_by)
        assert not other.entity(orders).schema.documented
        with pytest.raises(InvalidInput, match="is of another catalog"):
            steward.share_changeset(changeset)

        # One that an older version made has no id; its address tells.
        unnamed = StagedChangeset.create(
            tmp_path / "old.changes.jsonl",
            [item.edit for item in changeset.items],
            title="Old",
            server=changeset.server,
            proposed_by="",
        )
        unnamed.decide(1, "accepted", "urn:li:corpuser:ann")
        assert steward.apply_staged(unnamed).untried == 1

        imported = steward.import_changeset(changeset)
        assert states(imported) == ["open"]
        with pytest.raises(InvalidInput, match="is of this catalog"):
            steward.import_changeset(imported)
        imported.decide(1, "accepted", "urn:li:corpuser:ann")
        assert steward.apply_staged(imported).applied == 1
        assert [one.edited for one in other.entity(orders).schema if one.edited] == ["About c0."]
    # It is still one of its own catalog, also where it is read from the server.
    assert ann.steward.apply_staged(StagedChangeset.open(changeset.path)).applied == 1
    ann.steward.share_changeset(changeset)
    changeset.path.unlink()
    copy = meet("ben").steward.fetch_changeset(changeset.id)
    assert copy.catalog == changeset.catalog


def test_an_imported_changeset_has_conflicts_where_this_catalog_has_another_text(
    meet: Meet, orders: str, tmp_path: Path
) -> None:
    ann = meet("ann")
    gone = orders.replace("hive", "gone")
    edits = [
        StagedEdit(orders, "orders", column, text=f"About {column}.") for column in COLUMNS[:3]
    ]
    edits.append(StagedEdit(gone, "orders", None, text="Nowhere."))
    changeset = ann.steward.stage(edits, "Texts")
    changeset.decide(3, "accepted", ann.urn, text="Better.")
    (tmp_path / "other").mkdir()
    with serving_catalog(tmp_path / "other") as address, Catalog(address) as other:
        schema = schema_metadata(dict.fromkeys(COLUMNS))
        other.ingest(Proposal(Urn.parse(orders), "schemaMetadata", schema))
        for column, text in zip(COLUMNS, ("Theirs.", "About c1."), strict=False):
            other.describe(orders, text, column=column)
        steward = Stewardship(other)
        imported = steward.import_changeset(changeset)
        told = [(item.state, item.theirs, item.edit.text) for item in imported.items]
        assert told == [
            ("failed", "Theirs.", "About c0."),
            ("open", None, "About c1."),
            ("open", None, "Better."),
            ("failed", None, "Nowhere."),
        ]
        assert StagedChangeset.open(imported.path).items == imported.items
        assert "does not have it" in imported.items[3].why
        for item in imported.items[:3]:
            imported.decide(item.number, "accepted", "ann", before=item.theirs)
        assert steward.apply_staged(imported).applied == 3
        written = [one.edited for one in other.entity(orders).schema if one.edited]
        assert written == ["About c0.", "About c1.", "Better."]


def test_without_an_id_a_changeset_is_of_the_catalog_at_its_address_or_where_it_is_shared(
    tmp_path: Path,
) -> None:
    """DataHub's servers give none, and older versions recorded none."""
    edit = StagedEdit("urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)", "a", text="A.")
    changeset = StagedChangeset.create(
        tmp_path / "one.changes.jsonl", [edit], title="", server="http://here", proposed_by=""
    )
    here, there = KnownCatalog("http://here:80/"), KnownCatalog("http://there", "an id")
    assert why_foreign(changeset, here, "key") == ""
    assert "not on http://there" in why_foreign(changeset, there, "key")
    changeset.note_sent("key", ())
    assert why_foreign(changeset, there, "key") == ""
