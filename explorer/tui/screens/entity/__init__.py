"""The page of an entity and its tabs."""
