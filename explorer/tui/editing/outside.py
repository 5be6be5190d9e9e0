"""A text in the reader's own editor, `$VISUAL` or `$EDITOR`, while the terminal is lent to it."""

import os
import shlex
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from explorer.errors import Unusable

if TYPE_CHECKING:
    from textual.app import App

__all__ = ["edit_outside"]


def edit_outside(app: "App[None]", text: str) -> str:
    """The text as the reader's editor leaves it; the program stands still meanwhile.

    A line end that the editor adds at the end, where there was none, is taken off. Raises
    `Unusable` when there is no editor, or it fails: what it wrote until then is kept in a file,
    which the sentence names.
    """
    command = _command()
    handle, name = tempfile.mkstemp(prefix="description-", suffix=".md")
    file = Path(name)
    original = text.encode()
    with os.fdopen(handle, "wb") as opened:
        opened.write(original)
    kept = False
    try:
        status = _run(app, [*command, name])
        written = file.read_bytes()
        if status != 0:
            kept = written != original
            left = f"; what it wrote is in {file}" if kept else ""
            raise Unusable(f"The editor ended with status {status}, the text is as it was{left}.")
        kept = True
        changed = written.decode()
        kept = False
    except UnicodeDecodeError as error:
        raise Unusable(f"What {command[0]} wrote is no UTF-8; it is kept in {file}.") from error
    except OSError as error:
        raise Unusable(f"{file} cannot be read any more ({error.strerror}).") from error
    finally:
        if not kept:
            file.unlink(missing_ok=True)
    return _without_added_end(text, changed)


def _command() -> list[str]:
    wanted = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        command = shlex.split(wanted)
    except ValueError as error:
        raise Unusable(f"$EDITOR cannot be read ({error}): {wanted}") from error
    if not command:
        raise Unusable("No editor is set: put its name in $VISUAL or $EDITOR.")
    return command


def _run(app: "App[None]", command: list[str]) -> int:
    done = failed = None
    try:
        # What is raised in here would leave the terminal lent for good.
        with app.suspend():
            # An interrupt that is meant for the editor is not one for this program.
            before = signal.signal(signal.SIGINT, lambda *_: None)
            try:
                done = subprocess.run(command, check=False)  # noqa: S603 - the reader's own choice
            except OSError as error:
                failed = error
            finally:
                signal.signal(signal.SIGINT, before)
    except SuspendNotSupported as error:
        raise Unusable("This terminal cannot be lent to another editor.") from error
    if done is None:
        why = failed.strerror if failed else "it did not start"
        raise Unusable(f"The editor {command[0]} cannot be used: {why}.") from failed
    return done.returncode


def _without_added_end(before: str, after: str) -> str:
    if before.endswith(("\n", "\r")):
        return after
    return after.removesuffix("\n").removesuffix("\r") if after.endswith("\n") else after
