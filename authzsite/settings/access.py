"""Access: the switches keep the names of their sources."""

from django.core.exceptions import ImproperlyConfigured

from authzsite import env
from authzsite.settings.http import ALLOWED_HOSTS, BIND_ADDRESS
from authzsite.settings.storage import DATABASES

AUTH_POLICIES_ENABLED = env.flag("AUTH_POLICIES_ENABLED", default=True)
# Whether `manage.py bootstrap` leaves all users two platform privileges. Only a trial that cannot be reached from other
# machines starts with the policy of DataHub's guide, which gives them all.
IS_TRIAL = DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3" and all(
    env.is_loopback(host.strip("[]")) for host in (BIND_ADDRESS, *ALLOWED_HOSTS)
)
BOOTSTRAP_RESTRICTED = env.flag("BOOTSTRAP_RESTRICTED", default=not IS_TRIAL)
BOUNDED_DELEGATION = env.flag("BOUNDED_DELEGATION", default=True)
REST_API_AUTHORIZATION = env.combined_flag(("REST_API_AUTHORIZATION", "REST_API_AUTHORIZATION_ENABLED"), default=True)
VIEW_AUTHORIZATION_ENABLED = env.flag("VIEW_AUTHORIZATION_ENABLED", default=False)
METADATA_SERVICE_AUTH_ENABLED = env.flag("METADATA_SERVICE_AUTH_ENABLED", default=True)
if not METADATA_SERVICE_AUTH_ENABLED and not env.is_loopback(BIND_ADDRESS):
    raise ImproperlyConfigured(
        "METADATA_SERVICE_AUTH_ENABLED may be false only where GRANIAN_HOST is a loopback address, "
        "since every caller without a token would act as the root user."
    )
MCP_VALIDATION_PRIVILEGE_CONSTRAINTS = env.flag("MCP_VALIDATION_PRIVILEGE_CONSTRAINTS", default=True)
SHOW_ACCESS_MANAGEMENT = env.flag("SHOW_ACCESS_MANAGEMENT", default=False)
POLICY_CACHE_REFRESH_INTERVAL_SECONDS = env.integer("POLICY_CACHE_REFRESH_INTERVAL_SECONDS", default=120, minimum=1)
# User names, or URNs of users, groups and roles; empty: the root user.
CDAP_INSTANCE_ADMINS = env.names("CDAP_INSTANCE_ADMINS")
if invalid_admins := [
    name
    for name in CDAP_INSTANCE_ADMINS
    if name.startswith("urn:") and not name.startswith(("urn:li:corpuser:", "urn:li:corpGroup:", "urn:li:dataHubRole:"))
]:
    raise ImproperlyConfigured(f"CDAP_INSTANCE_ADMINS names {invalid_admins[0]!r}, which is no user, group or role.")
