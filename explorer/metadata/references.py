"""Which fields hold URNs: the model's types say `string` for them, so they are named here.

Relationships that a deployment's own registry file declares are checked as well; this is for what
no relationship leads to, such as the actor of an audit stamp.
"""

from functools import lru_cache

__all__ = ["urn_fields"]

# A record's name without its package, then its fields.
_FIELDS = """
AIAgentDependencies models skills tools
AIAgentSource clonedFrom
AgentSkillInfo requiredTools
Aliases lowercasedUrn
ApiProperties sourceRepository
ApplicationProperties parentApplication
Applications applications
AssertionInfo entityUrn
AssertionRunEvent asserteeUrn assertionUrn
AssetCollectionModuleParams assetUrns
AssetSummarySettingsTemplate template
AuditStamp actor impersonator
BaseData dataset
BrowsePathEntry urn
BusinessAttributeAssociation businessAttributeUrn
ChartUserUsageCounts user
Container container
CorpGroupInfo admins groups members
CorpUserEditableInfo informationSources persona platforms
CorpUserHomePageSettings pageTemplate
CorpUserInfo managerUrn
CorpUserViewsSettings defaultView
CustomAssertionInfo entity field fields
DashboardInfo charts datasets
DashboardUserUsageCounts user
DataContractProperties entity
DataHubAccessTokenInfo actorUrn ownerUrn
DataHubActorFilter groups resourceOwnersTypes roles users
DataHubFileInfo referencedByAsset schemaField
DataHubIngestionSourceInfo platform
DataHubPageTemplateRow modules
DataJobInfo flowUrn
DataJobInputOutput inputDatajobs inputDatasetFields inputDatasets outputDatasetFields outputDatasets
DataJobKey flow
DataPlatformInstance instance platform
DataPlatformInstanceKey platform
DataProcessInfo inputs outputs
DataProcessInstanceInput inputs
DataProcessInstanceOutput outputs
DataProcessInstanceRelationships parentInstance parentTemplate upstreamInstances
DataProductAssociation destinationUrn sourceUrn
DataProductProperties parentDataProduct
DataQualityContract assertion
DatasetAssertionInfo dataset fields
DatasetDeprecation actor
DatasetFieldForeignKey parentDataset
DatasetFieldMapping destinationField
DatasetKey platform
DatasetUserUsageCounts user
Deprecation actor replacement
DerivedMetricInput destinationUrn sourceUrn
DomainAssociation domain
DomainProperties parentDomain
Domains domains
ERModelRelationshipProperties destination source
Edge destinationUrn sourceUrn
ExecutionRequestInput actorUrn
ExecutionRequestSource ingestionSource
FieldAssertionInfo entity
FineGrainedLineage downstreams query upstreams
ForeignKeyConstraint foreignDataset foreignFields sourceFields
FormActorAssignment groups ownershipTypes users
FormAssociation urn
FormVerificationAssociation form
FreshnessAssertionInfo entity
FreshnessContract assertion
GlobalHomePageSettings defaultTemplate
GlobalViewsSettings defaultView
GlossaryNodeInfo parentNode
GlossaryRelatedTerms hasRelatedTerms isRelatedTerms relatedTerms values
GlossaryTermAssociation actor urn
GlossaryTermInfo parentNode
GroupMembership groups
HierarchyModuleParams assetUrns
IncidentAssignee actor
IncidentInfo entities
IncidentSource sourceUrn
IncidentSummaryDetails urn
IncidentsSummary activeIncidents resolvedIncidents
InputField schemaFieldUrn
InviteToken role
LifecycleStageTransitionPolicy allowedPreviousStages
MLFeatureProperties sources
MLFeatureTableKey platform
MLFeatureTableProperties mlFeatures mlPrimaryKeys
MLModelDeploymentKey platform
MLModelGroupKey platform
MLModelKey platform
MLModelProperties deployments groups mlFeatures
MLPrimaryKeyProperties sources
MetadataAttribution actor source
MetricInfo semanticModel
MetricKey platform
MetricRelationships parentMetric
NativeGroupMembership nativeGroups
Operation actor affectedDatasets queries
Owner owner typeUrn
ParentDocument document
PostInfo target
QueryProperties origin
QuerySubject entity
RelatedAsset asset
RelatedDocument document
RepositoryLineage forkOf
RoleAssociation urn
RoleGroup group
RoleMembership roles
RoleUser user
SchemaAssertionInfo entity
SchemaContract assertion
SchemaFieldKey parent
SchemaMetadata dataset platform
SearchTemplateDefaultRoute template
SearchTemplateProperties parent
SearchTemplateRoute template
SemanticModelInfo datasets
SemanticModelKey platform
SemanticModelProperties semanticModel
ServiceProperties apis sourceRepository
Siblings siblings
SkillSourceRepository repositoryUrn
SlackUserInfo slackInstance
SqlAssertionInfo entity
Status lifecycleStage
StructuredPropertyCriterionValue propertyUrn
StructuredPropertyDefinition allowedPlatforms entityTypes valueType
StructuredPropertyParams urn
StructuredPropertyValueAssignment propertyUrn
SummaryElement structuredPropertyUrn
TagAssociation tag
TestResult test
TimeStamp actor
Upstream dataset query
UsageFeatures topUsersLast30Days
VersionProperties versionSet
VersionSetProperties latest
VolumeAssertionInfo entity
"""
_BY_RECORD = {
    record: frozenset(fields)
    for record, *fields in (line.split() for line in _FIELDS.strip().splitlines())
}
_PACKAGE = "com.linkedin."


@lru_cache(maxsize=4096)
def urn_fields(record: str) -> frozenset[str]:
    """The fields of a record, named in full, that hold a URN or a list of them; none for a record
    that is not the model's."""
    if not record.startswith(_PACKAGE):
        return frozenset()
    return _BY_RECORD.get(record.rpartition(".")[2], frozenset())
