"""The store on PostgreSQL: a catalog that several services share."""

from explorer.server.store.postgresql.access import PostgresAccess
from explorer.server.store.postgresql.store import PostgresStore

__all__ = ["PostgresAccess", "PostgresStore"]
