"""The lineage of an entity, drawn in cells."""
