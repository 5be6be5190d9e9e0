"""Run an ingestion recipe of DataHub with DataHub's own command, in a subprocess.

The recipe's sink is replaced with a file, which is read after the process has succeeded. Its
content is then planned, shown and written like that of any other source, and a failed run changes
nothing. Stateful ingestion is not needed for this and is removed from the recipe.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, Queue
from signal import SIGKILL, SIGTERM
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import orjson

from explorer.errors import InvalidFile, InvalidInput, Misconfigured
from explorer.metadata.files import MetadataFile, Refused
from explorer.metadata.registry import load_registry
from explorer.sources.source import (
    SECRET_NAME,
    Inventory,
    LocalSource,
    Location,
    Progress,
    SkippedPart,
    Source,
    SourceOptions,
    redact,
)

if TYPE_CHECKING:
    from explorer.metadata.proposal import Proposal
    from explorer.metadata.urn import Urn

DATAHUB_VARIABLE: Final = "CATALOG_DATAHUB"
"""The environment variable with DataHub's command, if that is not on the `PATH`."""

_LOG: Final = re.compile(
    r"\[?[\d:., -]{19,}\]? (?:\[[\w.]+\] )?(?P<level>[A-Z]+):?\s+(?:\{[^}]*\}\s+-\s+)?(?P<said>.*)"
)
_VARIABLE: Final = re.compile(r"\$\{?(\w+)")
# Lines of a traceback that do not explain the error.
_TRACE: Final = re.compile(
    r"\s|Traceback|During handling|The above exception|\(Background on|.*OUTPUT_SUPPRESSED|$"
)
_QUIET: Final = frozenset(("DEBUG", "INFO"))
_LAST_LINES: Final = 4
_MOST_BYTES: Final = 1 << 20
_LONGEST: Final = 400
_TICK_SECONDS: Final = 0.2
_GRACE_SECONDS: Final = 10
# Entities in which DataHub records its own runs; they are not part of the source.
_OWN: Final = frozenset(("dataHubIngestionSource", "dataHubExecutionRequest", "dataHubStepState"))


def read_recipe(path: Path) -> dict[str, Any] | None:
    """Return the recipe in a YAML or JSON file, or `None` if the file is not a recipe or larger
    than 1 MiB. Raises `InvalidFile` if it is not valid YAML or JSON, and `OSError` if it cannot be
    read."""
    import yaml

    if path.stat().st_size > _MOST_BYTES:
        return None
    is_json = path.suffix.lower() == ".json"
    try:
        value = (orjson.loads if is_json else yaml.safe_load)(path.read_bytes())
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split())
        kind = "JSON" if is_json else "YAML"
        raise InvalidFile(f"{path} cannot be read as {kind}: {reason}") from error
    match value:
        case {"source": {"type": str()}}:
            return dict(value)
    return None


@dataclass(frozen=True, slots=True)
class DataHubRecipe(Source):
    """A source that runs a recipe of DataHub. Relative paths in the recipe are resolved against its
    folder."""

    path: Path
    options: SourceOptions
    kind: str = "datahub"

    # DataHub's connectors, such as dbt's, also write aspects of other sources' datasets.
    shares_datasets: ClassVar[bool] = True

    @classmethod
    def open(cls, location: Location, options: SourceOptions, password: str | None) -> Self | None:
        """Return the source of a recipe. Raises as `read_recipe` does."""
        del password
        path = location.file
        if path is None or path.suffix.lower() not in (".yml", ".yaml", ".json"):
            return None
        return None if read_recipe(path) is None else cls(path, options)

    @classmethod
    def find(cls, file: Location, folder: Path) -> LocalSource | None:
        """Return the file as a source to offer if it is named like a recipe."""
        del folder
        is_recipe = file.text.endswith((".dhub.yml", ".dhub.yaml"))
        return LocalSource(file.text, "a recipe of DataHub") if is_recipe else None

    @property
    def location(self) -> str:
        """The absolute path of the recipe."""
        return str(self.path.resolve())

    @property
    def default_name(self) -> str:
        """The recipe's `pipeline_name`, or the name of the file up to the first dot."""
        return str(self._recipe().get("pipeline_name") or self.path.name.partition(".")[0])

    def _recipe(self) -> dict[str, Any]:
        if not self.path.is_file():
            raise InvalidInput(f"there is no file {self.path}")
        recipe = read_recipe(self.path)
        if recipe is None:
            raise InvalidFile(
                f"{self.path} is not a recipe of DataHub: it has no source with a type"
            )
        return recipe

    def read(self, progress: Progress) -> Inventory:
        """Run the recipe and return what the connector found.

        Raises `Misconfigured` if DataHub's command is not found, `InvalidFile` if the file is not a
        recipe, and `InvalidInput` if it does not exist, if options are given (the recipe has its
        own), or if the run fails; the message then has the last lines of its output.
        """
        if self.options != SourceOptions():
            raise InvalidInput(
                f"{self.path.name} itself says what to read: leave out --env, --instance, "
                "--schema, --stats, --values, --encoding and --pattern, and write them into the "
                "recipe"
            )
        recipe = self._recipe()
        command = _command(recipe["source"]["type"])
        with tempfile.TemporaryDirectory(prefix="catalog-recipe-") as folder:
            output = Path(folder, "found.json")
            redirected = Path(folder, "recipe.yml")
            redirected.touch(mode=0o600)
            redirected.write_text(_redirect_to_file(recipe, output))
            arguments = ["ingest", "run", "-c", str(redirected), "--no-default-report"]
            code, lines = self._run([command, *arguments, "--no-spinner"], progress)
            if code:
                without_secrets = _without_secrets(
                    " / ".join(lines) or "it printed nothing", recipe
                )
                raise InvalidInput(
                    f"datahub ingest of {self.path} failed, with exit code {code}, and nothing "
                    f"was written. Its last lines: {without_secrets}"
                )
            progress("reading what it found", 0, None)
            return _inventory(output)

    def _run(self, command: list[str], progress: Progress) -> tuple[int, list[str]]:
        """Run a command, reporting its log messages as progress. Return its exit code and its last
        warnings, errors and other lines, which may explain a failure."""
        lines: Queue[str | None] = Queue()
        last: deque[str] = deque(maxlen=_LAST_LINES)
        with _process(command, self.path.resolve().parent) as process:
            Thread(target=_follow, args=(process, lines), daemon=True).start()
            message, ended = "starting datahub", False
            while not ended:
                # Called also without output, because the callback may raise to stop the run.
                progress(message, 0, None)
                with suppress(Empty):
                    line = lines.get(timeout=_TICK_SECONDS)
                    ended = line is None
                    if line and (match := _LOG.fullmatch(line)):
                        message = redact(f"datahub: {match['said'][:_LONGEST]}")
                        if match["level"] not in _QUIET:
                            last.append(match["said"][:_LONGEST])
                    elif line and not _TRACE.match(line):
                        last.append(line[:_LONGEST])
            return process.wait(), list(last)


