"""What hangs together: lineage, impact, ways and relationships."""
