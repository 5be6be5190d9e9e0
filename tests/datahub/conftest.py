"""DataHub's own command and SDK, in an environment of their own, against a served catalog."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.datahub.environments import RELEASE, NotInstalled, install_release

# A command of DataHub's takes one to two seconds, most of it for its imports; the tools of agents
# together take twenty. Only what hangs is ended.
_PATIENCE_SECONDS = 300
_COPIES = Path(__file__).with_name("command_copies.py")


class DataHub:
    """The command `datahub`, and Python with its SDK, told where the catalog is."""

    def __init__(self, folder: Path, address: str, home: Path) -> None:
        self._folder = folder
        self._environment = {
            "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "DATAHUB_GMS_URL": address,
            "DATAHUB_SKIP_CONFIG": "true",
            "DATAHUB_TELEMETRY_ENABLED": "false",
            "DATAHUB_REST_EMITTER_DEFAULT_RETRY_MAX_TIMES": "1",
            "NO_COLOR": "1",
            "COLUMNS": "400",
        }
        self.home = home
        self.address = address

        self._copies: subprocess.Popen[str] | None = None
        self._runs = 0

    @contextmanager
    def copied(self) -> Iterator[None]:
        """Within a `with` the command runs in copies of one process, which has imported what takes
        the command most of its time."""
        command = [str(self._folder / "python"), str(_COPIES)]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, env=self._environment, cwd=self.home, stdin=pipe, stdout=pipe, text=True
        ) as process:
            self._copies = process
            try:
                yield
            finally:
                self._copies = None

    def run(self, *arguments: str, answer: str = "") -> subprocess.CompletedProcess[str]:
        """Run the command; whatever its status."""
        if self._copies is not None:
            return self._run_copy(self._copies, arguments, answer)
        return self._run([str(self._folder / "datahub"), *arguments], answer)

    def __call__(self, *arguments: str, answer: str = "") -> str:
        """What the command writes to standard output; it must not fail."""
        done = self.run(*arguments, answer=answer)
        assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def json(self, *arguments: str) -> Any:
        """The JSON that the command writes, after whatever it says before."""
        said = self(*arguments)
        begin = min(at for at in (said.find("{"), said.find("[")) if at >= 0)
        return json.loads(said[begin:])

    def interpret(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python with the SDK; whatever its status."""
        return self._run([str(self._folder / "python"), *arguments], "")

    def python(self, script: Path) -> dict[str, Any]:
        """The JSON object that a script over the SDK writes as its last line."""
        done = self.interpret(str(script))
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    def _run_copy(
        self, copies: subprocess.Popen[str], arguments: tuple[str, ...], answer: str
    ) -> subprocess.CompletedProcess[str]:
        assert copies.stdin is not None
        assert copies.stdout is not None
        self._runs += 1
        names = ("input", "output", "errors")
        files = {name: self.home / f"{self._runs}.{name}" for name in names}
        for name, file in files.items():
            file.write_text(answer if name == "input" else "")
        paths = {name: str(file) for name, file in files.items()}
        copies.stdin.write(json.dumps({"arguments": arguments, **paths}) + "\n")
        copies.stdin.flush()
        status = int(copies.stdout.readline())
        said = (files["output"].read_text(), files["errors"].read_text())
        return subprocess.CompletedProcess(arguments, status, *said)

    def _run(self, command: list[str], answer: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env=self._environment,
            cwd=self.home,
            input=answer,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )


class Served:
    """A catalog served by a process of its own."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.http = httpx.Client(base_url=address, timeout=120)

    def aspects(self, urn: str) -> dict[str, Any]:
        """The values of an entity's aspects, by name."""
        answer = self.http.get(f"/entitiesV2/{quote(urn, safe='')}")
        assert answer.status_code == 200, answer.text
        return {name: found["value"] for name, found in answer.json()["aspects"].items()}

    def action(self, path: str, **parameters: Any) -> Any:
        """The value that an action gives."""
        answer = self.http.post(path, json=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()["value"]

    def has_version(self, urn: str, aspect: str, version: int) -> bool:
        """Whether a version of an aspect can be read."""
        answer = self.http.get(f"/aspects/{quote(urn, safe='')}?aspect={aspect}&version={version}")
        return answer.status_code == 200


def installed(install: Callable[..., Path], *arguments: str) -> Path:
    """Where an environment's programs are; skips the test where it cannot be installed."""
    try:
        return install(*arguments)
    except NotInstalled as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def datahub_folder() -> Path:
    """Where the programs of the newest release are, with its source for SQL databases."""
    named = os.environ.get("DATAHUB_BIN")
    return Path(named) if named else installed(install_release, RELEASE)


@pytest.fixture(scope="module")
def served(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Served]:
    """An empty catalog, served as a team would."""
    directory = tmp_path_factory.mktemp("served")
    command = [sys.executable, "-m", "explorer.cli", "serve", "--port", "0"]
    if os.environ.get("DATAHUB_ON_POSTGRES"):
        command += ["--store", request.getfixturevalue("postgres").new_schema()]
    log = (directory / "log").open("wb")
    process = subprocess.Popen(
        [*command, "--data-dir", str(directory / "data")], stdout=subprocess.PIPE, stderr=log
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        assert address.startswith("http"), (directory / "log").read_text()
        found = Served(address)
        _wait_for(found)
        yield found
        found.http.close()
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
        if process.stdout is not None:
            process.stdout.close()
        log.close()


@pytest.fixture(scope="module")
def datahub(
    datahub_folder: Path, served: Served, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DataHub]:
    """DataHub's own tools, pointed at the served catalog."""
    found = DataHub(datahub_folder, served.address, tmp_path_factory.mktemp("home"))
    with found.copied():
        yield found


@pytest.fixture
def datahub_of(datahub_folder: Path, served: Served, tmp_path: Path) -> Callable[..., DataHub]:
    """The tools of a release, with the packages it needs beside itself, pointed at the served
    catalog."""

    def of(release: str, *pins: str) -> DataHub:
        is_newest = release == RELEASE
        folder = datahub_folder if is_newest else installed(install_release, release, *pins)
        return DataHub(folder, served.address, tmp_path)

    return of


def _wait_for(served: Served) -> None:
    deadline = time.monotonic() + 120
    while served.http.get("/health").status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
