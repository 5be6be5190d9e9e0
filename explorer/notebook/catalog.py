"""`explorer.Catalog`: the blocking client, whose answers show themselves in a notebook."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from explorer import client
from explorer.client import entity as read
from explorer.errors import InvalidInput, ServerFault
from explorer.metadata.filters import Filter
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook.browsing import Folder, opened
from explorer.notebook.entity import Entity
from explorer.notebook.names import Names, NamesKnown, find, named
from explorer.notebook.progress import counted, during, each
from explorer.notebook.results import Question, Results, answered
from explorer.notebook.seen import TextsSeen
from explorer.notebook.server import Server, shown_server

if TYPE_CHECKING:
    from explorer.metadata.filtertext import Order
    from explorer.notebook.stewardship import Loaded, Stewardship
    from explorer.notebook.widgets.explorer import Explorer

__all__ = ["Catalog"]

_NAMES_AT_ONCE = 200


class Catalog(client.Catalog):
    """A catalog to ask from a notebook or a script.

        cat = Catalog()
        cat.search("orders")
        orders = cat.dataset("urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)")
        orders.schema.to_frame()

    `url` names a server; without one `CATALOG_URL` does, and without that this machine's own
    catalog is found or started. What `search`, `entity`, `dataset` and `browse` give shows itself
    as a table and is a DataFrame when asked; everything else is the client's.

    `cat["fct_orders"]` is the entity of that name or URN, and completes from what was read;
    `cat.names()` reads them all.
    """

    _known: NamesKnown
    _seen: TextsSeen

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """A catalog that knows no names yet."""
        made = super().__new__(cls)
        made._known, made._seen = NamesKnown(), TextsSeen()
        return made

    def __repr__(self) -> str:
        # The embedded one has no address before it is found or started.
        said = super().__repr__()
        return "Catalog(embedded, not asked yet)" if said == "Catalog('')" else said

    def __getitem__(self, name: str | Urn) -> Entity:
        """The entity of a URN, or the only one of a name.

        Two requests for a URN; for a name those of a search before. Raises `NotFound` where
        nothing is called so, `InvalidInput` naming the candidates where several are.
        """
        if isinstance(name, Urn) or name.startswith("urn:"):
            return self.entity(name)
        return self.entity(find(self, name, self._known))

    def info(self) -> Server:
        """What the server says of itself. One request."""
        return shown_server(super().info())

    # Else Python would try to walk it, one number after another.
    __iter__ = None

    def _ipython_key_completions_(self) -> list[str]:
        """What may be asked for by name, as far as it is known; asks no server."""
        return self._known.offered()

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
        summaries = self.summaries([hit.urn for hit in page])
        self._known.learn(named(summaries.values()))
        return answered(page, summaries, Question(self, entity, narrowed_by, sorted_by, count))

    def entity(self, urn: str | Urn, aspects: Sequence[str] | None = None) -> Entity:
        """An entity with its aspects, all of them unless some are named, and the names of its
        owners, tags, terms and domains. Two requests.

        An entity of which nothing is stored is given too, and says so.
        """
        found = super().entity(urn, aspects)
        owners = Urn.parse_all(owner.owner for owner in found.owners)
        others = (*owners, *found.tags, *found.terms, *found.domains)
        names = {urn: one.name for urn, one in self.summaries(others).items()}
        whole = aspects is None
        entity = Entity(
            found.urn, found.aspects, found.as_of, catalog=self, names=names, whole=whole
        )
        self._known.learn(named([entity]))
        if whole:
            self._see(entity)
        return entity

    def dataset(self, urn: str | Urn) -> Entity:
        """As `entity`; raises `InvalidInput` for the URN of anything but a dataset."""
        target = Urn.parse(urn)
        if target.entity_type != "dataset":
            raise InvalidInput(f"{target} is a {target.entity_type}, no dataset; use entity()")
        return self.entity(target)

    def browse(
        self, path: str = "/", *, entity: str = "dataset", start: int = 0, count: int = 100
    ) -> Folder:
        """A page of what lies at a browse path: folders first, each opened by its name,
        `folder["sales"]`. An unknown path is empty. One request."""
        page = super().browse(path, entity=entity, start=start, count=count)
        self._known.learn((one.urn, one.name) for one in page.entities)
        return opened(page, entity, self)

    def explore(
        self, text: str = "", *, narrowed_by: str = "", urn: str | Urn | None = None
    ) -> "Explorer":
        """A widget to browse, search, read and document this catalog in the page, beginning with
        what `text` finds, narrowed by a filter's text, and with an entity open.

        Its `selected`, `results`, `entity` and `df` say in Python what the reader does. A cell that
        is run again goes on with its drafts and, where nothing else is asked for, its search. Given
        at once: it reads by itself, about six requests to begin with.
        """
        from explorer.notebook.widgets.explorer import explore

        return explore(self, text, narrowed_by=narrowed_by, urn=urn)

    def names(
        self,
        text: str = "*",
        *,
        entity: str | Sequence[str] | None = None,
        narrowed_by: Filter | str | None = None,
        limit: int = 10_000,
    ) -> Names:
        """Names and URNs of what a search finds, at most `limit`, kept for completion:
        `cat["ord<TAB>"]`.

        One request for 200 and two for their names; shows how far it is, and may be interrupted:
        what was read by then is kept.
        """
        pages = self.hits(text, entity=entity, narrowed_by=narrowed_by, limit=limit)

        def total() -> int | None:
            return None if pages.total is None else min(limit, pages.total)

        entries: list[tuple[Urn, str]] = []
        waiting: list[Urn] = []

        def learn() -> None:
            fresh = list(named(self.summaries(waiting).values()))
            self._known.learn(fresh)
            entries.extend(fresh)
            waiting.clear()

        with pages:
            for hit in each(pages, "reading names", total=total):
                waiting.append(hit.urn)
                if len(waiting) == _NAMES_AT_ONCE:
                    learn()
        learn()
        return Names(tuple(entries), pages.total, len(self._known))

    def summed_up(self, urns: Iterable[Urn]) -> Mapping[Urn, read.Entity]:
        """What a line about each entity needs, of any number of them. One request for a hundred;
        may be interrupted."""
        wanted = tuple(urns)
        found = during(self, lambda _: self.core.summaries(wanted), "reading their lines")
        self._known.learn(named(found.values()))
        return found

    @property
    def stewardship(self) -> "Stewardship":
        """Coverage, what to document next, and changes in bulk; no request."""
        from explorer.notebook.stewardship import Stewardship

        return Stewardship(self)

    def ingest_batch(self, proposals: Iterable[Proposal]) -> "Loaded":
        """Write many aspects, as many as possible; see `client.Catalog.ingest_batch`. Shows how
        many were sent, and may be interrupted."""
        from explorer.notebook.stewardship import loaded

        return loaded(
            during(self, lambda tell: self.core.ingest_batch(counted(proposals, tell)), "loading")
        )

    def last_seen(self, urn: str | Urn, column: str | None = None) -> str | None:
        """The edited description of an entity, or of its column of that exact path, as this
        session last read it: "" where there was none, None where it was not read. No request."""
        return self._seen.of(Urn.parse(urn), column)

    def _see(self, entity: read.Entity) -> None:
        try:
            self._seen.see(entity)
        except ServerFault:
            # An aspect that cannot be read is told when it is looked at.
            return
