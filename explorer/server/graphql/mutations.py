"""The mutations of labels, owners, links, descriptions, domains, forms and data products, those
that create and delete entities, and the role that each mutation needs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import isawaitable
from typing import Any
from uuid import uuid4

from graphql.type import GraphQLSchema

from explorer.errors import InvalidInput, NotFound
from explorer.metadata.browse_paths import group_of, stored_paths, top_paths
from explorer.metadata.urn import Urn
from explorer.server.authentication import Role
from explorer.server.catalog import noting_writes
from explorer.server.failures import RequestRefusal, with_article
from explorer.server.graphql.lineage import update_lineage
from explorer.server.graphql.object_types import (
    BUILT_IN_OWNERSHIP,
    DESCRIBED,
    EDITABLE,
    PARENT_FIELDS,
    ownership_type,
    symbols,
)
from explorer.server.graphql.properties import (
    create_property,
    delete_property,
    remove_properties,
    update_property,
    upsert_properties,
)
from explorer.server.graphql.quality import (
    raise_incident,
    report_assertion_result,
    report_operation,
    update_incident,
    update_incident_status,
    upsert_custom_assertion,
)
from explorer.server.graphql.schema import Resolvers
from explorer.server.graphql.search import input_filter
from explorer.server.graphql.session import (
    EditTransaction,
    Given,
    Info,
    Resolver,
    edit,
    edit_giving_entity,
    edit_of,
)
from explorer.server.restli import NotedChange, urns_in
from explorer.server.search.query import SearchQuery

_List = Sequence[dict[str, Any]]
_Change = Callable[[_List], list[dict[str, Any]]]
# The aspects of tags and terms, each with its field that holds the list.
_TAGS = ("globalTags", "tags")
_TERMS = ("glossaryTerms", "terms")
# Entities of these types have others in them.
_WITHIN = ("domain", "glossaryNode")
_PRODUCT = "dataProductProperties"
# The number of entities that get a form in one transaction.
_PORTION = 500
_ASSETS = (_PRODUCT, "assets")


def add_tags(tx: EditTransaction, given: Given) -> None:
    """Add tags to the entities and columns that the input names. Tags they already have are not
    changed."""
    tags = [tx.stored_reference(tag, "tag", "tag") for tag in _urns(given, "tag")]
    _change_labels(tx, given, _TAGS, lambda stored: _with(stored, "tag", tags))


def remove_tags(tx: EditTransaction, given: Given) -> None:
    """Remove tags from the entities and columns that the input names. Tags they do not have are
    ignored."""
    tags = {str(Urn.parse(tag)) for tag in _urns(given, "tag")}
    _change_labels(tx, given, _TAGS, lambda stored: _without(stored, "tag", tags))


def replace_tags(tx: EditTransaction, urn: Urn, given: Given) -> None:
    """Replace the tags of an entity."""
    tags = [tx.stored_reference(tag["tag"]["urn"], "tag", "tag") for tag in given.get("tags") or ()]

    def change(stored: _List) -> list[dict[str, Any]]:
        return _with([tag for tag in stored if tag.get("tag") in tags], "tag", tags)

    tx.change_list(urn, _TAGS, change)


def add_terms(tx: EditTransaction, given: Given) -> None:
    """Add glossary terms to the entities and columns that the input names. Terms they already have
    are not changed."""
    terms = [
        tx.stored_reference(term, "glossary term", "glossaryTerm") for term in _urns(given, "term")
    ]

    def change(stored: _List) -> list[dict[str, Any]]:
        return _with(stored, "urn", terms)

    _change_labels(tx, given, _TERMS, change, auditStamp=tx.stamp)


def remove_terms(tx: EditTransaction, given: Given) -> None:
    """Remove glossary terms from the entities and columns that the input names. Terms they do not
    have are ignored."""
    terms = {str(Urn.parse(term)) for term in _urns(given, "term")}

    def change(stored: _List) -> list[dict[str, Any]]:
        return _without(stored, "urn", terms)

    _change_labels(tx, given, _TERMS, change, auditStamp=tx.stamp)


def _change_labels(
    tx: EditTransaction, given: Given, place: tuple[str, str], change: _Change, **beside: Any
) -> None:
    """Change the tags or terms of the entities and columns that an input names. `beside` has other
    keys of the aspect, which are written only if the list changes."""
    aspect, field = place

    def change_column(info: dict[str, Any]) -> dict[str, Any]:
        stored = (info.get(aspect) or {}).get(field) or []
        changed = change(stored)
        return info if changed == stored else {**info, aspect: {field: changed, **beside}}

    for resource in _resources(given):
        urn, column = _resource(tx, resource)
        if column is None:
            tx.change_list(urn, place, change, **beside)
        else:
            tx.change_column(urn, column, change_column)


def _resource(tx: EditTransaction, given: Given) -> tuple[Urn, str | None]:
    """Return the entity that an input names, and the path of its column if it names one. Raises
    `InvalidInput` for a column of anything but a dataset, `NotFound` if the entity is not
    stored."""
    urn, column = tx.stored_entity(given["resourceUrn"]), given.get("subResource")
    if column is None and given.get("subResourceType"):
        raise InvalidInput("subResourceType needs the path of a column as subResource")
    if column is not None and urn.entity_type != "dataset":
        raise InvalidInput(
            f"subResource names a column, and {urn} is not a dataset; leave it out, or name a "
            "dataset"
        )
    return urn, column


def _resources(given: Given) -> Sequence[Given]:
    resources: Sequence[Given] = given.get("resources", (given,))
    return resources


def _urns(given: Given, kind: str) -> list[str]:
    single = given.get(f"{kind}Urn")
    return [single] if single is not None else list(given[f"{kind}Urns"])


def _with(stored: _List, key: str, urns: Iterable[str]) -> list[dict[str, Any]]:
    present = {entry.get(key) for entry in stored}
    return [*stored, *({key: urn} for urn in dict.fromkeys(urns) if urn not in present)]


def _without(stored: _List, key: str, urns: set[str]) -> list[dict[str, Any]]:
    return [entry for entry in stored if entry.get(key) not in urns]


_LINKS = ("institutionalMemory", "elements")
_AUTHORS = ("corpuser", "corpGroup")


def add_link(tx: EditTransaction, given: Given) -> None:
    """Add a link. It replaces any other link to the same address."""
    urn, url = tx.stored_entity(given["resourceUrn"]), given["linkUrl"]

    def change(links: _List) -> list[dict[str, Any]]:
        same = [link for link in links if link.get("url") == url]
        if any(link.get("description") == given["label"] for link in same):
            return list(links)
        other_links = [link for link in links if link.get("url") != url]
        return [*other_links, {"url": url, "description": given["label"], "createStamp": tx.stamp}]

    tx.change_list(urn, _LINKS, change)


def update_link(tx: EditTransaction, given: Given) -> None:
    """Change the address and label of a link. Raises `NotFound` if there is no such link."""
    urn = tx.stored_entity(given["resourceUrn"])
    url, label = given["currentUrl"], given["currentLabel"]

    def change(links: _List) -> list[dict[str, Any]]:
        # A link that was ingested without a label has an empty one for clients.
        matches = [
            link
            for link in links
            if (link.get("url"), link.get("description") or "") == (url, label)
        ]
        if not matches:
            raise NotFound(f"{urn} has no link to {url} with the label {label!r}")
        new = {"url": given["linkUrl"], "description": given["label"]}
        return [{**link, **new} if link in matches else link for link in links]

    tx.change_list(urn, _LINKS, change)


def remove_link(tx: EditTransaction, given: Given) -> None:
    """Remove the links to an address; only those with the label if the input has one. Raises
    `NotFound` if there is none."""
    urn, url, label = tx.stored_entity(given["resourceUrn"]), given["linkUrl"], given.get("label")

    def change(links: _List) -> list[dict[str, Any]]:
        other_links = [
            link
            for link in links
            if link.get("url") != url
            or (label is not None and (link.get("description") or "") != label)
        ]
        if len(other_links) == len(links):
            raise NotFound(f"{urn} has no link to {url}")
        return other_links

    tx.change_list(urn, _LINKS, change)


def replace_links(tx: EditTransaction, urn: Urn, given: Sequence[Given]) -> None:
    """Replace the links of an entity."""
    tx.write(urn, _LINKS[0], {"elements": [_link(tx, link) for link in given]})


def _link(tx: EditTransaction, given: Given) -> dict[str, Any]:
    author = Urn.parse(given["author"])
    if author.entity_type not in _AUTHORS:
        raise InvalidInput(f"the author of a link must be a user, not {author}")
    created = given.get("createdAt")
    stamp = {**tx.stamp, "actor": str(author)}
    return {
        "url": given["url"],
        "description": given.get("description") or "",
        "createStamp": stamp if created is None else {**stamp, "time": created},
    }


_OWNERSHIP = ("ownership", "owners")
_OWNERS = {"CORP_USER": "corpuser", "CORP_GROUP": "corpGroup"}


def add_owners(tx: EditTransaction, given: Given) -> None:
    """Add owners to the entities that the input names. An owner already there with the same
    ownership type is not changed."""
    common = given.get("ownershipTypeUrn") if "owners" in given else None
    owners = [_owner(tx, owner, common) for owner in given.get("owners", (given,))]

    def change(stored: _List) -> list[dict[str, Any]]:
        present = [_owner_key(owner) for owner in stored]
        return [*stored, *(owner for owner in owners if _owner_key(owner) not in present)]

    for urn in _find_resources(tx, given):
        tx.change_list(urn, _OWNERSHIP, change)


def remove_owners(tx: EditTransaction, given: Given) -> None:
    """Remove owners from the entities that the input names, with one ownership type or with all.
    Owners that are not there are ignored."""
    texts = given["ownerUrns"] if "ownerUrns" in given else [given["ownerUrn"]]
    owner_urns = {str(Urn.parse(urn)) for urn in texts}
    kind = given.get("ownershipTypeUrn")

    def change(stored: _List) -> list[dict[str, Any]]:
        return [
            owner
            for owner in stored
            if owner.get("owner") not in owner_urns
            or (kind is not None and ownership_type(owner) != kind)
        ]

    for urn in _find_resources(tx, given):
        tx.change_list(urn, _OWNERSHIP, change)


def replace_owners(tx: EditTransaction, urn: Urn, given: Given) -> None:
    """Replace the owners of an entity."""
    owners = [_owner(tx, {**owner, "ownerUrn": owner["owner"]}, None) for owner in given["owners"]]

    def change(stored: _List) -> list[dict[str, Any]]:
        owners_by_key = {_owner_key(owner): owner for owner in stored}
        return [owners_by_key.get(_owner_key(owner), owner) for owner in owners]

    tx.change_list(urn, _OWNERSHIP, change)


def _owner(tx: EditTransaction, given: Given, common: str | None) -> dict[str, Any]:
    owner = tx.stored_reference(given["ownerUrn"], "owner", *_OWNERS.values())
    owner_type = given.get("ownerEntityType")
    if owner_type is not None and Urn.parse(owner).entity_type != _OWNERS[owner_type]:
        raise InvalidInput(f"{owner} is not {with_article(owner_type)}")
    kind, type_urn = given.get("type"), given.get("ownershipTypeUrn") or common
    if type_urn is None:
        kind = kind or "NONE"
        type_urn = f"{BUILT_IN_OWNERSHIP}{kind.lower()}"
    elif type_urn.startswith(BUILT_IN_OWNERSHIP):
        kind = kind or type_urn.removeprefix(BUILT_IN_OWNERSHIP).upper()
    else:
        type_urn, kind = tx.stored_reference(type_urn, "ownership type", "ownershipType"), "CUSTOM"
    return {"owner": owner, "type": kind, "typeUrn": type_urn, "source": {"type": "MANUAL"}}


def _owner_key(owner: Given) -> tuple[str, str]:
    return owner.get("owner", ""), ownership_type(owner)


def _find_resources(tx: EditTransaction, given: Given) -> list[Urn]:
    return [tx.stored_entity(resource["resourceUrn"]) for resource in _resources(given)]


def set_domain(tx: EditTransaction, urn: Urn, given: Given) -> None:
    """Set the domain of an entity, replacing any other."""
    domain = tx.stored_reference(given["domainUrn"], "domain", "domain")
    _put(tx, urn, domain)


def unset_domain(tx: EditTransaction, urn: Urn, _given: Given) -> None:
    """Remove an entity from its domain."""
    _put(tx, urn, None)


def batch_set_domain(tx: EditTransaction, given: Given) -> None:
    """Set the domain of entities, or remove them from theirs if the input names none."""
    domain_urn = given.get("domainUrn")
    domain = tx.stored_reference(domain_urn, "domain", "domain") if domain_urn else None
    for urn in _find_resources(tx, given):
        _put(tx, urn, domain)


def _put(tx: EditTransaction, urn: Urn, domain: str | None) -> None:
    domains = [] if domain is None else [domain]
    if tx.read(urn, "domains").get("domains", []) != domains:
        tx.write(urn, "domains", {"domains": domains, "domainAssociations": None})


def assign_form(tx: EditTransaction, given: Given) -> None:
    """Ask the entities that the input names to answer a form, with all its prompts unanswered. One
    that has the form already is not changed."""
    form = Urn.parse(tx.stored_reference(given["formUrn"], "form", "form"))
    prompts = tx.read(form, "formInfo").get("prompts") or ()
    open_prompts = [{"id": prompt["id"], "lastModified": tx.stamp} for prompt in prompts]
    new = {"urn": str(form), "incompletePrompts": open_prompts, "completedPrompts": []}
    for urn in map(tx.stored_entity, given["entityUrns"]):
        open_forms, answered = _forms(tx, urn)
        if all(association["urn"] != str(form) for association in (*open_forms, *answered)):
            forms = {"incompleteForms": [*open_forms, new], "completedForms": answered}
            tx.write(urn, "forms", forms)


def _note_assignment(tx: EditTransaction, given: Given) -> None:
    form = Urn.parse(tx.stored_reference(given["formUrn"], "form", "form"))
    groups = [
        {"and": [_criterion(criterion) for criterion in group.get("and") or ()]}
        for group in given["orFilters"]
    ]
    tx.write(form, "dynamicFormAssignment", {"filter": {"or": groups}})


def _criterion(given: Given) -> dict[str, Any]:
    values = given.get("values") or ([given["value"]] if given.get("value") else [])
    return {
        "field": given["field"],
        "values": values,
        "condition": given.get("condition") or "EQUAL",
        "negated": given.get("negated") is True,
    }


async def assign_form_by_filter(_root: Any, info: Info, **given: Any) -> bool:
    """Store the filter of a form, and ask the entities that match it now to answer the form. They
    are written in portions, each in one step."""
    arguments: Given = given["input"]
    catalog = info.context.catalog
    registry = catalog.registry
    types = tuple(name for name in registry.entities if "forms" in registry.aspects_of(name))
    matches = await input_filter(arguments, symbols(registry), types, info.context)
    if not matches.any_of or not all(matches.any_of):
        raise InvalidInput("each of orFilters must have criteria: none would match every entity")
    await edit(_note_assignment)(None, info, input=arguments)
    query = SearchQuery("*", types, matches, 0, 0, facets=False)
    urns = sorted(await catalog.offload(catalog.index.find_urns, query))
    for at in range(0, len(urns), _PORTION):
        portion = {"formUrn": arguments["formUrn"], "entityUrns": urns[at : at + _PORTION]}
        await edit(assign_form)(None, info, input=portion)
    return True


def remove_form(tx: EditTransaction, given: Given) -> None:
    """Remove a form, with its answers, from the entities that the input names. Entities without the
    form are ignored."""
    form = tx.stored_reference(given["formUrn"], "form", "form")
    for urn in map(tx.stored_entity, given["entityUrns"]):
        stored = _forms(tx, urn)
        remaining_forms = [
            [association for association in forms if association["urn"] != form] for forms in stored
        ]
        if remaining_forms != list(stored):
            tx.write(
                urn,
                "forms",
                {"incompleteForms": remaining_forms[0], "completedForms": remaining_forms[1]},
            )


def _forms(tx: EditTransaction, urn: Urn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the forms of an entity that are not completed, and those that are."""
    stored = tx.read(urn, "forms")
    return stored.get("incompleteForms") or [], stored.get("completedForms") or []


