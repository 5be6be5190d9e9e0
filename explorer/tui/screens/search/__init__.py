"""The search: box, completions, facets, results."""
