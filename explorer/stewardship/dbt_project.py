"""Reading a dbt project from disk: its resources, and their properties in its properties files.

Descriptions are Jinja templates. Their rendered text is known if they contain only text and calls
of `doc`; for others it is taken from `target/manifest.json`.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import orjson

from explorer.errors import InvalidInput, StorageFault
from explorer.stewardship.yaml_document import Path as Place
from explorer.stewardship.yaml_document import load

ResourceType = Literal["model", "seed", "snapshot", "source"]

_SECTIONS: Final[dict[str, ResourceType]] = {
    "models": "model",
    "seeds": "seed",
    "snapshots": "snapshot",
}
_PATHS: Final = {
    "model-paths": ("source-paths", "models"),
    "seed-paths": ("data-paths", "seeds"),
    "snapshot-paths": (None, "snapshots"),
    "analysis-paths": (None, "analyses"),
    "macro-paths": (None, "macros"),
    "test-paths": (None, "tests"),
}


# `Ann Lee (ann@example.com)`, also in angle brackets, and `@ann`.
_OWNER: Final = re.compile(
    r"[^()<>]*[(<]\s*(?P<owner>[^\s()<>]+@[^\s()<>]+)\s*[)>]\s*|@(?P<handle>[\w.-]+)"
)
_OWNER_PATTERN: Final = "owner_extraction_pattern"


@dataclass(frozen=True, slots=True)
class OwnerNames:
    """How to find the catalog's owners for the owners that a project names.

    `pattern` finds the name in a text: its group `owner`, as in DataHub's connector. Without one,
    an address in brackets or the name after an `@` is taken. `mapping` has users or URNs by name.
    """

    pattern: re.Pattern[str] | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "OwnerNames":
        """Parse the settings under `vars: catalog:` in `dbt_project.yml`:
        `owner_extraction_pattern` and `owners`. Raises `InvalidInput` for a pattern that cannot be
        used."""
        variables = _mapping(_mapping(settings, "vars"), "catalog")
        names = _mapping(variables, "owners")
        mapping = {str(name): user for name, user in names.items() if isinstance(user, str)}
        text = variables.get(_OWNER_PATTERN)
        if text is None:
            return cls(None, mapping)
        try:
            pattern = re.compile(str(text))
        except re.error as error:
            raise InvalidInput(
                f"{_OWNER_PATTERN} in dbt_project.yml is no regular expression: {error}"
            ) from None
        if "owner" not in pattern.groupindex:
            raise InvalidInput(
                f"{_OWNER_PATTERN} in dbt_project.yml has no group owner, such as in "
                "'@(?P<owner>.*)'"
            )
        return cls(pattern, mapping)

    def urn(self, text: str) -> str:
        """Return the URN of the owner that a text names."""
        name = text.strip()
        match = self.pattern.match(name) if self.pattern else _OWNER.fullmatch(name)
        groups = match.groupdict() if match else {}
        user = groups.get("owner") or groups.get("handle") or name
        user = self.mapping.get(name) or self.mapping.get(user) or user
        return user if user.startswith("urn:li:") else f"urn:li:corpuser:{user}"


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties of a resource or of one of its columns in a properties file.

    `place` is the path to its mapping in the file. `raw` is the description as written, `text` as
    dbt renders it, `None` if unknown. `owner_urns` are its owners in the catalog. `tags_key` and
    `meta_key` are the dotted keys that hold tags and meta, empty if there are none. `inherited` is
    true for a property that a version of a model inherits from the model.
    """

    place: Place
    raw: str = ""
    text: str | None = ""
    tags: tuple[str, ...] = ()
    owner: str | tuple[str, ...] = ()
    owner_urns: tuple[str, ...] = ()
    tags_key: str = ""
    meta_key: str = ""
    problem: str | None = None
    inherited: bool = False

    @property
    def is_template(self) -> bool:
        """Whether the description is not plain text: it calls `doc` or contains other Jinja."""
        return bool(_RENDERED.search(self.raw)) and _constant(self.raw) is None


