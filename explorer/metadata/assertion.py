"""What an assertion is about, and where it stands, read from its aspects."""

from collections.abc import Mapping
from typing import Any

from explorer.metadata.urn import Urn

__all__ = ["asserted_columns", "asserted_entity", "run_summary"]

_Value = Mapping[str, Any]

_KINDS = (
    "freshnessAssertion",
    "volumeAssertion",
    "sqlAssertion",
    "fieldAssertion",
    "schemaAssertion",
    "customAssertion",
)
_STATUSES = {"SUCCESS": "PASSING", "FAILURE": "FAILING", "ERROR": "ERROR", "INIT": "INIT"}
_MOMENTS = {
    "SUCCESS": "lastPassedAtMillis",
    "FAILURE": "lastFailedAtMillis",
    "ERROR": "lastErroredAtMillis",
    "INIT": "lastInitializedAtMillis",
}


def asserted_entity(info: _Value) -> str | None:
    """Return the URN of what an `assertionInfo` is about; None where it does not say.

    Connectors write it with the assertion of their kind, and may leave `entityUrn` out.
    """
    named = (
        info.get("entityUrn"),
        (info.get("datasetAssertion") or {}).get("dataset"),
        *((info.get(kind) or {}).get("entity") for kind in _KINDS),
    )
    return next((urn for urn in named if isinstance(urn, str) and urn), None)


def asserted_columns(info: _Value) -> list[str]:
    """Return the paths of the columns that an `assertionInfo` is about, none for a whole table."""
    field = info.get("fieldAssertion") or {}
    custom = info.get("customAssertion") or {}
    paths = [
        field.get("fieldPath"),
        *(
            ((field.get(kind) or {}).get("field") or {}).get("path")
            for kind in ("fieldValuesAssertion", "fieldMetricAssertion")
        ),
    ]
    urns = [
        *((info.get("datasetAssertion") or {}).get("fields") or ()),
        custom.get("field"),
        *(custom.get("fields") or ()),
    ]
    paths += [urn.name for urn in Urn.parse_all(urns) if urn.entity_type == "schemaField"]
    return list(dict.fromkeys(path for path in paths if isinstance(path, str) and path))


def run_summary(event: _Value) -> dict[str, Any]:
    """Return what `assertionRunSummary` says after a run: the status it left, and when it was."""
    result = (event.get("result") or {}).get("type")
    if result not in _STATUSES:
        return {}
    return {"assertionStatus": _STATUSES[result], _MOMENTS[result]: event.get("timestampMillis")}
