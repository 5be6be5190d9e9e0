"""What became of changes."""

from dataclasses import dataclass, field

__all__ = ["LoadReport", "Rollback"]


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What became of a list of changes: how many went in, and which did not and why."""

    written: int = 0
    refused: tuple[tuple[str, str], ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Rollback:
    """What undoing a run did, or would do: aspects taken back, entities taken out with all they
    have, and how many of these others have written to since."""

    aspects: int
    entities: int
    touched: int = 0
