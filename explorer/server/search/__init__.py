"""Finding entities: a tantivy index on disk, and in memory what is newer than it."""