def deprecate(tx: EditTransaction, given: Given) -> None:
    """Set the deprecation of one entity (`urn`) or of several (`resources`)."""
    for resource in given.get("resources", ({"resourceUrn": given.get("urn")},)):
        set_deprecation(tx, tx.stored_entity(resource["resourceUrn"]), given)


def set_deprecation(tx: EditTransaction, urn: Urn, given: Given) -> None:
    """Set the deprecation of an entity. Anything that the input leaves out is removed."""
    values = {
        "deprecated": given["deprecated"],
        "decommissionTime": given.get("decommissionTime"),
        "note": given.get("note") or "",
        "replacement": str(Urn.parse(given["replacement"])) if given.get("replacement") else None,
    }
    stored = tx.read(urn, "deprecation")
    if not stored or any(stored.get(key) != value for key, value in values.items()):
        tx.write(urn, "deprecation", {**values, "actor": tx.actor})


def set_removed(tx: EditTransaction, given: Given) -> None:
    """Soft-delete entities, or restore them."""
    for text in given["urns"]:
        urn = tx.stored_entity(text)
        if (tx.read(urn, "status").get("removed") is True) != given["deleted"]:
            tx.write(urn, "status", {"removed": given["deleted"]})


# The aspect and field that hold the name, for the entity types whose name can be changed.
_NAMES: Mapping[str, tuple[str, str]] = {
    "glossaryTerm": ("glossaryTermInfo", "name"),
    "glossaryNode": ("glossaryNodeInfo", "name"),
    "domain": ("domainProperties", "name"),
    "corpGroup": ("corpGroupInfo", "displayName"),
    "dataProduct": ("dataProductProperties", "name"),
}


