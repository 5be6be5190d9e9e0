"""A load that ended before its end."""

from explorer.client.records import LoadReport
from explorer.errors import Unreachable

__all__ = ["LoadInterrupted"]


class LoadInterrupted(Unreachable):
    """The server stopped answering while changes were sent to it; some of them are stored.

    `report` tells of the changes whose fate is known, and `stored` which of them went in, by their
    places among those given, from 0. Those at the places `unanswered` were sent and may have gone
    in or not. `not_tried` counts the rest, which did not; None where the changes were an iterator,
    of which nobody knows how many are left. `cause` is what ended it.
    """

    def __init__(
        self,
        cause: Unreachable,
        report: LoadReport,
        stored: tuple[int, ...],
        unanswered: tuple[int, ...],
        not_tried: int | None,
    ) -> None:
        self.cause = cause
        self.report = report
        self.stored = stored
        self.unanswered = unanswered
        self.not_tried = not_tried
        self.status, self.url, self.excerpt = cause.status, cause.url, cause.excerpt
        left = "" if not_tried is None else f", {not_tried:,} did not"
        super().__init__(
            f"{cause}; {report.written:,} changes went in, {len(unanswered):,} may have{left}"
        )

    def __reduce__(self) -> tuple[object, ...]:
        held = (self.cause, self.report, self.stored, self.unanswered, self.not_tried)
        return type(self), held, self.__dict__
