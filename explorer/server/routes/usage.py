"""Parameters that several endpoints take, and the examples that their documentation is made of."""

from explorer.server.endpoint import parameter

__all__ = [
    "COUNT",
    "DATASET",
    "ENTITIES",
    "ENTITY",
    "FILTER",
    "INPUT",
    "LIMIT",
    "PATH_URN",
    "SORT",
    "SORT_CRITERIA",
    "START",
    "URN",
]

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_created,PROD)"

URN = parameter("urn", "URN", "the entity", DATASET)
PATH_URN = parameter("urn", "URN", "the entity, percent-encoded", DATASET, place="path")
ENTITY = parameter("entity", "string", "the name of an entity type", "dataset")
ENTITIES = parameter(
    "entities", "array of strings", "names of entity types; all without it", required=False
)
INPUT = parameter(
    "input",
    "string",
    "words, quoted phrases, field:value, OR, NOT and *; * or nothing finds everything",
    "*",
)
FILTER = parameter(
    "filter",
    "filter",
    "an OR of ANDs of criteria on searchable fields",
    {"or": [{"and": [{"field": "origin", "values": ["PROD"], "condition": "EQUAL"}]}]},
    required=False,
)
SORT = parameter(
    "sort",
    "sort",
    "{field, order}: any searchable field, name, urn or _entityType; ASCENDING or DESCENDING",
    {"field": "name", "order": "ASCENDING"},
    required=False,
)
SORT_CRITERIA = parameter(
    "sortCriteria",
    "array of sorts",
    "several sorts, each for what is alike in those before; wins over sort",
    required=False,
)
START = parameter("start", "integer", "how many to skip; 0 without it", 0, required=False)
COUNT = parameter(
    "count", "integer", "how many at most; 10 without it, 10000 at most", 10, required=False
)
LIMIT = parameter(
    "limit", "integer", "how many at most; 10 without it, 10000 at most", 10, required=False
)
