"""Browsing: entity types, their folders, and the entities in them."""