def _command(source: object) -> str:
    command = os.environ.get(DATAHUB_VARIABLE)
    beside = Path(sys.executable).with_name("datahub")
    which = shutil.which(command or "datahub")
    if which is None and not command and beside.is_file():
        which = str(beside)
    if which is None:
        where = f"{DATAHUB_VARIABLE} names {command}, which" if command else "the command datahub"
        raise Misconfigured(
            f"running a recipe needs DataHub's ingestion, and {where} is not found: install it, "
            f"best in an environment of its own, with pip install 'acryl-datahub[{source}]', and "
            f"put its datahub on the PATH or name that in {DATAHUB_VARIABLE}"
        )
    return which


def _redirect_to_file(recipe: Mapping[str, Any], output: Path) -> str:
    """Return a recipe as YAML, with a file as its sink and without the parts that contact a DataHub
    server. References to environment variables are kept."""
    import yaml

    source = dict(recipe["source"])
    config = source.get("config")
    if isinstance(config, Mapping):
        source["config"] = {
            key: setting for key, setting in config.items() if key != "stateful_ingestion"
        }
    parts = {key: part for key, part in recipe.items() if key not in ("datahub_api", "reporting")}
    sink = {"type": "file", "config": {"filename": str(output)}}
    return str(yaml.safe_dump({**parts, "source": source, "sink": sink}, sort_keys=False))


@contextmanager
def _process(command: list[str], folder: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """Run a command until the block ends. If it is still running then, its process group is
    terminated, and killed after ten seconds."""
    environment = {**os.environ, "DATAHUB_TELEMETRY_ENABLED": "false", "NO_COLOR": "1"}
    process = subprocess.Popen(  # noqa: S603 - DataHub's command, with a file of our own
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, SIGTERM)
            try:
                process.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, SIGKILL)
                process.wait()


def _follow(process: "subprocess.Popen[bytes]", lines: "Queue[str | None]") -> None:
    assert process.stdout is not None  # noqa: S101 - it was asked for
    with process.stdout as output:
        for line in output:
            lines.put(line.decode(errors="replace").rstrip())
    lines.put(None)


def _without_secrets(text: str, recipe: Mapping[str, Any]) -> str:
    """Return a message of DataHub without the values of the environment variables that the recipe
    refers to, and without the passwords and other secrets in the recipe."""
    for secret in sorted(_secrets(recipe, ""), key=len, reverse=True):
        text = text.replace(secret, "…")
    return redact(text)


def _secrets(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, element in value.items():
            yield from _secrets(element, str(key))
    elif isinstance(value, list):
        for element in value:
            yield from _secrets(element, name)
    elif isinstance(value, str) and value:
        secrets = (os.environ.get(variable, "") for variable in _VARIABLE.findall(value))
        # Replacing values of one or two characters would make messages unreadable.
        yield from (secret for secret in secrets if len(secret) > 2)
        if SECRET_NAME.search(name) and not _VARIABLE.match(value) and len(value) > 2:
            yield value


def _inventory(output: Path) -> Inventory:
    """Return the content of DataHub's file sink: for each entity the last value of each aspect, and
    all patches and time-series values in order. Records that cannot be read are skipped."""
    inventory, registry = Inventory(), load_registry()
    proposals_by_urn: dict[Urn, dict[tuple[str, int], Proposal]] = {}
    if output.is_file():
        with output.open("rb") as stream:
            for number, record in enumerate(MetadataFile(stream, registry)):
                if isinstance(record, Refused):
                    subject = record.urn or f"record {record.index + 1}"
                    inventory.skipped.append(SkippedPart(subject, record.reason))
                elif record.urn.entity_type not in _OWN:
                    aspect = registry.aspects.get(record.aspect)
                    is_series = record.change == "PATCH" or bool(aspect and aspect.timeseries)
                    key = (record.aspect, number if is_series else -1)
                    proposals_by_urn.setdefault(record.urn, {})[key] = replace(record, system=None)
    for urn, changes in proposals_by_urn.items():
        inventory.proposals += changes.values()
        values = {
            change.aspect: change.value for change in changes.values() if change.change != "PATCH"
        }
        names = (values.get("subTypes") or {}).get("typeNames") or ()
        inventory.count(str(names[0]).lower() if names else urn.entity_type)
        inventory.count("column", len((values.get("schemaMetadata") or {}).get("fields") or ()))
    return inventory