def update_description(tx: EditTransaction, given: Given) -> None:
    """Set the description of a dataset's column, or of an entity of a type in `DESCRIBED`. In
    DataHub's dialect, whose agents send this, also that of a dataset, chart, dashboard, data flow
    or data job.

    An aspect that is not stored yet also gets its required fields. Raises `InvalidInput` for
    anything else, `NotFound` if the entity or the column does not exist.
    """
    urn, path = Urn.parse(given["resourceUrn"]), given.get("subResource")
    text = given["description"]
    editable = EDITABLE.get(urn.entity_type)
    if editable is not None and path is None and tx.dialect == "datahub":
        tx.stored_entity(str(urn))
        tx.write(urn, editable, {"description": text})
        return
    if urn.entity_type == "dataset" and path is None:
        raise InvalidInput(
            "Update description without subresource is not currently supported; "
            "name a column with subResource, or use updateDataset"
        )
    if urn.entity_type != "dataset" and (urn.entity_type not in DESCRIBED or path is not None):
        raise InvalidInput(
            "updateDescription takes a column of a dataset (subResource), or one of these: "
            f"{', '.join(DESCRIBED)}; not {'a column of ' if path is not None else ''}{urn}"
        )
    tx.stored_entity(str(urn))
    if path is not None:
        tx.change_column(urn, path, lambda info: {**info, "description": text})
        return
    aspect, field = DESCRIBED[urn.entity_type]
    begun: Given = {} if tx.read(urn, aspect) else _description_requirements(urn)
    tx.write(urn, aspect, {**begun, field: text})


