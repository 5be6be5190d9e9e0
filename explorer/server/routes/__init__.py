"""The resource API, one module for each group of endpoints."""
