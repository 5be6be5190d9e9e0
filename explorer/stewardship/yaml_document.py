"""Editing the text of a YAML file so that all lines without a change keep their bytes.

The text is edited at the positions that PyYAML's parser reports; parsed values are never written
back. Libraries that write whole documents cannot do this: ruamel.yaml's round-trip mode keeps
comments and anchors, but changes the indentation of sequences, the folding of long lines, white
space before comments, and line ends. PyYAML reads YAML 1.1, as dbt does.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self

import yaml

from explorer.errors import InvalidInput

Path = tuple[str | int, ...]
"""The keys and indexes that lead from the root of a document to a value."""

Value = str | Sequence["Value"] | Mapping[str, "Value"]
"""The values that can be inserted: text, and lists and mappings of text."""


class Quoted(str):
    """Text that is always written in quotes on one line."""

    __slots__ = ()


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_VALUES: Final = 2_000_000
_PROPERTIES: Final = re.compile(r"(?:[&!][^\s,\[\]{}]*\s+)+")
_HEADER: Final = re.compile(r"[|>][0-9+-]*")
_LINE: Final = re.compile(r"[^\r\n]*")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_KEPT: Final = "+"
_STEP: Final = 2


class LinedText(str):
    """Text with the line of a file that it is on, 0 if unknown."""

    line: int

    def __new__(cls, text: str, line: int = 0) -> Self:
        """Return the text with its line."""
        lined = super().__new__(cls, text)
        lined.line = line
        return lined


class _LinedLoader(_Loader):  # type: ignore[misc]
    """Loads texts as `LinedText`."""


def _construct_text(loader: Any, node: yaml.ScalarNode) -> LinedText:
    return LinedText(loader.construct_scalar(node), node.start_mark.line + 1)


_LinedLoader.add_constructor("tag:yaml.org,2002:str", _construct_text)


def load(text: str, *, has_lines: bool = False) -> Any:
    """Parse a YAML text; aliases become copies of their anchors. With `has_lines`, texts are
    `LinedText`.

    Raises `InvalidInput` for text that is not YAML, has custom tags, or whose aliases make it far
    larger than its text.
    """
    try:
        loader = _LinedLoader if has_lines else _Loader
        value = yaml.load(text.removeprefix("\ufeff"), Loader=loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError, UnicodeError) as error:
        raise InvalidInput(f"it is not valid YAML: {_reason(error)}") from None
    return _copy_value(value, [_MOST_VALUES], 0)


def _reason(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem and error.problem_mark:
        mark = error.problem_mark
        return f"{error.problem} (line {mark.line + 1}, column {mark.column + 1})"
    return str(error).partition("\n")[0]


def _copy_value(value: Any, budget: list[int], depth: int) -> Any:
    budget[0] -= 1
    if budget[0] < 0 or depth > 200:
        raise InvalidInput("its aliases make it too large")
    if isinstance(value, dict):
        return {key: _copy_value(element, budget, depth + 1) for key, element in value.items()}
    if isinstance(value, list):
        return [_copy_value(element, budget, depth + 1) for element in value]
    return value


@dataclass(slots=True)
class _YamlNode:
    """A value at the position `[start, end)` in the text, in characters."""

    kind: Literal["scalar", "mapping", "sequence", "alias"]
    start: int
    end: int
    column: int
    text: str = ""
    style: str = ""
    flow: bool = False
    anchor: str | None = None
    tag: str | None = None
    items: "list[_YamlNode]" = field(default_factory=list)
    """The values of a sequence, or alternately the keys and values of a mapping."""
    bare: bool = False
    """Whether this is the value of a key without a colon, `{key}`."""

    @property
    def empty(self) -> bool:
        return self.kind == "scalar" and self.start == self.end

    def pairs(self) -> "Iterator[tuple[_YamlNode, _YamlNode]]":
        return zip(self.items[::2], self.items[1::2], strict=True)


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    text: str


class YamlDocument:
    """A document of mappings and sequences.

    Values are set one by one; `render` returns the text with all of them. Raises `InvalidInput` for
    text that is not YAML.
    """

    def __init__(self, text: str) -> None:
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        self._text = text.removeprefix("\ufeff")
        match = _LINE_END.search(self._text)
        self._newline = match[0] if match else "\n"
        self._edits: list[_Edit] = []
        self._texts: dict[tuple[int, str], str] = {}
        self._anchors: dict[str, _YamlNode] = {}
        try:
            events = iter(list(yaml.parse(self._text, Loader=_Loader)))
        except (yaml.YAMLError, ValueError, RecursionError, UnicodeError) as error:
            raise InvalidInput(f"it is not valid YAML: {_reason(error)}") from None
        self._root = self._read_root(events)

    def _read_root(self, events: Iterator[Any]) -> _YamlNode:
        for event in events:
            if isinstance(event, yaml.NodeEvent):
                return self._read(event, events)
        return _YamlNode("mapping", 0, 0, 0)

    def _read(self, event: Any, events: Iterator[Any]) -> _YamlNode:
        start, end = event.start_mark.index, event.end_mark.index
        node = _YamlNode("scalar", start, end, event.start_mark.column, anchor=event.anchor)
        if isinstance(event, yaml.AliasEvent):
            node.kind = "alias"
            node.text = event.anchor
            return node
        node.tag = event.tag
        if node.anchor:
            self._anchors[node.anchor] = node
        if isinstance(event, yaml.ScalarEvent):
            node.text, node.style = event.value, event.style or ""
            return node
        node.flow = bool(event.flow_style)
        node.kind = "mapping" if isinstance(event, yaml.MappingStartEvent) else "sequence"
        for inner in events:
            if isinstance(inner, yaml.CollectionEndEvent):
                node.end = inner.end_mark.index
                break
            node.items.append(self._read(inner, events))
        if node.kind == "mapping":
            for key, value in node.pairs():
                if value.empty and not value.style:
                    self._place_empty(key, value)
        elif node.items and not node.flow:
            node.column = self._column_of_dash(node)
        return node

    def _place_empty(self, key: _YamlNode, value: _YamlNode) -> None:
        # The parsers report different positions for an empty value, all of them after the colon.
        at = key.end
        while self._text[at : at + 1] in (" ", "\t"):
            at += 1
        value.bare = self._text[at : at + 1] != ":"
        value.start = value.end = key.end if value.bare else at + 1

    def _column_of_dash(self, node: _YamlNode) -> int:
        # An anchor may be before the dash, on the line of the key.
        first = node.items[0].start
        dash = self._text.rfind("-", 0, max(first, node.start + 1))
        if self._text[node.start : node.start + 1] == "-":
            dash = node.start
        return dash - (self._line_start(dash))

    # Finding.

    def find(self, path: Path) -> _YamlNode | None:
        """Return the value at a path, or `None`. A value that comes from a merged mapping is not
        found."""
        node: _YamlNode | None = self._root
        for step in path:
            if node is None:
                return None
            node = self._resolve(node)
            if isinstance(step, int):
                is_there = node.kind == "sequence" and step < len(node.items)
                node = node.items[step] if is_there else None
            else:
                node = self._value(node, step)
        return node

    def _resolve(self, node: _YamlNode) -> _YamlNode:
        return self._anchors[node.text] if node.kind == "alias" else node

    @staticmethod
    def _value(mapping: _YamlNode, key: str) -> _YamlNode | None:
        """Return the value of a key; the last one, which counts, if the key occurs twice."""
        if mapping.kind != "mapping":
            return None
        nodes = [value for name, value in mapping.pairs() if name.text == key]
        return nodes[-1] if nodes else None

    def _mapping(self, path: Path) -> _YamlNode:
        target = self.find(path)
        node = self._resolve(target) if target is not None else None
        if node is None or node.kind != "mapping":
            raise InvalidInput(f"there is no mapping at {'.'.join(map(str, path))}")
        return node

    def is_shared(self, path: Path) -> bool:
        """Return whether the value at a path is part of a value that an alias or a merge also uses
        elsewhere."""
        uses = self._anchors_in_use()
        for length in range(len(path) + 1):
            node = self.find(path[:length])
            if node is not None and (node.kind == "alias" or node.anchor in uses):
                return True
        return False

    def _anchors_in_use(self) -> set[str]:
        names: set[str] = set()
        waiting = [self._root]
        while waiting:
            node = waiting.pop()
            if node.kind == "alias":
                names.add(node.text)
            waiting += node.items
        return names

    # Changing.

    def set_text(self, path: Path, key: str, text: str, *, after: Sequence[str] = ()) -> None:
        """Set a key of the mapping at `path` to a text, in the style of the old value if possible.

        A new key is added after the last existing one of those in `after`, else at the end.
        """
        mapping = self._mapping(path)
        place = mapping.start, key
        if place in self._texts:
            # The same mapping was reached through an alias.
            if self._texts[place] != text:
                raise InvalidInput(f"{key} is shared and cannot have two texts")
            return
        self._texts[place] = text
        old = self._value(mapping, key)
        if old is None:
            self.insert(path, key, text, after=after)
        elif old.kind in ("mapping", "sequence"):
            raise InvalidInput(f"{key} is not text")
        else:
            self._replace(mapping, old, text)

    def insert(self, path: Path, key: str, value: Value, *, after: Sequence[str] = ()) -> None:
        """Add a key that does not exist to the mapping at `path`."""
        mapping = self._mapping(path)
        pairs = list(mapping.pairs())
        before = [node for name, node in pairs if name.text in after] or [node for _, node in pairs]
        if mapping.flow:
            entry = f"{key}: {_flow(value)}"
            if before:
                self._add(before[-1].end, f", {entry}")
            else:
                self._add(mapping.start + 1, entry)
            return
        if not pairs:
            lines = _entry(key, value, 0, _STEP)
            self._add(len(self._text), self._after_line(len(self._text), lines))
            return
        column = pairs[0][0].column
        at = self._content_end(before[-1])
        lines = _entry(key, value, column, self._sequence_step())
        self._add(*self._line_below(at, lines if path else ["", *lines]))

    def extend(self, path: Path, key: str, values: Sequence[Value]) -> None:
        """Add values to the sequence under a key of the mapping at `path`, which is created if
        needed."""
        mapping = self._mapping(path)
        old = self._value(mapping, key)
        if old is None:
            self.insert(path, key, values)
            return
        if old.kind == "alias":
            raise InvalidInput(f"{key} is an alias")
        if old.kind == "scalar" and old.text in ("", "~", "null"):
            self._fill(mapping, old, values)
            return
        if old.kind != "sequence":
            raise InvalidInput(f"{key} is not a list")
        if old.flow:
            entries = ", ".join(map(_flow, values))
            if old.items:
                self._add(old.items[-1].end, f", {entries}")
            else:
                self._add(old.end - 1, entries)
            return
        lines = [line for value in values for line in _item(value, old.column)]
        self._add(*self._line_below(self._content_end(old), lines))

    def _fill(self, mapping: _YamlNode, old: _YamlNode, values: Sequence[Value]) -> None:
        prefix = ":" if old.bare else ""
        if mapping.flow or not old.empty:
            entries = f"[{', '.join(map(_flow, values))}]"
            space = " " if old.empty else ""
            self._edits.append(_Edit(old.start, old.end, f"{prefix}{space}{entries}"))
            return
        name = next(name for name, value in mapping.pairs() if value is old)
        column = name.column + self._sequence_step()
        lines = [line for value in values for line in _item(value, column)]
        self._add(*self._line_below(old.end, lines))

    def _replace(self, mapping: _YamlNode, old: _YamlNode, text: str) -> None:
        name = next(name for name, value in mapping.pairs() if value is old)
        start = old.start
        if (old.anchor and old.kind == "scalar") or old.tag:
            properties = _PROPERTIES.match(self._text, start)
            start = properties.end() if properties else start
        indent = self._content_indent(old, name.column + _STEP)
        head, lines = _scalar(text, style=old.style, old=old.text, flow=mapping.flow, indent=indent)
        if old.empty:
            self._edits.append(_Edit(start, start, f"{':' if old.bare else ''} {head}"))
            tail = start
        elif old.style in ("|", ">"):
            header = _HEADER.match(self._text, start)
            end = header.end() if header else old.end
            self._edits.append(_Edit(start, end, head))
            tail = end
        else:
            self._edits.append(_Edit(start, old.end, head))
            tail = old.end
        line_end = self._line_end(tail)
        content_end = line_end
        if old.style in ("|", ">"):
            content_end = max(self._content_end(old), line_end)
            if self._is_line_start(content_end) and content_end > line_end:
                content_end -= len(self._newline_before(content_end))
        if lines or content_end > line_end:
            below = "".join(f"{self._newline}{line}" for line in lines)
            self._edits.append(_Edit(line_end, content_end, below))

    def _content_indent(self, old: _YamlNode, default: int) -> int:
        if old.style not in ("|", ">"):
            return default
        header = _HEADER.match(self._text, old.start)
        if header and any(map(str.isdigit, header[0])):
            return default
        body = self._text[self._line_end(old.start) : old.end]
        for line in _LINE_END.split(body):
            if line.strip(" "):
                return len(line) - len(line.lstrip(" "))
        return default

    def _content_end(self, node: _YamlNode) -> int:
        """Return the end of the last line of a value, after trailing blank lines if they belong to
        it."""
        if node.kind in ("mapping", "sequence") and not node.flow and node.items:
            return self._content_end(node.items[-1])
        if node.kind == "scalar" and node.style in ("|", ">"):
            properties = _PROPERTIES.match(self._text, node.start)
            header = _HEADER.match(self._text, properties.end() if properties else node.start)
            if header and _KEPT in header[0]:
                return node.end
            return node.start + len(self._text[node.start : node.end].rstrip(" \t\r\n"))
        return node.end

    def _sequence_step(self) -> int:
        """Return by how many columns sequences in this document are indented below their keys."""
        for key, value in self._root.pairs() if self._root.kind == "mapping" else ():
            if value.kind == "sequence" and not value.flow and value.items:
                return max(value.column - key.column, 0)
        return _STEP

    # Places in the text.

    def _line_start(self, at: int) -> int:
        return max(self._text.rfind("\n", 0, at), self._text.rfind("\r", 0, at)) + 1

    def _line_end(self, at: int) -> int:
        match = _LINE.match(self._text, at)
        return match.end() if match else len(self._text)

    def _is_line_start(self, at: int) -> bool:
        return at > 0 and self._text[at - 1] in "\r\n"

    def _newline_before(self, at: int) -> str:
        return "\r\n" if self._text[at - 2 : at] == "\r\n" else self._text[at - 1 : at]

    def _line_below(self, at: int, lines: Sequence[str]) -> tuple[int, str]:
        if self._is_line_start(at):
            return at, "".join(f"{line}{self._newline}" for line in lines)
        return self._line_end(at), "".join(f"{self._newline}{line}" for line in lines)

    def _after_line(self, at: int, lines: Sequence[str]) -> str:
        begin = "" if at == 0 or self._is_line_start(at) else self._newline
        return begin + "".join(f"{line}{self._newline}" for line in lines)

    def _add(self, at: int, text: str) -> None:
        self._edits.append(_Edit(at, at, text))

    def render(self) -> str:
        """Return the text with all changes. Additions at the same position are in the order they
        were made."""
        pieces: list[str] = []
        at = 0
        for edit in sorted(self._edits, key=lambda edit: (edit.start, edit.end > edit.start)):
            if edit.start < at:
                raise InvalidInput("two changes concern the same lines")
            pieces += (self._text[at : edit.start], edit.text)
            at = edit.end
        return self._mark + "".join(pieces) + self._text[at:]


def is_writable(text: str) -> bool:
    """Return whether a text can be written to a YAML file, that is, has no unpaired surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# How a text is written.

