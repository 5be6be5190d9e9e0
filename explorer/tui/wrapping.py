"""A line of text broken into as many as it takes, without losing a character."""

from collections.abc import Iterator

from rich.cells import cell_len

__all__ = ["broken"]


def broken(line: str, width: int) -> Iterator[str]:
    """The parts of a line, each at most `width` cells wide and ending after a space where there
    is one; put together they are the line. An empty line is one part."""
    width, at = max(width, 2), 0
    while True:
        end = at + width
        while cell_len(line[at:end]) > width:
            end -= max((cell_len(line[at:end]) - width) // 2, 1)
        if end < len(line):
            space = line.rfind(" ", at, end)
            # Not within what a line is indented by.
            end = space + 1 if line[at : max(space, at)].strip() else end
        yield line[at:end]
        if end >= len(line):
            return
        at = end
