"""Going through a whole result, page by page, while others write.

Every answer names the place it ended at, as an opaque text. It belongs to one search and is refused
with another; it keeps nothing on the server and so never expires.
"""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace

from explorer.errors import InvalidInput
from explorer.server.search.page import SearchPage, SearchQuery, SortBy

__all__ = ["begin_scroll", "scroll_id"]

_DIGEST = 9
_BY_URN = (SortBy("urn"),)


def begin_scroll(query: SearchQuery, token: str | None) -> SearchQuery:
    """The query for the page that follows a scroll id, or for the first page without one.

    The pages are in the order of the query's sort, and of URNs where it has none. Raises
    `InvalidInput` for a text that is no scroll id of this search.
    """
    begun = replace(query, sort=query.sort or _BY_URN)
    if token is None:
        return begun
    try:
        raw = urlsafe_b64decode(token.encode() + b"=" * (-len(token) % 4))
        digest, key = raw[:_DIGEST], raw[_DIGEST:].decode("ascii")
    except ValueError:
        raise InvalidInput("the scrollId is none; leave it out to begin anew") from None
    if digest != _digest(begun, key):
        raise InvalidInput(
            "the scrollId is not one of this search: send it with the same entities, input, "
            "filter and sort, or leave it out to begin anew"
        )
    return replace(begun, after=key)


def scroll_id(query: SearchQuery, page: SearchPage) -> str | None:
    """What to go on with after a page; None when it was the last."""
    if page.last is None or len(page.hits) < query.count:
        return None
    raw = _digest(query, page.last) + page.last.encode()
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _digest(query: SearchQuery, key: str) -> bytes:
    asked = replace(query, start=0, count=0, facets=True, after=None)
    return hashlib.blake2b(f"{asked!r}{key}".encode(), digest_size=_DIGEST).digest()
