"""Which mutation is done how."""

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
from explorer.server.graphql.labelling import add_tags, add_terms, remove_tags, remove_terms
from explorer.server.graphql.linking import add_link, remove_link, update_link
from explorer.server.graphql.owning import add_owners, remove_owners
from explorer.server.graphql.pen import edit, edit_of
from explorer.server.graphql.standing import (
    batch_deprecate,
    batch_set_domain,
    deprecate,
    set_domain,
    set_removed,
    unset_domain,
)

__all__ = ["RESOLVERS"]

RESOLVERS: Resolvers = {
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
        "createTag": edit(create_tag),
        "createDomain": edit(create_domain),
        "createGlossaryTerm": edit(create_term),
        "createGlossaryNode": edit(create_node),
        "createGroup": edit(create_group),
    }
}
