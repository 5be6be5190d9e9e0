"""Lineage: what data is made of and what is made of it, walked next to the edges."""
