"""GraphQL documents: parsed, measured and validated once, then kept by their text."""

from collections.abc import Mapping
from typing import Any

from graphql.error import GraphQLError
from graphql.language import (
    DocumentNode,
    FieldNode,
    OperationDefinitionNode,
    OperationType,
    parse,
)
from graphql.type import GraphQLSchema
from graphql.validation import validate

from explorer.server.cache import ByteCache
from explorer.server.graphql.cost import Measure, literal_length

__all__ = ["MAX_COST", "MAX_DEPTH", "MAX_FIELDS", "Document", "Documents", "Rejected"]

MAX_DEPTH = 20
# The documents of agents, fragments written out, select some 7,000.
MAX_FIELDS = 20_000
# A second or two of work; what a page of 5,000 entities with forty fields each has.
MAX_COST = 250_000
# Reading a document takes milliseconds for a thousand tokens, so these bound it to a second or two.
_MAX_CHARACTERS = 1_000_000
_MAX_TOKENS = 20_000
_MAX_DEFINITIONS = 300
_MAX_REPEATS = 100_000
_KEPT_BYTES = 16 * 1024 * 1024
# Longer texts mostly carry what somebody wrote, and come once; those of agents have 45,000
# characters and come again. They are kept from the second time on.
_LONG = 4_000
_LONG_REMEMBERED = 64
_LARGEST_BYTES = 4 * 1024 * 1024
# The parsed document; 28 to 44 were measured.
_BYTES_PER_CHARACTER = 64
_OF_THE_SCHEMA = ("__schema", "__type", "__typename")


class Rejected(Exception):
    """A document that cannot be executed, with every reason."""

    def __init__(self, errors: tuple[GraphQLError, ...], classification: str) -> None:
        super().__init__(errors[0].message)
        self.errors = errors
        self.classification = classification


class Document:
    """A document fit to be executed, and what it asks for."""

    def __init__(self, parsed: DocumentNode) -> None:
        self.parsed = parsed
        operations = [one for one in parsed.definitions if isinstance(one, OperationDefinitionNode)]
        self.only_reads = all(one.operation is OperationType.QUERY for one in operations)
        self._is_one_edit = len(operations) == 1 and _edits_once(operations[0])
        # Variables and directives may change what the same text is answered with.
        self.is_introspection = all(_describes(one) for one in operations)
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
        """Raises `Rejected` for a document too deep or too large whatever its variables are."""
        if len(self.parsed.definitions) > _MAX_DEFINITIONS:
            raise _refused(
                f"the document has {len(self.parsed.definitions)} operations and fragments, at "
                f"most {_MAX_DEFINITIONS} are read; send it in several"
            )
        for cost in self._costs:
            if cost.depth > MAX_DEPTH:
                raise Rejected((_too("deep", MAX_DEPTH),), "ValidationError")
            if cost.selected > MAX_FIELDS:
                raise Rejected((_too("large", MAX_FIELDS),), "ValidationError")
        if self._repeats() > _MAX_REPEATS:
            raise _refused("the query selects the same fields too many times; select each once")

    def check_one_edit(self) -> None:
        """Raises `Rejected` for a document that is not one mutation with a single field."""
        if not self._is_one_edit:
            message = "ifCurrent is the condition of one edit; send a mutation with a single field"
            raise Rejected((GraphQLError(message),), "ValidationError")

    def cost(self, variables: Mapping[str, Any]) -> int:
        """Return how many fields the answer has where every page is as long as it may be."""
        if self._defaults:
            defaults = {name: literal_length(value) for name, value in self._defaults.items()}
            variables = {**defaults, **variables}
        return max((cost.total(variables) for cost in self._costs), default=0)

    def check_cost(self, variables: Mapping[str, Any]) -> None:
        """Raise `Rejected` for an answer that may have too many fields."""
        cost = self.cost(variables)
        if cost > MAX_COST:
            raise _refused(
                f"the query asks for up to {cost:,} fields, at most {MAX_COST:,} are given at "
                "once; ask for fewer fields or smaller pages"
            )


class Documents:
    """Reads documents against one schema; the ones used last are kept. Any thread may call."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self._schema = schema
        self._kept: ByteCache[str, Document] = ByteCache(_KEPT_BYTES, _LARGEST_BYTES)
        self._came_once: ByteCache[int, bool] = ByteCache(_LONG_REMEMBERED, 1)

    def known(self, text: str) -> Document | None:
        """The document of a text that was kept."""
        return self._kept.get(text)

    def read(self, text: str) -> Document:
        """Return the document of a text, fit to be executed, and keep it; a long one when it comes
        again.

        Raises `Rejected`. Takes up to two seconds for a long one.
        """
        if len(text) > _MAX_CHARACTERS:
            raise _refused(
                f"the document has {len(text):,} characters, at most {_MAX_CHARACTERS:,} are "
                "read; send long texts as variables"
            )
        try:
            parsed = parse(text, max_tokens=_MAX_TOKENS)
            document = Document(parsed)
            document.check_size()
            errors = validate(self._schema, parsed)
        except GraphQLError as error:
            raise Rejected((error,), "InvalidSyntax") from error
        except RecursionError as error:
            raise Rejected((_too("deep", MAX_DEPTH),), "InvalidSyntax") from error
        if errors:
            raise Rejected(tuple(errors), "ValidationError")
        if len(text) <= _LONG or self._came_once.get(hash(text)):
            self._kept.put(text, document, len(text) * _BYTES_PER_CHARACTER)
        else:
            self._came_once.put(hash(text), value=True, size_bytes=1)
        return document


def _refused(message: str) -> Rejected:
    return Rejected((GraphQLError(message),), "ValidationError")


def _describes(operation: OperationDefinitionNode) -> bool:
    return not operation.variable_definitions and all(
        isinstance(selection, FieldNode) and selection.name.value in _OF_THE_SCHEMA
        for selection in operation.selection_set.selections
    )


def _edits_once(operation: OperationDefinitionNode) -> bool:
    selections = operation.selection_set.selections
    is_one = len(selections) == 1 and isinstance(selections[0], FieldNode)
    return operation.operation is OperationType.MUTATION and is_one


def _too(what: str, most: int) -> GraphQLError:
    unit = "levels" if what == "deep" else "fields"
    return GraphQLError(f"the query is too {what}: at most {most} {unit}; ask in several")
