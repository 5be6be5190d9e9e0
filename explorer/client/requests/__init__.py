"""Requests as values, built by pure functions from the caller's arguments."""
