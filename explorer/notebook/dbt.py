"""What the catalog changes in the files of a dbt project, shown in a notebook."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.notebook.view import MOST_ROWS, ShownTable, table_parts
from explorer.stewardship.dbt import ProjectPlan
from explorer.views import dbt as views
from explorer.views.parts import Difference, Part, Say, Title
from explorer.views.table import to_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ProjectPlanTable"]


@dataclass(frozen=True, repr=False)
class ProjectPlanTable(ShownTable, ProjectPlan):
    """The changes of a dbt project's files, and what is left out and why; `write` writes them."""

    @property
    def items(self) -> tuple[views.PlanItem, ...]:
        """Return every change, and what is left out, file by file."""
        return views.plan_items(self)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each change and each text left out, all as text. No request.

        file, resource, column, property   where it stands
        kind                               what comes of it, such as new, changed, conflict
        before, after                      in the project now, and as planned
        urn, why                           the dataset, and why nothing is written
        """
        return to_frame(views.plan_table(self.items))

    def parts(self) -> Iterator[Part]:
        yield Title("dbt project", " · ".join(views.plan_summary(self)))
        items = self.items
        yield from table_parts(views.plan_page(items))
        lines = tuple(line for one in items[:MOST_ROWS] for line in views.item_diff(one))
        if lines:
            yield Difference(lines)
        if self.files:
            yield Say("write() writes: " + "; ".join(views.files_sentences(self)))
