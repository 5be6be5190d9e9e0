"""A JupyterLab or Notebook 7 of this machine's, and notebooks in it, driven as a reader drives
them.

All that is waited for is a promise of the application's own or something on the page; nothing but
this machine can be reached, and what was tried is in `Notebook.problems`.
"""

import ast
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import nbformat
import pytest

from explorer import Catalog
from tests.conftest import SampleAt

START_SECONDS = 90

# Of each application: its module, its name in settings, and where it opens a notebook.
APPLICATIONS = {
    "lab": ("jupyterlab", "LabApp", "doc/tree"),
    "notebook": ("notebook", "JupyterNotebookApp", "notebooks"),
}

OPEN = """() => {
  const shown = window.jupyterapp?.shell.currentWidget;
  return Boolean(shown?.context?.isReady);
}"""
CONNECTED = """async () => {
  await window.jupyterapp.restored;
  const session = window.jupyterapp.shell.currentWidget.context.sessionContext;
  await session.ready;
  await session.session.kernel.info;
}"""
RUN_ALL = "async () => await window.jupyterapp.commands.execute('notebook:run-all-cells')"
RUN_ONE = """async (at) => {
  const book = window.jupyterapp.shell.currentWidget;
  book.content.activeCellIndex = at;
  book.content.deselectAll();
  return await window.jupyterapp.commands.execute('notebook:run-cell');
}"""
VALUE = """async (expression) => {
  const session = window.jupyterapp.shell.currentWidget.context.sessionContext.session;
  const asked = session.kernel.requestExecute({
    code: '', silent: true, store_history: false, user_expressions: {value: expression},
  });
  return (await asked.done).content.user_expressions.value;
}"""
FAILED = """() => {
  const said = [];
  for (const cell of window.jupyterapp.shell.currentWidget.content.model.cells)
    for (const one of (cell.type === 'code' ? cell.outputs.toJSON() : []))
      if (one.output_type === 'error') said.push(`${one.ename}: ${one.evalue}`);
  return said;
}"""


class Notebook:
    """One notebook, open in a page of its own; `page` is playwright's, `file` where it is saved."""

    def __init__(self, browser: Any, address: Any, where: Any, token: Any, file: Any) -> None:
        self.file = file
        self._context = browser.new_context(viewport={"width": 1280, "height": 1600})
        self.problems: list[str] = []
        # What leads out is stopped here, and could not be resolved where this were passed by.
        away = re.compile(rf"^(?!{re.escape(address)}/|data:|blob:|about:)")
        self._context.route(away, self._stop)
        self.page = self._context.new_page()
        self.page.set_default_timeout(120_000)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("console", self._heard)
        self.page.on("dialog", self._opened)
        self.page.goto(f"{address}/{where}?token={token}")
        self.connect()
        # What an application does wrong by itself while it starts says nothing of what is shown in
        # it: Notebook 7 reads a setting that it does not have.
        self.problems = [one for one in self.problems if not one.startswith("error: ")]

    def connect(self) -> None:
        """Wait until the notebook is open and its kernel answers."""
        self.page.wait_for_function(OPEN, timeout=START_SECONDS * 1000)
        self.page.evaluate(CONNECTED)

    def run(self, at: Any = None) -> None:
        """Run every cell, or one, to its end; none may fail."""
        done = self.page.evaluate(RUN_ALL) if at is None else self.page.evaluate(RUN_ONE, at)
        assert done, self.page.evaluate(FAILED)

    def value(self, expression: Any) -> Any:
        """What a Python expression is in the kernel; no cell is run for it."""
        told = self.page.evaluate(VALUE, expression)
        assert told["status"] == "ok", f"{expression}: {told['ename']}: {told['evalue']}"
        return ast.literal_eval(told["data"]["text/plain"])

    def becomes(self, expression: Any, wanted: bool = True, timeout_seconds: float = 120) -> None:
        """Wait until an expression has a value in the kernel."""
        deadline = time.monotonic() + timeout_seconds
        while (found := self.value(expression)) != wanted:
            assert time.monotonic() < deadline, f"{expression} is {found!r}, not {wanted!r}"
            self.page.wait_for_timeout(50)

    def picture(self, name: Any) -> None:
        """A picture of the page, where BROWSER_PICTURES names a directory."""
        directory = os.environ.get("BROWSER_PICTURES")
        if directory:
            self.page.screenshot(path=f"{directory}/{name}.png")

    def close(self) -> None:
        self._context.close()

    def _stop(self, route: Any) -> None:
        self.problems.append(f"request: {route.request.url}")
        route.abort()

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.problems.append(f"console: {message.text}")

    def _opened(self, dialog: Any) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()


