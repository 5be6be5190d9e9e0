"""Letting methods accept the name of an entity in place of its URN."""

import inspect
from collections.abc import AsyncGenerator, Callable
from functools import wraps
from typing import Any, TypeVar

_ClassT = TypeVar("_ClassT")


def takes_names(cls: type[_ClassT]) -> type[_ClassT]:
    """A class decorator: public asynchronous methods whose first argument is `urn` also accept the
    name of an entity, which the method `urn_of` of the class resolves; those whose first argument
    is `urns` accept names among the URNs."""
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        first = inspect.unwrap(method).__code__.co_varnames[1:2]
        if name.startswith("_") or first not in (("urn",), ("urns",)):
            continue
        if inspect.isasyncgenfunction(method):
            setattr(cls, name, _generator(method))
        elif inspect.iscoroutinefunction(method):
            setattr(cls, name, (_coroutine if first == ("urn",) else _of_many)(method))
    return cls


def _coroutine(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    async def call(self: Any, urn: Any, *args: Any, **kwargs: Any) -> Any:
        urn = await self.urn_of(urn) if _is_name(urn) else urn
        return await method(self, urn, *args, **kwargs)

    return call


def _of_many(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    async def call(self: Any, urns: Any = (), *args: Any, **kwargs: Any) -> Any:
        given = [urns] if isinstance(urns, str) else list(urns)
        found_urns = [await self.urn_of(urn) if _is_name(urn) else urn for urn in given]
        return await method(self, found_urns, *args, **kwargs)

    return call


def _generator(method: Callable[..., AsyncGenerator[Any, None]]) -> Callable[..., Any]:
    @wraps(method)
    async def call(self: Any, urn: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        urn = await self.urn_of(urn) if _is_name(urn) else urn
        entries = method(self, urn, *args, **kwargs)
        try:
            async for entry in entries:
                yield entry
        finally:
            await entries.aclose()

    return call


def _is_name(urn: Any) -> bool:
    return isinstance(urn, str) and bool(urn.strip()) and not urn.startswith("urn:")
