"""Parsers of answers, pure functions that read every server's dialect."""
