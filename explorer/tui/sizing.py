"""A widget that always learns its size."""

from textual import events
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget

__all__ = ["SizeAware"]


class SizeAware(Widget):
    """A widget whose `on_resize` runs whenever its size changed, the first layout included.

    Textual 8.2 sends `Resize` to the widgets that are new in its layout map. If a region is looked
    up between the mount and the layout, which setting the focus does, the widget is in the map
    before the layout begins and the event is never sent. So the size is compared after every
    layout.
    """

    _size_told: Size | None = None

    def on_mount(self) -> None:
        """Compare the size after every layout of the screen."""
        self.screen.screen_layout_refresh_signal.subscribe(self, self._notice_size, immediate=True)

    def _notice_size(self, screen: Screen[object]) -> None:
        del screen
        if self.outer_size != self._size_told:
            self._size_told = self.outer_size
            # Textual merges this with its own event where it sent one.
            self.post_message(
                events.Resize(self.outer_size, self.virtual_size, self.container_size)
            )
