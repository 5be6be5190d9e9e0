"""What people wrote of columns outlives an ingestion that does not speak of it."""

from typing import Any

__all__ = ["keep_descriptions"]


def keep_descriptions(stored: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The given value, with every column description it does not speak of.

    Ingestion that tags a column sends the whole aspect without the descriptions people wrote; an
    explicit empty text is the way to remove one.
    """
    kept = {
        info["fieldPath"]: info["description"]
        for info in stored["editableSchemaFieldInfo"]
        if info.get("description")
    }
    for info in given["editableSchemaFieldInfo"]:
        if info.get("description") is not None:
            kept.pop(info["fieldPath"], None)
    infos = []
    for info in given["editableSchemaFieldInfo"]:
        description = kept.pop(info["fieldPath"], None)
        infos.append(info if description is None else {**info, "description": description})
    infos += [{"fieldPath": path, "description": text} for path, text in kept.items()]
    return {**given, "editableSchemaFieldInfo": infos}
