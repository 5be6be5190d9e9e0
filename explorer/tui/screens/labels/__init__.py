"""Labels, deprecation and visibility of an entity."""
