"""What changes a catalog: descriptions, labels, deletion, loading."""
