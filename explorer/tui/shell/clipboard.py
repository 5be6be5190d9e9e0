"""The one way to the clipboard: through the terminal, or through what is there where that is known
not to work."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from typing import Final, Literal, get_args

from explorer.errors import InvalidInput, Unusable

__all__ = ["MOST_SENT_BYTES", "WAYS", "Way", "copy", "ways_here"]

Way = Literal["auto", "terminal", "tmux", "wl-copy", "xclip", "xsel", "pbcopy", "clip.exe", "none"]
"""`terminal` asks the terminal itself (OSC 52), `auto` takes the first that should work here."""

WAYS: Final[tuple[Way, ...]] = get_args(Way)

MOST_SENT_BYTES: Final = 74_994
"""Terminals ignore a longer request."""

_PATIENCE_SECONDS: Final = 3.0
_COMMANDS: Final[Mapping[Way, tuple[str, ...]]] = {
    # With -w the outer terminal is told as well.
    "tmux": ("tmux", "load-buffer", "-w", "-"),
    "wl-copy": ("wl-copy",),
    "xclip": ("xclip", "-selection", "clipboard"),
    "xsel": ("xsel", "--clipboard", "--input"),
    "pbcopy": ("pbcopy",),
    "clip.exe": ("clip.exe",),
}
_CALLED: Final[Mapping[Way, str]] = {"terminal": "the terminal", "tmux": "tmux"}


async def copy(text: str, way: Way, through_terminal: Callable[[str], None]) -> str:
    """Copy, and give the sentence that says how much and by which way.

    `through_terminal` sends the request to the terminal. Raises `InvalidInput` for a text that is
    too long for the only way there is, and `Unusable` when no way worked.
    """
    if not text:
        return "There is nothing to copy."
    ways = await asyncio.to_thread(ways_here, os.environ) if way == "auto" else (way,)
    failures = []
    for one in ways:
        if one == "none":
            raise Unusable("copying is turned off in the settings")
        if one == "terminal":
            if _sent_bytes(text) > MOST_SENT_BYTES:
                failures.append(f"the terminal takes {MOST_SENT_BYTES * 3 // 4:,} bytes at most")
                continue
            through_terminal(text)
        else:
            problem = await _run(one, text)
            if problem:
                failures.append(problem)
                continue
        return f"Copied {_shown(text)}, through {_CALLED.get(one, one)}."
    raise InvalidInput(f"{_shown(text)} could not be copied: {'; '.join(failures)}")


def ways_here(environment: Mapping[str, str], platform: str = sys.platform) -> tuple[Way, ...]:
    """The ways that should work here, the best first; looks for programs.

    Within tmux requests to the terminal are dropped unless somebody allowed them, and tmux itself
    passes on what it is given. A program of this machine fills the clipboard that the reader sees
    only where the reader sits in front of it.
    """
    found: list[Way] = []
    if environment.get("TMUX") and shutil.which("tmux"):
        found.append("tmux")
    if not (environment.get("SSH_CONNECTION") or environment.get("SSH_TTY")):
        here: list[tuple[Way, bool]] = [
            ("pbcopy", platform == "darwin"),
            ("wl-copy", bool(environment.get("WAYLAND_DISPLAY"))),
            ("xclip", bool(environment.get("DISPLAY"))),
            ("xsel", bool(environment.get("DISPLAY"))),
            ("clip.exe", platform == "win32" or bool(environment.get("WSL_DISTRO_NAME"))),
        ]
        found += [way for way, fits in here if fits and shutil.which(way)]
    return (*found, "terminal")


async def _run(way: Way, text: str) -> str:
    """Give the text to a program; what went wrong, in a few words."""
    command = _COMMANDS[way]
    encoding = "utf-16-le" if way == "clip.exe" else "utf-8"
    data = text.encode(encoding, errors="replace")
    quiet = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=quiet, stderr=quiet
        )
    except OSError as error:
        return f"{command[0]} could not be started ({error.strerror})"
    try:
        # Those of X11 and Wayland stay as a server of their own, without the pipe to us.
        await asyncio.wait_for(process.communicate(data), _PATIENCE_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"{command[0]} did not end within {_PATIENCE_SECONDS:.0f} s"
    return f"{command[0]} failed ({process.returncode})" if process.returncode else ""


def _sent_bytes(text: str) -> int:
    """How long the request to the terminal is."""
    return -(-len(text.encode(errors="replace")) // 3) * 4


def _shown(text: str) -> str:
    """A short text itself; how long it is, of a long one."""
    if len(text) <= 200 and text.isprintable():
        return text
    lines = text.count("\n") + 1
    size = f"{len(text):,} characters"
    return f"{lines:,} lines, {size}" if lines > 1 else size
