"""How work that takes a while says how far it is."""

from collections.abc import Callable

__all__ = ["Progress"]

Progress = Callable[[int, int], None]
"""Is told, from the work's own thread, how many are done and of how many."""
