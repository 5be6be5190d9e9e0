"""Execution of GraphQL documents: parsing, limits, a cache of documents, and errors in the form
that clients read.

graphql-core parses, validates and executes. `CatalogExecutor` extends its executor in two ways: it
answers non-null fields that a stored aspect lacks, and stops a request that exceeds its budget.
graphql-core documents that its `Executor` may be extended, but not the methods that this needs: the
hooks and the middleware that it offers see fields, not the values that are missing.

The cost of a document is computed before it is executed: its depth, and how many fields its answer
may have, with lists counted at the requested length. Most pages are shorter than requested, so this
cost limits only edits and introspection. For all other documents it decides whether they run on a
thread of their own, and `RequestBudget` limits them while they run.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from typing import Any, TypeAlias

import orjson
from graphql.error import GraphQLError
from graphql.execution import ExecutionResult, execute
from graphql.execution import Executor as GraphQLExecutor
from graphql.language import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    IntValueNode,
    ListValueNode,
    ObjectValueNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    ValueNode,
    VariableNode,
    parse,
)
from graphql.pyutils import AwaitableOrValue, Path
from graphql.type import (
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    is_list_type,
    is_non_null_type,
    is_object_type,
)
from graphql.validation import validate
from msgspec import Struct

from explorer.errors import Busy
from explorer.server.authentication import Access
from explorer.server.cache import ByteCache
from explorer.server.catalog import Behind, CatalogEngine
from explorer.server.dialect import Dialect
from explorer.server.failures import as_catalog_error, kind_of, status_of
from explorer.server.graphql import (
    aspects,
    entities,
    lineage,
    mutations,
    properties,
    quality,
    search,
)
from explorer.server.graphql.schema import assemble
from explorer.server.graphql.session import (
    EditConflict,
    GraphQLContext,
    RequestBudget,
    read_if_current,
    read_run,
)
from explorer.server.restli import NotedChange
from explorer.server.store import StoreUnavailable

_LENGTHS = ("count", "limit", "urns")
_PAGE = 10
# Approximate lengths of the lists in an introspection, which have no argument for their length.
_SCHEMA_LENGTHS = {
    "types": 300,
    "fields": 6,
    "inputFields": 2,
    "enumValues": 2,
    "directives": 6,
}
_DESCRIBING = ("__schema", "__type")
# The depth to which repeated fields are counted; deeper documents are refused anyway.
_DEEPEST = 20
# A number with more digits exceeds every limit; Python refuses to parse thousands of digits.
_DIGITS = 18

# The length of a list: a number, or the path to it in the variables.
_Length: TypeAlias = int | tuple[str, ...]


class Cost(Struct, frozen=True):
    """The cost of a selection: `fields` is the number of fields outside lists, `lists` holds the
    length of each list and the cost of one element, `depth` is in levels, and `selected` is the
    number of fields that the document selects."""

    fields: int = 0
    depth: int = 0
    lists: tuple[tuple[_Length, "Cost"], ...] = ()
    selected: int = 0

    def total(self, variables: Mapping[str, Any]) -> int:
        """Return how many fields an answer may have with these variables."""
        return self.fields + sum(
            _length(length, variables) * inner.total(variables) for length, inner in self.lists
        )


class Measure:
    """The costs of a document's operations, in `operations`.

    Lists are ignored in an operation that selects more than `most` fields, because nested fragments
    can select any number of fields in a short document. The document need not be valid; a fragment
    that is undefined or contains itself costs nothing.
    """

    def __init__(self, document: DocumentNode, most: int) -> None:
        self._most = most
        self._fragments = {
            definition.name.value: definition
            for definition in document.definitions
            if isinstance(definition, FragmentDefinitionNode)
        }
        self._known: dict[str, Cost] = {}
        self._left = 2 * most
        self._sets = [
            definition.selection_set
            for definition in document.definitions
            if isinstance(definition, OperationDefinitionNode)
        ]
        self.operations = tuple(self._selection(node, describing=False) for node in self._sets)

    def root_fields(self) -> int:
        """Return the largest number of root fields that an operation selects."""
        return max((sum(1 for _ in self._flat([node], set())) for node in self._sets), default=0)

    def repeats(self) -> int:
        """Return how many pairs of fields the validator compares because they have the same name
        in the same object of the answer. Correct for a document that selects at most `most`
        fields."""
        self._left = 2 * self._most
        return sum(self._repeats([node], 0) for node in self._sets)

    def _repeats(self, sets: Iterable[SelectionSetNode], depth: int) -> int:
        times: dict[str, int] = {}
        inner: dict[str, list[SelectionSetNode]] = {}
        for field in self._flat(sets, set()):
            name = (field.alias or field.name).value
            times[name] = times.get(name, 0) + 1
            if field.selection_set:
                inner.setdefault(name, []).append(field.selection_set)
        repeats = sum(count * (count - 1) // 2 for count in times.values())
        if depth < _DEEPEST and self._left > 0:
            repeats += sum(self._repeats(nodes, depth + 1) for nodes in inner.values())
        return repeats

    def _flat(self, sets: Iterable[SelectionSetNode], names: set[str]) -> Iterable[FieldNode]:
        """Yield the fields of selections, including those of their fragments."""
        for selection in (
            selection for selection_set in sets for selection in selection_set.selections
        ):
            self._left -= 1
            match selection:
                case FieldNode():
                    yield selection
                case InlineFragmentNode():
                    yield from self._flat([selection.selection_set], names)
                case FragmentSpreadNode():
                    name = selection.name.value
                    fragment = self._fragments.get(name)
                    if fragment is not None and name not in names:
                        names.add(name)
                        yield from self._flat([fragment.selection_set], names)

    def _selection(self, selection_set: SelectionSetNode | None, *, describing: bool) -> Cost:
        costs = []
        for selection in selection_set.selections if selection_set else ():
            match selection:
                case FieldNode():
                    costs.append(self._field(selection, describing=describing))
                case InlineFragmentNode():
                    inner = selection.selection_set
                    costs.append(self._selection(inner, describing=describing))
                case FragmentSpreadNode():
                    costs.append(self._fragment(selection.name.value))
        selected = sum(cost.selected for cost in costs)
        return Cost(
            sum(cost.fields for cost in costs),
            max((cost.depth for cost in costs), default=0),
            tuple(entry for cost in costs for entry in cost.lists)
            if selected <= self._most
            else (),
            selected,
        )

    def _field(self, field: FieldNode, *, describing: bool) -> Cost:
        name = field.name.value
        inner = self._selection(field.selection_set, describing=describing or name in _DESCRIBING)
        length = _SCHEMA_LENGTHS.get(name) if describing else _list_length(field)
        if length is None or not inner.fields + len(inner.lists):
            return Cost(inner.fields + 1, inner.depth + 1, inner.lists, inner.selected + 1)
        return Cost(1, inner.depth + 1, ((length, inner),), inner.selected + 1)

    def _fragment(self, name: str) -> Cost:
        fragment = self._fragments.get(name)
        if name not in self._known and fragment is not None:
            # A fragment that contains itself costs nothing there.
            self._known[name] = Cost()
            describing = fragment.type_condition.name.value.startswith("__")
            self._known[name] = self._selection(fragment.selection_set, describing=describing)
        return self._known.get(name, Cost())


def _list_length(field: FieldNode) -> _Length | None:
    """Return the length of the list that a field's arguments request, None if they request none."""
    for argument in field.arguments or ():
        name, value = argument.name.value, argument.value
        if name in _LENGTHS:
            return _value_length(value)
        if name == "input":
            if isinstance(value, VariableNode):
                return (value.name.value, "")
            if isinstance(value, ObjectValueNode):
                for entry in value.fields:
                    if entry.name.value in _LENGTHS:
                        return _value_length(entry.value)
                return _PAGE
    return None


