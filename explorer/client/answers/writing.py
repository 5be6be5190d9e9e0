"""What became of a change."""

from typing import Any

from explorer.client.answers.shape import value_of
from explorer.client.records import Rollback

__all__ = ["rollback"]


def rollback(body: Any) -> Rollback:
    """What undoing a run did."""
    value = value_of(body, "rollback")
    return Rollback(
        int(value.get("aspectsReverted", 0)),
        int(value.get("entitiesDeleted", 0)),
        int(value.get("unsafeEntitiesCount", 0)),
    )
