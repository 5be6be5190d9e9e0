"""`explorer.Catalog`: the blocking client, whose answers show themselves in a notebook."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from explorer import client
from explorer.errors import InvalidInput
from explorer.metadata.filters import Filter
from explorer.metadata.urn import Urn
from explorer.notebook.entity import Entity
from explorer.notebook.results import Results

if TYPE_CHECKING:
    from explorer.metadata.filtertext import Order

__all__ = ["Catalog"]


class Catalog(client.Catalog):
    """A catalog to ask from a notebook or a script.

        cat = Catalog()
        cat.search("orders")
        orders = cat.dataset("urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)")
        orders.schema.to_frame()

    `url` names a server; without one `CATALOG_URL` does, and without that this machine's own
    catalog is found or started. What `search`, `entity` and `dataset` give shows itself as a table
    and is a DataFrame when asked; everything else is the client's.
    """

    def search(
        self,
        text: str = "*",
        *,
        entity: str | Sequence[str] | None = None,
        narrowed_by: Filter | str | None = None,
        sorted_by: "str | Sequence[Order] | None" = None,
        start: int = 0,
        count: int = 20,
        superseding: str | None = None,
    ) -> Results:
        """A page of what matches `text`, best first or sorted, with what a line about each hit
        needs.

        `len(page)` is what is on it, `page.total` what there is. Over all entity types unless
        `entity` names some; filters and orders may be given as text. One request, and one more for
        each hundred hits.
        """
        page = super().search(
            text,
            entity=entity,
            narrowed_by=narrowed_by,
            sorted_by=sorted_by,
            start=start,
            count=count,
            superseding=superseding,
        )
        return Results(
            page.text,
            page.start,
            page.total,
            page.hits,
            page.facets,
            page.unreadable,
            page.as_of,
            self.summaries(hit.urn for hit in page),
        )

    def entity(self, urn: str | Urn, aspects: Sequence[str] | None = None) -> Entity:
        """An entity with its aspects, all of them unless some are named, and the names of its
        owners, tags, terms and domains. Two requests.

        An entity of which nothing is stored is given too, and says so.
        """
        read = super().entity(urn, aspects)
        owners = Urn.parse_all(owner.owner for owner in read.owners)
        others = (*owners, *read.tags, *read.terms, *read.domains)
        names = {found.urn: found.name for found in self.summaries(others).values()}
        return Entity(read.urn, read.aspects, read.as_of, catalog=self, names=names)

    def dataset(self, urn: str | Urn) -> Entity:
        """As `entity`; raises `InvalidInput` for the URN of anything but a dataset."""
        target = Urn.parse(urn)
        if target.entity_type != "dataset":
            raise InvalidInput(f"{target} is a {target.entity_type}, no dataset; use entity()")
        return self.entity(target)
