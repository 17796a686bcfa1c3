"""Privileges: those granted to an actor, the caller's platform switches, and those that the policy editor offers."""

from collections.abc import Iterable, Mapping
from typing import Any

from ariadne import ObjectType, QueryType
from django.conf import settings

from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.entities import validate_urn
from catalog.protocols.datahub_graphql.nodes import Node
from policies.engine.families import vocabulary
from policies.engine.families.vocabulary import PrivilegeInfo
from policies.engine.model import Actor
from policies.engine.requirements import any_of_requirement
from policies.errors import Forbidden
from policies.pdp import actor_resolution, applicability, authorizer, inverse_queries
from policies.pdp.access_requests import AccessRequest, ResourceRef

query = QueryType()
authenticated_user_type = ObjectType("AuthenticatedUser")

#: Privileges to ask about other actors, one of which suffices; evaluation details need the second.
_ASK_ABOUT_OTHERS = inverse_queries.ASK_ABOUT_OTHERS_PRIVILEGES
_MANAGE_POLICIES = _ASK_ABOUT_OTHERS[1:]

#: Switch of the pages → the platform privilege that it needs.
_SWITCHES: Mapping[str, str] = {
    "viewAnalytics": "VIEW_ANALYTICS",
    "managePolicies": "MANAGE_POLICIES",
    "manageIdentities": "MANAGE_USERS_AND_GROUPS",
    "manageUserCredentials": "MANAGE_USER_CREDENTIALS",
    "manageServiceAccounts": "MANAGE_SERVICE_ACCOUNTS",
    "generatePersonalAccessTokens": "GENERATE_PERSONAL_ACCESS_TOKENS",
    "manageTokens": "MANAGE_ACCESS_TOKENS",
    "createDomains": "CREATE_DOMAINS",
    "manageDomains": "MANAGE_DOMAINS",
    "createTags": "CREATE_TAGS",
    "manageTags": "MANAGE_TAGS",
    "viewManageTags": "VIEW_MANAGE_TAGS",
    "manageGlossaries": "MANAGE_GLOSSARIES",
    "manageIngestion": "MANAGE_INGESTION",
    "manageSecrets": "MANAGE_SECRETS",
    "viewTests": "VIEW_TESTS",
    "manageTests": "MANAGE_TESTS",
    "manageGlobalViews": "MANAGE_GLOBAL_VIEWS",
    "manageOwnershipTypes": "MANAGE_GLOBAL_OWNERSHIP_TYPES",
    "manageGlobalAnnouncements": "MANAGE_GLOBAL_ANNOUNCEMENTS",
    "createBusinessAttributes": "CREATE_BUSINESS_ATTRIBUTE",
    "manageBusinessAttributes": "MANAGE_BUSINESS_ATTRIBUTE",
    "manageStructuredProperties": "MANAGE_STRUCTURED_PROPERTIES",
    "viewStructuredPropertiesPage": "VIEW_STRUCTURED_PROPERTIES_PAGE",
    "manageDocumentationForms": "MANAGE_DOCUMENTATION_FORMS",
    "manageFeatures": "MANAGE_FEATURES",
    "manageGlobalSettings": "MANAGE_GLOBAL_SETTINGS",
}


@query.field("getGrantedPrivileges")
def get_granted_privileges(_root: None, info: Info, *, input: dict[str, Any]) -> dict[str, Any]:
    """Return the privileges of an actor on a resource, or on the platform.

    An actor other than the caller needs CHECK_ACCESS or MANAGE_POLICIES; evaluation details always MANAGE_POLICIES.
    """
    urn, by = validate_urn(input["actorUrn"], "corpuser"), info.context.by
    if urn != by.urn:
        authorizer.require(by=by, any_of=_ASK_ABOUT_OTHERS)
    with_details = bool(input.get("includeEvaluationDetails"))
    if with_details:
        authorizer.require(by=by, any_of=_MANAGE_POLICIES)
    actor, resource = actor_resolution.load_actor(urn=urn), _parse_resource(input.get("resourceSpec"))
    if not actor.is_active:
        raise Forbidden((), f"{urn} may not act.")
    allowed_privileges = inverse_queries.find_allowed_privileges(actor=actor, resource=resource)
    return {
        "privileges": allowed_privileges.privileges,
        "evaluationDetails": _list_evaluation_details(actor, resource) if with_details else None,
    }


@authenticated_user_type.field("platformPrivileges")
def resolve_platform_privileges(_caller: Node, info: Info) -> dict[str, bool]:
    """Return the platform switches of the caller."""
    access_requests = [
        (info.context.by, AccessRequest(any_of_requirement([[privilege]]))) for privilege in _SWITCHES.values()
    ]
    decisions = authorizer.answer_many(requests=access_requests)
    switches = {name: decision.is_allowed for name, decision in zip(_SWITCHES, decisions, strict=True)}
    return {**switches, "viewMetadataProposals": False}


@query.field("appConfig")
def get_app_config(_root: None, info: Info) -> dict[str, Any]:
    """Return the configuration of the pages: feature switches, and the privileges that the policy editor offers."""
    privilege_vocabulary = vocabulary.load_datahub()
    return {
        "appVersion": "v1.3.0",
        "authConfig": {"tokenAuthEnabled": settings.METADATA_SERVICE_AUTH_ENABLED},
        "identityManagementConfig": {"enabled": True},
        "featureFlags": {
            "showAccessManagement": settings.SHOW_ACCESS_MANAGEMENT,
            "readOnlyModeEnabled": False,
            "showSearchFiltersV2": True,
            "showBrowseV2": False,
            "showAcrylInfo": False,
            "nestedDomainsEnabled": True,
        },
        "analyticsConfig": {"enabled": False},
        "lineageConfig": {"supportsImpactAnalysis": False},
        "managedIngestionConfig": {"enabled": False},
        "visualConfig": {},
        "telemetryConfig": {"enableThirdPartyLogging": False},
        "testsConfig": {"enabled": False},
        "viewsConfig": {"enabled": False},
        "semanticSearchConfig": {"enabled": False, "enabledEntities": []},
        "policiesConfig": {
            "enabled": settings.AUTH_POLICIES_ENABLED,
            "platformPrivileges": _render_privileges(privilege_vocabulary.platform_privileges()),
            "resourcePrivileges": [
                {
                    "resourceType": kind,
                    "resourceTypeDisplayName": display_name,
                    "entityType": nodes.type_name(kind, info.schema),
                    "privileges": _render_privileges(privilege_vocabulary.list_offered_privileges([kind])),
                }
                for kind, display_name in privilege_vocabulary.resource_types.items()
            ],
        },
    }


def _parse_resource(spec: Mapping[str, Any] | None) -> ResourceRef | None:
    if spec is None:
        return None
    urn = validate_urn(spec["resourceUrn"])
    return ResourceRef(urn, nodes.parse_type_name(spec["resourceType"], urn))


def _list_evaluation_details(actor: Actor, resource: ResourceRef | None) -> list[dict[str, str]]:
    """Return each stored DataHub policy that does not apply, with the reason (rules/datahub.md a.8)."""
    obstacles = applicability.list_obstacles(actor=actor, resource=resource)
    return [{"policyName": name, "reason": obstacle.value} for name, obstacle in obstacles.items()]


def _render_privileges(privileges: Iterable[PrivilegeInfo]) -> list[dict[str, str]]:
    return [
        {"type": privilege.name, "displayName": privilege.display, "description": privilege.description}
        for privilege in privileges
    ]


BINDABLES = (query, authenticated_user_type)
