"""The command that adds an extra to this package, for the way in which the package was
installed."""

import json
import os
import re
import shlex
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

_PACKAGE: Final = "catalog-explorer"
_ROOT: Final = Path(__file__).parents[1]
_EXTRAS: Final = re.compile(r"\[([^\]]*)\]")


def install_command(
    extra: str, prefix: Path | None = None, installed: Distribution | None = None
) -> str:
    """Return the command that installs an extra: one of `uv tool`, `pipx`, `uv pip` or `pip`, from
    the place where the package came from. Extras that are already installed are kept.

    `prefix` is the folder of the Python environment, and `installed` the metadata of the package
    in it; by default those of this program. A checkout that is run in place counts as editable.
    """
    prefix = prefix or Path(sys.prefix)
    installed = installed or _find_installed()
    origin = json.loads((installed and installed.read_text("direct_url.json")) or "{}")
    extras = {extra}
    if (receipt := prefix / "uv-receipt.toml").is_file():
        command = "uv tool install"
        requirements = tomllib.loads(receipt.read_text()).get("tool", {}).get("requirements", ())
        extras |= {
            name
            for requirement in requirements
            if isinstance(requirement, dict) and requirement.get("name") == _PACKAGE
            for name in requirement.get("extras", ())
        }
    elif (metadata := prefix / "pipx_metadata.json").is_file():
        command = "pipx install --force"
        package = json.loads(metadata.read_text()).get("main_package", {})
        if match := _EXTRAS.search(package.get("package_or_url") or ""):
            extras |= set(match[1].split(","))
    elif installed and (installed.read_text("INSTALLER") or "").strip() == "uv":
        command = f"uv pip install --python {shlex.quote(str(prefix))}"
    elif os.environ.get("VIRTUAL_ENV") == str(prefix) or sys.prefix == sys.base_prefix:
        command = "pip install"
    else:
        # The `pip` on the path belongs to another environment.
        command = f"{shlex.quote(sys.executable)} -m pip install"
    is_editable = origin.get("dir_info", {}).get("editable") or installed is None
    requirement = _requirement(origin, ",".join(sorted(extras)), is_checkout=installed is None)
    return f"{command} {'-e ' if is_editable else ''}{shlex.quote(requirement)}"


def _find_installed() -> Distribution | None:
    try:
        return distribution(_PACKAGE)
    except PackageNotFoundError:
        return None


def _requirement(origin: dict[str, Any], extras: str, *, is_checkout: bool) -> str:
    """Return the requirement to install: the name of the package, or the place where it came from
    according to `direct_url.json`, with the extras."""
    url = origin.get("url", "")
    if is_checkout or "dir_info" in origin:
        folder = _ROOT if is_checkout else Path(unquote(urlsplit(url).path))
        return f"{folder}[{extras}]"
    if not url:
        return f"{_PACKAGE}[{extras}]"
    repository = origin.get("vcs_info", {})
    scheme = f"{repository['vcs']}+" if repository else ""
    revision = repository.get("requested_revision")
    return f"{_PACKAGE}[{extras}] @ {scheme}{url}{f'@{revision}' if revision else ''}"
