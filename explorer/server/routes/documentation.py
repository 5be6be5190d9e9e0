"""The documentation page."""

import gzip
from collections.abc import Callable, Iterable
from threading import Lock
from typing import TYPE_CHECKING

from explorer.server.call import Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint

if TYPE_CHECKING:
    from graphql import GraphQLSchema

__all__ = ["DocumentationRoutes"]

_HTML = b"text/html; charset=utf-8"
# Nothing is loaded from anywhere, and nothing but this service is asked.
_POLICY = (
    b"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    b"img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"vary", b"accept-encoding"),
)


class DocumentationRoutes:
    """`/restli/docs`, made at the first request and kept."""

    def __init__(
        self,
        catalog: Catalog,
        endpoints: Callable[[], Iterable[Endpoint]],
        schema: "Callable[[], GraphQLSchema]",
        base: str,
    ) -> None:
        self._catalog = catalog
        self._endpoints = endpoints
        self._schema = schema
        self._base = base
        self._making = Lock()
        self._made: dict[str, tuple[bytes, bytes]] = {}

    def endpoints(self) -> tuple[Endpoint, ...]:
        summary = "this page: every address, aspect, field, relationship and decision"
        return (Endpoint("GET", "/restli/docs", self._page, summary, role="reader", gives="HTML"),)

    async def _page(self, call: Call) -> Answer:
        base = f"{call.scope.get('root_path', '')}{self._base}"
        made = self._made.get(base)
        if made is None:
            made = await self._catalog.offload(self._make, base)
        page, packed = made
        if "gzip" in (call.header(b"accept-encoding") or ""):
            headers = (*_HEADERS, (b"content-encoding", b"gzip"))
            return Answer(packed, headers=headers, media_type=_HTML)
        return Answer(page, headers=_HEADERS, media_type=_HTML)

    def _make(self, base: str) -> tuple[bytes, bytes]:
        from explorer.server.docs.page import documentation_page

        with self._making:
            page = documentation_page(
                self._endpoints(), self._schema(), self._catalog.registry, base
            )
            made = self._made[base] = (page, gzip.compress(page, mtime=0))
        return made