def _value_length(value: ValueNode) -> _Length:
    if isinstance(value, VariableNode):
        return (value.name.value,)
    literal = literal_length(value)
    return _PAGE if literal is None else literal


def literal_length(value: ValueNode) -> int | None:
    """Return the length that a literal requests: the value of an integer or the number of elements
    of a list; None for any other literal."""
    match value:
        case IntValueNode():
            return int(value.value) if len(value.value) <= _DIGITS else 10**_DIGITS
        case ListValueNode():
            return len(value.values)
    return None


def _length(length: _Length, variables: Mapping[str, Any]) -> int:
    if isinstance(length, int):
        return max(length, 1)
    length_value = variables.get(length[0])
    if len(length) > 1 and isinstance(length_value, Mapping):
        length_value = next(
            (length_value[name] for name in _LENGTHS if length_value.get(name) is not None), None
        )
    match length_value:
        case bool():
            return _PAGE
        case int():
            return max(length_value, 1)
        case str():
            return _PAGE
        case Sequence():
            return max(len(length_value), 1)
    return _PAGE


MAX_DEPTH = 20
# The documents that agents send select about 7,000, with their fragments expanded.
MAX_FIELDS = 20_000
# A second or two of work: a page of 5,000 entities with forty fields each, and some more.
MAX_COST = 250_000
# Parsing and validating takes milliseconds per thousand tokens; these limits keep it below a second
# or two.
_MAX_CHARACTERS = 1_000_000
_MAX_TOKENS = 20_000
_MAX_DEFINITIONS = 300
_MAX_REPEATS = 100_000
# A query of 60 fields takes 3 ms to parse and validate, and 0.1 ms if it is cached.
_KEPT_BYTES = 16 * 1024 * 1024
_LARGEST_BYTES = 4 * 1024 * 1024
# The size of a parsed document; 28 to 44 bytes were measured.
_BYTES_PER_CHARACTER = 64
_META_FIELDS = ("__schema", "__type", "__typename")


