"""Full-text search: a tantivy index on disk, and in-memory indexes of newer changes."""
