"""Schema changes between git commits: dropped, renamed, retyped and added tables and columns.

Reads the models, seeds and snapshots of dbt projects, and the statements of other SQL files.
Nothing is executed except dbt's templates, which are rendered in a sandbox.
"""

import csv
import re
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from explorer.client import Catalog
from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.sources.column_tracer import table_path
from explorer.sources.dbt_template import MACRO, TemplateRenderer, read_variables
from explorer.sources.source import SkippedPart
from explorer.sources.sql_lineage import (
    NotUnderstood,
    QueryLineage,
    parse_statement,
    reading,
    require_sqlglot,
    sql_dialect,
)
from explorer.sources.sql_lineage import Path as TablePath
from explorer.sources.sql_statements import split_statements
from explorer.sources.table_definition import (
    DefinedColumn,
    DefinedTable,
    define_table,
)
from explorer.stewardship.dbt_project import artifact_path, strings_in
from explorer.stewardship.yaml_document import load

if TYPE_CHECKING:
    from explorer.client.entity import Entity

ChangeKind = Literal["added", "dropped", "renamed", "moved", "retyped", "logic"]

_DBT: Final = "dbt"
_ASPECTS: Final = ("datasetProperties", "schemaMetadata", "siblings", "status")
_MOST_NAMESAKES: Final = 200
_SETTINGS: Final = "dbt_project.yml"
_DEFAULT_SCHEMA: Final = "the default schema"
_SUFFIXES: Final = (".sql", ".csv", ".yml", ".yaml", ".py")
# The settings that say which table a model is.
_PLACES: Final = ("alias", "schema", "database", "enabled")
_FOLDERS: Final = {
    "model": ("model-paths", "source-paths", "models"),
    "seed": ("seed-paths", "data-paths", "seeds"),
    "snapshot": ("snapshot-paths", "", "snapshots"),
    "macro": ("macro-paths", "", "macros"),
}


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A change of a table or of one of its columns.

    `table` is the table's path, from the outermost container to its own name; for dbt (`is_dbt`) it
    is the name of the model, or the names of a source and its table. `column` is `None` for a
    change of the whole table. `before` and `after` are the types of a retyped column, the names of
    a renamed column or table, or the schemas of a moved table. A change of `logic` leaves the
    columns unchanged: `part` is the changed part of the query, such as `expression`, `filter` or
    `join`, or `query` if the part is not known.
    """

    kind: ChangeKind
    table: TablePath
    column: str | None
    file: str
    before: str | None = None
    after: str | None = None
    is_dbt: bool = False
    part: str | None = None

    @property
    def is_breaking(self) -> bool:
        """Whether the change can break readers of the table: true except for additions and changes
        of logic."""
        return self.kind not in ("added", "logic")


@dataclass(slots=True)
class ChangedSchemas:
    """The schema changes between two commits.

    `base` and `head` are abbreviated hashes; `base` is the merge base. `skipped` has the files or
    statements whose columns could not be determined, each with the reason.
    """

    base: str
    head: str
    changes: list[SchemaChange] = field(default_factory=list)
    skipped: list[SkippedPart] = field(default_factory=list)


def read_changes(
    folder: Path, revisions: str, datasets: "NamedDatasets", dialect: str | None = None
) -> ChangedSchemas:
    """Return the schema changes in the commits `BASE..HEAD` of the repository at `folder`.

    The comparison starts at the merge base of BASE and HEAD, so that later changes in BASE do not
    count. HEAD may be omitted. The columns of tables that the repository does not define are looked
    up in the catalog. Without `dialect`, dbt projects use the adapter in their `manifest.json`, and
    everything else generic SQL.

    Raises `InvalidInput` if there is no repository or no such commit, or git is not installed, and
    `MissingExtra` without sqlglot or, for a dbt project, Jinja.
    """
    require_sqlglot(dialect or "")
    repository = _Repository(folder)
    base, head = repository.range(revisions)
    schemas = ChangedSchemas(base[:12], head[:12])
    before, after = _Commit(repository, base), _Commit(repository, head)
    changed = repository.changed_files(base, head)
    plain = list[str]()
    by_project: dict[str, list[str]] = {}
    for name in changed:
        project = after.project(name) if name in after.files else before.project(name)
        if project is not None:
            by_project.setdefault(project, []).append(name)
        elif name.endswith(".sql"):
            plain.append(name)
    for project, names in by_project.items():
        _compare_projects(
            repository.root, project, (before, after), names, datasets, dialect, schemas
        )
    _compare_scripts((before, after), plain, datasets, sql_dialect(dialect or ""), schemas)
    return schemas


class NamedDatasets:
    """Looks up the datasets in the catalog that the tables of a repository correspond to. Each name
    is looked up once; siblings with other names are fetched on each call."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._entities: dict[str, list[Entity]] = {}

    def find(self, path: TablePath, *, is_dbt: bool) -> "list[Entity]":
        """Return the datasets whose names end with that of a table, compared without regard to
        case, and their siblings, each with its schema. A dbt model matches datasets on dbt's
        platform, including those with an alias; only if there are none, it matches datasets on
        other platforms. Removed datasets and siblings that are not in the catalog are left out."""
        candidates = self._find(path[-1])
        if is_dbt:
            of_dbt = [entity for entity in candidates if entity.urn.platform == _DBT]
            entities = of_dbt or candidates
        else:
            end = tuple(part.casefold() for part in path)
            entities = [
                entity
                for entity in candidates
                if tuple(entity.urn.name.casefold().split("."))[-len(end) :] == end
            ]
        siblings = Urn.parse_all(
            str(urn)
            for entity in entities
            for urn in (entity.raw("siblings") or {}).get("siblings", ())
        )
        entities_by_urn = {entity.urn: entity for entity in entities}
        more = [urn for urn in siblings if urn not in entities_by_urn]
        if more:
            entities_by_urn |= self._catalog.entities(more, _ASPECTS)
        return [
            entity for entity in entities_by_urn.values() if entity.exists and not entity.removed
        ]

    def columns(self, path: TablePath, *, is_dbt: bool) -> list[str] | None:
        """Return the columns of the first dataset, of those that `find` returns, that has any, or
        `None`."""
        for entity in self.find(path, is_dbt=is_dbt):
            if entity.schema:
                return [column.path.simple for column in entity.schema]
        return None

    def types(self, path: TablePath) -> dict[str, str]:
        """Return the types of the columns of a dbt model that are in the catalog, by column name in
        lower case."""
        types: dict[str, str] = {}
        for entity in self.find(path, is_dbt=True):
            for column in entity.schema:
                if column.native_type:
                    types.setdefault(column.path.simple.casefold(), column.native_type)
        return types

    def _find(self, name: str) -> "list[Entity]":
        key = name.casefold()
        if key not in self._entities:
            page = self._catalog.search(name, entity="dataset", count=_MOST_NAMESAKES)
            urns = [
                hit.urn
                for hit in page.only_complete()
                if _last_name(hit.urn) == key or hit.urn.platform == _DBT
            ]
            entities = self._catalog.entities(urns, _ASPECTS).values()
            self._entities[key] = [
                entity
                for entity in entities
                if key in (_last_name(entity.urn), _model_name(entity))
            ]
        return self._entities[key]