class Rejected(Exception):
    """A document was refused; `errors` holds every reason."""

    def __init__(self, errors: tuple[GraphQLError, ...], classification: str) -> None:
        super().__init__(errors[0].message)
        self.errors = errors
        self.classification = classification


class ParsedDocument:
    """A parsed document, with its costs and the kinds of its operations."""

    def __init__(self, parsed: DocumentNode) -> None:
        self.parsed = parsed
        operations = [
            definition
            for definition in parsed.definitions
            if isinstance(definition, OperationDefinitionNode)
        ]
        self.only_reads = all(
            operation.operation is OperationType.QUERY for operation in operations
        )
        self._is_one_edit = len(operations) == 1 and _edits_once(operations[0])
        # With variables the same text may have different answers, which must not be cached.
        self.is_introspection = all(_describes(operation) for operation in operations)
        self._defaults = {
            variable.variable.name.value: variable.default_value
            for operation in operations
            for variable in operation.variable_definitions or ()
            if variable.default_value is not None
        }
        measure = Measure(parsed, MAX_FIELDS)
        self._costs = measure.operations
        self._repeats = measure.repeats
        self.root_fields = measure.root_fields()

    def check_size(self) -> None:
        """Raise `Rejected` if the document is too deep or too large with any variables."""
        if len(self.parsed.definitions) > _MAX_DEFINITIONS:
            raise _refusal(
                f"the document has {len(self.parsed.definitions)} operations and fragments, at "
                f"most {_MAX_DEFINITIONS} are read; send it in several"
            )
        for cost in self._costs:
            if cost.depth > MAX_DEPTH:
                raise Rejected((_too("deep", MAX_DEPTH),), "ValidationError")
            if cost.selected > MAX_FIELDS:
                raise Rejected((_too("large", MAX_FIELDS),), "ValidationError")
        if self._repeats() > _MAX_REPEATS:
            raise _refusal("the query selects the same fields too many times; select each once")

    def check_one_edit(self) -> None:
        """Raise `Rejected` unless the document is one mutation with a single field."""
        if not self._is_one_edit:
            message = "ifCurrent is the condition of one edit; send a mutation with a single field"
            raise Rejected((GraphQLError(message),), "ValidationError")

    def cost(self, variables: Mapping[str, Any]) -> int:
        """Return how many fields the answer has if every page has its requested length."""
        if self._defaults:
            defaults = {name: literal_length(value) for name, value in self._defaults.items()}
            variables = {**defaults, **variables}
        return max((cost.total(variables) for cost in self._costs), default=0)

    def check_cost(self, variables: Mapping[str, Any]) -> None:
        """Raise `Rejected` if the answer may have too many fields."""
        cost = self.cost(variables)
        if cost > MAX_COST:
            raise _refusal(
                f"the query asks for up to {cost:,} fields, at most {MAX_COST:,} are given at "
                "once; ask for fewer fields or smaller pages"
            )


