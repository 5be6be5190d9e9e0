"""Writing a description, and keeping what is typed."""
