"""GraphQL documents: parsed, validated and measured once, then kept by their text."""

from collections import OrderedDict
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

from explorer.server.graphql.cost import Measure

__all__ = ["MAX_COST", "MAX_DEPTH", "MAX_FIELDS", "Document", "Documents", "Rejected"]

MAX_DEPTH = 20
MAX_FIELDS = 5_000
# A second or two of work; what a page of 5,000 entities with forty fields each has.
MAX_COST = 250_000
_MAX_TOKENS = 50_000
_KEPT = 256
# Texts this long carry what somebody wrote, and come once.
_LONGEST_KEPT = 20_000
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
        # Variables and directives may change what the same text is answered with.
        self.is_introspection = all(_describes(one) for one in operations)
        self._defaults = {
            variable.variable.name.value: variable.default_value
            for operation in operations
            for variable in operation.variable_definitions or ()
            if variable.default_value is not None
        }
        self._costs = Measure(parsed, MAX_FIELDS).operations

    def check_size(self) -> None:
        """Raises `Rejected` for a document too deep or too large whatever its variables are."""
        for cost in self._costs:
            if cost.depth > MAX_DEPTH:
                raise Rejected((_too("deep", MAX_DEPTH),), "ValidationError")
            if cost.selected > MAX_FIELDS:
                raise Rejected((_too("large", MAX_FIELDS),), "ValidationError")

    def check_cost(self, variables: Mapping[str, Any]) -> int:
        """How many fields the answer may have at most; raises `Rejected` for too many."""
        if self._defaults:
            defaults = {name: _literal(value) for name, value in self._defaults.items()}
            variables = {**defaults, **variables}
        cost = max((cost.total(variables) for cost in self._costs), default=0)
        if cost > MAX_COST:
            message = (
                f"the query asks for up to {cost:,} fields, at most {MAX_COST:,} are given at "
                "once; ask for fewer fields or smaller pages"
            )
            raise Rejected((GraphQLError(message),), "ValidationError")
        return cost


class Documents:
    """Reads documents against one schema; the ones used last are kept. `read` may be called by any
    thread, the rest by one."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self._schema = schema
        self._kept: OrderedDict[str, Document] = OrderedDict()

    def known(self, text: str) -> Document | None:
        """The document of a text that was kept."""
        kept = self._kept.get(text)
        if kept is not None:
            self._kept.move_to_end(text)
        return kept

    def keep(self, text: str, document: Document) -> None:
        """Know the document of a text, unless it is a long one."""
        if len(text) <= _LONGEST_KEPT:
            self._kept[text] = document
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)

    def read(self, text: str) -> Document:
        """The document of a text, fit to be executed; raises `Rejected`. Seconds for a long one."""
        try:
            parsed = parse(text, max_tokens=_MAX_TOKENS)
        except GraphQLError as error:
            raise Rejected((error,), "InvalidSyntax") from error
        except RecursionError as error:
            raise Rejected((_too("deep", MAX_DEPTH),), "InvalidSyntax") from error
        errors = validate(self._schema, parsed)
        if errors:
            raise Rejected(tuple(errors), "ValidationError")
        document = Document(parsed)
        document.check_size()
        return document


def _describes(operation: OperationDefinitionNode) -> bool:
    return not operation.variable_definitions and all(
        isinstance(selection, FieldNode) and selection.name.value in _OF_THE_SCHEMA
        for selection in operation.selection_set.selections
    )


def _literal(value: Any) -> Any:
    """A default value, as far as it may say how long a list is."""
    text = getattr(value, "value", None)
    return int(text) if isinstance(text, str) and text.lstrip("-").isdigit() else None


def _too(what: str, most: int) -> GraphQLError:
    unit = "levels" if what == "deep" else "fields"
    return GraphQLError(f"the query is too {what}: at most {most} {unit}; ask in several")
