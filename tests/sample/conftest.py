from datetime import date
from typing import Any

import pytest

from explorer.metadata import Proposal, Registry, load_registry
from explorer.sample import sample_proposals

TODAY = date(2026, 3, 18)


@pytest.fixture(scope="session")
def today() -> date:
    return TODAY


@pytest.fixture(scope="session")
def registry() -> Registry:
    return load_registry()


@pytest.fixture(scope="session")
def proposals() -> list[Proposal]:
    return list(sample_proposals(TODAY))


@pytest.fixture(scope="session")
def latest(proposals: list[Proposal], registry: Registry) -> dict[str, dict[str, Any]]:
    """The latest value of every aspect that is not a timeseries, by URN and aspect."""
    found: dict[str, dict[str, Any]] = {}
    for proposal in proposals:
        if not registry.aspect(proposal.aspect).timeseries:
            found.setdefault(str(proposal.urn), {})[proposal.aspect] = proposal.value
    return found


@pytest.fixture(scope="session")
def series(proposals: list[Proposal]) -> Any:
    """Every timeseries value of an aspect, in the order written, by the dataset's URN."""

    def of(aspect: str) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for proposal in proposals:
            if proposal.aspect == aspect:
                found.setdefault(str(proposal.urn), []).append(proposal.value)
        return found

    return of
