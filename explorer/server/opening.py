"""Opening a data directory as a catalog."""

import logging
from pathlib import Path

from explorer.errors import CatalogError
from explorer.metadata.registry import Registry
from explorer.server.catalog import Catalog
from explorer.server.search.index import SearchIndex
from explorer.server.store import SqliteStore

__all__ = ["COUNTS", "FILE", "INDEX", "open_catalog"]

FILE = "catalog.db"
INDEX = "search"
COUNTS = "stewardship.counts"

_log = logging.getLogger("explorer.server")

# An index of so many entities is made in about a second, before the first request is taken.
_MADE_AT_ONCE = 2_000


def open_catalog(data_dir: Path, registry: Registry) -> Catalog:
    """The catalog kept in a directory, its search index brought up to date.

    An index of more than 2,000 entities that has to be made anew is made in the background;
    searches raise `Busy` until then. The caller holds the directory. Raises `Unusable` when what
    lies there cannot be read.
    """
    store = SqliteStore(data_dir / FILE)
    try:
        index = SearchIndex(data_dir / INDEX, registry, store)
    except BaseException:
        store.close()
        raise
    catalog = Catalog(store, index, registry, data_dir / COUNTS)
    catalog.ledger.open()
    try:
        if index.committed_offset == 0 and (count := store.entity_count()) > _MADE_AT_ONCE:
            _log.warning("the search index is being made for %d entities", count)
            catalog.rebuild_index()
        else:
            catalog.catch_up()
    except CatalogError as error:
        if store.problem is None:
            catalog.close()
            raise
        # What can be read is served all the same; the search index is not what it should be.
        _log.error("%s", error)
        catalog.rebuild_index()
    except BaseException:
        catalog.close()
        raise
    return catalog
