"""Other programs: the clipboard, the web browser, and the editor in `$VISUAL` or `$EDITOR`."""

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from textual.app import SuspendNotSupported

from explorer.client.display import line
from explorer.errors import InvalidInput, Misconfigured, StorageFault
from explorer.tui.settings import ClipboardMethod

if TYPE_CHECKING:
    from textual.app import App

    from explorer.client.records import ServerInfo
    from explorer.metadata.urn import Urn
    from explorer.tui.session import TerminalSession

# The first step of the path under which DataHub's web interface shows each type.
_PAGES = {
    "chart": "chart",
    "container": "container",
    "corpGroup": "group",
    "corpuser": "user",
    "dashboard": "dashboard",
    "dataFlow": "pipelines",
    "dataJob": "tasks",
    "dataProduct": "dataProduct",
    "dataset": "dataset",
    "domain": "domain",
    "glossaryNode": "glossaryNode",
    "glossaryTerm": "glossaryTerm",
    "mlFeature": "features",
    "mlFeatureTable": "featureTables",
    "mlModel": "mlModels",
    "mlModelGroup": "mlModelGroup",
    "mlPrimaryKey": "mlPrimaryKeys",
    "tag": "tag",
}
_SERVICE_BELOW = "/api/gms"
_SERVICE_PORT, _WEB_PORT = 8080, 9002
_BROWSER_PATIENCE_SECONDS = 5.0
_REMOTE = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


class Browser:
    """Opens web pages; where no browser can be shown, copies their addresses and shows a
    message."""

    def __init__(self, session: "TerminalSession", copy: Callable[[str], None]) -> None:
        self._session = session
        self._copy = copy

    async def open_page(self, urn: "Urn") -> None:
        """Open an entity's page in the web interface of its server: one request."""
        with self._session.reporting("looking for the page on the web"):
            catalog = await self._session.catalog()
            page = page_of(urn, await catalog.info())
            if page is None:
                self._session.say("This server has no web page for it; y copies the URN.")
            else:
                await self.visit(page)

    async def visit(self, url: str) -> None:
        """Open an address."""
        with self._session.reporting("opening an address of the web"):
            if not is_web(url):
                self._session.say("Only http and https addresses can be opened.", error=True)
            elif await browse_to(url):
                self._session.say(f"Opened {url}")
            else:
                # `copy` shows its own message.
                self._copy(url)


def page_of(urn: "Urn", info: "ServerInfo") -> str | None:
    """Return the address of an entity's page in the web interface of its server; None where the
    server has no web interface (as this package's own service) or no page for that type.

    A DataHub behind `/api/gms` has its pages on the same host; one at port 8080 has them at port
    9002 by default.
    """
    step = _PAGES.get(urn.entity_type)
    if info.product != "datahub" or step is None or not is_web(info.address):
        return None
    parts = urlsplit(info.address)
    host, path = parts.netloc, parts.path.rstrip("/")
    if path.endswith(_SERVICE_BELOW):
        path = path.removesuffix(_SERVICE_BELOW)
    elif parts.port == _SERVICE_PORT:
        host = f"{host.rpartition(':')[0]}:{_WEB_PORT}"
    return f"{parts.scheme}://{host}{path}/{step}/{urn.encoded}"


def is_web(url: str) -> bool:
    """Return whether a text is an address that may be opened: http or https, without control or
    invisible characters."""
    if not url.startswith(("http://", "https://")) or line(url) != url or " " in url:
        return False
    try:
        return bool(urlsplit(url).hostname)
    except ValueError:
        return False


async def browse_to(url: str) -> bool:
    """Open an address in the browser; return whether one can be shown.

    Over SSH a browser would open on another machine, and a text browser would take over the
    terminal: neither is started.
    """
    if any(os.environ.get(name) for name in _REMOTE):
        return False
    browser = os.environ.get("BROWSER")
    if sys.platform.startswith("linux") and not browser:
        if not any(os.environ.get(name) for name in _DISPLAYS):
            return False
    return await _start(url)


