"""Finding: the search box, what completes it, facets and results."""
