"""The sample catalog: the data of Tarnwood, an invented shop for outdoor gear.

New catalogs contain it, and examples and tests use it. It is generated from the text files in
`data/`, a fixed seed and a date: the same date gives the same bytes.
"""

from collections.abc import Iterator
from datetime import date
from itertools import chain

from explorer.metadata import Proposal
from explorer.sample.entities import (
    containers,
    datasets,
    health,
    people,
    pipelines,
    platforms,
    removals,
    reports,
    vocabulary,
)
from explorer.sample.timeseries import profiles, usage
from explorer.sample.warehouse import Days, load_warehouse

SAMPLE_RUN_ID = "sample-catalog"


def sample_proposals(today: date) -> Iterator[Proposal]:
    """Yield the proposals that create the sample catalog, as it is at midnight UTC at the beginning
    of `today`.

    Entities come before those that refer to them: platforms, people, vocabulary, containers,
    datasets (sources first), reports, pipelines. Then come thirty days of usage and profiles,
    oldest first for each dataset; then assertions and incidents, and finally removals. An aspect
    with a history occurs several times, its latest value last. The same date gives the same bytes.
    There are about six thousand proposals; only the package's own files are read.
    """
    days = Days(today)
    warehouse = load_warehouse()
    changes = chain(
        platforms(),
        people(days),
        vocabulary(days),
        containers(warehouse, days),
        datasets(warehouse, days),
        reports(warehouse, days),
        pipelines(warehouse, days),
        usage(warehouse, days),
        profiles(warehouse, days),
        health(warehouse, days),
        removals(warehouse),
    )
    observed = days.millis()
    for urn, aspect, value, actor in changes:
        system = {"runId": SAMPLE_RUN_ID, "lastObserved": observed}
        yield Proposal(urn, aspect, value, system=system, actor=actor)
