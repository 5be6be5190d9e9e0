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
    Decision(
        "A URN that is none",
        "400, on reads too; the message names the position and the shape expected. A URN has no "
        "NUL, no line break and no U+241F.",
    ),
    Decision(
        "References",
        "Where a value leads to another entity it must name a URN of one of the types that the "
        "model allows there, else 422 with the place. Types that the model does not know are kept.",
    ),
    Decision(
        "Values of structured properties",
        "422, naming the property and its rule, where the definition is not there or was removed, "
        "or does not allow them: by value type, allowed values, cardinality, entity type, platform "
        "and type of the URN; a value of an immutable property stays. What is stored already is "
        "readable whatever its definition became, and written again unchanged it passes. In a "
        "batch definitions are written first. With a definition its values go; while it is "
        "soft-deleted, GraphQL leaves them out.",
    ),
    Decision(
        "Searching structured properties",
        "structuredProperties.<id> is a field to filter by, its dots also as underscores, and text "
        "finds the values. It is a facet where its settings say showInSearchFilters (in GraphQL "
        "with includeStructuredPropertyFacets, or asked for by name). One that is not defined is "
        "an unknown field. Results are not sorted by them.",
    ),
    Decision(
        "A proposal without entityType or changeType",
        "Plain callers: 400. DataHub's callers: the URN's type, and UPSERT.",
    ),
    Decision(
        "A proposal without entityUrn",
        "The entity is the one that entityType and entityKeyAspect name.",
    ),
    Decision(
        "Columns without a field path, or with the path of another",
        "422, in schemaMetadata and editableSchemaMetadata, whoever writes them.",
    ),
    Decision(
        "ownerTypes, and domainAssociations beside domains",
        "What DataHub's callers, connectors and edits write gets ownerTypes, the owners by the URN "
        "of their ownership type (a dot as %2E), and domains and domainAssociations are kept in "
        "step: 422 where both changed and disagree. A plain caller's value stays as it was sent.",
    ),
    Decision(
        "What stands beside the aspects of a snapshot",
        "An aspect of the entity by its name (ownership) is written with the others; anything else "
        "is 400.",
    ),
    Decision("No contentType", "The aspect is read as application/json."),
    Decision("corpGroupInfo.groups", "Each element is the URN of a group."),
    Decision(
        "Links in updateDataset",
        "The list given takes the place of the list stored. addLink and removeLink change one.",
    ),
    Decision(
        "What updateDescription takes",
        "A column of a dataset, and entities of the types that DataHub takes: container, domain, "
        "glossaryTerm, glossaryNode, tag, corpGroup, notebook, mlModel, mlModelGroup, mlFeature, "
        "mlFeatureTable, mlPrimaryKey, dataProduct, businessAttribute, application. An aspect "
        "that is not there is begun with the name in the URN. For DataHub's callers also whole "
        "datasets, charts, dashboards, flows and jobs, which its agents send.",
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
    Decision(
        "Edits over what somebody else wrote",
        "A GraphQL request may say in extensions.ifCurrent what its writer saw of the one thing it "
        "edits. It is compared in the job that writes; where it is gone, the error has the type "
        "CONFLICT and tells what is there. Other servers ignore extensions.",
    ),
    Decision(
        "How long the change log goes back",
        "30 days, or as --keep-changes says. Always kept are the newest 10,000 changes, and "
        "those that the search index or a follower under way has not read; backups are whole "
        "and need none. Who asks for what comes after a change that is gone is answered 410, with "
        "the offset to go on from in x-changes-after. Versions of aspects are not touched.",
    ),
    Decision(
        "Large jobs",
        "Rollbacks and deleteReferences of many entities, and what follows from moving a container "
        "of many, are made in many small transactions with the writes of others in between; a dry "
        "run reads one moment and keeps nobody waiting. What is in a container of more than 50 is "
        "found in its new place some seconds after the move was answered.",
    ),
    Decision("Introspection", "On and complete, deprecated fields included."),
    Decision(
        "Sizes of one request",
        "A filter has 10,000 values at most. A GraphQL document has at most 1,000,000 characters, "
        "20,000 tokens, 300 operations and fragments, 20 levels and 20,000 selected fields, and "
        "is answered with 250,000 fields, reads 100,000 entities, of which ten documents over time "
        "count as one, and takes 30 seconds at most, "
        "counted while it is answered. What edits or describes the schema is measured before, "
        "lists counted as long as they may be. More is 400 or an error that names the limit.",
    ),
    Decision(
        "GraphQL fields that the stored aspect lacks",
        "Null where the schema allows it; else an empty text, false, 0, an empty list or an empty "
        "record. Where an entity is promised, an error that names the field, and null above it.",
    ),
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
        "com.vendor. DataHub's clients get objects and com.linkedin, and more of what they write "
        "is taken. They are known by a User-Agent that begins with DataHub or acryl, and by any "
        "X-DataHub- header. Releases before 0.14 send neither; of these, reads are known by "
        "python-requests as User-Agent with X-RestLi-Protocol-Version and the content type of a "
        "body that is not there, other calls by actions that the specification does not have, and "
        "proposals by the runId in their systemMetadata. "
        "The header X-Catalog-Dialect (plain or datahub) settles it.",
    ),
    Decision(
        "A key aspect that disagrees with the URN",
        "Plain callers: 422. DataHub's callers: it is kept as it was sent; the URN alone names the "
        "entity.",
    ),
    Decision(
        "A batch with an element that is refused",
        "Plain callers: nothing is written. DataHub's callers: the others are written, and the "
        "answer is an error that names what was refused. The header X-Catalog-All-Or-None (true or "
        "false) settles it.",
    ),
    Decision(
        "Deleting an entity that is not there for good",
        "Plain callers: 404. DataHub's callers: 200 and no rows.",
    ),
    Decision(
        "A PATCH that removes an array or map which its record requires",
        "It is empty afterwards.",
    ),
    Decision(
        "A filter or sort by a field that is not searchable",
        "Plain callers: 400, naming the searchable fields. DataHub's callers: no entity has the "
        "field, so a filter finds nothing by it (and everything negated), and a sort is left out.",
    ),
    Decision(
        "What a new server holds",
        "What catalog serve begins in an empty directory knows the common data platforms with "
        "their names and the addresses of their logos (below assets/platforms/, as DataHub has "
        "them), the ownership types technical_owner, business_owner, data_steward and none, and "
        "the user datahub; written once, by urn:li:corpuser:__datahub_system. Whoever writes them "
        "again takes their place. The catalog of one machine begins with the sample instead.",
    ),
    Decision(
        "A search without entity types",
        "Of all types but dataPlatform and ownershipType, which only describe what others name, "
        "and without users that are the system's; of these too where the filter asks for "
        "_entityType or urn.",
    ),
    Decision("An entity name that is none", "400, naming those that are."),
    Decision(
        "Conditions of filters",
        "CONTAIN, END_WITH, EQUAL, GREATER_THAN, GREATER_THAN_OR_EQUAL_TO, LESS_THAN, "
        "LESS_THAN_OR_EQUAL_TO, START_WITH, and IN, IS_NULL, EXISTS, IEQUAL, BETWEEN, with values "
        "and negated; DESCENDANTS_INCL, ANCESTORS_INCL and RELATED_INCL, which find what domains, "
        "containers and glossary nodes hold, are part of, or both. Any other: 400, listing them.",
    ),
    Decision(
        "Version numbers",
        "0 is the latest, 1 the oldest. Writing the same value again makes no version. The version "
        "of the system metadata, which If-Version-Match names, goes on counting where an aspect or "
        "an entity is removed and written again.",
    ),
    Decision(
        "The limit of timeseries values",
        "Caps how many are given, the newest being kept; 10000 when not said.",
    ),
    Decision(
        "The range of timeseries values",
        "Both ends belong to it; newest first unless a sort is given. A document of the same "
        "moment and partition takes the place of the one before.",
    ),
    Decision(
        "Filters and sorts of timeseries values",
        "Every condition and any field of the documents. Numbers are compared as numbers, texts as "
        "they are written; a sort puts documents without a value last.",
    ),
    Decision("Names of relationships", "Those of the model below."),
    Decision(
        "Answers about relationships",
        "The URNs, and beside them each edge with its name. types may repeat or be a List(). "
        "Without count all of them, up to 10000, and the total always. Edges of soft-deleted "
        "entities stay.",
    ),
    Decision(
        "Lineage to what is soft-deleted or was never stored",
        "GraphQL leaves both out and counts them in filtered, unless includeSoftDelete or "
        "includeGhostEntities is true; the walk goes on through them, and a filter on removed "
        "decides for itself. getLineage gives plain callers both, marked, and DataHub's neither "
        "unless they ask.",
    ),
    Decision(
        "Lineage of a column",
        "Plain callers get the columns. DataHub's get the datasets and charts that these belong "
        "to and the jobs that carry data between them, each once, with the columns, jobs and "
        "queries in paths; the columns themselves from searchAcrossLineage with a groupingSpec "
        "that does not make datasets of them. scrollAcrossLineage does not look at it.",
    ),
    Decision(
        "A range of versions of an aspect", "Newest first, each with its audit stamp; ours alone."
    ),
    Decision(
        "Who may call",
        "Without access tokens everybody who reaches the service, which then listens to its own "
        "machine only, and answers for no other host name. With tokens every address but /health, "
        "/config and this page needs one.",
    ),
    Decision(
        "Access tokens",
        "Made, listed and revoked with the command catalog token; kept as hashes; each has a name, "
        "an actor, a role and an end. A stream ends when its token is revoked. A catalog that had "
        "tokens is not served without them when their file is gone.",
    ),
    Decision(
        "Roles",
        "A reader writes nothing. An editor also writes and edits, but removes nothing for good. "
        "An admin may delete, roll back and export too; so may everybody where there are no "
        "tokens. Who lacks a role gets 403, in GraphQL an error with that code, which names it.",
    ),
    Decision(
        "Limits of a connection",
        "64 KB for the request line and headers, and for trailers: 431. 15 seconds for the head, "
        "and 60 for each 16 KB of the body: 408. A reader that takes less than 16 KB of its answer "
        "in 30 seconds is disconnected. Of more than 2048 connections the one that has waited "
        "longest without a request is closed. A body has 16 MB at most: 413.",
    ),
    Decision(
        "Events", "Every committed change is in a change log that is read from an offset, or live."
    ),
    Decision(
        "Damaged files",
        "A search index whose files do not match their checksums, or that was made from another "
        "catalog, is made anew in the background: searches answer 503 with Retry-After until then, "
        "everything else goes on. Once SQLite finds its file damaged, nothing is written: writes "
        "and /health answer 503 and say so, and what can be read is read.",
    ),
    Decision(
        "Errors",
        "{exceptionClass, message, status, stackTrace} with the header X-RestLi-Error-Response; "
        "a caller's mistake is never 5xx. GraphQL answers 200 with errors.",
    ),
    Decision(
        "Pages",
        "start is 0 and count or limit 10 when not said; negative ones are refused; no page is "
        "longer than 10000, and every result can be paged to its end.",
    ),
    Decision(
        "Sizes",
        "A body of 16 MB, a URN of 512 bytes; GraphQL documents are bounded in depth and in what "
        "they take. "
        "There is no limit on how often you ask.",
    ),
    Decision(
        "Worklist and coverage",
        "Counted when somebody first asks, and kept from then on in a file of the data directory "
        "that is made anew when it is lost. An answer knows every write that was answered before; "
        "use and what is made from an entity are those of the last 30 days and of now.",
    ),
    Decision("Other versions of the protocol header", "Served the same."),
    Decision(
        "The release of the API",
        "/config reports the release of DataHub whose model is served, 1.7.0.17: its SDK writes "
        "over OpenAPI, and its agents offer the tools that write.",
    ),
    Decision("Editing a soft-deleted entity", "Allowed; it stays soft-deleted."),
    Decision(
        "Whom a change is by",
        "The token's actor, else the audit header of the proposal; else, in the catalog of one "
        "machine, CATALOG_USER or the login name, and on a server urn:li:corpuser:unknown.",
    ),
    Decision(
        "The order of search results",
        "Exact names, names that begin so, words of names, then the weights of the model and a "
        "little by use, the queries of the last 30 days; what is equal goes by URN. * and the "
        "empty text mean all. The field of that use is queryCountLast30DaysFeature, as in DataHub "
        "Cloud; it is counted anew every hour.",
    ),
    Decision(
        "What timeseries aspects add to search",
        "Their newest document, by the fields that the model declares searchable: rowCount, "
        "columnCount and sizeInBytes of the newest profile of a whole table, also under DataHub "
        "Cloud's names rowCountFeature and sizeInBytesFeature.",
    ),
    Decision(
        "Names in the place of URNs",
        "Where a field of a filter or a query holds URNs, a value that is none also means what is "
        "called so: people and groups by whole words of their names (owners:nina), anything else "
        "by its whole name. A URN means itself alone.",
    ),
    Decision(
        "Whether something is documented",
        "The field documented is true where an entity has a description, by whomever, and false "
        "where its type takes one and it has none. In a query is:undocumented, documented, owned, "
        "unowned, deprecated and removed ask for states.",
    ),
    Decision(
        "A word that nothing has",
        "Where a search finds nothing and a word of five letters or more is in no entity, the "
        "nearest word that is (one slip away, two from eight letters on) is searched for instead. "
        "metadata.corrected gives the text that was, GraphQL's suggestions too. Phrases, values of "
        "fields and words with digits are never corrected.",
    ),
    Decision(
        "Why something was found",
        "Beside the matches of the specification, metadata.explanations has for each entity its "
        "score, how much of it comes from use, the reason of its place in words, and what each "
        "matched field weighs; GraphQL has reason and weight.",
    ),
    Decision(
        "Words with wildcards, and /q",
        "In a text, * stands for any characters of a word and ? inside one for a single one. A "
        "text that begins with /q is read like one without it, and the singular of tags, owners, "
        "domains and glossaryTerms names the field too, as agents write it.",
    ),
    Decision(
        "Searches by meaning",
        "There are no embeddings: semanticSearchAcrossEntities answers that it is not enabled, at "
        "which DataHub's agents search for words.",
    ),
    Decision(
        "Saved views",
        "viewUrn narrows a search, its completions and folders to what the view lets through. One "
        "that is not there is 400; DataHub's callers find everything then.",
    ),
    Decision(
        "Runs of assertions and health",
        "runEvents counts all runs in the range of time, whatever the limit. An assertion fails "
        "when its newest run is a FAILURE or an ERROR; health also says how many incidents are "
        "active. Soft-deleted assertions do not count.",
    ),
    Decision(
        "What a facet counts",
        "What a filter by its value finds: tags and glossaryTerms also those of columns, origin "
        "also env, and values that differ only in case as one, under the most frequent. The 100 "
        "most frequent values are given; hasMore says that there are others.",
    ),
    Decision(
        "Names that ship", "Every one of the model below; a registry file of your own adds more."
    ),
    Decision(
        "Where an edited description is kept",
        "In editableDatasetProperties, editableSchemaMetadata and editableContainerProperties; the "
        "ingested text stays as it was. GraphQL's properties.description and fields[].description "
        "give plain callers, who have no other place to read it, the edited text where there is "
        "one; DataHub's the ingested text, and the edited one where nothing was ingested.",
    ),
    Decision(
        "Ingestion that does not speak of a description",
        "Never removes one that people wrote; an explicit empty text does.",
    ),
    Decision(
        "status on an entity that is not there",
        "removed: false is a first write like any other. removed: true fails and makes nothing for "
        "plain callers, and is a first write too for DataHub's, whose stateful ingestion sends it.",
    ),
)
