"""Where a service answers, for those who ask and for the one that answers."""

from typing import Final

__all__ = ["GRAPHQL_PATH"]

GRAPHQL_PATH: Final = "/api/graphql"
