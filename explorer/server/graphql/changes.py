"""Which mutation is done how, and by whom."""

from collections.abc import Callable, Mapping
from typing import Any

from graphql.type import GraphQLSchema

from explorer.errors import InvalidInput
from explorer.server.graphql.assembly import Resolvers
from explorer.server.graphql.creating import (
    create_domain,
    create_group,
    create_node,
    create_tag,
    create_term,
)
from explorer.server.graphql.describing import (
    rename,
    update,
    update_dataset,
    update_description,
    update_tag,
)
from explorer.server.graphql.incidents import (
    raise_incident,
    report_assertion_result,
    report_operation,
    update_incident,
    update_incident_status,
    upsert_custom_assertion,
)
from explorer.server.graphql.labelling import add_tags, add_terms, remove_tags, remove_terms
from explorer.server.graphql.linking import add_link, remove_link, update_link
from explorer.server.graphql.nodes import Info
from explorer.server.graphql.owning import add_owners, remove_owners
from explorer.server.graphql.pen import edit, edit_giving_entity, edit_of
from explorer.server.graphql.properties import (
    create_property,
    delete_property,
    remove_properties,
    update_property,
    upsert_properties,
)
from explorer.server.graphql.standing import (
    batch_deprecate,
    batch_set_domain,
    deprecate,
    set_domain,
    set_removed,
    unset_domain,
)
from explorer.server.tokens import Role

__all__ = ["RESOLVERS", "guard"]


def refuse_tokens(_root: Any, _info: Info, **_given: Any) -> None:
    """Raise `InvalidInput`: access tokens are made and revoked in the file of the server alone."""
    raise InvalidInput(
        "access tokens are not managed over HTTP, so that a token that got lost can make no other; "
        "whoever runs the server does it with: catalog token create NAME --actor USER --role ROLE, "
        "catalog token list, catalog token revoke NAME",
    )


RESOLVERS: Resolvers = {
    "Query": {"listAccessTokens": refuse_tokens},
    "Mutation": {
        "updateDataset": edit_of(update_dataset),
        "updateChart": edit_of(update("chart", "editableChartProperties")),
        "updateDashboard": edit_of(update("dashboard", "editableDashboardProperties")),
        "updateDataFlow": edit_of(update("dataFlow", "editableDataFlowProperties")),
        "updateDataJob": edit_of(update("dataJob", "editableDataJobProperties")),
        "updateTag": edit_of(update_tag),
        "updateDescription": edit(update_description),
        "updateName": edit(rename),
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
        "updateDeprecation": edit(deprecate),
        "batchUpdateDeprecation": edit(batch_deprecate),
        "batchUpdateSoftDeleted": edit(set_removed),
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
        "createGlossaryTerm": edit(create_term),
        "createGlossaryNode": edit(create_node),
        "createGroup": edit(create_group),
        "upsertStructuredProperties": edit(upsert_properties),
        "removeStructuredProperties": edit(remove_properties),
        "createStructuredProperty": edit_giving_entity(create_property),
        "updateStructuredProperty": edit_giving_entity(update_property),
        "deleteStructuredProperty": delete_property,
    },
}

# The role that each mutation needs. None but deleteStructuredProperty removes anything for good:
# what is taken off an entity is in an earlier version of its aspect, and batchUpdateSoftDeleted
# hides.
ROLES: Mapping[str, Role] = {
    "updateDataset": "editor",
    "updateChart": "editor",
    "updateDashboard": "editor",
    "updateDataFlow": "editor",
    "updateDataJob": "editor",
    "updateTag": "editor",
    "updateDescription": "editor",
    "updateName": "editor",
    "addLink": "editor",
    "updateLink": "editor",
    "removeLink": "editor",
    "addTag": "editor",
    "addTags": "editor",
    "batchAddTags": "editor",
    "removeTag": "editor",
    "batchRemoveTags": "editor",
    "addTerm": "editor",
    "addTerms": "editor",
    "batchAddTerms": "editor",
    "removeTerm": "editor",
    "batchRemoveTerms": "editor",
    "addOwner": "editor",
    "addOwners": "editor",
    "batchAddOwners": "editor",
    "removeOwner": "editor",
    "batchRemoveOwners": "editor",
    "setDomain": "editor",
    "unsetDomain": "editor",
    "batchSetDomain": "editor",
    "updateDeprecation": "editor",
    "batchUpdateDeprecation": "editor",
    "batchUpdateSoftDeleted": "editor",
    "raiseIncident": "editor",
    "updateIncidentStatus": "editor",
    "updateIncident": "editor",
    "reportOperation": "editor",
    "upsertCustomAssertion": "editor",
    "reportAssertionResult": "editor",
    "createAccessToken": "admin",
    "revokeAccessToken": "admin",
    "createTag": "editor",
    "createDomain": "editor",
    "createGlossaryTerm": "editor",
    "createGlossaryNode": "editor",
    "createGroup": "editor",
    "upsertStructuredProperties": "editor",
    "removeStructuredProperties": "editor",
    "createStructuredProperty": "editor",
    "updateStructuredProperty": "editor",
    "deleteStructuredProperty": "admin",
}


def guard(schema: GraphQLSchema) -> None:
    """Make every mutation refuse those who have not the role it needs.

    Raises `KeyError` for a mutation of the schema whose role is not declared.
    """
    mutations = schema.mutation_type
    for name, field in mutations.fields.items() if mutations is not None else ():
        if field.resolve is not None:
            field.resolve = _guarded(name, ROLES[name], field.resolve)


def _guarded(name: str, role: Role, resolve: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(root: Any, info: Info, **given: Any) -> Any:
        info.context.access.require(role, f"the mutation {name}")
        return resolve(root, info, **given)

    return guarded
