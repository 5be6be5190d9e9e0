"""What the command's words may be."""

from typing import Any

import click

__all__ = ["WORDS"]


class _Words(click.ParamType[str]):
    """Text that can be sent to a server: a shell also passes on bytes that are no text."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail("it is not UTF-8 text", param, ctx)
        return text


WORDS = _Words()
"""The type of every argument and option that holds text rather than a file's name."""
