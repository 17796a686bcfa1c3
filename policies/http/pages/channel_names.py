"""Display names of the channels of questions and changes; records and the API use the codes."""

from collections.abc import Mapping

#: Channels that answer questions, in the order of the audit's filter: code → name.
QUESTION_CHANNELS: Mapping[str, str] = {
    "api": "API",
    "pages": "Pages",
    "gms": "DataHub REST",
    "openapi": "DataHub OpenAPI",
    "graphql": "DataHub GraphQL",
    "authzen": "AuthZEN",
    "scim": "SCIM",
    "admin": "Admin site",
}
_CHANGE_CHANNELS = {
    "bootstrap": "Bootstrap",
    "cleanup": "Removal of deleted names",
    "clock": "Begun or ended on time",
    "command": "Command line",
    "load_catalog": "Catalog import",
    "migration": "Upgrade",
    "oidc": "Sign-in with an identity provider",
    "preview": "Preview",
    "reports": "Reports",
    "requests": "Requests for access",
    "watch": "Watch over sign-ins and refusals",
}


def name_channel(code: str) -> str:
    """Return the display name of a channel, its code where it has none."""
    return QUESTION_CHANNELS.get(code) or _CHANGE_CHANNELS.get(code, code)
