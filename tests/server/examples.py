"""The example request of an endpoint, as whoever reads the description of the service makes it."""

import json
from typing import Any
from urllib.parse import quote

from graphql import GraphQLSchema

from explorer.metadata.registry import Registry
from explorer.server.documentation import describe
from explorer.server.restli import Endpoint


def example_of(endpoint: Endpoint) -> tuple[str, str | None]:
    """The path of an example request with its query, and its body, `None` if it has none."""
    description = json.loads(describe([endpoint], GraphQLSchema(), Registry({}, {}, {}), ""))
    [(path, operations)] = description["paths"].items()
    [operation] = operations.values()
    pairs = []
    for parameter in operation["parameters"]:
        example, name = parameter.get("example"), parameter["name"]
        if parameter["in"] == "path":
            # A key with a slash, such as dataset/batchGet, is a path.
            path = path.replace(f"{{{name}}}", example if "/" in example else quote(example, ""))
        elif parameter["in"] == "query" and example is not None:
            values = example if isinstance(example, list) else [example]
            pairs += [f"{quote(name, '')}={quote(_text(value), '(),*/')}" for value in values]
    if pairs:
        path += ("&" if "?" in path else "?") + "&".join(pairs)
    if "requestBody" not in operation:
        return path, None
    return path, json.dumps(operation["requestBody"]["content"]["application/json"]["example"])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
