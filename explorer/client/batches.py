"""Cutting a list of changes into batches that a server takes in one request each."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from explorer.client.requests.writing import MAX_BATCH, MAX_BODY_BYTES, size_bytes
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

__all__ = ["Batch", "cut"]

_USUAL = 100
# The braces and commas around the proposals take a little too.
_ROOM_BYTES = MAX_BODY_BYTES - 4096


@dataclass(frozen=True)
class Batch:
    """Changes that follow one another; `start` is the place of the first among all."""

    start: int
    proposals: tuple[Proposal, ...]

    @property
    def positions(self) -> range:
        """The places of the changes among all."""
        return range(self.start, self.start + len(self.proposals))

    @cached_property
    def urns(self) -> frozenset[Urn]:
        """Whose changes they are."""
        return frozenset(proposal.urn for proposal in self.proposals)

    def must_follow(self, other: "Batch") -> bool:
        """Whether this one may only be sent when the other is stored."""
        return not self.urns.isdisjoint(other.urns)


def cut(
    proposals: Iterable[Proposal], *, usual: int = _USUAL, room_bytes: int = _ROOM_BYTES
) -> Iterator[Batch]:
    """The changes in order, `usual` at a time.

    A batch takes up to 200 so as not to part what belongs to one entity, and never more than one
    request has room for; a single change that is longer goes alone. Reads no further ahead than
    the batch that it gives.
    """
    held: list[Proposal] = []
    start, size = 0, 0
    for position, proposal in enumerate(proposals):
        weight = size_bytes(proposal)
        if held and (
            len(held) >= MAX_BATCH
            or size + weight > room_bytes
            or (len(held) >= usual and proposal.urn != held[-1].urn)
        ):
            yield Batch(start, tuple(held))
            held, start, size = [], position, 0
        held.append(proposal)
        size += weight
    if held:
        yield Batch(start, tuple(held))
