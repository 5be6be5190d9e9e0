"""Executing what needs no resolver: the fields of plain values are read off them directly, which
takes a fraction of the time for the columns of a table."""

from typing import Any

from graphql.error import GraphQLError
from graphql.execution.collect_fields import FieldDetailsList, GroupedFieldSet
from graphql.execution.executor_throwing_on_incremental import ExecutorThrowingOnIncremental
from graphql.pyutils import AwaitableOrValue, Path
from graphql.type import (
    GraphQLList,
    GraphQLObjectType,
    GraphQLOutputType,
    is_list_type,
    is_non_null_type,
    is_object_type,
    is_scalar_type,
)

__all__ = ["PlainExecutor"]

# What a field answers that the schema promises and the stored aspect lacks, by its scalar.
_STAND_INS: dict[str, Any] = {"String": "", "Boolean": False, "Int": 0, "Long": 0, "Float": 0.0}
# The scalars that JSON has as they are.
_PLAIN = {"String": str, "Boolean": bool}

# The name in the answer, the name in the value, its type, and whether null may stand there.
_Plan = tuple[tuple[str, str, type, bool], ...]


class PlainExecutor(ExecutorThrowingOnIncremental):
    """An executor that takes texts and truths out of mappings by itself. Anything else, a value
    of another type or a null where none may be among it, goes the usual way."""

    def execute_fields(
        self,
        parent_type: GraphQLObjectType,
        source_value: Any,
        path: Path | None,
        grouped_field_set: GroupedFieldSet,
        position_context: Any,
    ) -> AwaitableOrValue[dict[str, Any]]:
        """The fields selected of one object; raises `TooMuch` beyond the request's budget."""
        self.context_value.budget.answer(len(grouped_field_set))
        if type(source_value) is dict:
            plan = self._plan(parent_type, grouped_field_set)
            found = None if plan is None else _read(plan, source_value)
            if found is not None:
                return found
        return super().execute_fields(
            parent_type, source_value, path, grouped_field_set, position_context
        )

    def complete_value(
        self,
        return_type: GraphQLOutputType,
        field_details_list: FieldDetailsList,
        info: Any,
        path: Path,
        result: Any,
        position_context: Any,
    ) -> AwaitableOrValue[Any]:
        """The answer of one field.

        Aspects may lack what the schema promises. Such a field answers with an empty text, false,
        0, an empty list or a record without values; one that promises an entity is an error, and
        null stands in place of the nearest record that may be null.
        """
        if result is None and is_non_null_type(return_type):
            result = _stand_in(return_type.of_type)
            if result is None:
                name = f"{info.parent_type.name}.{info.field_name}"
                raise GraphQLError(f"{name} is not known: the stored aspect lacks it")
        return super().complete_value(
            return_type, field_details_list, info, path, result, position_context
        )

    def complete_list_value(
        self,
        return_type: GraphQLList[GraphQLOutputType],
        field_details_list: FieldDetailsList,
        info: Any,
        path: Path,
        result: Any,
        position_context: Any,
    ) -> AwaitableOrValue[list[Any]]:
        """The elements of one list."""
        item = return_type.of_type
        kind: Any = getattr(item, "of_type", item)
        if type(result) is list and is_object_type(kind):
            selected = self.collect_subfields(kind, field_details_list).grouped_field_set
            plan = self._plan(kind, selected)
            if plan is not None:
                self.context_value.budget.answer(len(plan) * len(result))
            if plan is not None and all(type(one) is dict for one in result):
                found = [_read(plan, one) for one in result]
                if None not in found:
                    return found
        return super().complete_list_value(
            return_type, field_details_list, info, path, result, position_context
        )

    def _plan(self, parent_type: GraphQLObjectType, selected: GroupedFieldSet) -> _Plan | None:
        """How to read the selected fields; nothing when one of them needs more. Selections live as
        long as the executor, so that each is known by its identity."""
        plans: dict[int, _Plan | None] = self.__dict__.setdefault("_plans", {})
        try:
            return plans[id(selected)]
        except KeyError:
            plan = plans[id(selected)] = _plan_of(parent_type, selected)
            return plan


def _stand_in(kind: Any) -> Any:
    """What stands for a missing value of a type; None where nothing can."""
    if is_list_type(kind):
        return []
    if is_object_type(kind):
        return None if kind.interfaces else {}
    return _STAND_INS.get(kind.name)


def _plan_of(parent_type: GraphQLObjectType, selected: GroupedFieldSet) -> _Plan | None:
    plan = []
    for response_name, details in selected.items():
        name = details[0].node.name.value
        field = parent_type.fields.get(name)
        if field is None or field.resolve is not None or field.args:
            return None
        nullable = not is_non_null_type(field.type)
        kind = field.type if nullable else getattr(field.type, "of_type", None)
        if not is_scalar_type(kind) or kind.name not in _PLAIN:
            return None
        plan.append((response_name, name, _PLAIN[kind.name], nullable))
    return tuple(plan)


def _read(plan: _Plan, value: dict[str, Any]) -> dict[str, Any] | None:
    found = {}
    for response_name, name, kind, nullable in plan:
        one = value.get(name)
        if type(one) is not kind and not (one is None and nullable):
            return None
        found[response_name] = one
    return found
