"""The same history of writes gives the same answers whichever engine keeps it."""

from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Literal

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from explorer.server.store import (
    DocumentRange,
    Placement,
    Store,
    StoredEdge,
    Transaction,
)
from explorer.server.store.sqlite import SqliteStore
from tests.postgres import Cluster
from tests.server.store.examples import (
    INFO,
    KEY,
    PROFILE,
    STAMP,
    USAGE,
    dataset,
    document,
    tag,
    write,
)

URNS = [tag("a"), tag("é"), tag("B"), dataset("one"), dataset("One"), dataset("\U0001f600")]
RUNS = [None, "early", "late"]
ASPECTS = [INFO, KEY, "status"]
_FLOWS: tuple[Literal[0, 1, 2], ...] = (0, 1, 2)
FOLDERS = [("prod",), ("Prod", "x2"), ("PROD", "x10"), ("dev",)]

urns = st.sampled_from(URNS)
runs = st.sampled_from(RUNS)
millis = st.integers(1, 6)
Job = Callable[[Transaction], object]


class Failed(Exception):
    """A job that ends early."""


def _write(urn: str, aspect: str, run: str | None, value: int, targets: list[str]) -> Job:
    given: object = {"removed": value % 2 == 0} if aspect == "status" else value
    edges = [StoredEdge("Knows", to, flow) for flow, to in zip(_FLOWS, targets, strict=False)]
    return lambda tx: tx.put(write(urn, given, aspect, run=run, edges=edges, at_millis=value + 1))


def _remove_version(urn: str, aspect: str, back: int) -> Job:
    def job(tx: Transaction) -> object:
        found = tx.aspect(urn, aspect, back)
        if found is not None:
            tx.remove_version(urn, aspect, found.version, (), *STAMP)
        return found

    return job


def _remove_entity(urn: str) -> Job:
    return lambda tx: tx.existing([urn]) and tx.remove_entity(urn, KEY, *STAMP)


def _place(urn: str, folders: list[tuple[str, ...]], leaf: str | None) -> Job:
    def job(tx: Transaction) -> object:
        if tx.existing([urn]):
            tx.place(urn, urn.split(":")[2], urn[-8:], [Placement(one, leaf) for one in folders])
        return tx.browse(urn.split(":")[2], ("prod",), 0, 9)

    return job


jobs: st.SearchStrategy[Job] = st.one_of(
    st.builds(
        _write,
        urns,
        st.sampled_from(ASPECTS),
        runs,
        st.integers(0, 3),
        st.lists(urns, max_size=3, unique=True),
    ),
    st.builds(
        lambda urn, at, value, aspect, series, run: (
            lambda tx: tx.append(
                document(urn, at, value, aspect, series=series, run=run, seen_millis=at)
            )
        ),
        urns,
        millis,
        st.integers(0, 2),
        st.sampled_from([USAGE, PROFILE]),
        st.sampled_from(["", "s"]),
        runs,
    ),
    st.builds(_remove_version, urns, st.sampled_from(ASPECTS), st.integers(-2, 1)),
    st.builds(_remove_entity, urns),
    st.builds(
        lambda urn, aspect: lambda tx: tx.remove_aspect(urn, aspect, *STAMP),
        urns,
        st.sampled_from(ASPECTS),
    ),
    st.builds(
        lambda urn, ends, run: lambda tx: tx.remove_documents(urn, USAGE, ends, *STAMP, run),
        urns,
        st.tuples(st.none() | millis, st.none() | millis),
        runs,
    ),
    st.builds(
        _place, urns, st.lists(st.sampled_from(FOLDERS), max_size=2), st.none() | st.just("L")
    ),
    st.builds(
        lambda key, value: lambda tx: tx.set_note(key, value),
        st.sampled_from("ab"),
        st.none() | st.just("v"),
    ),
    st.builds(lambda at, most: lambda tx: tx.trim_log(at, at * 2, most), millis, millis),
    st.builds(lambda keep, most: lambda tx: tx.trim_versions(keep, 0, most), millis, millis),
    st.builds(lambda at, most: lambda tx: tx.trim_documents(at, 0, most), millis, millis),
)