_WORDS: Final = frozenset(
    ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf")
)
"""Words that YAML 1.1 or 1.2 does not read as text if they are not quoted."""
_PLAIN: Final = re.compile(r"[^\W\d_]\S*( \S+)*|[^\W\d]\w*")
_UNQUOTED_ENDS: Final = re.compile(r"[\s:]\Z")
_ESCAPES: Final = {
    "\\": "\\\\",
    '"': '\\"',
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\0": "\\0",
    "\x1b": "\\e",
}


def _scalar(
    text: str, *, style: str = "", old: str = "", flow: bool = False, indent: int = _STEP
) -> tuple[str, list[str]]:
    """Return the text to write after the key, and the lines below it."""
    if not flow and not isinstance(text, Quoted) and _is_block(text):
        wants = "\n" in text.removesuffix("\n") or style in ("|", ">") or text.endswith("\n")
        was_quoted = style == '"' and "\n" in old
        if wants and not was_quoted:
            sign = ">" if style == ">" and "\n" not in text else "|"
            chomp = "" if text.endswith("\n") else "-"
            pad = " " * indent
            lines = [f"{pad}{line}" if line else "" for line in text.removesuffix("\n").split("\n")]
            if _reads(f"k: {sign}{chomp}\n" + "\n".join(lines) + "\n", text):
                return f"{sign}{chomp}", lines
    return _inline(text, style=style, flow=flow), []


