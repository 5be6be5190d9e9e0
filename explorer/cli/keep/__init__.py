"""Serving and keeping catalogs, and the names of servers."""
