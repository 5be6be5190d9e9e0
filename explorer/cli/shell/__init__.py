"""Completion in the reader's own shell."""