@dataclass(frozen=True, slots=True)
class DbtResource:
    """A model, a seed, a snapshot or a table of a source.

    `file` is its properties file, relative to the project, or `None`. `names` are the dotted names
    that its datasets can have; `exact` is true if they come from the manifest. `code` is the file
    that defines it, `None` for sources; `code_names` are the names that such a file can have.
    """

    kind: ResourceType
    name: str
    names: tuple[str, ...]
    exact: bool = False
    file: str | None = None
    code: str | None = None
    own: Properties = field(default_factory=lambda: Properties(()))
    columns: Mapping[str, Properties] = field(default_factory=dict)
    version_place: Place | None = None
    code_names: tuple[str, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict, repr=False)
    problem: str | None = None

    @property
    def place(self) -> Place:
        """The path to the mapping that new columns are added to; for a version its own."""
        return self.own.place if self.version_place is None else self.version_place


@dataclass(frozen=True, slots=True)
class Project:
    """A dbt project on disk. `problems` are files that cannot be read, with reasons."""

    root: Path
    name: str
    resources: tuple[DbtResource, ...]
    files: Mapping[str, bytes] = field(repr=False)
    problems: tuple[tuple[str, str], ...]
    config: Mapping[str, Any] = field(repr=False)
    has_manifest: bool = False

    def paths(self, kind: ResourceType) -> tuple[str, ...]:
        """Return the folders, relative to the project, in which resources of a kind are defined."""
        return _paths(self.config, "model-paths" if kind == "source" else f"{kind}-paths")


def read_project(root: Path | str) -> Project:
    """Read the project in a directory.

    Its resources are ordered by properties file and position in it; those without properties come
    last, by name. Raises `InvalidInput` if there is no `dbt_project.yml` or it is not YAML,
    `StorageFault` if it cannot be read. A properties file that cannot be read is listed in
    `problems`.
    """
    root = Path(root)
    config = read_settings(root)
    problems: list[tuple[str, str]] = []
    manifest = _Manifest.read(root, config, problems)
    docs = _docs_blocks(root, config, manifest)
    owner_names = OwnerNames.of(config)
    files: dict[str, bytes] = {}
    resources: list[DbtResource] = []
    for path in _properties_files(root, config):
        name = path.relative_to(root).as_posix()
        try:
            data = read_file(path)
            # Stripped as dbt does, so that a block at the end of the file has no final line end.
            value = load(data.decode().strip())
        except UnicodeDecodeError:
            problems.append((name, "it is not UTF-8"))
            continue
        except (InvalidInput, StorageFault) as error:
            problems.append((name, str(error)))
            continue
        files[name] = data
        if isinstance(value, dict):
            resources += _FileReader(name, manifest, docs, owner_names).resources(value)
    keys = {
        (resource.kind, name)
        for resource in resources
        for name in resource.code_names or (resource.name,)
    }
    for kind, name, code in (code_files := sorted(_code_files(root, config))):
        if (kind, name) not in keys:
            resources.append(_resource(kind, name, manifest, code=code))
    if not manifest.is_there:
        resources = list(_with_aliases(resources, root, code_files))
    return Project(
        root,
        config["name"],
        tuple(_mark_duplicates(resources)),
        files,
        tuple(problems),
        config,
        manifest.is_there,
    )


def read_settings(root: Path) -> dict[str, Any]:
    """Return the content of `dbt_project.yml`, which includes the project's name.

    Raises `InvalidInput` if the file is missing or is not YAML, `StorageFault` if it cannot be
    read.
    """
    settings = root / "dbt_project.yml"
    if not settings.is_file():
        raise InvalidInput(f"{root} is not a dbt project: it has no dbt_project.yml")
    try:
        config = load(read_file(settings).decode())
    except UnicodeDecodeError:
        raise InvalidInput(f"{settings} is not UTF-8") from None
    except InvalidInput as error:
        raise InvalidInput(f"{settings}: {error}") from None
    if not isinstance(config, dict) or not isinstance(config.get("name"), str):
        raise InvalidInput(f"{settings} does not contain the project's name")
    return config


