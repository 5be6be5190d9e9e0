"""What can be done on the page of an entity."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action(
        "entity",
        "edit",
        ("E", "e"),
        "Edit the description of this entity",
        "edit description",
        writes=True,
    ),
    Action("entity", "tab('overview')", ("1",), "Overview", "tabs", "1–8"),
    Action("entity", "tab('columns')", ("2",), "Columns"),
    Action("entity", "tab('lineage')", ("3",), "Lineage"),
    Action("entity", "tab('relations')", ("4",), "Relationships"),
    Action("entity", "tab('usage')", ("5",), "Usage"),
    Action("entity", "tab('profile')", ("6",), "Profile"),
    Action("entity", "tab('history')", ("7",), "History"),
    Action("entity", "tab('raw')", ("8",), "Raw"),
    Action("entity", "copy_urn", ("y",), "Copy the URN", "copy urn"),
    Action("entity", "open_page", ("o",), "Open its page in the browser", "web page"),
    Action("entity", "zone", ("Z",), "Times in UTC, or in the zone of this machine"),
    Action("entity", "reload", ("r",), "Refresh"),
)
