"""Operations of DataHub that this site does not support by design, each with the reason given in its error.

They are not in the schema. The error is worded like that of DataHub for a field that an older release lacks; clients
look for that wording before they fall back to another call.
"""

from collections.abc import Iterable, Mapping

from graphql import DocumentNode, FieldNode, GraphQLError, OperationDefinitionNode, OperationType

_INGESTION = "Ingestion runs outside of this site, which neither schedules nor starts it."
_SECRETS = "This site keeps no secrets of ingestion."
_QUALITY = "This site does not watch the quality of data: it keeps no tests, contracts, monitors or incidents."
_VIEWS = "There are no saved views of searches."
_SETTINGS = "The settings of this site come from its environment."
_NOTIFICATIONS = "This site has no notifications by Slack or Teams."
_POSTS = "This site has no announcements."
_MAIL = "This site sends no invitations by mail; make a link with createInviteToken."
_ASSISTANT = "This site has no language model."
_FORMS = "This site has no forms."
_CONNECTIONS = "This site keeps no connections to other systems."
_USAGE = "This site keeps no statistics of usage and operations."
_ENDLESS_TOKENS = "Tokens that nobody can revoke are not made; use createAccessToken."
_LINEAGE = "Lineage is written by ingestion."
_ATTRIBUTES = "This site has no business attributes."
_APPEARANCE = "This site keeps no colours, icons or embedded pages of entities."
_VERSIONS = "This site keeps no sets of versions."

_OPERATIONS_BY_REASON: Mapping[str, Iterable[str]] = {
    _INGESTION: (
        "cancelIngestionExecutionRequest",
        "createIngestionExecutionRequest",
        "createIngestionSource",
        "deleteIngestionSource",
        "executionRequest",
        "ingestionSource",
        "listExecutionRequests",
        "listIngestionSources",
        "rollbackIngestion",
        "updateIngestionSource",
    ),
    _SECRETS: ("createSecret", "deleteSecret", "getSecretValues", "listSecrets", "updateSecret"),
    _QUALITY: (
        "createTest",
        "deleteAssertion",
        "deleteTest",
        "listTests",
        "raiseIncident",
        "reportAssertionResult",
        "runAssertion",
        "runAssertions",
        "runAssertionsForAsset",
        "updateIncident",
        "updateIncidentStatus",
        "updateTest",
        "upsertCustomAssertion",
        "upsertDataContract",
    ),
    _VIEWS: (
        "createView",
        "deleteView",
        "globalViewsSettings",
        "listGlobalViews",
        "listMyViews",
        "updateCorpUserViewsSettings",
        "updateGlobalViewsSettings",
        "updateView",
    ),
    _SETTINGS: ("globalSettings", "updateGlobalSettings", "updateUserSetting"),
    _NOTIFICATIONS: (
        "getGroupNotificationSettings",
        "getUserNotificationSettings",
        "updateGroupNotificationSettings",
        "updateUserNotificationSettings",
    ),
    _POSTS: ("createPost", "deletePost", "listPosts", "updatePost"),
    _MAIL: ("revokeUserInvitation", "sendUserInvitations"),
    _ASSISTANT: ("inferDocumentation", "semanticSearch", "semanticSearchAcrossEntities"),
    _FORMS: ("batchAssignForm", "batchRemoveForm", "createDynamicFormAssignment", "createForm", "deleteForm"),
    _CONNECTIONS: ("connection", "deleteConnection", "upsertConnection"),
    _USAGE: ("getAnalyticsCharts", "getHighlights", "isAnalyticsEnabled", "reportOperation"),
    _ENDLESS_TOKENS: ("getAccessToken",),
    _LINEAGE: ("updateLineage",),
    _ATTRIBUTES: ("addBusinessAttribute", "createBusinessAttribute", "removeBusinessAttribute"),
    _APPEARANCE: ("updateDisplayProperties", "updateEmbed"),
    _VERSIONS: ("linkAssetVersion", "unlinkAssetVersion"),
}

#: Field of a query or mutation → the reason in its error.
REASONS: Mapping[str, str] = {name: reason for reason, names in _OPERATIONS_BY_REASON.items() for name in names}


def find_refusals(document: DocumentNode) -> list[GraphQLError]:
    """Return an error for each field of the operations that is unsupported by design."""
    errors_by_name: dict[str, GraphQLError] = {}
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode):
            root = "Mutation" if definition.operation is OperationType.MUTATION else "Query"
            for field in definition.selection_set.selections:
                if isinstance(field, FieldNode) and field.name.value in REASONS:
                    name = field.name.value
                    errors_by_name.setdefault(name, GraphQLError(_refusal_message(name, root), [field]))
    return list(errors_by_name.values())


def _refusal_message(name: str, root: str) -> str:
    return f"Validation error (FieldUndefined@[{name}]) : Field '{name}' in type '{root}' is undefined. {REASONS[name]}"