def artifact_path(root: Path, config: Mapping[str, Any], name: str) -> Path:
    """Return the path of an artifact that dbt writes, such as `manifest.json`."""
    target = config.get("target-path")
    return root / (target if isinstance(target, str) and "{" not in target else "target") / name


def read_file(path: Path) -> bytes:
    """Return the content of a file. Raises `StorageFault` if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise StorageFault(f"{path} cannot be read: {error.strerror}") from error


def _paths(config: Mapping[str, Any], name: str) -> tuple[str, ...]:
    older, default = _PATHS[name]
    folders = config.get(name, config.get(older) if older else None)
    return tuple(filter(None, strings_in(folders))) or (default,)


def strings_in(value: Any) -> tuple[str, ...]:
    """Return the strings in a value that may be one string or a list."""
    if isinstance(value, str):
        return (value,)
    return (
        tuple(element for element in value if isinstance(element, str))
        if isinstance(value, list)
        else ()
    )


def _files_below(root: Path, config: Mapping[str, Any], *names: str) -> Iterator[Path]:
    """Yield the files in the folders that settings name, without duplicates, by name."""
    paths: set[Path] = set()
    for name in names:
        for folder in _paths(config, name):
            for directory, folders, files in os.walk(root / folder, followlinks=True):
                folders.sort()
                real = Path(directory).resolve()
                if real in paths:
                    # A symbolic link to a folder that was already visited.
                    folders.clear()
                    continue
                paths.add(real)
                yield from (Path(directory, file) for file in sorted(files))


def _properties_files(root: Path, config: Mapping[str, Any]) -> Iterator[Path]:
    for path in _files_below(root, config, *_PATHS):
        if path.suffix in (".yml", ".yaml") and path.is_file() and path.is_relative_to(root):
            yield path


_SNAPSHOT: Final = re.compile(r"\{%-?\s*snapshot\s+(\w+)\s*-?%\}")


def _code_files(root: Path, config: Mapping[str, Any]) -> Iterator[tuple[ResourceType, str, str]]:
    endings: dict[str, tuple[ResourceType, tuple[str, ...]]] = {
        "model-paths": ("model", (".sql", ".py")),
        "seed-paths": ("seed", (".csv",)),
        "snapshot-paths": ("snapshot", (".sql",)),
    }
    for name, (kind, suffixes) in endings.items():
        for path in _files_below(root, config, name):
            if path.suffix not in suffixes or path.stem == "__init__":
                continue
            relative = path.relative_to(root).as_posix()
            if kind == "snapshot":
                with suppress(OSError):
                    text = path.read_text(encoding="utf-8", errors="replace")
                    yield from ((kind, snapshot, relative) for snapshot in _SNAPSHOT.findall(text))
            else:
                yield kind, path.stem, relative


# Matches, for example, `{{ config(materialized='table', alias='orders') }}`.
_ALIAS: Final = re.compile(r"""\{\{-?\s*config\((?:[^{}]*?[\s,])?alias\s*=\s*['"]([^'"{}]+)['"]""")


def _with_aliases(
    resources: Iterable[DbtResource],
    root: Path,
    code_files: Iterable[tuple[ResourceType, str, str]],
) -> Iterator[DbtResource]:
    """Yield the resources; if their SQL sets an alias, it is the name of their table."""
    aliases: dict[tuple[str, str], str] = {}
    for kind, name, code in code_files:
        if code.endswith(".sql"):
            with suppress(OSError):
                text = (root / code).read_text(encoding="utf-8", errors="replace")
                if match := _ALIAS.search(text):
                    aliases[kind, name] = match[1]
    for resource in resources:
        alias = aliases.get((resource.kind, resource.name))
        has_own_name = resource.names == (resource.name,)
        yield replace(resource, names=(alias,)) if alias and has_own_name else resource


def _mark_duplicates(resources: Sequence[DbtResource]) -> Iterator[DbtResource]:
    """Yield the resources; one that is described twice, which dbt rejects, gets a problem."""
    times = Counter((resource.kind, resource.name) for resource in resources)
    for resource in resources:
        if times[resource.kind, resource.name] > 1:
            yield replace(resource, problem="it is described in several places")
        else:
            yield resource


class _Manifest:
    """The content of `target/manifest.json`."""

    def __init__(self, value: Mapping[str, Any], project: str) -> None:
        self.is_there = bool(value)
        self.docs: Mapping[str, Any] = value.get("docs") or {}
        self.project = project
        self._nodes: dict[tuple[str, str], Mapping[str, Any]] = {}
        for node in (*(value.get("nodes") or {}).values(), *(value.get("sources") or {}).values()):
            if not isinstance(node, dict) or node.get("package_name") != project:
                continue
            name = str(node.get("name"))
            if node.get("resource_type") == "source":
                name = f"{node.get('source_name')}.{name}"
            elif node.get("version") is not None:
                name = f"{name}.v{node['version']}"
            self._nodes[str(node.get("resource_type")), name] = node

    @classmethod
    def read(
        cls, root: Path, config: Mapping[str, Any], problems: list[tuple[str, str]]
    ) -> "_Manifest":
        path = artifact_path(root, config, "manifest.json")
        value: Any = {}
        if path.is_file():
            try:
                value = orjson.loads(read_file(path))
            except (orjson.JSONDecodeError, StorageFault) as error:
                problems.append((str(path), str(error)))
        return cls(value if isinstance(value, dict) else {}, config["name"])

    def node(self, kind: str, name: str) -> Mapping[str, Any]:
        """Return a resource's node; empty if it is unknown."""
        return self._nodes.get((kind, name), {})


def _names_of(node: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the datasets of a manifest node, those with a database first."""
    database, schema = node.get("database"), node.get("schema")
    names = (node.get("alias"), node.get("identifier"))
    short_names = dict.fromkeys(str(name) for name in names if name) or {
        str(node.get("name")): None
    }
    if node.get("resource_type") == "source":
        # The connector uses the source's name, or its identifier if configured to.
        short_names[str(node.get("name"))] = None
    dataset_names = [
        ".".join(str(part) for part in (database, schema, short) if part) for short in short_names
    ]
    if database:
        dataset_names += [f"{schema}.{short}" for short in short_names if schema]
    return tuple(name.replace('"', "") for name in dataset_names)


def _resource(
    kind: ResourceType,
    name: str,
    manifest: _Manifest,
    *,
    guesses: tuple[str, ...] = (),
    **fields: Any,
) -> DbtResource:
    node = manifest.node(kind, name)
    if node:
        return DbtResource(kind, name, _names_of(node), exact=True, manifest=node, **fields)
    problem = "it is not in target/manifest.json; run dbt parse to update that file"
    return DbtResource(
        kind, name, guesses or (name,), problem=problem if manifest.is_there else None, **fields
    )


class _FileReader:
    """Reads the resources from the parsed value of one properties file."""

    def __init__(
        self, file: str, manifest: _Manifest, docs: Mapping[str, str], owner_names: OwnerNames
    ) -> None:
        self._file = file
        self._owner_names = owner_names
        self._manifest = manifest
        self._docs = docs

    def resources(self, value: Mapping[Any, Any]) -> Iterator[DbtResource]:
        """Yield the resources in the order of the file."""
        for section, kind in _SECTIONS.items():
            for at, resource in _mappings(value.get(section)):
                yield from self._find_resources(kind, (section, at), resource)
        for at, source in _mappings(value.get("sources")):
            for number, table in _mappings(source.get("tables")):
                yield self._table(source, ("sources", at, "tables", number), table)

    def _find_resources(
        self, kind: ResourceType, place: Place, value: dict[Any, Any]
    ) -> Iterator[DbtResource]:
        name = str(value["name"])
        alias = value.get("alias") or _mapping(value, "config").get("alias")
        guess = alias if isinstance(alias, str) and "{" not in alias else name
        versions = [
            (at, version)
            for at, version in enumerate(value.get("versions") or ())
            if isinstance(version, dict) and "v" in version
        ]
        node = self._manifest.node(kind, name)
        if not versions:
            yield self._read_resource(kind, name, place, value, guesses=(guess,), node=node)
            return
        base = self._read_resource(kind, name, place, value, guesses=(guess,), node={})
        for at, version_value in versions:
            version_name = f"{name}.v{version_value['v']}"
            own_place = (*place, "versions", at)
            version = self._read_resource(
                kind,
                version_name,
                own_place,
                version_value,
                guesses=(f"{name}_v{version_value['v']}",),
                node=self._manifest.node(kind, version_name),
            )
            inherited = {
                column: replace(properties, inherited=True)
                for column, properties in base.columns.items()
            }
            own = (
                version.own if "description" in version_value else replace(base.own, inherited=True)
            )
            yield replace(
                version,
                own=own,
                columns={**inherited, **version.columns},
                version_place=own_place,
                code_names=(
                    name,
                    f"{name}_v{version_value['v']}",
                    str(version_value.get("defined_in")),
                ),
            )

    def _table(self, source: dict[Any, Any], place: Place, table: dict[Any, Any]) -> DbtResource:
        name = f"{source['name']}.{table['name']}"
        schema = source.get("schema") or source["name"]
        tables = dict.fromkeys((table.get("identifier") or table["name"], table["name"]))
        database = source.get("database")
        parts = [part for part in (database, schema) if isinstance(part, str) and "{" not in part]
        guesses = tuple(".".join((*parts, str(table))) for table in tables)
        node = self._manifest.node("source", name)
        return self._read_resource("source", name, place, table, guesses=guesses, node=node)

    def _read_resource(
        self,
        kind: ResourceType,
        name: str,
        place: Place,
        value: dict[Any, Any],
        *,
        guesses: tuple[str, ...],
        node: Mapping[str, Any],
    ) -> DbtResource:
        manifest_columns = node.get("columns") or {}
        columns: dict[str, Properties] = {}
        for at, column in _mappings(value.get("columns")):
            column_name = str(column["name"])
            description = (manifest_columns.get(column_name) or {}).get("description")
            properties = self._properties((*place, "columns", at), column, description)
            if column_name in columns:
                properties = replace(properties, problem="the column is described twice")
            columns[column_name] = properties
        return _resource(
            kind,
            name,
            self._manifest,
            guesses=guesses,
            file=self._file,
            code=node.get("original_file_path") if kind != "source" else None,
            own=self._properties(place, value, node.get("description")),
            columns=columns,
        )

    def _properties(self, place: Place, value: dict[Any, Any], rendered: Any) -> Properties:
        raw = value.get("description")
        config = _mapping(value, "config")
        meta_key = _key_in(value, "meta")
        meta = _mapping(config if meta_key.startswith("config") else value, "meta")
        owner = meta.get("owner", ())
        tags = (*strings_in(value.get("tags")), *strings_in(config.get("tags")))
        properties = Properties(
            place,
            tags=tuple(dict.fromkeys(tags)),
            owner=owner if isinstance(owner, str) else strings_in(owner),
            owner_urns=tuple(map(self._owner_names.urn, strings_in(owner))),
            tags_key=_key_in(value, "tags"),
            meta_key=meta_key,
        )
        if raw is None:
            return properties
        if not isinstance(raw, str):
            return replace(properties, problem="the description is not text; put it in quotes")
        text = self._render(raw)
        if text is None and isinstance(rendered, str):
            text = rendered
        return replace(properties, raw=raw, text=text)

    def _render(self, raw: str) -> str | None:
        return _render_text(raw, lambda names: self._docs.get(".".join(names)))


def _mappings(value: Any) -> Iterator[tuple[int, dict[Any, Any]]]:
    """Yield the mappings in a list that have a name, with their positions."""
    for at, element in enumerate(value if isinstance(value, list) else ()):
        if isinstance(element, dict) and element.get("name") is not None:
            yield at, element


def _mapping(value: Mapping[Any, Any], key: str) -> dict[Any, Any]:
    mapping = value.get(key)
    return mapping if isinstance(mapping, dict) else {}


def _key_in(value: Mapping[Any, Any], key: str) -> str:
    if key in _mapping(value, "config"):
        return f"config.{key}"
    return key if key in value else ""


# Descriptions are Jinja templates.

_RENDERED: Final = re.compile(r"\{[{%#]|[#}%]\}")
"""dbt renders descriptions that match this with Jinja, and uses others unchanged."""

_OPENING: Final = re.compile(r"\{[{%#]")
_UNSAFE: Final = re.compile(r"\{+(?=[%#\r]|\n?\Z)|\{{2,}|\r|\n\Z")
_CALL: Final = re.compile(
    r"""\{\{\s*(?:
        '(?P<text>(?:[^'\\]|\\.)*)'
        | doc\(\s*(?P<first>'[^']*'|"[^"]*")\s*(?:,\s*(?P<second>'[^']*'|"[^"]*")\s*)?\)
    )\s*\}\}""",
    re.VERBOSE,
)
_ESCAPES: Final = {"\r": r"\r", "\n": r"\n"}
_ESCAPED: Final = {r"\r": "\r", r"\n": "\n"}


def contains_jinja(text: str) -> bool:
    """Return whether dbt renders a text with Jinja."""
    return bool(_RENDERED.search(text))


def escape_jinja(text: str) -> str:
    """Return a description that dbt renders to a text.

    It is the text itself, unless the text contains Jinja syntax: `{{` becomes `{{ '{{' }}`.
    """
    if not _RENDERED.search(text):
        return text
    return _UNSAFE.sub(lambda match: f"{{{{ '{_ESCAPES.get(match[0], match[0])}' }}}}", text)


def _constant(raw: str) -> str | None:
    """Return the text to which dbt renders a description, or `None` if it contains Jinja other than
    quoted text."""
    return _render_text(raw, lambda _: None)


def _render_text(raw: str, doc: Callable[[tuple[str, ...]], str | None]) -> str | None:
    """Return the text to which dbt renders a description, or `None` if it contains more than quoted
    text and calls of `doc`."""
    if not _RENDERED.search(raw):
        return raw
    # Jinja drops one final line end, and normalizes line ends.
    template = raw.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    pieces: list[str] = []
    at = 0
    for match in _CALL.finditer(template):
        before = template[at : match.start()]
        text = _value_of(match, doc)
        if text is None or before.endswith("{") or _OPENING.search(before):
            return None
        pieces += (before, text)
        at = match.end()
    return None if _OPENING.search(template, at) else "".join((*pieces, template[at:]))


def _value_of(call: re.Match[str], doc: Callable[[tuple[str, ...]], str | None]) -> str | None:
    text = call["text"]
    if text is None:
        return doc(tuple(name[1:-1] for name in call.group("first", "second") if name))
    return _ESCAPED.get(text, None if "\\" in text else text)


_DOCS: Final = re.compile(r"\{%-?\s*docs\s+(\w+)\s*-?%\}(.*?)\{%-?\s*enddocs\s*-?%\}", re.DOTALL)


def _docs_blocks(root: Path, config: Mapping[str, Any], manifest: _Manifest) -> dict[str, str]:
    """Return the texts of docs blocks, by name and by `package.name`.

    Those of the project come from its files, those of other packages from the manifest.
    """
    texts: dict[str, str] = {}
    for key, block in manifest.docs.items():
        content = block.get("block_contents") if isinstance(block, dict) else None
        if isinstance(content, str):
            package_and_name = key.partition(".")[2]
            texts[package_and_name] = content
            if package_and_name.startswith(f"{config['name']}."):
                texts[package_and_name.partition(".")[2]] = content
    folders = strings_in(config.get("docs-paths"))
    paths = (
        (path for folder in folders for path in sorted((root / folder).rglob("*.md")))
        if folders
        else _files_below(root, config, *_PATHS)
    )
    for path in paths:
        if path.suffix != ".md":
            continue
        with suppress(StorageFault):
            for name, content in _DOCS.findall(read_file(path).decode(errors="replace")):
                text = _render_text(content.replace("\r\n", "\n"), lambda _: None)
                if text is not None:
                    texts[name] = texts[f"{config['name']}.{name}"] = text.strip()
    return texts