def _last_name(urn: Urn) -> str:
    return urn.name.rpartition(".")[2].casefold()


def _model_name(entity: "Entity") -> str:
    """Return the name of a dbt model in lower case. Its URN may have an alias instead."""
    properties = entity.raw("datasetProperties") or {}
    is_model = entity.urn.platform == _DBT
    return str(properties.get("name") or "").casefold() if is_model else ""


class _Repository:
    """A git repository, read with the `git` command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.root = Path(self.read("rev-parse", "--show-toplevel").decode().strip())

    def read(self, *arguments: str) -> bytes:
        """Return the output of a git command. Raises `InvalidInput` with git's message if it fails,
        or if git is not installed."""
        # File names are printed unquoted, whatever the user's settings.
        command = ("git", "-c", "core.quotePath=false", "-C", str(self._folder), *arguments)
        try:
            done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - no shell
        except FileNotFoundError:
            raise InvalidInput("reading commits needs git, which is not installed") from None
        if done.returncode:
            messages = done.stderr.decode(errors="replace").strip().splitlines()
            raise InvalidInput(f"git {arguments[0]}: {messages[-1] if messages else 'failed'}")
        return done.stdout

    def range(self, revisions: str) -> tuple[str, str]:
        """Return the hashes of the merge base and of HEAD for `BASE..HEAD`. Raises `InvalidInput`
        if a commit does not exist or both have no commit in common."""
        base, _, head = revisions.replace("...", "..").partition("..")
        commits = []
        for name in (base or "HEAD", head or "HEAD"):
            try:
                text = self.read("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
            except InvalidInput:
                raise InvalidInput(
                    f"git knows no commit {name!r}; give BASE..HEAD, such as origin/main..HEAD. In "
                    "a pipeline the whole history has to be checked out (fetch-depth: 0)"
                ) from None
            commits.append(text.decode().strip())
        try:
            shared = self.read("merge-base", *commits).decode().split()
        except InvalidInput:
            raise InvalidInput(
                f"{base} and {head or 'HEAD'} have no commit in common; in a pipeline the whole "
                "history has to be checked out (fetch-depth: 0)"
            ) from None
        return shared[0], commits[1]

    def changed_files(self, base: str, head: str) -> list[str]:
        """Return the SQL, CSV and YAML files that differ between two commits, sorted by name. A
        renamed file is listed under both names."""
        output = self.read("diff", "--name-only", "--no-renames", "-z", base, head, "--")
        names = output.decode(errors="surrogateescape").split("\0")
        return sorted(name for name in names if name.endswith(_SUFFIXES))


class _Commit:
    """The files of a commit."""

    def __init__(self, repository: _Repository, commit: str) -> None:
        self._repository = repository
        self._commit = commit
        self._texts: dict[str, str] = {}

    @cached_property
    def files(self) -> frozenset[str]:
        """The paths of all files, relative to the root of the repository."""
        output = self._repository.read(
            "ls-tree", "-r", "-z", "--name-only", "--full-tree", self._commit
        )
        return frozenset(output.decode(errors="surrogateescape").split("\0"))

    def text(self, name: str) -> str | None:
        """Return the content of a file, or `None` if the commit has no such file. Raises
        `NotUnderstood` if it is not UTF-8."""
        if name not in self.files:
            return None
        if name not in self._texts:
            data = self._repository.read("cat-file", "blob", f"{self._commit}:{name}")
            try:
                self._texts[name] = data.decode("utf-8-sig")
            except UnicodeDecodeError:
                raise NotUnderstood("it is not UTF-8") from None
        return self._texts[name]

    def project(self, name: str) -> str | None:
        """Return the folder of the dbt project that contains a file, with a trailing `/`; empty for
        the root of the repository, `None` if the file is in no project."""
        for folder in PurePosixPath(name).parents:
            prefix = "" if folder == PurePosixPath(".") else f"{folder}/"
            if f"{prefix}{_SETTINGS}" in self.files:
                return prefix
        return None


# dbt


@dataclass(frozen=True, slots=True)
class _Definition:
    """The definition of a model or another table. `sql` is its query without comments and white
    space, or empty if there is none. `is_compiled` is set if dbt compiled the query: it then has
    the names of tables in the warehouse, and contains the queries of ephemeral models."""

    table: DefinedTable
    sql: str = ""
    is_compiled: bool = False


class _DbtProject:
    """A dbt project in a commit. `compiled` has the raw and the compiled SQL of models by name,
    from the manifest. `former_names` has the old names of renamed models and source tables, by
    their paths in this commit."""

    def __init__(
        self,
        commit: _Commit,
        prefix: str,
        compiled: Mapping[str, tuple[str, str]],
        datasets: "NamedDatasets",
        dialect: str,
    ) -> None:
        self._commit, self.prefix, self._dialect = commit, prefix, dialect
        self._compiled = compiled
        self._datasets = datasets
        self._definitions: dict[str, _Definition | str | None] = {}
        self.former_names: dict[TablePath, str] = {}
        self._reading: set[str] = set()
        text = commit.text(f"{prefix}{_SETTINGS}")
        value = load(text) if text is not None else {}
        self.settings: Mapping[str, Any] = value if isinstance(value, dict) else {}
        self.exists = text is not None

    def _folders(self, kind: str) -> tuple[str, ...]:
        name, older, default = _FOLDERS[kind]
        configured_folders = strings_in(self.settings.get(name, self.settings.get(older)))
        folders = (PurePosixPath(folder).as_posix() for folder in configured_folders or (default,))
        return tuple("" if folder == "." else f"{folder}/" for folder in folders)

    def files(self, kind: str) -> dict[str, str]:
        """Return the files of a kind (`model`, `seed`, `snapshot` or `macro`) by their dbt names,
        which are the file names without suffix."""
        suffixes = {"seed": (".csv",), "model": (".sql", ".py")}.get(kind, (".sql",))
        starts = tuple(f"{self.prefix}{folder}" for folder in self._folders(kind))
        return {
            PurePosixPath(name).stem: name
            for name in self._commit.files
            if name.startswith(starts) and name.endswith(suffixes)
        }

    @cached_property
    def tables(self) -> dict[str, str]:
        """The files of models, seeds and snapshots by name."""
        return {
            name: file
            for kind in ("snapshot", "seed", "model")
            for name, file in self.files(kind).items()
        }

    def source(self, name: str) -> str:
        """Return the text of the file of a model, seed or snapshot; empty if there is none."""
        return self._commit.text(self.tables[name]) or "" if name in self.tables else ""

    def find_users(self, macros: Collection[str], variables: Collection[str]) -> set[str]:
        """Return the models, seeds and snapshots whose text contains the name of one of the macros
        or variables."""
        names = {*macros, *variables}
        if not names:
            return set()
        pattern = _any_word(names)
        return {name for name in self.tables if pattern.search(self.source(name))}

    def macros(self) -> dict[str, str]:
        """Return the texts of the macro files by path."""
        return {name: self._commit.text(name) or "" for name in self.files("macro").values()}

    def define(self, name: str) -> _Definition | None:
        """Return the definition of a model, seed or snapshot, or `None` if it does not exist or is
        not enabled. Raises `NotUnderstood` if its columns cannot be determined."""
        if name not in self.tables:
            return None
        if name in self._reading:
            raise NotUnderstood(f"it depends on itself through {name}")
        if name not in self._definitions:
            self._reading.add(name)
            try:
                self._definitions[name] = self._read(name)
            except NotUnderstood as error:
                self._definitions[name] = str(error)
            finally:
                self._reading.discard(name)
        definition = self._definitions[name]
        if isinstance(definition, str):
            raise NotUnderstood(definition)
        return definition

    def _read(self, name: str) -> _Definition | None:
        file, text = self.tables[name], self.source(name)
        if self.configuration(name).get("enabled") is False:
            return None
        if file.endswith(".csv"):
            header = next(csv.reader(text.splitlines()), [])
            columns = [DefinedColumn(column.strip()) for column in header]
            return _Definition(DefinedTable(columns))
        if file.endswith(".py"):
            raise NotUnderstood("it is a Python model, whose columns cannot be read from its text")
        raw, compiled = self._compiled.get(name, ("", ""))
        try:
            sql, is_compiled = self.renderer.render(text)[0], False
        except NotUnderstood:
            if not compiled or raw.strip() != text.strip():
                raise
            sql, is_compiled = compiled, True
        lineage = QueryLineage()
        table, plain = DefinedTable(), ""
        with reading(lineage):
            statement = parse_statement(sql, self._dialect)
            plain = statement.sql(self._dialect, comments=False)
            table = define_table(statement, self._dialect, self._names)
        if lineage.problem is not None:
            raise NotUnderstood(lineage.problem)
        return _Definition(table, plain, is_compiled)

    def configuration(self, name: str) -> dict[str, Any]:
        """Return the settings that a model passes to `config` in its file, as far as they can be
        read without dbt."""
        try:
            return self.renderer.read_settings(self.source(name))
        except NotUnderstood:
            return {}

    def folder_configuration(self, name: str) -> dict[str, Any]:
        """Return the settings in `dbt_project.yml` for the folders that contain a model, seed or
        snapshot."""
        file = self.tables.get(name, "")
        values: dict[str, Any] = {}
        for kind in ("model", "seed", "snapshot"):
            folders = (f"{self.prefix}{folder}" for folder in self._folders(kind))
            above = next((folder for folder in folders if file.startswith(folder)), None)
            if above is None:
                continue
            inner = PurePosixPath(file.removeprefix(above))
            level: Any = self.settings.get(f"{kind}s")
            for step in (str(self.settings.get("name")), *inner.parent.parts, inner.stem, ""):
                level = level if isinstance(level, dict) else {}
                for key in _PLACES:
                    value = level.get(f"+{key}", level.get(key))
                    if isinstance(value, str | bool):
                        values[key] = value
                level = level.get(step)
        return values

    def _names(self, path: TablePath) -> Sequence[str] | None:
        """Return the columns of a table that a model reads: those in the catalog, which describes
        the table that will be read, or else those that the project's model of that name defines."""
        own_names = {before: name for (*_, name), before in self.former_names.items()}
        name = own_names.get(path[-1], path[-1])
        columns = self._datasets.columns(path, is_dbt=name in self.tables)
        if columns is not None or name not in self.tables:
            return columns
        try:
            definition = self.define(name)
        except NotUnderstood:
            return None
        return [column.name for column in definition.table.columns] if definition else []

    @cached_property
    def renderer(self) -> TemplateRenderer:
        """The renderer of the project's templates. Raises `MissingExtra` without Jinja."""

        def ref(*names: str, **_: Any) -> str:
            return self._quote(self.former_names.get(names[-1:], names[-1]))

        def source(schema: str, table: str) -> str:
            name = self.former_names.get((schema, table), table)
            return f"{self._quote(schema)}.{self._quote(name)}"

        target = {"name": "prod", "schema": "prod", "database": "prod", "type": self._dialect}
        names = {"ref": ref, "source": source, "target": target, "this": self._quote("this")}
        return TemplateRenderer(names, self.macros().values(), self.settings)

    def _quote(self, name: str) -> str:
        from sqlglot import exp

        return exp.to_identifier(str(name), quoted=True).sql(self._dialect)