def _description_requirements(urn: Urn) -> dict[str, str]:
    """Return the required fields of the aspect that holds an entity's description."""
    match urn.entity_type:
        case "tag" | "domain":
            return {"name": urn.name}
        case "glossaryTerm":
            return {"termSource": "INTERNAL"}
        case "businessAttribute":
            return {"name": urn.name, "fieldPath": urn.name}
    return {}


def update_dataset(tx: EditTransaction, urn: Urn, given: Given) -> None:
    """Update a dataset. Parts that the input leaves out are not changed."""
    update("dataset")(tx, urn, given)
    if links := given.get("institutionalMemory"):
        replace_links(tx, urn, links["elements"])
    if columns := given.get("editableSchemaMetadata"):
        _replace_columns(tx, urn, columns)
    if deprecation := given.get("deprecation"):
        set_deprecation(tx, urn, deprecation)


def update(entity_type: str) -> Callable[[EditTransaction, Urn, Given], None]:
    """Return a function that updates the description, owners and tags of an entity of a type in
    `EDITABLE`, as far as the input has them."""

    def change(tx: EditTransaction, urn: Urn, given: Given) -> None:
        if urn.entity_type != entity_type:
            raise InvalidInput(f"{urn} is not {with_article(entity_type)}")
        if editable := given.get("editableProperties"):
            tx.write(urn, EDITABLE[entity_type], {"description": editable["description"]})
        if owners := given.get("ownership"):
            replace_owners(tx, urn, owners)
        if tags := given.get("tags") or given.get("globalTags"):
            replace_tags(tx, urn, tags)

    return change