async def _start(url: str) -> bool:
    """Open an address in the default browser; return whether that worked."""
    webbrowser = await asyncio.to_thread(import_module, "webbrowser")
    try:
        browser = await asyncio.to_thread(webbrowser.get)
    except webbrowser.Error:
        return False
    if isinstance(browser, webbrowser.BackgroundBrowser):
        # The output of the browser must not appear on the screen.
        return await _run_browser(
            [browser.name, *(part.replace("%s", url) for part in browser.args)]
        )
    if isinstance(browser, webbrowser.GenericBrowser):
        return False
    return await asyncio.to_thread(browser.open, url)


async def _run_browser(command: list[str]) -> bool:
    """Run a browser command; return whether it succeeded or is still running."""
    quiet = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
        )
    except OSError:
        return False
    try:
        return await asyncio.wait_for(process.wait(), _BROWSER_PATIENCE_SECONDS) == 0
    except TimeoutError:
        # The browser keeps running beside this program.
        return True


def edit_outside(app: "App[None]", text: str) -> str:
    """Edit a text in the user's own editor, while the program is suspended, and return the new
    text.

    A final line ending that the editor adds is removed. Raise `Misconfigured` if there is no editor
    or it fails, and `InvalidInput` if its output is not text: the output is then kept in a file,
    which the message names.
    """
    command = _command()
    handle, name = tempfile.mkstemp(prefix="description-", suffix=".md")
    file = Path(name)
    original = text.encode()
    with os.fdopen(handle, "wb") as opened:
        opened.write(original)
    is_kept = False
    try:
        status = _run_editor(app, [*command, name])
        data = file.read_bytes()
        if status != 0:
            is_kept = data != original
            remark = f"; what it wrote is kept in {file}" if is_kept else ""
            raise Misconfigured(
                f"The editor exited with status {status}, the text is unchanged{remark}."
            )
        is_kept = True
        changed = data.decode()
        is_kept = False
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"What {command[0]} wrote is not UTF-8; it is kept in {file}."
        ) from error
    except OSError as error:
        raise StorageFault(f"{file} can no longer be read ({error.strerror}).") from error
    finally:
        if not is_kept:
            file.unlink(missing_ok=True)
    return _remove_line_end(text, changed)


def _command() -> list[str]:
    visual = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        command = shlex.split(visual)
    except ValueError as error:
        raise Misconfigured(f"$EDITOR cannot be read ({error}): {visual}") from error
    if not command:
        raise Misconfigured("No editor is set; set $VISUAL or $EDITOR.")
    return command


def _run_editor(app: "App[None]", command: list[str]) -> int:
    """Run the editor while the application is suspended; return its exit status."""
    done = failed = None
    try:
        # An exception in this block would leave the application suspended.
        with app.suspend():
            # ^c is meant for the editor, and must not interrupt this program.
            before = signal.signal(signal.SIGINT, lambda *_: None)
            try:
                done = subprocess.run(command, check=False)  # noqa: S603 - the reader's own choice
            except OSError as error:
                failed = error
            finally:
                signal.signal(signal.SIGINT, before)
    except SuspendNotSupported as error:
        raise Misconfigured("This terminal cannot run another editor.") from error
    if done is None:
        why = failed.strerror if failed else "it did not start"
        raise Misconfigured(f"The editor {command[0]} cannot be used: {why}.") from failed
    return done.returncode


def _remove_line_end(before: str, after: str) -> str:
    if before.endswith(("\n", "\r")):
        return after
    return after.removesuffix("\n").removesuffix("\r") if after.endswith("\n") else after


MOST_SENT_BYTES: Final = 74_994
"""The most bytes of text in a clipboard request; terminals ignore a longer one."""

