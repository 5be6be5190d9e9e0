"""The sample catalog: the data of Tarnwood, an invented shop for outdoor gear.

What a new user sees first, and what examples and tests lean on. It is made from the text files in
`data/`, a fixed seed and one day: the same day gives the same bytes.
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
    """Yield every change that makes the sample catalog, as it looks at the first moment of `today`,
    UTC.

    What others refer to comes first: platforms, people, vocabulary, containers, datasets with
    sources first, reports, pipelines; then thirty days of usage and profiles, oldest first for
    each dataset; then assertions and incidents, then the removals. An aspect that has a history is
    there several times, its latest value last. The same day gives the same bytes. About six
    thousand changes; nothing is read but the package's own files.
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
