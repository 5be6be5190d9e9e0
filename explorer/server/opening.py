"""Opening a data directory as a catalog."""

import shutil
from pathlib import Path

from explorer.metadata.registry import Registry
from explorer.server.catalog import Catalog
from explorer.server.search.index import SearchIndex
from explorer.server.store import SqliteStore

__all__ = ["FILE", "INDEX", "open_catalog"]

FILE = "catalog.db"
INDEX = "search"


def open_catalog(data_dir: Path, registry: Registry) -> Catalog:
    """The catalog kept in a directory, its search index brought up to date.

    The caller holds the directory. Raises `Unusable` when what lies there cannot be read.
    """
    store = SqliteStore(data_dir / FILE)
    try:
        index = SearchIndex(data_dir / INDEX, registry)
        if index.committed_offset > store.log_head():
            # It knows of changes that this catalog never saw: it was made for another one.
            index.close()
            shutil.rmtree(data_dir / INDEX)
            index = SearchIndex(data_dir / INDEX, registry)
    except BaseException:
        store.close()
        raise
    catalog = Catalog(store, index, registry)
    catalog.catch_up()
    return catalog