_PATIENCE_SECONDS: Final = 3.0
_COMMANDS: Final[Mapping[ClipboardMethod, tuple[str, ...]]] = {
    # With -w tmux passes the text to the outer terminal as well.
    "tmux": ("tmux", "load-buffer", "-w", "-"),
    "wl-copy": ("wl-copy",),
    "xclip": ("xclip", "-selection", "clipboard"),
    "xsel": ("xsel", "--clipboard", "--input"),
    "pbcopy": ("pbcopy",),
    "clip.exe": ("clip.exe",),
}
_CALLED: Final[Mapping[ClipboardMethod, str]] = {"terminal": "the terminal", "tmux": "tmux"}


async def copy(text: str, method: ClipboardMethod, through_terminal: Callable[[str], None]) -> str:
    """Copy a text, and return the message that says how much was copied and how.

    `through_terminal` sends the request to the terminal. Raise `InvalidInput` if the text is too
    long for the only available method, and `Misconfigured` if no method worked.
    """
    if not text:
        return "There is nothing to copy."
    methods = (
        await asyncio.to_thread(clipboard_methods, os.environ) if method == "auto" else (method,)
    )
    failures = []
    for candidate in methods:
        if candidate == "none":
            raise Misconfigured("copying is turned off in the settings")
        if candidate == "terminal":
            if _request_length(text) > MOST_SENT_BYTES:
                failures.append(f"the terminal takes {MOST_SENT_BYTES * 3 // 4:,} bytes at most")
                continue
            through_terminal(text)
        else:
            problem = await _run_clipboard(candidate, text)
            if problem:
                failures.append(problem)
                continue
        return f"Copied {_format(text)}, through {_CALLED.get(candidate, candidate)}."
    raise InvalidInput(f"{_format(text)} could not be copied: {'; '.join(failures)}")


def clipboard_methods(
    environment: Mapping[str, str], platform: str = sys.platform
) -> tuple[ClipboardMethod, ...]:
    """Return the methods that should work here, the best first. Searches the path for clipboard
    programs.

    Inside tmux, requests to the terminal are dropped unless tmux is configured to allow them, but
    tmux passes on what its own command receives. A clipboard program fills the reader's clipboard
    only if the reader sits at this machine.
    """
    usable: list[ClipboardMethod] = []
    if environment.get("TMUX") and shutil.which("tmux"):
        usable.append("tmux")
    if not (environment.get("SSH_CONNECTION") or environment.get("SSH_TTY")):
        candidates: list[tuple[ClipboardMethod, bool]] = [
            ("pbcopy", platform == "darwin"),
            ("wl-copy", bool(environment.get("WAYLAND_DISPLAY"))),
            ("xclip", bool(environment.get("DISPLAY"))),
            ("xsel", bool(environment.get("DISPLAY"))),
            ("clip.exe", platform == "win32" or bool(environment.get("WSL_DISTRO_NAME"))),
        ]
        usable += [method for method, fits in candidates if fits and shutil.which(method)]
    return (*usable, "terminal")


async def _run_clipboard(method: ClipboardMethod, text: str) -> str:
    """Send the text to a clipboard program; return an error message, empty on success."""
    command = _COMMANDS[method]
    encoding = "utf-16-le" if method == "clip.exe" else "utf-8"
    data = text.encode(encoding, errors="replace")
    quiet = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=quiet, stderr=quiet
        )
    except OSError as error:
        return f"{command[0]} could not be started ({error.strerror})"
    try:
        # The programs for X11 and Wayland keep running as servers, so they get no pipe to this one.
        await asyncio.wait_for(process.communicate(data), _PATIENCE_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"{command[0]} did not finish within {_PATIENCE_SECONDS:.0f} s"
    return f"{command[0]} failed ({process.returncode})" if process.returncode else ""


def _request_length(text: str) -> int:
    """Return the length of the request to the terminal in bytes."""
    return -(-len(text.encode(errors="replace")) // 3) * 4


def _format(text: str) -> str:
    """Return a text for a message: itself if it is short, else its length."""
    if len(text) <= 200 and text.isprintable():
        return text
    lines = text.count("\n") + 1
    size = f"{len(text):,} characters"
    return f"{lines:,} lines, {size}" if lines > 1 else size