def update_tag(tx: EditTransaction, urn: Urn, given: Given) -> None:
    """Update the name of a tag, and its description and owners if the input has them."""
    if urn.entity_type != "tag":
        raise InvalidInput(f"{urn} is not a tag")
    _write_tag(tx, urn, given)
    if owners := given.get("ownership"):
        replace_owners(tx, urn, owners)


def rename(tx: EditTransaction, given: Given) -> None:
    """Set the name of an entity. Raises `InvalidInput` for a type whose name cannot be changed, and
    `NotFound` if the entity or, except for a domain, the aspect with its name is not stored."""
    urn = tx.stored_entity(given["urn"])
    if urn.entity_type not in _NAMES:
        raise InvalidInput(
            f"the name of {urn} cannot be changed; only these entity types have a name to change: "
            f"{', '.join(_NAMES)}"
        )
    aspect, field = _NAMES[urn.entity_type]
    if not tx.read(urn, aspect) and urn.entity_type != "domain":
        raise NotFound(
            f"{urn} has no {aspect}, the aspect that stores its name; write that aspect first"
        )
    tx.write(urn, aspect, {field: given["name"]})


def move_in_glossary(tx: EditTransaction, given: Given) -> None:
    """Move a glossary term or group into a group, or to the top level if the input names none."""
    urn = tx.stored_entity(given["resourceUrn"])
    if urn.entity_type not in ("glossaryTerm", "glossaryNode"):
        raise InvalidInput(f"{urn} is neither a glossary term nor a glossary group")
    parent, paths = given.get("parentNode"), top_paths(urn)
    before = {aspect: tx.read(urn, aspect) for aspect in ("browsePaths", "glossaryTermInfo")}
    _move(tx, urn, parent, "glossary group", "glossaryNode")
    # Without a group, a term is browsed in the folder that its URN suggests, which names the group
    # that it was first in.
    if not parent and paths and group_of(before) and not stored_paths(urn, before):
        tx.write(urn, "browsePaths", {"paths": list(paths)})