# Meaning of the terms of policy enforcement points (catalog.protocols.authzen).
AUTHZEN_SUBJECT_TYPES = env.pairs("AUTHZEN_SUBJECT_TYPES", default={"user": "corpuser", "identity": "corpuser"})
AUTHZEN_RESOURCE_TYPES = env.pairs("AUTHZEN_RESOURCE_TYPES", default={})
AUTHZEN_ACTIONS = env.pairs("AUTHZEN_ACTIONS", default={})
# Custom privileges, which DataHub policies may give beside those of the registry.
CUSTOM_PRIVILEGES = env.names("CUSTOM_PRIVILEGES")
# Origin under which clients reach the site; absent: that of the request.
PUBLIC_URL = env.origin("PUBLIC_URL")
# Seconds after a denial within which a policy enforcement point can ask for the access.
DENIAL_SECONDS = env.integer("DENIAL_SECONDS", default=600, minimum=1)
# Denials are always logged; of allowed decisions, this share.
DECISION_LOG_SAMPLE = env.fraction("DECISION_LOG_SAMPLE", default=0.01)
DECISION_LOG_DAYS = env.integer("DECISION_LOG_DAYS", default=30, minimum=1)
# Days for which the daily counts of used privileges are kept.
DECISION_USE_DAYS = env.integer("DECISION_USE_DAYS", default=100, minimum=1)
# Days for which the change log and the history of policies are kept; 0 keeps everything.
CHANGE_LOG_DAYS = env.integer("CHANGE_LOG_DAYS", default=0)
POLICY_HISTORY_DAYS = env.integer("POLICY_HISTORY_DAYS", default=0)
# Days for which drafts of forms are kept after their last change.
DRAFT_DAYS = env.integer("DRAFT_DAYS", default=14, minimum=1)
# Replaced versions of each aspect that are kept beside the current one; 0 keeps all.
ASPECT_VERSIONS_KEPT = env.integer("ASPECT_VERSIONS_KEPT", default=0)
INHERIT_PRIVILEGES = env.flag("INHERIT_PRIVILEGES", default=False)
# What rooms above give to rooms below, by registry and name, in this order (`policies.registries`).
REGISTRIES: dict[str, dict[str, str]] = {
    # The engine's ports, and functions and classes that a lower room has to call: each is imported on first use.
    "ports": {
        "FacetSource": "catalog.access.facet_source.OrmFacetSource",
        "GrantSource": "catalog.access.grant_source.OrmGrantSource",
        "Directory": "catalog.access.directory.OrmDirectory",
        "PostingsSource": "catalog.access.postings_source.OrmPostingsSource",
        "ChangeDescriber": "policies.changes.pages.net_change_wording.describe_proposed_changes",
        "GrantStage": "catalog.cdap.changed_grants.ChangedGrants",
        "References": "catalog.ingest.deleted_references.DocumentReferences",
        "TaskApplication": "authzsite.celery.app",
    },
    # Tuples of classes with the methods of `policies.changes.kinds.Change`.
    "change_kinds": {
        "policies": "policies.authoring.changes.KINDS",
        "members": "policies.identity.changes.members.KINDS",
        "roles": "policies.identity.changes.roles.KINDS",
        "accounts": "policies.identity.changes.accounts.KINDS",
        "entities": "catalog.entities.changes.KINDS",
        "external_roles": "catalog.external_roles.changes.KINDS",
        "grants": "catalog.cdap.changes.KINDS",
    },
    # Further initial data: functions called with `by` at the end of `manage.py bootstrap`.
    "bootstrap_hooks": {
        "ownership_types": "catalog.entities.bootstrap.write_ownership_types",
        "cdap_instance": "catalog.entities.bootstrap.register_cdap_instance",
    },
    # Further work when a user, group or role is deactivated: functions called with `urn` and `uow` (the unit of work)
    # that return a context manager, entered before the deactivation is written and left before the change is stored.
    "departure_hooks": {"grants": "catalog.cdap.grant_services.reassign_sole_grants"},
    # What is told of a guardrail that is broken or holds again: functions called with `guardrail` and `breaches`.
    "guardrail_hooks": {"findings": "catalog.reports.guardrail_findings.record_breaches"},
    # What a folder of policies as code may hold: classes with the methods of
    # `policies.authoring.services.bundles.kinds.BundleKind`, in the order in which they are written.
    "bundle_kinds": {
        "guardrails": "policies.guardrails.services.bundle_entries.GuardrailEntries",
        "roles": "policies.authoring.services.bundles.role_entries.RoleEntries",
        "policies": "policies.authoring.services.bundles.policy_entries.PolicyEntries",
        "approval_rules": "policies.requests.rules.bundle_entries.ApprovalRuleEntries",
        "assertions": "catalog.reports.services.assertion_entries.AssertionEntries",
    },
    # What begins and ends at a time: classes with the methods of `policies.pdp.due_changes.DueChangeSource`.
    "due_changes": {
        "policies": "policies.authoring.services.policy_validity.PolicyDueChanges",
        "memberships": "policies.identity.services.membership_times.MembershipDueChanges",
        "roles": "policies.identity.services.role_times.RoleDueChanges",
        "grants": "catalog.cdap.grant_services.GrantDueChanges",
        "requests": "policies.requests.services.ending.RequestDueChanges",
    },
    # Systems that own memberships or holders of roles: `policies.requests.request_sources.RequestSource`.
    "request_sources": {"warehouse": "catalog.external_roles.request_source.SOURCE"},
    # What people are told of: objects with the methods of `policies.events.sources.NoticeSource`.
    "notice_sources": {
        "people": "policies.events.people_notices.SOURCE",
        "requests": "policies.requests.notices.SOURCE",
        "grants": "catalog.cdap.grant_notices.SOURCE",
        "reports": "catalog.reports.report_events.SOURCE",
    },
    # Path → the function that answers plain calls, imported by the first one: many installations have no AuthZEN.
    "plain_calls": {
        "/api/v1/authorize": "policies.decisions.api.plain_calls.answer_authorize",
        "/api/v1/authorize/": "policies.decisions.api.plain_calls.answer_authorize",
        "/api/v1/authorize/batch": "policies.decisions.api.plain_calls.answer_batch",
        "/api/v1/authorize/batch/": "policies.decisions.api.plain_calls.answer_batch",
        "/access/v1/evaluation": "catalog.protocols.authzen.plain_calls.answer_evaluation",
        "/access/v1/evaluations": "catalog.protocols.authzen.plain_calls.answer_evaluations",
    },
}