def _compare_projects(
    root: Path,
    prefix: str,
    commits: tuple[_Commit, _Commit],
    changed: Sequence[str],
    datasets: "NamedDatasets",
    dialect: str | None,
    schemas: ChangedSchemas,
) -> None:
    manifest = _read_manifest(root / prefix)
    adapter = (manifest.get("metadata") or {}).get("adapter_type")
    sql_name = sql_dialect(dialect or str(adapter or ""))
    compiled = {
        str(node.get("name")): (
            str(node.get("raw_code") or node.get("raw_sql") or ""),
            str(node.get("compiled_code") or node.get("compiled_sql") or ""),
        )
        for node in (manifest.get("nodes") or {}).values()
        if isinstance(node, dict) and node.get("resource_type") in ("model", "snapshot")
    }
    projects = []
    for commit in commits:
        try:
            projects.append(_DbtProject(commit, prefix, compiled, datasets, sql_name))
        except (InvalidInput, NotUnderstood) as error:
            schemas.skipped.append(SkippedPart(f"{prefix}{_SETTINGS}", str(error)))
            return
    before, after = projects
    _ProjectComparison(before, after, commits, changed, datasets, schemas).add_all()


class _ProjectComparison:
    """Compares a dbt project in two commits, and adds the changes to `schemas`."""

    def __init__(
        self,
        before: _DbtProject,
        after: _DbtProject,
        commits: tuple[_Commit, _Commit],
        changed: Sequence[str],
        datasets: NamedDatasets,
        schemas: ChangedSchemas,
    ) -> None:
        self._before, self._after = before, after
        self._commits, self._changed = commits, changed
        self._datasets, self._schemas = datasets, schemas

    def add_all(self) -> None:
        """Add all changes. Properties files are compared first, since models refer to tables that
        these rename."""
        before, after = self._before, self._after
        self._compare_sources()
        names = {
            name
            for project in (before, after)
            for name, file in project.tables.items()
            if file in self._changed
        }
        renamed = self._match_renamed_models(names)
        after.former_names |= {(new,): old for old, new in renamed.items()}
        for old, new in renamed.items():
            self._add("renamed", (old,), after.tables[new], old, new)
        names -= {*renamed, *renamed.values()}
        changed_macros, changed_variables = (
            _find_changed_macros(before, after),
            _find_changed_variables(before, after),
        )
        users = after.find_users(changed_macros, changed_variables)
        for name in sorted(names | users):
            self._compare_model(name, is_changed=name in names)
        self._compare_places(names)
        _compare_contracts(self._commits, self._changed, self._schemas)

    def _add(
        self,
        kind: ChangeKind,
        table: TablePath,
        file: str,
        before: str | None = None,
        after: str | None = None,
    ) -> None:
        change = SchemaChange(kind, table, None, file, before, after, is_dbt=True)
        if change not in self._schemas.changes:
            self._schemas.changes.append(change)

    def _skip(self, file: str, reason: str) -> None:
        self._schemas.skipped.append(SkippedPart(file, reason))

    def _compare_model(self, name: str, *, is_changed: bool) -> None:
        """Compare a model of which the file, or a macro or variable that it uses, changed."""
        before, after = self._before, self._after
        file = after.tables.get(name) or before.tables[name]
        try:
            new = after.define(name)
        except NotUnderstood as error:
            self._skip(file, str(error))
            return
        if not is_changed and new is not None and new.is_compiled:
            self._skip(file, "it uses a macro or variable that changed, and only dbt can render it")
            return
        try:
            old = before.define(name)
        except NotUnderstood as error:
            columns = self._datasets.columns((name,), is_dbt=True)
            if columns is None:
                self._skip(file, f"as it was before: {error}")
                return
            old = _Definition(DefinedTable([DefinedColumn(column) for column in columns]))
        types = self._datasets.types((name,)) if old and new else {}
        self._schemas.changes += _compare((name,), file, old, new, is_dbt=True, types=types)

    def _match_renamed_models(self, names: Iterable[str]) -> dict[str, str]:
        """Return the new names of models that were renamed but not otherwise changed, by their old
        names."""
        before, after = self._before, self._after
        dropped = {name: before for name in names if name not in after.tables}
        added = {name: after for name in names if name not in before.tables}
        signatures: dict[str, Any] = {}
        for name, project in {**dropped, **added}.items():
            try:
                definition = project.define(name)
            except NotUnderstood:
                definition = None
            text = " ".join(project.source(name).split())
            signatures[name] = definition.table if definition and definition.sql else text
        renamed: dict[str, str] = {}
        for name in dropped:
            same = [new for new in added if signatures[new] == signatures[name]]
            rivals = [old for old in dropped if signatures[old] == signatures[name]]
            if len(same) == len(rivals) == 1:
                renamed[name] = same[0]
        return renamed

    def _properties(self) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
        """Yield the changed properties files with their content before and after."""
        for file in self._changed:
            if file.endswith((".yml", ".yaml")) and not file.endswith(_SETTINGS):
                try:
                    values = [load(commit.text(file) or "") for commit in self._commits]
                except (InvalidInput, NotUnderstood):
                    # `_compare_contracts` tells of it.
                    continue
                old, new = (value if isinstance(value, dict) else {} for value in values)
                yield file, old, new

    def _compare_sources(self) -> None:
        """Add the changes of source tables that were dropped, added, renamed or moved."""
        old: dict[TablePath, dict[str, Any]] = {}
        new: dict[TablePath, dict[str, Any]] = {}
        files: dict[TablePath, str] = {}
        for file, before, after in self._properties():
            for tables, value in ((old, before), (new, after)):
                for path, places in _source_tables(value):
                    tables[path], files[path] = places, file
        dropped = [path for path in old if path not in new]
        added = [path for path in new if path not in old]
        for path in dropped:
            same = [candidate for candidate in added if candidate[0] == path[0]]
            if len(same) == 1 and sum(rival[0] == path[0] for rival in dropped) == 1:
                self._after.former_names[same[0]] = path[1]
                self._add("renamed", path, files[path], path[1], same[0][1])
                added.remove(same[0])
            else:
                self._add("dropped", path, files[path])
        for path in added:
            self._add("added", path, files[path])
        for path in old.keys() & new.keys():
            self._compare_place(path, files[path], old[path], new[path])

    def _compare_places(self, names: Iterable[str]) -> None:
        """Add the models that now create another table in the warehouse, or none, because of their
        `config`, of properties files, or of the project's settings, which take precedence in this
        order."""
        before, after = self._before, self._after
        common = {*after.tables} & {*before.tables}
        for name in sorted(common.intersection(names)):
            old, new = before.configuration(name), after.configuration(name)
            self._compare_place((name,), after.tables[name], old, new)
        for file, old_value, new_value in self._properties():
            old_places, new_places = dict(_model_places(old_value)), dict(_model_places(new_value))
            for name in sorted({*old_places, *new_places} & common):
                old, new = old_places.get(name, {}), new_places.get(name, {})
                self._compare_place((name,), file, old, new, after.configuration(name))
        if any(
            before.settings.get(f"{kind}s") != after.settings.get(f"{kind}s") for kind in _FOLDERS
        ):
            for name in sorted(common):
                old, new = before.folder_configuration(name), after.folder_configuration(name)
                if old != new:
                    file = f"{after.prefix}{_SETTINGS}"
                    self._compare_place((name,), file, old, new, after.configuration(name))

    def _compare_place(
        self,
        table: TablePath,
        file: str,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        ignored: Collection[str] = (),
    ) -> None:
        old, new = (
            {key: value for key in _PLACES if key not in ignored for value in [places.get(key)]}
            for places in (before, after)
        )
        if old.get("enabled") is not False and new.get("enabled") is False:
            self._add("dropped", table, file)
            return
        names = [str(places.get("alias") or table[-1]) for places in (old, new)]
        if names[0] != names[1]:
            self._add("renamed", table, file, *names)
        schemas = [
            ".".join(str(places[key]) for key in ("database", "schema") if places.get(key))
            for places in (old, new)
        ]
        if schemas[0] != schemas[1]:
            self._add("moved", table, file, *(text or _DEFAULT_SCHEMA for text in schemas))


