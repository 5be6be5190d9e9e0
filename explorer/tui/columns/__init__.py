"""The columns of a dataset."""
