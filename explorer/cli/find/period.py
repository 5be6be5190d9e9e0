"""The days that a command looks at."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps

import click

__all__ = ["Period", "asks_for_a_period"]

_DATE = click.DateTime(["%Y-%m-%d"])
_MOST_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` up to and including `end`; without an end up to now, without both ever."""

    start: datetime | None = None
    end: datetime | None = None

    @property
    def said(self) -> str:
        """The period in words."""
        match self.start, self.end:
            case None, None:
                return "ever"
            case start, None:
                return f"since {start:%Y-%m-%d}"
            case None, end:
                return f"up to {end:%Y-%m-%d}"
            case start, end:
                return f"from {start:%Y-%m-%d} to {end:%Y-%m-%d}"


def asks_for_a_period(
    days: int | None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command `--days`, `--from` and `--to`; it gets a `period`, the last `days` where the
    command line says nothing."""

    def with_period(command: Callable[..., None]) -> Callable[..., None]:
        @click.option(
            "--days",
            type=click.IntRange(1, _MOST_DAYS),
            help=f"The last so many days.  [default: {days}]" if days else "The last so many days.",
        )
        @click.option("--from", "start", type=_DATE, metavar="DATE", help="From this day on.")
        @click.option("--to", "end", type=_DATE, metavar="DATE", help="Up to the end of this day.")
        @wraps(command)
        def given(
            *args: object,
            days: int | None,
            start: datetime | None,
            end: datetime | None,
            **kwargs: object,
        ) -> None:
            command(*args, period=_read(days, start, end), **kwargs)

        return given

    def _read(asked: int | None, start: datetime | None, end: datetime | None) -> Period:
        if asked is not None and start is not None:
            raise click.UsageError("--days and --from both say where to begin; give one of them")
        if start is not None and end is not None and end < start:
            raise click.UsageError("--to lies before --from")
        last = None
        if end is not None:
            last = end.replace(tzinfo=UTC) + timedelta(days=1) - timedelta(milliseconds=1)
        if start is not None:
            return Period(start.replace(tzinfo=UTC), last)
        back = asked if asked is not None else days
        if back is None:
            return Period(None, last)
        # Whole days, as they are counted: today is the last of them.
        today = (last or datetime.now(UTC)).replace(hour=0, minute=0, second=0, microsecond=0)
        return Period(today - timedelta(days=back - 1), last)

    return with_period
