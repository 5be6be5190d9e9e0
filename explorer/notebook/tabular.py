"""Rows with the same dtypes for one, many or none."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["tabulated"]


def tabulated(rows: Sequence[tuple[Any, ...]], dtypes: Mapping[str, str]) -> "pd.DataFrame":
    """The rows under the columns of `dtypes`, pandas' names for them; None is what is missing."""
    import pandas as pd

    return pd.DataFrame(rows, columns=list(dtypes), dtype="object").astype(dict(dtypes))
