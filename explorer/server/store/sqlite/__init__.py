"""The store on SQLite: a catalog in one file."""

from explorer.server.store.sqlite.files import (
    back_up_file,
    compact_file,
    copy_file,
    draft_restored_file,
    find_file_damage,
    replace_file,
)
from explorer.server.store.sqlite.schema import flush_directory, is_read_only
from explorer.server.store.sqlite.store import SqliteStore

__all__ = [
    "SqliteStore",
    "back_up_file",
    "compact_file",
    "copy_file",
    "draft_restored_file",
    "find_file_damage",
    "flush_directory",
    "is_read_only",
    "replace_file",
]