def move_domain(tx: EditTransaction, given: Given) -> None:
    """Move a domain into another, or to the top level if the input names none."""
    urn = tx.stored_entity(given["resourceUrn"])
    if urn.entity_type != "domain":
        raise InvalidInput(f"{urn} is not a domain")
    _move(tx, urn, given.get("parentDomain"), "domain", "domain")


def _move(tx: EditTransaction, urn: Urn, parent: str | None, what: str, above_type: str) -> None:
    """Set the parent of an entity. Raises `InvalidInput` if the parent is the entity itself or one
    of its descendants, `NotFound` if the parent or the entity's own aspect is not stored."""
    parent_urn = tx.stored_reference(parent, what, above_type) if parent else None
    at, visited = parent_urn, set[str]()
    while at is not None and at not in visited:
        if at == str(urn):
            raise InvalidInput(f"{urn} cannot be moved into itself or to what is below it")
        visited.add(at)
        higher = Urn.parse(at)
        at = tx.read(higher, _NAMES[above_type][0]).get(PARENT_FIELDS[above_type])
    aspect, _ = _NAMES[urn.entity_type]
    if not tx.read(urn, aspect):
        raise NotFound(
            f"{urn} has no {aspect}, the aspect that stores its parent; write that aspect first"
        )
    tx.write(urn, aspect, {PARENT_FIELDS[urn.entity_type]: parent_urn})


def _replace_columns(tx: EditTransaction, urn: Urn, given: Given) -> None:
    infos = []
    for info in given["editableSchemaFieldInfo"]:
        column: dict[str, Any] = {"fieldPath": info["fieldPath"]}
        if info.get("description") is not None:
            column["description"] = info["description"]
        if info.get("globalTags"):
            tags = [
                {"tag": tx.stored_reference(tag["tag"]["urn"], "tag", "tag")}
                for tag in info["globalTags"].get("tags") or ()
            ]
            column["globalTags"] = {"tags": tags}
        infos.append(column)
    tx.write(urn, "editableSchemaMetadata", {"editableSchemaFieldInfo": infos})


def create_tag(tx: EditTransaction, given: Given) -> str:
    """Create a tag and return its URN. Raises `RequestRefusal` (409) if it exists."""
    urn = _new(tx, "tag", given.get("id") or given["name"])
    _write_tag(tx, urn, given)
    return str(urn)


def _write_tag(tx: EditTransaction, urn: Urn, given: Given) -> None:
    texts = {"name": given["name"], "description": given.get("description")}
    given_texts = {key: text for key, text in texts.items() if text is not None}
    tx.write(urn, "tagProperties", given_texts)


def create_domain(tx: EditTransaction, given: Given) -> str:
    """Create a domain, within another if the input names one, and return its URN."""
    parent = given.get("parentDomain")
    above = tx.stored_reference(parent, "domain", "domain") if parent else None
    urn = _new(tx, "domain", given.get("id") or str(uuid4()))
    values = {
        "name": given["name"],
        "description": given.get("description"),
        "parentDomain": above,
        "created": tx.stamp,
    }
    tx.write(urn, "domainProperties", values)
    return str(urn)


def create_product(tx: EditTransaction, given: Given) -> str:
    """Create a data product in a domain and return its URN."""
    domain = tx.stored_reference(given["domainUrn"], "domain", "domain")
    urn = _new(tx, "dataProduct", given.get("id") or str(uuid4()))
    properties = given["properties"]
    values = {"name": properties["name"], "description": properties.get("description")}
    tx.write(urn, _PRODUCT, values)
    _put(tx, urn, domain)
    return str(urn)


