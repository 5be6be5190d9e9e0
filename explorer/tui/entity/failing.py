"""The place on the page of an entity where trouble with a part of it is told."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from explorer.tui.entity.page import EntityView

__all__ = ["Failing"]


@dataclass(frozen=True, slots=True)
class Failing:
    """Tells why a tab, or with no name the entity, was not read. Two of the same place are equal:
    what is told last stands there."""

    view: "EntityView"
    name: str

    def __call__(self, sentence: str) -> bool:
        return self.view.fail(self.name, sentence)