class Lab:
    """A running application; `folder` is where its notebooks lie, `where` how it opens them."""

    def __init__(self, folder: Any, address: Any, where: Any, token: Any) -> None:
        self.folder, self.address, self._where, self._token = folder, address, where, token

    def open(self, browser: Any, name: Any, *cells: Any) -> Any:
        """A new notebook of these cells, open and with its kernel started."""
        written = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
        written.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
        nbformat.write(written, self.folder / name)
        where, file = f"{self._where}/{name}", self.folder / name
        return Notebook(browser, self.address, where, self._token, file)


@contextmanager
def running(folder: Any, data_dir: Any, messages: Any, application: Any) -> Iterator[Any]:
    """An application with nobody's settings but these. `messages` says where those of widgets'
    states are taken: `perCommTarget`, a thread of the kernel's beside the main one, or `disabled`,
    there.
    """
    module, app, where = APPLICATIONS[application]
    if find_spec(module) is None:
        missing = pytest.fail if os.environ.get("REQUIRE_BROWSER") == "1" else pytest.skip
        missing(f"{module} is not installed; the extra `browser` brings it")
    state, token = folder / "jupyter", secrets.token_hex(16)
    settings = {
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
        "apputils-extension/kernels-settings": {"commsOverSubshells": messages},
        "docmanager-extension/plugin": {"autosave": False},
        # Every cell is on the page, also where it is scrolled away.
        "notebook-extension/tracker": {"windowingMode": "none"},
    }
    for name, value in settings.items():
        file = state / "settings/@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value))
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
        "CATALOG_STATE_DIR": "catalog",
    }
    environment = {name: str(state / place) for name, place in places.items()}
    books = folder / "notebooks"
    books.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-m", module, "--no-browser", "--allow-root"),
        *("--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
        *(f"--ServerApp.root_dir={books}", f"--IdentityProvider.token={token}"),
        # The page has the application as `window.jupyterapp`.
        *(f"--{app}.expose_app_in_browser=True", "--LabApp.extension_manager=readonly"),
    ]
    with (folder / "messages").open("w+") as said:
        server = subprocess.Popen(
            command,
            env={**os.environ, **environment, "CATALOG_DATA_DIR": str(data_dir)},
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        address = f"http://127.0.0.1:{port}"
        try:
            if not answers(f"{address}/api?token={token}", server):
                said.seek(0)
                pytest.fail(f"{module} did not start:\n{said.read()[-2000:]}")
            yield Lab(books, address, where, token)
        finally:
            # Its kernels are asked to end too; what does not is ended.
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()


def answers(url: Any, server: Any) -> bool:
    """Whether it does before it ends, or it takes too long."""
    ask, deadline = build_opener(ProxyHandler({})), time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        try:
            ask.open(url, timeout=2).close()
        except (URLError, OSError):
            time.sleep(0.1)
        else:
            return True
    return False


@pytest.fixture(scope="session")
def answering() -> Any:
    """Waits for a server to answer an address."""
    return answers


@pytest.fixture(scope="module")
def data_dir(sample_at: SampleAt) -> Iterator[Any]:
    """Where a catalog lies that holds the sample; its path is short enough for a socket."""
    with TemporaryDirectory() as folder, sample_at(Path(folder) / "c") as directory:
        yield directory


@pytest.fixture(scope="module")
def cat(data_dir: Any) -> Iterator[Any]:
    """The catalog that the notebooks ask, asked from here."""
    with Catalog(data_dir=data_dir) as catalog:
        yield catalog


@pytest.fixture
def open_notebook(browser: Any, data_dir: Any, cat: Any) -> Iterator[Any]:
    """Opens a notebook of some cells; after the test no page may have had a problem."""
    with ExitStack() as ending:
        books = []

        def open_one(*cells: Any, messages: str = "perCommTarget", application: str = "lab") -> Any:
            folder = Path(ending.enter_context(TemporaryDirectory()))
            lab = ending.enter_context(running(folder, data_dir, messages, application))
            books.append(lab.open(browser, "book.ipynb", *cells))
            ending.callback(books[-1].close)
            return books[-1]

        yield open_one
        assert [problem for book in books for problem in book.problems] == []


@pytest.fixture
def expect(browser: Any) -> Any:
    """Playwright's, which waits for what is on the page."""
    from playwright.sync_api import expect

    # The suite runs beside it, and keeps every processor busy.
    expect.set_options(timeout=120_000)
    return expect
