"""What a request says of the order of results."""

from typing import Any

from explorer.errors import InvalidInput
from explorer.server.call import Parameters
from explorer.server.search.page import SortBy

__all__ = ["read_sort"]

_DESCENDING = {None: False, "ASCENDING": False, "DESCENDING": True}


def read_sort(parameters: Parameters) -> tuple[SortBy, ...]:
    """The `sortCriteria` of a request, or its single `sort`; nothing for the best first.

    Raises `InvalidInput` for what is neither.
    """
    criteria = parameters.given.get("sortCriteria")
    if criteria is not None:
        return tuple(_criterion(one) for one in parameters.items("sortCriteria"))
    single = parameters.given.get("sort")
    return () if single is None else (_criterion(single),)


def _criterion(given: Any) -> SortBy:
    match given:
        case {"field": str(field)} if field:
            order = given.get("order")
            if isinstance(order, str | None) and order in _DESCENDING:
                return SortBy(field.removesuffix(".keyword"), _DESCENDING[order])
            raise InvalidInput(f"the 'order' of a sort is ASCENDING or DESCENDING, not {order!r}")
    raise InvalidInput('a sort is {"field": …, "order": "ASCENDING" or "DESCENDING"}')
