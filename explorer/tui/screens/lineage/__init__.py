"""The lineage of an entity as a drawing in cells."""
