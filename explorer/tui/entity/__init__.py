"""The page of one entity, and the tabs that have no package of their own."""
