"""Whether the condition of a write holds of what is stored."""

from explorer.metadata.proposal import Condition
from explorer.server.failures import Refusal
from explorer.server.store import StoredAspect
from explorer.server.store.stamping import version_of

__all__ = ["require"]

_ABSENT = -1


def require(condition: Condition, stored: StoredAspect | None) -> None:
    """Raise `Refusal` (412) unless the condition holds of the stored aspect, or of there being
    none."""
    actual = version_of(stored.system) if stored else _ABSENT
    if condition.version is not None and condition.version != actual:
        raise Refusal(412, f"Expected version {condition.version}, actual version {actual}")
    at = stored.time_millis if stored else None
    since = condition.modified_since_millis
    if since is not None and (at is None or at <= since):
        raise Refusal(412, f"Expected a change after {since}, the last was {_said(at)}")
    since = condition.unmodified_since_millis
    if since is not None and at is not None and at > since:
        raise Refusal(412, f"Expected no change after {since}, the last was {_said(at)}")


def _said(at_millis: int | None) -> str:
    return "never" if at_millis is None else f"at {at_millis} (milliseconds since 1970)"