def answers(store: Store) -> dict[str, Any]:
    """What every reading method answers."""
    types = ("tag", "dataset")
    told: dict[str, Any] = {
        "aspects": {urn: sorted(map(repr, of)) for urn, of in store.aspects(URNS).items()},
        "histories": {
            urn: sorted(map(repr, of)) for urn, of in store.histories(URNS, ASPECTS).items()
        },
        "versions": [
            store.versions(urn, INFO, ends, 0, 2) for urn in URNS for ends in ((1, 0), (-1, 2))
        ],
        "back": [store.aspect(urn, INFO, at) for urn in URNS for at in (-2, -1, 1, 2)],
        "urns": [
            store.urns(),
            *(store.urns(entity_type=one) for one in types),
            store.urns(run="early", limit=3),
            store.urns(measured=DocumentRange(USAGE, 2, 5)),
            store.urns(prefix="urn:li:tag:", after=tag("B"), start=1, limit=2),
        ],
        "counts": [
            store.count(),
            *(store.count(aspect=one, entity_type=of) for one in (INFO, USAGE) for of in types),
            store.count(urn_like="%LI:t_G:%"),
            store.count(urn_like="%\\%"),
        ],
        "runs": [store.runs(0, 9, with_removed=one) for one in (True, False)],
        "run rows": [
            store.run_rows(run, urn=urn, with_removed=one)
            for run in ("early", "late")
            for urn in (None, URNS[0])
            for one in (True, False)
        ],
        "documents": [
            (list(store.documents(urn)), list(store.documents(urn, USAGE, 2, 5, 2))) for urn in URNS
        ],
        "log": (store.log(0, 10_000), store.log_bounds(), sorted(store.changed_urns(3))),
        "notes": [store.note(key) for key in "ab"],
        "browse": [
            store.browse(of, path, *page, among)
            for of in types
            for path in ((), ("prod",), ("prod", "X2"), ("prod", "l"))
            for page in ((0, 9), (1, 1))
            for among in (None, set(URNS[::2]))
        ],
    }
    for direction in ("OUTGOING", "INCOMING"):
        told[direction] = [
            store.edges(of, direction, types, *page)
            for of in ([URNS[0]], URNS[:3])
            for types in ((), ("Knows",))
            for page in ((0, -1), (1, 1))
        ]
    handles = store.handles(URNS)
    told["known"] = dict(zip(*store.urns_of_handles(sorted(handles.values())), strict=True))
    told["lineage"] = [
        sorted(zip(*store.lineage(sorted(handles.values()), upstream=one), strict=True))
        for one in (True, False)
    ]
    told["pairs"] = sorted(
        pair for columns in store.lineage_pairs() for pair in zip(*columns, strict=True)
    )
    return told


class Histories(RuleBasedStateMachine):
    """Does the same to a catalog of each engine."""

    engines: ClassVar[list[Callable[[], Store]]] = []

    def __init__(self) -> None:
        super().__init__()
        self.stores = [open_one() for open_one in self.engines]

    @rule(given=st.lists(jobs, min_size=1, max_size=6), fails=st.booleans())
    def write(self, given: list[Job], *, fails: bool) -> None:
        def all_of(tx: Transaction) -> list[object]:
            done = [job(tx) for job in given]
            if fails and len(given) > 2:
                raise Failed
            return [*done, tx.changes.rewired, tx.changes.touched, tx.changes.measured]

        futures = [store.write(all_of) for store in self.stores]
        given_back = [one.exception(60) or one.result() for one in futures]
        for one, other in combinations(given_back, 2):
            assert one == other or type(one) is type(other) is Failed

    @invariant()
    def answers_are_the_same(self) -> None:
        first, *others = [answers(store) for store in self.stores]
        for other in others:
            for what, answer in first.items():
                assert other[what] == answer, what

    def teardown(self) -> None:
        for store in self.stores:
            store.close()


@pytest.fixture
def engines(postgres: Cluster, tmp_path: Path) -> Iterator[None]:
    from explorer.server.store.postgresql import PostgresStore

    places = iter(range(10_000))
    Histories.engines = [
        lambda: SqliteStore(tmp_path / f"{next(places)}.db"),
        lambda: PostgresStore(postgres.new_schema()),
    ]
    yield
    Histories.engines = []


@pytest.mark.parametrize(
    ("examples", "steps"), [(2, 8), pytest.param(40, 12, marks=pytest.mark.nightly)]
)
@pytest.mark.usefixtures("engines")
def test_the_same_history_gives_the_same_answers_in_every_engine(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        ),
    )
