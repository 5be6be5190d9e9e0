"""What comes back: every answer read by a pure function, from old servers and new ones.

The specification's shapes and those of a current DataHub differ in places (search hits are URNs
or objects, relationships carry types or not); both are read here, nowhere else.
"""

from explorer.client.answers import (
    finding,
    following,
    health,
    reading,
    relating,
    suggesting,
    writing,
)

__all__ = ["finding", "following", "health", "reading", "relating", "suggesting", "writing"]
