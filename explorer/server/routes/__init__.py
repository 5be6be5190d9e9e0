"""The resource API, one module for each group of endpoints, and the parameters and notes that
several of them share, with the examples for their documentation."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import orjson

from explorer.errors import InvalidInput
from explorer.metadata.proposal import Proposal
from explorer.server.catalog import CatalogEngine
from explorer.server.restli import EXAMPLE_URN, Parameter, RestliRequest
from explorer.server.store import StoredAspect

URN = Parameter("urn", "URN", "the entity", EXAMPLE_URN)
PATH_URN = Parameter("urn", "URN", "the entity, percent-encoded", EXAMPLE_URN, place="path")
ENTITY = Parameter("entity", "string", "the name of an entity type", "dataset")
ENTITIES = Parameter.optional(
    "entities", "array of strings", "names of entity types; all by default"
)
INPUT = Parameter(
    "input",
    "string",
    "words, quoted phrases, field:value, OR, NOT and *; * or an empty text finds everything",
    "*",
)
FILTER = Parameter.optional(
    "filter",
    "filter",
    "an OR of ANDs of criteria on searchable fields",
    {"or": [{"and": [{"field": "origin", "values": ["PROD"], "condition": "EQUAL"}]}]},
)
SORT = Parameter.optional(
    "sort",
    "sort",
    "{field, order}: any searchable field, name, urn or _entityType; ASCENDING or DESCENDING",
    {"field": "name", "order": "ASCENDING"},
)
SORT_CRITERIA = Parameter.optional(
    "sortCriteria",
    "array of sorts",
    "several sorts, each of which orders what the sorts before it leave equal; takes precedence "
    "over sort",
)
START = Parameter.optional("start", "integer", "how many to skip; 0 by default", 0)
COUNT = Parameter.optional("count", "integer", "how many at most; 10 by default, 10000 at most", 10)
LIMIT = Parameter.optional("limit", "integer", "how many at most; 10 by default, 10000 at most", 10)


_ALL_OR_NONE = "X-Catalog-All-Or-None"

_EXAMPLE = {
    "entityType": "dataset",
    "entityUrn": EXAMPLE_URN,
    "changeType": "UPSERT",
    "aspectName": "globalTags",
    "aspect": {"value": '{"tags": [{"tag": "urn:li:tag:PII"}]}', "contentType": "application/json"},
}

PROPOSAL = Parameter(
    "proposal",
    "proposal",
    "entityType, entityUrn (or entityKeyAspect, the key as an aspect), changeType, aspectName, and "
    "aspect with its value as a JSON string; "
    "systemMetadata (runId, lastObserved), headers and auditHeader may be added",
    _EXAMPLE,
)
PROPOSALS = Parameter("proposals", "array of proposals", "the changes, in order", [_EXAMPLE])
ASYNC = Parameter.optional(
    "async", "string", "accepted and ignored: every answer is sent after the commit"
)
ALL_OR_NONE = Parameter(
    _ALL_OR_NONE,
    "boolean",
    "whether one refused element keeps all others from being written; by default true for plain "
    "callers and false for DataHub's clients",
    place="header",
    required=False,
)
BATCHED = (
    "A plain caller's batch is one transaction: if one element is refused, none is written, and "
    "the message names the element by its position. In a batch of a DataHub client every element "
    "is written or refused independently; if some are refused, the status is that of an error, "
    "and the message names them and says how many were written. The header X-Catalog-All-Or-None "
    "overrides either. A batch may have 20,000 changes."
)
CONDITIONS = (
    Parameter(
        "If-Version-Match",
        "integer",
        "write only if the aspect has this version, as given in its systemMetadata; -1 if it "
        "must not exist",
        place="header",
        required=False,
    ),
    Parameter(
        "If-Unmodified-Since",
        "time",
        "write only if the aspect has not changed after this time (ISO 8601)",
        place="header",
        required=False,
    ),
    Parameter(
        "If-Modified-Since",
        "time",
        "write only if the aspect changed after this time (ISO 8601)",
        place="header",
        required=False,
    ),
    Parameter(
        "If-None-Match",
        "*",
        "with CREATE_ENTITY or CREATE: if the entity or aspect exists, it is left unchanged, and "
        "that is not an error",
        place="header",
        required=False,
    ),
)
NOTES = (
    "changeType is UPSERT, CREATE (refused if the aspect exists), CREATE_ENTITY (refused if the "
    "entity exists), UPDATE (refused if the entity does not exist), PATCH, DELETE (on the key "
    "aspect it removes the whole entity) or RESTATE, which is treated as UPSERT.",
    "A PATCH (application/json-patch+json) is a list of JSON Patch operations, or an object with "
    "patch, arrayPrimaryKeys and forceGenericPatch. Elements of arrays are addressed by their "
    "keys: /tags/urn:li:tag:PII, /owners/<owner>/<type>, "
    "/editableSchemaFieldInfo/<column>/globalTags/tags/<tag>. Removing an element that does not "
    "exist changes nothing and is not an error.",
    "The conditions can be given in the headers of the proposal or of the request. A condition "
    "that is not met is answered with 412, one that cannot be parsed with 400.",
    "A value that does not match the aspect's record is refused with 422 and the path of the "
    "mismatch. Fields and symbols that the registry does not know are kept; fields that are only "
    "informative, such as the hash of a schema, may be left out.",
    "status with removed true is refused with 404 for an entity that does not exist, and a key "
    "aspect that contradicts the URN with 422. Both are accepted from DataHub's clients, and "
    "from callers that give a runId in systemMetadata, as connectors do.",
    "The first write to an entity also writes its key aspect and, if the URN contains the "
    "information and the request does not include them, dataPlatformInstance and browsePaths.",
    "systemMetadata.version counts the changes of an aspect, from 1 up; writing the stored value "
    "again changes only lastObserved and lastRunId.",
    "A field path that is empty or occurs twice in schemaMetadata or editableSchemaMetadata is "
    "refused with 422.",
    "When DataHub's clients, connectors and edits write ownership, its ownerTypes are filled in, "
    "and when they write domains or domainAssociations, the other is kept in step; the value of "
    "a plain caller is stored as sent.",
    (
        "An ingested editableSchemaMetadata that does not mention the description of a "
        "column does not change it."
    ),
    "The actor is that of the token, otherwise that of auditHeader, otherwise the user of this "
    "machine for a local catalog and urn:li:corpuser:unknown for a server.",
)


def all_or_none(request: RestliRequest) -> bool:
    """Return whether a batch is written all or nothing, as its header says.

    Without the header, that is the case for plain callers. Raises `InvalidInput` if the header is
    neither true nor false.
    """
    text = request.headers.get(_ALL_OR_NONE)
    if text is None:
        return request.dialect == "plain"
    if text.lower() not in ("true", "false"):
        raise InvalidInput(f"{_ALL_OR_NONE} must be true or false, not {text!r:.60}")
    return text.lower() == "true"


_Element = TypeVar("_Element")


async def ingest_batch(
    catalog: CatalogEngine,
    request: RestliRequest,
    name: str,
    elements: Sequence[_Element],
    read_element: Callable[[_Element], Sequence[Proposal]],
) -> None:
    """Write the changes of each element of the list `name` in a request; raises as
    `CatalogEngine.ingest_batch` does."""
    whole = all_or_none(request)
    await catalog.ingest_batch(
        name, elements, read_element, request.actor, request.dialect, all_or_none=whole
    )


def version_to_wire(aspect: StoredAspect) -> dict[str, Any]:
    """Return a version of an aspect with its audit stamp and system metadata."""
    return {
        "version": aspect.version,
        "value": orjson.Fragment(aspect.value),
        "created": {"time": aspect.time_millis, "actor": aspect.actor},
        "systemMetadata": orjson.Fragment(aspect.system),
    }
