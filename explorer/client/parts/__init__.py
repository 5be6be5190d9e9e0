"""The client's methods, grouped by what one does with a catalog."""

from explorer.client.parts.editing import Editing
from explorer.client.parts.finding import Finding
from explorer.client.parts.following import Following
from explorer.client.parts.reading import Reading
from explorer.client.parts.relating import Relating
from explorer.client.parts.stewardship import Stewarding
from explorer.client.parts.undoing import Undoing
from explorer.client.parts.writing import Writing

__all__ = [
    "Editing",
    "Finding",
    "Following",
    "Reading",
    "Relating",
    "Stewarding",
    "Undoing",
    "Writing",
]
