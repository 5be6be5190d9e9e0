"""The environments of DataHub's releases and tools, of tools that send events of OpenLineage, and
of a server that speaks S3, each installed once for this user, even if several runs start at once.

`python -m tests.datahub.environments` installs all of them ahead of the tests, and with `gate` only
what the gate's tests need; nothing but the standard library and a pip that knows `--python` is
needed. With uv it takes a tenth of the time.
"""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RELEASE = "1.7.0.17"
# By release what it needs beside itself on a current Python.
RELEASES: dict[str, tuple[str, ...]] = {"0.14.1.12": (), "1.0.0.3": (), RELEASE: ()}
OLD_RELEASES = {"0.10.5.5": ("setuptools<80",), "0.12.1.5": ("setuptools<80", "pydantic<2")}
AGENTS = (
    "mcp-server-datahub==0.7.1",
    "datahub-agent-context==1.7.0.17",
    "acryl-datahub==1.6.0.6",
)
# dbt 2 is no Python package.
DBT = ("openlineage-dbt==1.54.0", "dbt-core<1.11", "dbt-duckdb<2")
S3 = ("moto[server]>=5.2",)
AIRFLOW = ("apache-airflow==2.10.5", "apache-airflow-providers-openlineage==2.8.0")


class NotInstalled(Exception):
    """An environment cannot be installed here; the message says why."""


def install_release(release: str, *pins: str) -> Path:
    """Where the programs of a release are; `pins` are what it needs beside itself. The newest has
    its source for SQL databases."""
    extras = "datahub-rest,sqlalchemy" if release == RELEASE else "datahub-rest"
    return _install(f"datahub-{release}", f"acryl-datahub[{extras}]=={release}", *pins)


def install_agents() -> Path:
    """Where the programs of DataHub's tools for agents are."""
    return _install("datahub-agents", *AGENTS)


def install_dbt() -> Path:
    """Where the programs of dbt, with DuckDB, and of its integration with OpenLineage are."""
    return _install("openlineage-dbt", *DBT)


def install_airflow() -> Path:
    """Where the programs of Airflow, with its provider for OpenLineage, are."""
    return _install("openlineage-airflow", *AIRFLOW)


def install_s3() -> Path:
    """Where the program of a server that speaks S3, moto's, is."""
    return _install("s3", *S3)


def _install(name: str, *packages: str) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "catalog-explorer-tests" / name
    with _lock(home.with_name(f"{name}.lock")):
        return _install_into(home, packages)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Have other processes wait here until the block ends; on Windows they do not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install_into(home: Path, packages: tuple[str, ...]) -> Path:
    folder = home / ("Scripts" if os.name == "nt" else "bin")
    installed = home / "complete"
    if installed.exists() and installed.read_text() == " ".join(packages):
        return folder
    if not installed.exists():
        venv.create(home, clear=True)
    # What is never imported need not be compiled.
    python = str(folder / "python")
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if uv is not None:
        command = [uv, "pip", "install", "--quiet", "--python", python, *packages]
    else:
        options = ("install", "--quiet", "--no-compile", "--no-warn-conflicts")
        command = [sys.executable, "-m", "pip", "--python", python, *options, *packages]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        raise NotInstalled(f"{packages[0]} cannot be installed here: {done.stderr.strip()[-300:]}")
    installed.write_text(" ".join(packages))
    return folder


if __name__ == "__main__":
    install_release(RELEASE)
    install_agents()
    if sys.argv[1:] != ["gate"]:
        for release, pins in RELEASES.items():
            install_release(release, *pins)
        install_dbt()
        install_airflow()
        install_s3()
