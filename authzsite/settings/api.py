"""The API: the cached facts behind it, and its frameworks."""

from typing import Any

from authzsite import env

# Entries of the fact cache of a process (tokens, actors, entities), dropped when they change; about a kilobyte each.
TOKENS_KEPT = env.integer("TOKENS_KEPT", default=10_000, minimum=1)
ACTORS_KEPT = env.integer("ACTORS_KEPT", default=20_000, minimum=1)
ENTITIES_KEPT = env.integer("ENTITIES_KEPT", default=50_000, minimum=1)

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "policies.identity.api.token_authentication.TokenAuthentication",
        "policies.identity.api.token_authentication.PageSession",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["policies.http.guard.IsGuarded"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["policies.http.api.parsers.StrictJsonParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_METADATA_CLASS": None,
    "EXCEPTION_HANDLER": "policies.http.api.problem_details.handle_exception",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "authzsite",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    # The list of values would be repeated as Markdown; the schema has it already.
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "DESCRIPTION": "Who may do what to which dataset: questions, policies, people and the catalog.",
    "ENUM_NAME_OVERRIDES": {
        "DecisionWord": "policies.decisions.api.decision_serializers.OUTCOMES",
        "PolicyState": "policies.models.policy.Policy.State",
        "PolicyStateChange": "policies.authoring.api.policies.STATES",
        "PolicyType": "policies.models.policy.Policy.Type",
        "GrantInPrivilegesEnum": "policies.http.api.grant_fields.PRIVILEGE_WORDS",
        "GrantOutPrivilegesEnum": "policies.engine.families.cdap.PRIVILEGES",
        "UserState": "policies.models.people.User.State",
        "TokenDuration": "policies.identity.api.access_tokens.DURATION_CHOICES",
        "InviteDuration": "policies.identity.api.invitations.LIFETIME_CHOICES",
        "FindingState": "catalog.models.finding.Finding.State",
        "ReportStatus": "catalog.models.report.Report.Status",
        "VerdictEnum": "policies.requests.ways.way_shape.VERDICTS",
        "GuardrailStatus": "policies.models.guardrail.Guardrail.Status",
        "ApprovalRuleState": "policies.models.approval_rule.ApprovalRule.State",
        "RequestState": "policies.models.request.RequestState",
    },
    "DEFAULT_GENERATOR_CLASS": "policies.http.api.openapi_schema.DocumentGenerator",
    "PREPROCESSING_HOOKS": ["policies.http.api.openapi_schema.filter_endpoints"],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "policies.http.api.openapi_schema.set_servers",
    ],
}
