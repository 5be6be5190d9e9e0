"""Documentation as a whole: files, coverage, what to write next."""