def _source_tables(value: Mapping[str, Any]) -> Iterator[tuple[TablePath, dict[str, Any]]]:
    """Yield the path of each source table in a properties file, with its schema, database and
    alias."""
    for source in _mappings(value.get("sources")):
        for table in _mappings(source.get("tables")):
            places = {key: table.get(key, source.get(key)) for key in ("schema", "database")}
            path = (str(source.get("name")), str(table.get("name")))
            yield path, {**places, "alias": table.get("identifier")}


def _model_places(value: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of each model, seed and snapshot in a properties file, with the settings that
    determine its table."""
    for section in ("models", "seeds", "snapshots"):
        for model in _mappings(value.get(section)):
            config = model.get("config")
            yield str(model.get("name")), {**model, **(config if isinstance(config, dict) else {})}


def _find_changed_macros(before: _DbtProject, after: _DbtProject) -> set[str]:
    """Return the macros in changed files, and those that call one of them, directly or not."""
    old, new = before.macros(), after.macros()
    texts = {file: (old.get(file, ""), new.get(file, "")) for file in {*old, *new}}
    names: set[str] = set()
    files = {file for file, versions in texts.items() if versions[0] != versions[1]}
    while files:
        macros = {
            name for file in files for text in texts.pop(file) for name in MACRO.findall(text)
        }
        names |= macros
        pattern = _any_word(macros)
        files = {
            file
            for file, versions in texts.items()
            if macros and any(map(pattern.search, versions))
        }
    return names


def _find_changed_variables(before: _DbtProject, after: _DbtProject) -> set[str]:
    """Return the variables whose value in the project's settings changed."""
    old, new = (read_variables(project.settings) for project in (before, after))
    return {name for name in {*old, *new} if old.get(name) != new.get(name)}


def _any_word(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b({'|'.join(map(re.escape, sorted(words)))})\b")


def _read_manifest(project: Path) -> Mapping[str, Any]:
    """Return the manifest that dbt last wrote, or an empty mapping if there is none or it cannot be
    read."""
    try:
        settings = load((project / _SETTINGS).read_text(encoding="utf-8"))
        path = artifact_path(
            project, settings if isinstance(settings, dict) else {}, "manifest.json"
        )
        value = orjson.loads(path.read_bytes())
    except (OSError, ValueError, InvalidInput):
        return {}
    return value if isinstance(value, dict) else {}


def _compare_contracts(
    commits: tuple[_Commit, _Commit], changed: Sequence[str], schemas: ChangedSchemas
) -> None:
    """Add the changes of column types that properties files declare, except of columns whose change
    was already found in the SQL."""
    changed_columns = {
        (change.table, (change.column or "").casefold()) for change in schemas.changes
    }
    changed_tables = {change.table for change in schemas.changes if change.column is None}
    for file in changed:
        if not file.endswith((".yml", ".yaml")):
            continue
        try:
            old, new = (_read_types(commit.text(file)) for commit in commits)
        except (InvalidInput, NotUnderstood) as error:
            schemas.skipped.append(SkippedPart(file, str(error)))
            continue
        for (model, column), after in new.items():
            before = old.get((model, column))
            if (
                before is None
                or before.casefold() == after.casefold()
                or (model,) in changed_tables
            ):
                continue
            if ((model,), column.casefold()) not in changed_columns:
                change = SchemaChange("retyped", (model,), column, file, before, after, is_dbt=True)
                schemas.changes.append(change)


def _read_types(text: str | None) -> dict[tuple[str, str], str]:
    """Return the declared column types in a properties file by (model, column), also for seeds and
    snapshots."""
    value = load(text) if text else {}
    if not isinstance(value, dict):
        return {}
    return {
        (str(model.get("name")), str(column.get("name"))): column["data_type"]
        for section in ("models", "seeds", "snapshots")
        for model in _mappings(value.get(section))
        for column in _mappings(model.get("columns"))
        if isinstance(column.get("data_type"), str)
    }


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    return (
        (element for element in value if isinstance(element, dict))
        if isinstance(value, list)
        else iter(())
    )


# Other SQL files


def _compare_scripts(
    commits: tuple[_Commit, _Commit],
    files: Sequence[str],
    datasets: "NamedDatasets",
    dialect: str,
    schemas: ChangedSchemas,
) -> None:
    old, new = _Scripts(datasets, dialect), _Scripts(datasets, dialect)
    for scripts, commit in zip((old, new), commits, strict=True):
        for file in files:
            try:
                scripts.read(file, commit.text(file))
            except NotUnderstood as error:
                scripts.problems[file, ""] = str(error)
    for path in old.tables.keys() - new.tables.keys() - new.dropped:
        if not any(file == old.tables[path][0] for file, _ in new.problems):
            schemas.changes.append(SchemaChange("dropped", path, None, old.tables[path][0]))
    for path, (file, definition, replaces) in sorted(new.tables.items(), key=lambda item: item[0]):
        before = old.tables[path][1] if path in old.tables else None
        if (
            before is None
            and replaces
            and (names := datasets.columns(path, is_dbt=False)) is not None
        ):
            before = _Definition(DefinedTable([DefinedColumn(name) for name in names]))
        schemas.changes += _compare(path, file, before, definition, is_dbt=False)
    schemas.changes += (change for change in new.changes if change not in old.changes)
    for (file, text), reason in new.problems.items():
        if (file, text) not in old.problems:
            subject = f"{file}: {text}" if text else file
            schemas.skipped.append(SkippedPart(subject, reason))


class _Scripts:
    """The tables that the SQL files of a commit define, and their changes to other tables."""

    def __init__(self, datasets: "NamedDatasets", dialect: str) -> None:
        self._datasets, self._dialect = datasets, dialect
        # By path: the file, the definition, and whether an earlier one is replaced.
        self.tables: dict[TablePath, tuple[str, _Definition, bool]] = {}
        self.dropped: set[TablePath] = set()
        self.changes: list[SchemaChange] = []
        self.problems: dict[tuple[str, str], str] = {}

    def read(self, file: str, text: str | None) -> None:
        """Read the statements of a file; those that are not understood are added to `problems`."""
        for _, sql in split_statements(text or "", self._dialect):
            lineage = QueryLineage()
            with reading(lineage):
                self._read(file, parse_statement(sql, self._dialect))
            if lineage.problem is not None:
                self.problems[file, " ".join(sql.split())[:60]] = lineage.problem

    def _read(self, file: str, statement: Any) -> None:
        from sqlglot import exp

        match statement:
            case exp.Create() if statement.args.get("kind") in ("TABLE", "VIEW"):
                target = statement.find(exp.Table)
                path = table_path(target)
                replaces = statement.args.get("kind") == "VIEW" or bool(
                    statement.args.get("replace")
                )
                has_query = isinstance(statement.expression, exp.Query)
                sql = statement.sql(self._dialect, comments=False) if has_query else ""
                table = define_table(statement, self._dialect, self._names)
                self.tables[path] = file, _Definition(table, sql), replaces
            case exp.Drop() if statement.args.get("kind") in ("TABLE", "VIEW"):
                for path in map(table_path, _find_drops(statement)):
                    self.dropped.add(path)
                    if self.tables.pop(path, None) is None:
                        self.changes.append(SchemaChange("dropped", path, None, file))
            case exp.Alter():
                path = table_path(statement.this)
                for action in statement.args.get("actions") or ():
                    self.changes += _read_alterations(path, file, action, self._dialect)
            case exp.Command() if str(statement.this).upper() in ("ALTER", "DROP"):
                raise NotUnderstood("sqlglot does not know this form of it")
            case _:
                return

    def _names(self, path: TablePath) -> Sequence[str] | None:
        if path in self.tables:
            return [column.name for column in self.tables[path][1].table.columns]
        return self._datasets.columns(path, is_dbt=False)


def _find_drops(statement: Any) -> list[Any]:
    """Return the tables or columns that a `DROP` names."""
    return statement.args.get("tables") or [statement.this]


def _read_alterations(
    path: TablePath, file: str, action: Any, dialect: str
) -> Iterator[SchemaChange]:
    from sqlglot import exp

    match action:
        case exp.Drop() if str(action.args.get("kind") or "COLUMN").upper() == "COLUMN":
            for column in _find_drops(action):
                yield SchemaChange("dropped", path, column.name, file)
        case exp.RenameColumn():
            names = action.this.name, action.args["to"].name
            yield SchemaChange("renamed", path, names[0], file, *names)
        case exp.AlterRename():
            yield SchemaChange("renamed", path, None, file, path[-1], action.this.name)
        case exp.ColumnDef():
            yield SchemaChange("added", path, action.name, file)
        case exp.AlterColumn() if action.args.get("dtype") is not None:
            kind = action.args["dtype"].sql(dialect).lower()
            yield SchemaChange("retyped", path, action.this.name, file, None, kind)
        case exp.ModifyColumn() if isinstance(action.this, exp.ColumnDef) and action.this.kind:
            kind = action.this.kind.sql(dialect).lower()
            yield SchemaChange("retyped", path, action.this.name, file, None, kind)
        case _:
            raise NotUnderstood(f"it is not known which columns {action.sql(dialect)!r} changes")


# Both


def _compare(
    table: TablePath,
    file: str,
    old: _Definition | None,
    new: _Definition | None,
    *,
    is_dbt: bool,
    types: Mapping[str, str] | None = None,
) -> Iterator[SchemaChange]:
    """Yield the differences between a table before and after: its columns in the old order, then
    the added ones, then the changes of its logic. `None` means that the table does not exist.
    `types` are the types of the columns in the catalog, by column name in lower case."""
    if old is None or new is None:
        if new is not None:
            yield SchemaChange("added", table, None, file, is_dbt=is_dbt)
        elif old is not None:
            yield SchemaChange("dropped", table, None, file, is_dbt=is_dbt)
        return
    changes = [
        SchemaChange(kind, table, column, file, before, after, is_dbt=is_dbt)
        for kind, column, before, after in _compare_columns(
            old.table.columns, new.table.columns, types
        )
    ]
    yield from changes
    retyped = {
        change.column.casefold() for change in changes if change.column and change.kind == "retyped"
    }
    for column, part in _compare_logic(old, new, retyped):
        yield SchemaChange("logic", table, column, file, is_dbt=is_dbt, part=part)


def _compare_columns(
    old: Sequence[DefinedColumn], new: Sequence[DefinedColumn], types: Mapping[str, str] | None
) -> Iterator[tuple[ChangeKind, str, str | None, str | None]]:
    """Yield how the columns of a table differ: the kind of change, the column, and its types or
    names before and after."""
    before = {column.name.casefold(): column for column in old}
    after = {column.name.casefold(): column for column in new}
    added = [column for key, column in after.items() if key not in before]
    dropped = [column for key, column in before.items() if key not in after]
    renamed = dict(_match_renames(dropped, added, old, new))
    for key, column in before.items():
        if (new_column := renamed.get(column)) is not None:
            yield "renamed", column.name, column.name, new_column.name
        elif key not in after:
            yield "dropped", column.name, None, None
        elif (changed := _compare_types(column, after[key], (types or {}).get(key))) is not None:
            yield "retyped", column.name, *changed
    for column in added:
        if column not in renamed.values():
            yield "added", column.name, None, None


def _compare_logic(
    old: _Definition, new: _Definition, retyped: Collection[str]
) -> Iterator[tuple[str | None, str]]:
    """Yield the changes of a query that leave its columns unchanged: the column, or `None` for the
    whole query, and the changed part of the query."""
    if not old.sql or not new.sql or old.sql == new.sql:
        return
    before = {column.name.casefold(): column for column in old.table.columns}
    after = {column.name.casefold(): column for column in new.table.columns}
    is_same_form = old.is_compiled == new.is_compiled
    is_known = is_same_form and bool(old.table.parts and new.table.parts)
    is_told = False
    for key in before.keys() & after.keys() if is_same_form else ():
        made_by = before[key].made_by, after[key].made_by
        if None in made_by:
            is_known = False
        elif made_by[0] != made_by[1] and key not in retyped:
            is_told = True
            yield before[key].name, "expression"
    if is_known:
        for part, texts in new.table.parts.items():
            if texts != old.table.parts.get(part):
                yield None, part
    elif not is_told and before.keys() == after.keys() and not retyped:
        yield None, "query"


def _compare_types(
    old: DefinedColumn, new: DefinedColumn, known_type: str | None
) -> tuple[str | None, str | None] | None:
    """Return the types of a column before and after if they differ, or if a cast was added or
    removed; `known_type` is the type that the catalog has."""
    if old.type and new.type:
        return None if old.type == new.type else (old.type, new.type)
    if old.made_by is None or new.made_by is None or old.made_by == new.made_by:
        return None
    if new.type and new.is_cast:
        is_same = known_type is not None and known_type.casefold() == new.type
        return None if is_same else (known_type and known_type.lower(), new.type)
    return (old.type, None) if old.type and old.is_cast else None


def _match_renames(
    dropped: Sequence[DefinedColumn],
    added: Sequence[DefinedColumn],
    old: Sequence[DefinedColumn],
    new: Sequence[DefinedColumn],
) -> Iterator[tuple[DefinedColumn, DefinedColumn]]:
    """Yield the columns that were renamed, as pairs of a dropped and an added column.

    Two columns are a pair if both are computed by the same expression and no other dropped or added
    column is. They are also a pair if they are the only dropped and the only added column, have the
    same position and type, and the expression of at least one of them is unknown.
    """
    for column in dropped:
        same = [
            candidate
            for candidate in added
            if column.made_by and candidate.made_by == column.made_by
        ]
        rivals = [rival for rival in dropped if rival.made_by == column.made_by]
        if len(same) == 1 and len(rivals) == 1:
            yield column, same[0]
        elif (
            len(dropped) == len(added) == 1
            and not (column.made_by and added[0].made_by)
            and old.index(column) == new.index(added[0])
            and column.type == added[0].type
        ):
            yield column, added[0]