def _is_block(text: str) -> bool:
    """Return whether a text can be written as a block scalar that editors leave unchanged."""
    if not text.strip() or text[0].isspace() or text.endswith("\n\n"):
        return False
    lines = text.split("\n")
    return all(_is_printable(line) and line == line.rstrip() for line in lines) and not any(
        line.startswith("\t") for line in lines
    )


def _inline(text: str, *, style: str = "", flow: bool = False) -> str:
    plain = style != '"' and style != "'" and text.casefold() not in _WORDS
    if plain and _PLAIN.fullmatch(text) and _is_printable(text):
        around = "{k: %s}\n" if flow else "k: %s\n"
        if not _UNQUOTED_ENDS.search(text) and _reads(around.replace("%s", text), text):
            return text
    if style == "'" and _is_printable(text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escape, text)) + '"'


def _is_printable(text: str) -> bool:
    return all(char.isprintable() or char == "\t" for char in text)


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _reads(document: str, text: str) -> bool:
    try:
        return bool(yaml.load(document, Loader=_Loader) == {"k": text})  # noqa: S506 - a safe loader
    except yaml.YAMLError:
        return False


def _flow(value: Value) -> str:
    if isinstance(value, str):
        return _inline(value, flow=True)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(element)}" for key, element in value.items()) + "}"
    return "[" + ", ".join(map(_flow, value)) + "]"


def _entry(key: str, value: Value, column: int, step: int) -> list[str]:
    """Return the lines of a key and its value in a mapping whose keys are in this column."""
    pad = " " * column
    if isinstance(value, str):
        head, below = _scalar(value, indent=column + _STEP)
        return [f"{pad}{key}: {head}", *below]
    if isinstance(value, Mapping):
        lines = [f"{pad}{key}:"]
        for name, element in value.items():
            lines += _entry(name, element, column + _STEP, step)
        return lines
    if all(isinstance(element, str) for element in value):
        return [f"{pad}{key}: {_flow(value)}"]
    return [
        f"{pad}{key}:",
        *(line for element in value for line in _item(element, column + step, step)),
    ]


def _item(value: Value, column: int, step: int = _STEP) -> list[str]:
    """Return the lines of an element of a sequence whose dashes are in this column."""
    pad = " " * column
    if isinstance(value, Mapping):
        lines: list[str] = []
        for name, element in value.items():
            lines += _entry(name, element, column + _STEP, step)
        return [f"{pad}- {lines[0][column + _STEP :]}", *lines[1:]]
    if isinstance(value, str):
        return [f"{pad}- {_inline(value)}"]
    return [f"{pad}- {_flow(value)}"]
