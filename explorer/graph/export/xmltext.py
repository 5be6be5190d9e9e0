"""Any text in XML: as it is where XML can hold it, as JSON where not."""

import json
import re

from explorer.errors import InvalidInput

__all__ = ["decode", "encode", "quote_attribute", "quote_content", "speaks_xml"]

_UNSPEAKABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTENT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE = _CONTENT | str.maketrans({'"': "&quot;", "\t": "&#9;", "\n": "&#10;"})


def speaks_xml(text: str) -> bool:
    """Whether every character may stand in XML 1.0."""
    return _UNSPEAKABLE.search(text) is None


def encode(text: str) -> str:
    """An identifier for an XML attribute: a text XML cannot hold, or that begins as JSON would,
    becomes JSON in plain ASCII."""
    return text if speaks_xml(text) and not text.startswith('"') else json.dumps(text)


def decode(text: str) -> str:
    """What `encode` was given."""
    if not text.startswith('"'):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, str):
        raise InvalidInput(f"{text!r:.200} is no text")
    return value


def quote_content(text: str) -> str:
    """Between two tags; line ends come back as they were."""
    return text.translate(_CONTENT)


def quote_attribute(text: str) -> str:
    """Between two double quotes; white space comes back as it was."""
    return text.translate(_ATTRIBUTE)