class DocumentCache:
    """Parses documents, validates them against a schema, and caches those used last.
    Thread-safe."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self._schema = schema
        self._cached: ByteCache[str, ParsedDocument] = ByteCache(_KEPT_BYTES, _LARGEST_BYTES)

    def get(self, text: str) -> ParsedDocument | None:
        """Return the cached document of a text, None if it is not cached."""
        return self._cached.get(text)

    def read(self, text: str) -> ParsedDocument:
        """Return the parsed and validated document of a text, and cache it.

        Takes up to two seconds for a long text. Raises `Rejected` if the document cannot be parsed,
        is invalid or is too large.
        """
        if len(text) > _MAX_CHARACTERS:
            raise _refusal(
                f"the document has {len(text):,} characters, at most {_MAX_CHARACTERS:,} are "
                "read; send long texts as variables"
            )
        try:
            parsed = parse(text, max_tokens=_MAX_TOKENS)
            document = ParsedDocument(parsed)
            document.check_size()
            errors = validate(self._schema, parsed)
        except GraphQLError as error:
            raise Rejected((error,), "InvalidSyntax") from error
        except RecursionError as error:
            raise Rejected((_too("deep", MAX_DEPTH),), "InvalidSyntax") from error
        if errors:
            raise Rejected(tuple(errors), "ValidationError")
        self._cached.put(text, document, len(text) * _BYTES_PER_CHARACTER)
        return document


def _refusal(message: str) -> Rejected:
    return Rejected((GraphQLError(message),), "ValidationError")


def _describes(operation: OperationDefinitionNode) -> bool:
    return not operation.variable_definitions and all(
        isinstance(selection, FieldNode) and selection.name.value in _META_FIELDS
        for selection in operation.selection_set.selections
    )


def _edits_once(operation: OperationDefinitionNode) -> bool:
    selections = operation.selection_set.selections
    is_one = len(selections) == 1 and isinstance(selections[0], FieldNode)
    return operation.operation is OperationType.MUTATION and is_one


def _too(adjective: str, limit: int) -> GraphQLError:
    unit = "levels" if adjective == "deep" else "fields"
    return GraphQLError(f"the query is too {adjective}: at most {limit} {unit}; ask in several")


# The values of non-null scalar fields that a stored aspect lacks.
_STAND_INS: dict[str, Any] = {"String": "", "Boolean": False, "Int": 0, "Long": 0, "Float": 0.0}


class CatalogExecutor(GraphQLExecutor[None]):
    """An executor that counts the fields of the answer, and returns default values for missing
    ones."""

    def execute_fields(
        self,
        parent_type: GraphQLObjectType,
        source_value: Any,
        path: Path | None,
        grouped_field_set: dict[str, list[Any]],
        position_context: Any,
    ) -> AwaitableOrValue[dict[str, Any]]:
        """Return the selected fields of an object. Raises `OverBudget` if the request exceeds its
        budget."""
        self.context_value.budget.answer(len(grouped_field_set))
        return super().execute_fields(
            parent_type, source_value, path, grouped_field_set, position_context
        )

    def complete_value(
        self,
        return_type: GraphQLOutputType,
        field_details_list: list[Any],
        info: Any,
        path: Path,
        result: Any,
        position_context: Any,
    ) -> AwaitableOrValue[Any]:
        """Return the value of a field in the answer.

        A non-null field that the stored aspect lacks is an empty string, false, 0, an empty list or
        an object of such fields. If its type is an entity, it is an error, and the nearest nullable
        object above it is null.
        """
        if result is None and is_non_null_type(return_type):
            result = _stand_in(return_type.of_type)
            if result is None:
                name = f"{info.parent_type.name}.{info.field_name}"
                raise GraphQLError(
                    f"{name} has no value: the stored aspect does not have this required field"
                )
        return super().complete_value(
            return_type, field_details_list, info, path, result, position_context
        )


def _stand_in(kind: Any) -> Any:
    """Return the value of a non-null field that a stored aspect lacks; None for an entity."""
    if is_list_type(kind):
        return []
    if is_object_type(kind):
        return None if kind.interfaces else {}
    return _STAND_INS.get(kind.name)


_log = logging.getLogger("explorer.server")
_RESOLVERS = tuple(
    module.RESOLVERS
    for module in (aspects, entities, lineage, mutations, properties, quality, search)
)
_CODES = {"BAD_REQUEST": 400, "UNAUTHORIZED": 403}
# Queries that cost more than this, and introspection, are executed on a thread of their own, so
# that the event loop stays free for other requests. One that gets none in time is refused.
_HEAVY = 5_000
_REMOTE_HEAVY = 4
_HEAVY_WAIT_SECONDS = 30.0
_HEAVY_AGAIN_SECONDS = 2.0
# Queries with more root fields also run on that thread: each field may be a search, and many in one
# document would fill the queue of the reader threads.
_MANY_ROOT_FIELDS = 20
# Describing the whole schema takes 0.12 s.
_SCHEMAS_BYTES = 4 * 1024 * 1024
_LARGEST_SCHEMA_BYTES = 1024 * 1024
# Longer documents may take a second to validate; they have a thread of their own, so that shorter
# ones do not wait for them.
_LONG = 3_000


class Executor:
    """Executes documents against the schema of a catalog. Constructing one takes 0.2 s."""

    def __init__(self, catalog: CatalogEngine) -> None:
        self._catalog = catalog
        self.schema = assemble(catalog.registry, _RESOLVERS, entities.type_of)
        mutations.guard(self.schema)
        self._documents = DocumentCache(self.schema)
        self._described: ByteCache[str, bytes] = ByteCache(_SCHEMAS_BYTES, _LARGEST_SCHEMA_BYTES)
        # With a database, such a thread mostly waits.
        heavy = 1 if catalog.store.is_local else _REMOTE_HEAVY
        self._heavy = ThreadPoolExecutor(heavy, thread_name_prefix="graphql-heavy")
        self._heavy_turns = asyncio.Semaphore(heavy)
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="graphql-documents")
        self._long_reader = ThreadPoolExecutor(1, thread_name_prefix="graphql-long-documents")

    async def run(
        self,
        query: str,
        variables: dict[str, Any],
        operation: str | None,
        access: Access,
        extensions: Any = None,
        dialect: Dialect = "plain",
        changes: list[NotedChange] | None = None,
    ) -> bytes:
        """Return the answer to one request as JSON, with `data`, `errors` if there are any, and
        `extensions`.

        Of the request's `extensions`, `ifCurrent` and `run` are read. Answers to introspection are
        cached by the text of the document. Every attempted mutation is appended to `changes`.
        Raises `InvalidInput` if `ifCurrent` or `run` is invalid.
        """
        if_current, run = read_if_current(extensions), read_run(extensions)
        described = self._described.get(query)
        if described is not None and operation is None:
            return described
        try:
            document = await self._document(query)
            # Edits and introspection that cost too much are refused before they run; queries are
            # ended by `RequestBudget` while they run.
            if document.is_introspection or not document.only_reads:
                document.check_cost(variables)
            cost = document.cost(variables)
            if if_current is not None:
                document.check_one_edit()
        except Rejected as rejected:
            errors = [
                _shape(error, 400, "BAD_REQUEST", rejected.classification)
                for error in rejected.errors
            ]
            return orjson.dumps({"data": None, "errors": errors, "extensions": {}})
        # An edit has no budget: once begun, it is completed.
        limits = () if document.only_reads else (math.inf, math.inf, math.inf)
        budget = RequestBudget(*limits)
        session = GraphQLContext(self._catalog, access, if_current, dialect, budget, run, changes)
        operation_arguments = (document, variables, operation, session)
        is_heavy = cost > _HEAVY or document.root_fields > _MANY_ROOT_FIELDS
        if document.only_reads and (is_heavy or document.is_introspection):

            async def answer_inline() -> dict[str, Any]:
                with self._catalog.inline():
                    return await self._answer(*operation_arguments)

            loop = asyncio.get_running_loop()
            context = copy_context()
            async with self._heavy_turn():
                answer = await loop.run_in_executor(
                    self._heavy, lambda: context.run(asyncio.run, answer_inline())
                )
        else:
            answer = await self._answer(*operation_arguments)
        body = orjson.dumps(answer)
        if document.is_introspection and operation is None and "errors" not in answer:
            self._described.put(query, body, len(body) + 4 * len(query))
        return body

    @asynccontextmanager
    async def _heavy_turn(self) -> AsyncIterator[None]:
        """Wait for a thread for a costly query. Raises `Busy` if all are taken for long."""
        try:
            async with asyncio.timeout(_HEAVY_WAIT_SECONDS):
                await self._heavy_turns.acquire()
        except TimeoutError:
            raise Busy(
                "other costly queries take long at present; try again in a moment",
                retry_after_seconds=_HEAVY_AGAIN_SECONDS,
            ) from None
        try:
            yield
        finally:
            self._heavy_turns.release()

    async def _document(self, query: str) -> ParsedDocument:
        document = self._documents.get(query)
        if document is None:
            reader = self._long_reader if len(query) > _LONG else self._reader
            loop = asyncio.get_running_loop()
            document = await loop.run_in_executor(reader, self._documents.read, query)
        return document

    async def _answer(
        self,
        document: ParsedDocument,
        variables: dict[str, Any],
        operation: str | None,
        session: GraphQLContext,
    ) -> dict[str, Any]:
        result = execute(
            self.schema,
            document.parsed,
            context_value=session,
            variable_values=variables,
            operation_name=operation,
            executor_class=CatalogExecutor,
        )
        if not isinstance(result, ExecutionResult):
            result = await result
        if (exceeded := session.budget.exceeded) is not None:
            error = GraphQLError(str(exceeded))
            shape = _shape(error, 400, "BAD_REQUEST", "ExecutionAborted")
            return {"data": None, "errors": [shape], "extensions": {}}
        answer: dict[str, Any] = {"data": result.data}
        # If one edit was committed, the answer must say so, even if later ones failed.
        is_nothing_done = document.only_reads or not any((result.data or {}).values())
        for error in (result.errors or ()) if is_nothing_done else ():
            if isinstance(error.original_error, StoreUnavailable | Behind):
                # The whole request fails instead of giving a partial answer: the caller retries.
                raise error.original_error
        if result.errors:
            answer["errors"] = [_failure(error) for error in result.errors]
        _conclude(session.changes, answer)
        return answer | {"extensions": {}}


def _conclude(changes: list[NotedChange], answer: dict[str, Any]) -> None:
    """Record the outcome of each change: its status, and the URN of the entity that it created."""
    failed = {
        error["path"][0]: int(error["extensions"]["code"])
        for error in answer.get("errors", ())
        if error.get("path")
    }
    data = answer["data"] or {}
    for change in changes:
        change.status = failed.get(change.place, 200)
        created = data.get(change.place)
        if isinstance(created, dict):
            created = created.get("urn")
        if isinstance(created, str) and created.startswith("urn:li:"):
            change.urns.append(created)


def _failure(error: GraphQLError) -> dict[str, Any]:
    cause = error.original_error
    if cause is None or isinstance(cause, GraphQLError):
        return _shape(error, 400, "BAD_REQUEST", "ValidationError")
    catalog_error = as_catalog_error(cause)
    if catalog_error is not cause:
        _log.error("a GraphQL field failed", exc_info=cause)
        error = GraphQLError(str(catalog_error), error.nodes, path=error.path)
    status = status_of(catalog_error)
    kind = kind_of(status)
    shape = _shape(error, _CODES.get(kind, status), kind, "DataFetchingException")
    if isinstance(cause, EditConflict):
        shape["extensions"]["current"] = cause.current
    return shape


def _shape(error: GraphQLError, code: int, kind: str, classification: str) -> dict[str, Any]:
    shape: dict[str, Any] = {"message": error.message}
    if error.locations:
        shape["locations"] = [{"line": at.line, "column": at.column} for at in error.locations]
    if error.path:
        shape["path"] = error.path
    shape["extensions"] = {"code": code, "type": kind, "classification": classification}
    return shape