def update_product(tx: EditTransaction, urn: Urn, given: Given) -> None:
    """Change the name and description of a data product. Parts that the input leaves out are not
    changed."""
    tx.stored_reference(str(urn), "data product", "dataProduct")
    values = {key: given[key] for key in ("name", "description") if given.get(key) is not None}
    tx.write(urn, _PRODUCT, values)


def set_product(tx: EditTransaction, given: Given) -> None:
    """Add entities to a data product. If the input names no product, remove the entities from their
    products."""
    urns = [str(tx.stored_entity(text)) for text in given["resourceUrns"]]
    data_product_urn = given.get("dataProductUrn")
    if data_product_urn:
        product = Urn.parse(tx.stored_reference(data_product_urn, "data product", "dataProduct"))
        tx.change_list(product, _ASSETS, lambda stored: _with(stored, "destinationUrn", urns))
        return
    asset_urns = set(urns)
    for product in {source for urn in urns for source in tx.sources(urn, "DataProductContains")}:
        tx.change_list(
            product, _ASSETS, lambda stored: _without(stored, "destinationUrn", asset_urns)
        )


def create_term(tx: EditTransaction, given: Given) -> str:
    """Create a glossary term, in a group if the input names one, and return its URN."""
    urn = _new(tx, "glossaryTerm", given.get("id") or str(uuid4()))
    tx.write(urn, "glossaryTermInfo", {**_glossary(tx, given), "termSource": "INTERNAL"})
    return str(urn)


def create_node(tx: EditTransaction, given: Given) -> str:
    """Create a glossary group, in another if the input names one, and return its URN."""
    urn = _new(tx, "glossaryNode", given.get("id") or str(uuid4()))
    tx.write(urn, "glossaryNodeInfo", _glossary(tx, given))
    return str(urn)


def create_group(tx: EditTransaction, given: Given) -> str:
    """Create a user group without members and return its URN."""
    urn = _new(tx, "corpGroup", given.get("id") or str(uuid4()))
    values = {
        "displayName": given["name"],
        "description": given.get("description"),
        "admins": [],
        "members": [],
        "groups": [],
        "created": tx.stamp,
    }
    tx.write(urn, "corpGroupInfo", values)
    return str(urn)


def _glossary(tx: EditTransaction, given: Given) -> Given:
    parent = given.get("parentNode")
    return {
        "name": given["name"],
        "definition": given.get("description") or "",
        "parentNode": tx.stored_reference(parent, "glossary group", "glossaryNode")
        if parent
        else None,
    }


def _new(tx: EditTransaction, entity_type: str, key: str) -> Urn:
    urn = Urn.parse(f"urn:li:{entity_type}:{key}")
    if tx.exists(urn):
        raise RequestRefusal(409, f"{urn} already exists; give another id")
    return urn


def delete(*types: str) -> Resolver:
    """Return the resolver of a mutation that deletes an entity of these types for good, with the
    references to it.

    Callers without the role admin may delete only entities that they alone wrote, so that they can
    undo the creation of one. A domain or glossary group with others in it is not deleted.
    """

    async def resolve(_root: Any, info: Info, *, urn: str) -> bool:
        session = info.context
        access = session.access

        def remove(tx: EditTransaction, given: Given) -> None:
            target = tx.stored_entity(given["urn"])
            if target.entity_type not in types:
                raise InvalidInput(f"{target} is not {with_article(' or '.join(types))}")
            if target.entity_type in _WITHIN and tx.sources(str(target), "IsPartOf"):
                raise InvalidInput(f"{target} has others in it; delete or move them first")
            if not tx.is_own(target):
                access.require("admin", f"deleting {target}, which others have written,")
            tx.remove(target)

        await edit(remove, None)(_root, info, urn=urn)
        await session.catalog.delete_references(Urn.parse(urn), session.actor, dry_run=False)
        return True

    return resolve


def refuse_tokens(_root: Any, _info: Info, **_given: Any) -> None:
    """Raise `InvalidInput`: access tokens are created and revoked only with the server's command
    line."""
    raise InvalidInput(
        "access tokens are not managed over HTTP, so that a stolen token cannot create others; "
        "whoever runs the server manages them with: catalog token create NAME --actor USER "
        "--role ROLE, catalog token list, catalog token revoke NAME",
    )


