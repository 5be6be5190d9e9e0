"""GraphQL documents: parsed, validated and measured once, then kept by their text."""

from collections import OrderedDict

from graphql.error import GraphQLError
from graphql.language import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    parse,
)
from graphql.type import GraphQLSchema
from graphql.validation import validate

__all__ = ["MAX_DEPTH", "MAX_FIELDS", "Documents", "Rejected"]

MAX_DEPTH = 20
MAX_FIELDS = 5_000
_MAX_TOKENS = 50_000
_KEPT = 256
# Texts this long carry what somebody wrote, and come once.
_LONGEST_KEPT = 20_000


class Rejected(Exception):
    """A document that cannot be executed, with every reason."""

    def __init__(self, errors: tuple[GraphQLError, ...], classification: str) -> None:
        super().__init__(errors[0].message)
        self.errors = errors
        self.classification = classification


class Documents:
    """Reads documents against one schema; the ones used last are kept."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self._schema = schema
        self._kept: OrderedDict[str, DocumentNode] = OrderedDict()

    def read(self, text: str) -> DocumentNode:
        """The document of a text, fit to be executed; raises `Rejected`."""
        kept = self._kept.get(text)
        if kept is not None:
            self._kept.move_to_end(text)
            return kept
        try:
            document = parse(text, max_tokens=_MAX_TOKENS)
        except GraphQLError as error:
            raise Rejected((error,), "InvalidSyntax") from error
        except RecursionError as error:
            raise Rejected((_too("deep", MAX_DEPTH),), "InvalidSyntax") from error
        errors = validate(self._schema, document)
        if errors:
            raise Rejected(tuple(errors), "ValidationError")
        _Measure(document).check()
        if len(text) <= _LONGEST_KEPT:
            self._kept[text] = document
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return document


class _Measure:
    """How deep a document goes and how many fields it selects, its fragments spread out."""

    def __init__(self, document: DocumentNode) -> None:
        self._document = document
        self._fragments = {
            definition.name.value: definition
            for definition in document.definitions
            if isinstance(definition, FragmentDefinitionNode)
        }
        self._known: dict[str, tuple[int, int]] = {}

    def check(self) -> None:
        for definition in self._document.definitions:
            if isinstance(definition, OperationDefinitionNode):
                depth, fields = self._selection(definition.selection_set)
                if depth > MAX_DEPTH:
                    raise Rejected((_too("deep", MAX_DEPTH),), "ValidationError")
                if fields > MAX_FIELDS:
                    raise Rejected((_too("large", MAX_FIELDS),), "ValidationError")

    def _selection(self, selection_set: SelectionSetNode | None) -> tuple[int, int]:
        depth, fields = 0, 0
        for selection in selection_set.selections if selection_set else ():
            match selection:
                case FieldNode():
                    inner_depth, inner_fields = self._selection(selection.selection_set)
                    inner_depth, inner_fields = inner_depth + 1, inner_fields + 1
                case InlineFragmentNode():
                    inner_depth, inner_fields = self._selection(selection.selection_set)
                case FragmentSpreadNode():
                    inner_depth, inner_fields = self._fragment(selection.name.value)
                case _:
                    continue
            depth, fields = max(depth, inner_depth), fields + inner_fields
        return depth, fields

    def _fragment(self, name: str) -> tuple[int, int]:
        if name not in self._known:
            self._known[name] = self._selection(self._fragments[name].selection_set)
        return self._known[name]


def _too(what: str, most: int) -> GraphQLError:
    unit = "levels" if what == "deep" else "fields"
    return GraphQLError(f"the query is too {what}: at most {most} {unit}; ask in several")
