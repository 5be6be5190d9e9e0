"""Parameters and notes shared by several endpoints, with the examples for their documentation."""

from explorer.errors import InvalidInput
from explorer.server.restli import EXAMPLE_URN, Parameter, RestliRequest

__all__ = [
    "ALL_OR_NONE",
    "ASYNC",
    "BATCHED",
    "CONDITIONS",
    "COUNT",
    "ENTITIES",
    "ENTITY",
    "FILTER",
    "INPUT",
    "LIMIT",
    "NOTES",
    "PATH_URN",
    "PROPOSAL",
    "PROPOSALS",
    "SORT",
    "SORT_CRITERIA",
    "START",
    "URN",
    "all_or_none",
]

URN = Parameter("urn", "URN", "the entity", EXAMPLE_URN)
PATH_URN = Parameter("urn", "URN", "the entity, percent-encoded", EXAMPLE_URN, place="path")
ENTITY = Parameter("entity", "string", "the name of an entity type", "dataset")
ENTITIES = Parameter.optional(
    "entities", "array of strings", "names of entity types; all without it"
)
INPUT = Parameter(
    "input",
    "string",
    "words, quoted phrases, field:value, OR, NOT and *; * or nothing finds everything",
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
    "several sorts, each for what is alike in those before; wins over sort",
)
START = Parameter.optional("start", "integer", "how many to skip; 0 without it", 0)
COUNT = Parameter.optional("count", "integer", "how many at most; 10 without it, 10000 at most", 10)
LIMIT = Parameter.optional("limit", "integer", "how many at most; 10 without it, 10000 at most", 10)


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
    "async", "string", "taken and not looked at: every answer follows the commit"
)
ALL_OR_NONE = Parameter(
    _ALL_OR_NONE,
    "boolean",
    "whether one element that is refused keeps all others from being written; true for plain "
    "callers and false for DataHub's without it",
    place="header",
    required=False,
)
BATCHED = (
    "A plain caller's batch is one transaction: when one element is refused, none is written, and "
    "the message names it by its place. Of a DataHub client's batch every element is written or "
    "refused by itself; when some are refused, the status is an error's, and the message names "
    "them and says how many were written. The header X-Catalog-All-Or-None settles it."
)
CONDITIONS = (
    Parameter(
        "If-Version-Match",
        "integer",
        "write only while the aspect has this version, as its systemMetadata says; -1 while there "
        "is none",
        place="header",
        required=False,
    ),
    Parameter(
        "If-Unmodified-Since",
        "time",
        "write only if the aspect did not change after this time (ISO 8601)",
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
        "with CREATE_ENTITY or CREATE: what exists already is left as it is, which is no error",
        place="header",
        required=False,
    ),
)
NOTES = (
    "changeType is UPSERT, CREATE (refused where the aspect exists), CREATE_ENTITY (refused where "
    "the entity exists), UPDATE (refused where the entity does not exist), PATCH, DELETE (on the "
    "key aspect the whole entity) or RESTATE, which is written like UPSERT.",
    "A PATCH (application/json-patch+json) is a list of JSON Patch operations, or an object with "
    "patch, arrayPrimaryKeys and forceGenericPatch. Elements of arrays are addressed by their "
    "keys: /tags/urn:li:tag:PII, /owners/<owner>/<type>, "
    "/editableSchemaFieldInfo/<column>/globalTags/tags/<tag>. Removing what is not there changes "
    "nothing and is no error.",
    "The conditions may stand in the headers of the proposal or of the request; one that does not "
    "hold is answered with 412, one that cannot be read with 400.",
    "A value that does not fit the aspect's record is refused with 422 and the place inside it. "
    "Fields and symbols that the registry does not name are kept; fields that only describe, such "
    "as a schema's hash, may be left out.",
    "status with removed true is refused with 404 for an entity that does not exist, and so is a "
    "key aspect that disagrees with the URN with 422; DataHub's callers may write both, and so may "
    "whoever names a runId in systemMetadata, as connectors do.",
    "An entity's first write also writes its key, and dataPlatformInstance and browsePaths where "
    "the URN tells them and the request does not.",
    "systemMetadata.version counts the changes of an aspect from 1 up; writing the same value "
    "again changes only lastObserved and lastRunId.",
    "A field path that is empty or comes twice in schemaMetadata or editableSchemaMetadata is "
    "refused with 422.",
    "Of DataHub's callers, connectors and edits, ownership gets its ownerTypes, and domains and "
    "domainAssociations are kept in step; a plain caller's value is kept as it was sent.",
    "An ingested editableSchemaMetadata that does not speak of a column's description keeps it.",
    "The actor is the token's, else the one of auditHeader, else in the catalog of one machine "
    "its user, and on a server urn:li:corpuser:unknown.",
)


def all_or_none(request: RestliRequest) -> bool:
    """Return whether a batch is written as a whole or not at all.

    Without the header, that is the case for plain callers. Raises `InvalidInput` if the header is
    neither true nor false.
    """
    given = request.headers.get(_ALL_OR_NONE)
    if given is None:
        return request.dialect == "plain"
    if given.lower() not in ("true", "false"):
        raise InvalidInput(f"{_ALL_OR_NONE} is true or false, not {given!r:.60}")
    return given.lower() == "true"
