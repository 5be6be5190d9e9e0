"""What was decided where the specification is silent, in the words of the page."""

from typing import NamedTuple

__all__ = ["DECISIONS", "Decision"]


class Decision(NamedTuple):
    """An open point and what this service does about it."""

    about: str
    decided: str


DECISIONS = (
    Decision(
        "Origins of datasets",
        "Any label without comma or parenthesis is taken. PROD, DEV, TEST, QA, UAT, EI, PRE, STG "
        "and CORP are the known ones.",
    ),
    Decision("A URN that is none", "400; the message names the position and the shape expected."),
    Decision("No contentType", "The aspect is read as application/json."),
    Decision("corpGroupInfo.groups", "Each element is the URN of a group."),
    Decision(
        "Links in updateDataset",
        "The list given takes the place of the list stored. addLink and removeLink change one.",
    ),
    Decision(
        "A description for a column that the schema lacks",
        "updateDescription fails, names the nearest columns, and stores nothing.",
    ),
    Decision(
        "Reading a URN that was never written",
        "/entitiesV2 and /entities answer 200 with the key aspect alone, /aspects answers 404, "
        "GraphQL answers null.",
    ),
    Decision("Introspection", "On and complete, deprecated fields included."),
    Decision(
        "A proposal that is wrong",
        "400 when it is malformed; 422 for an unknown aspect or a value that does not fit its "
        "record, and the message names the place inside the value.",
    ),
    Decision(
        "The change type DELETE",
        "Removes the aspect with all its versions; on the key aspect, the entity. An aspect that "
        "is not there is a success that changes nothing; an entity that is not there fails.",
    ),
    Decision(
        "What ingestion answers",
        'A proposal gives {"value": <urn>}, a batch {"value": "success"}, a snapshot 200.',
    ),
    Decision("Timeseries aspects", "Not part of an entity read; they are asked for by themselves."),
    Decision(
        "Deprecated calls",
        "Answered with a Deprecation header: legacy ingestion and the legacy entity read.",
    ),
    Decision(
        "Names that are not known when reading",
        "A name in List() that is not stored is left out; /aspects answers 404 for an aspect, a "
        "version or a URN that is not there. Negative versions count back from the newest.",
    ),
    Decision(
        "How a browse path is written",
        "The leading slash may be left out and a trailing one is ignored; / and the empty path are "
        "the root. A path that nothing is at gives empty lists.",
    ),
    Decision("Groups when browsing", "{name, count}, beside the entities and in the metadata."),
    Decision(
        "Two dialects",
        "Where one answer cannot be both what the specification says and what a current DataHub "
        "gives, plain callers get the specification's: search gives URNs, records are named "
        "com.vendor. Callers that say they are DataHub clients get objects and com.linkedin. The "
        "header X-Catalog-Dialect (plain or datahub) settles it.",
    ),
    Decision("A filter on a field that is not searchable", "400, naming the searchable fields."),
    Decision("An entity name that is none", "400, naming those that are."),
    Decision(
        "Conditions of filters",
        "CONTAIN, END_WITH, EQUAL, GREATER_THAN, GREATER_THAN_OR_EQUAL_TO, LESS_THAN, "
        "LESS_THAN_OR_EQUAL_TO, START_WITH, and IN, IS_NULL, EXISTS, IEQUAL, BETWEEN, with values "
        "and negated. Any other: 400, listing them.",
    ),
    Decision(
        "Version numbers",
        "0 is the latest, 1 the oldest. Writing the same value again makes no version.",
    ),
    Decision(
        "The limit of timeseries values",
        "Caps how many are given, the newest being kept; 10000 when not said.",
    ),
    Decision(
        "The range of timeseries values",
        "Both ends belong to it; newest first. A document of the same moment and partition takes "
        "the place of the one before.",
    ),
    Decision("Names of relationships", "Those of the model below."),
    Decision(
        "Answers about relationships",
        "The URNs, and beside them each edge with its name. types may repeat or be a List(). "
        "Without count all of them, up to 10000, and the total always. Edges of soft-deleted "
        "entities stay.",
    ),
    Decision(
        "A range of versions of an aspect", "Newest first, each with its audit stamp; ours alone."
    ),
    Decision(
        "Who may call",
        "Without access tokens everybody who reaches the service, which then listens to its own "
        "machine only. With tokens every address but /health, /config and this page needs one.",
    ),
    Decision(
        "Access tokens",
        "Made, listed and revoked with the command catalog token; kept as hashes; each has a name, "
        "an actor and an end.",
    ),
    Decision(
        "Events", "Every committed change is in a change log that is read from an offset, or live."
    ),
    Decision(
        "Errors",
        "{exceptionClass, message, status, stackTrace} with the header X-RestLi-Error-Response; "
        "a caller's mistake is never 5xx. GraphQL answers 200 with errors.",
    ),
    Decision(
        "Pages",
        "start is 0 and count or limit 10 when not said; negative ones are refused; no page is "
        "longer than 10000.",
    ),
    Decision(
        "Sizes",
        "A body of 16 MB, a URN of 512 bytes; GraphQL documents are bounded in depth and cost. "
        "There is no limit on how often you ask.",
    ),
    Decision("Other versions of the protocol header", "Served the same."),
    Decision(
        "The release of the API",
        "/config reports a release of DataHub below 1.0.1, so that its clients send what is "
        "answered here.",
    ),
    Decision("Editing a soft-deleted entity", "Allowed; it stays soft-deleted."),
    Decision(
        "Whom a change is by",
        "The token's actor, else the audit header of the proposal, else urn:li:corpuser:unknown.",
    ),
    Decision(
        "The order of search results",
        "Exact names, names that begin so, words of names, then the weights of the model and a "
        "little by use; what is equal goes by URN. * and the empty text mean all.",
    ),
    Decision(
        "Names that ship", "Every one of the model below; a registry file of your own adds more."
    ),
    Decision(
        "Where an edited description is kept",
        "In editableDatasetProperties, editableSchemaMetadata and editableContainerProperties; the "
        "ingested text stays as it was, and stands first in properties.description.",
    ),
    Decision(
        "Ingestion that does not speak of a description",
        "Never removes one that people wrote; an explicit empty text does.",
    ),
    Decision(
        "status on an entity that is not there",
        "removed: false is a first write like any other; removed: true fails and makes nothing.",
    ),
)
