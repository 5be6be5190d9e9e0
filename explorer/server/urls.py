"""Reading request addresses: every part is decoded exactly once, after it was cut out.

/entitiesV2/urn%3Ali%3Adataset%3A%28…%2Fx%29      the slash inside the URN splits no path
?aspects=List(a,b)&types=OwnedBy&types=Contains   lists, and parameters that repeat
"""

from urllib.parse import quote, unquote_plus, unquote_to_bytes

from explorer.errors import InvalidInput

__all__ = ["Query", "decode", "raw_path", "split_list"]


def raw_path(path: bytes | None, decoded: str) -> str:
    """The path as it was sent; `decoded` stands in where a server does not give it."""
    if path is None:
        return quote(decoded)
    return path.partition(b"?")[0].decode("latin-1")


def decode(part: str) -> str:
    """A path segment or list element, decoded once; a plus stays a plus."""
    # The server hands bytes on as Latin-1; callers who do not encode send UTF-8.
    try:
        return unquote_to_bytes(part.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{part[:80]!r} is not UTF-8 once it is decoded") from None


class Query:
    """The parameters of an address, decoded when they are asked for."""

    __slots__ = ("_raw",)

    def __init__(self, query: bytes) -> None:
        self._raw: dict[str, list[str]] = {}
        for pair in query.decode("latin-1").split("&") if query else ():
            key, _, value = pair.partition("=")
            self._raw.setdefault(unquote_plus(key), []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self._raw

    def one(self, name: str) -> str | None:
        """The first value of a parameter."""
        values = self._raw.get(name)
        return decode(values[0].replace("+", " ")) if values else None

    def required(self, name: str) -> str:
        """The first value of a parameter; raises `InvalidInput` when it is missing or empty."""
        value = self.one(name)
        if not value:
            raise InvalidInput(f"the query parameter {name!r} is required")
        return value

    def many(self, name: str) -> list[str] | None:
        """Every value of a parameter: repeated, or the elements of `List(…)`."""
        values = self._raw.get(name)
        if values is None:
            return None
        found: list[str] = []
        for raw in values:
            if raw.startswith("List("):
                found.extend(decode(element) for element in split_list(raw))
                continue
            value = decode(raw.replace("+", " "))
            found.extend(split_list(value) if value.startswith("List(") else [value])
        return found


def split_list(text: str) -> list[str]:
    """The elements of `List(a,b)`, still encoded: cut at the commas outside inner parentheses.

    White space around an element is dropped. Raises `InvalidInput` when the list is not closed.
    """
    elements: list[str] = []
    depth = 0
    begin = len("List(")
    for at in range(begin, len(text)):
        char = text[at]
        if char == "(":
            depth += 1
        elif char == ")":
            if depth == 0:
                if at != len(text) - 1:
                    raise InvalidInput(f"nothing may follow the ')' that closes {text[:80]!r}")
                elements.append(text[begin:at])
                break
            depth -= 1
        elif char == "," and depth == 0:
            elements.append(text[begin:at])
            begin = at + 1
    else:
        raise InvalidInput(f"List( is not closed with ')' in {text[:80]!r}")
    stripped = [_strip(element) for element in elements]
    return [] if stripped == [""] else stripped


def _strip(element: str) -> str:
    element = element.strip()
    while element.startswith(("+", "%20")):
        element = element[1:] if element[0] == "+" else element[3:]
    while element.endswith(("+", "%20")):
        element = element[:-1] if element[-1] == "+" else element[:-3]
    return element