RESOLVERS: Resolvers = {
    "Query": {"listAccessTokens": refuse_tokens},
    "Mutation": {
        "updateDataset": edit_of(update_dataset),
        "updateChart": edit_of(update("chart")),
        "updateDashboard": edit_of(update("dashboard")),
        "updateDataFlow": edit_of(update("dataFlow")),
        "updateDataJob": edit_of(update("dataJob")),
        "updateTag": edit_of(update_tag),
        "updateDescription": edit(update_description),
        "updateName": edit(rename),
        "updateParentNode": edit(move_in_glossary),
        "moveDomain": edit(move_domain),
        "addLink": edit(add_link),
        "updateLink": edit(update_link),
        "removeLink": edit(remove_link),
        "addTag": edit(add_tags),
        "addTags": edit(add_tags),
        "batchAddTags": edit(add_tags),
        "removeTag": edit(remove_tags),
        "batchRemoveTags": edit(remove_tags),
        "addTerm": edit(add_terms),
        "addTerms": edit(add_terms),
        "batchAddTerms": edit(add_terms),
        "removeTerm": edit(remove_terms),
        "batchRemoveTerms": edit(remove_terms),
        "addOwner": edit(add_owners),
        "addOwners": edit(add_owners),
        "batchAddOwners": edit(add_owners),
        "removeOwner": edit(remove_owners),
        "batchRemoveOwners": edit(remove_owners),
        "setDomain": edit_of(set_domain, "entityUrn"),
        "unsetDomain": edit_of(unset_domain, "entityUrn"),
        "batchSetDomain": edit(batch_set_domain),
        "batchAssignForm": edit(assign_form),
        "batchRemoveForm": edit(remove_form),
        "createDynamicFormAssignment": assign_form_by_filter,
        "updateDeprecation": edit(deprecate),
        "batchUpdateDeprecation": edit(deprecate),
        "batchUpdateSoftDeleted": edit(set_removed),
        "updateLineage": edit(update_lineage),
        "raiseIncident": edit(raise_incident),
        "updateIncidentStatus": edit_of(update_incident_status, gives=lambda _node: True),
        "updateIncident": edit_of(update_incident, gives=lambda _node: True),
        "reportOperation": edit(report_operation),
        "upsertCustomAssertion": edit_giving_entity(upsert_custom_assertion, None),
        "reportAssertionResult": edit(report_assertion_result, None),
        "createAccessToken": refuse_tokens,
        "revokeAccessToken": refuse_tokens,
        "createTag": edit(create_tag),
        "createDomain": edit(create_domain),
        "createDataProduct": edit_giving_entity(create_product),
        "updateDataProduct": edit_of(update_product),
        "batchSetDataProduct": edit(set_product),
        "createGlossaryTerm": edit(create_term),
        "createGlossaryNode": edit(create_node),
        "createGroup": edit(create_group),
        "deleteTag": delete("tag"),
        "deleteDomain": delete("domain"),
        "deleteGlossaryEntity": delete("glossaryTerm", "glossaryNode"),
        "deleteDataProduct": delete("dataProduct"),
        "upsertStructuredProperties": edit(upsert_properties),
        "removeStructuredProperties": edit(remove_properties),
        "createStructuredProperty": edit_giving_entity(create_property),
        "updateStructuredProperty": edit_giving_entity(update_property),
        "deleteStructuredProperty": delete_property,
    },
}

# The first two concern access to the whole catalog, and the last permanently deletes values that
# others may have written. Any other mutation keeps removed values in an earlier version of the
# aspect, batchUpdateSoftDeleted only hides entities, and the mutations made by `delete` check the
# role themselves.
_ADMIN_ONLY = frozenset({"createAccessToken", "revokeAccessToken", "deleteStructuredProperty"})
ROLES: Mapping[str, Role] = {
    name: "admin" if name in _ADMIN_ONLY else "editor" for name in RESOLVERS["Mutation"]
}
"""The role that each mutation needs."""


def guard(schema: GraphQLSchema) -> None:
    """Make every mutation of a schema refuse callers without the role that it needs, and note the
    change for the audit log.

    Raises `KeyError` if a mutation of the schema has no declared role.
    """
    mutations = schema.mutation_type
    for name, field in mutations.fields.items() if mutations is not None else ():
        if field.resolve is not None:
            field.resolve = _guard(name, ROLES[name], field.resolve)


def _guard(name: str, role: Role, resolve: Callable[..., Any]) -> Callable[..., Any]:
    async def resolve_guarded(root: Any, info: Info, **given: Any) -> Any:
        change = NotedChange(f"mutation {name}", urns_in(given), place=info.path.key)
        info.context.changes.append(change)
        info.context.access.require(role, f"the mutation {name}")
        with noting_writes() as written_urns:
            answer = resolve(root, info, **given)
            if isawaitable(answer):
                answer = await answer
        change.urns = list(written_urns) or change.urns
        return answer

    return resolve_guarded
