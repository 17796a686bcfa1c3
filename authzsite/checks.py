"""Checks of `check`: addresses; and of `check --deploy`: settings fit only for a trial, switches that weaken access."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Caution

from catalog.reports import storage_problems
from catalog.reports.run import lineage_sender
from catalog.warehouses.connectors import CONNECTORS

# (setting, meaning of its value False, code of the check)
SECURITY_SWITCHES: tuple[tuple[str, str, str], ...] = (
    ("AUTH_POLICIES_ENABLED", "everything is allowed to everybody", "authzsite.E010"),
    ("REST_API_AUTHORIZATION", "whoever signed in may read and write entities by REST", "authzsite.E011"),
    ("METADATA_SERVICE_AUTH_ENABLED", "a call without a token acts as the root user", "authzsite.E012"),
    ("MCP_VALIDATION_PRIVILEGE_CONSTRAINTS", "proposals escape sub-resource constraints", "authzsite.E013"),
    ("BOUNDED_DELEGATION", "people may give others privileges that they do not hold", "authzsite.E015"),
)


@register()
def check_storage(**_: Any) -> list[CheckMessage]:
    """Return an error for each address of reports that can never be used; no server is asked."""
    addresses = {name: str(getattr(settings, name)) for name in ("REPORTS_DIR", "RESULT_TABLES_DIR")}
    problems = (storage_problems.find_static_problem(text, variable=name) for name, text in addresses.items() if text)
    return [Error(problem, id="authzsite.E016") for problem in problems if problem]


@register()
def check_connections(**_: Any) -> list[CheckMessage]:
    """Return an error for each connection to a system that cannot be reached; no server is asked."""
    return [
        Error(f"{variables['read']}: {variables['system']} is none of {', '.join(CONNECTORS)}.", id="authzsite.E018")
        for variables in settings.WAREHOUSE_CONNECTIONS.values()
        if variables["system"] not in CONNECTORS
    ]


@register()
def check_lineage(**_: Any) -> list[CheckMessage]:
    """Return a warning where events of runs are asked for and cannot be sent."""
    problem = lineage_sender.find_library_problem() if settings.IS_LINEAGE_SENT else ""
    return [Caution(problem, id="authzsite.W017")] if problem else []


@register(Tags.security, deploy=True)
def check_trial_settings(**_: Any) -> list[CheckMessage]:
    """Return an error for each setting that is acceptable only on a single machine."""
    messages: list[CheckMessage] = []
    if settings.AUTHZ_ROOT_PASSWORD == settings.DEFAULT_ROOT_PASSWORD:
        messages.append(
            Error("The root user has the default password.", "Set AUTHZ_ROOT_PASSWORD.", id="authzsite.E001")
        )
    if settings.DEBUG:
        messages.append(Error("DEBUG shows settings and code to visitors.", "Unset DEBUG.", id="authzsite.E002"))
    if not settings.SECRET_KEY_IS_GIVEN:
        messages.append(Error("SECRET_KEY was made up for this machine.", "Set SECRET_KEY.", id="authzsite.E003"))
    if settings.PLAIN_HTTP:
        messages.append(Error("Cookies may travel unencrypted.", "Unset PLAIN_HTTP.", id="authzsite.E004"))
    return messages


@register(Tags.security, deploy=True)
def check_security_switches(**_: Any) -> list[CheckMessage]:
    """Return a message for each switch whose value permits something that the default forbids."""
    messages: list[CheckMessage] = [
        Error(f"{name} is false: {meaning}.", f"Set {name} to true.", id=code)
        for name, meaning, code in SECURITY_SWITCHES
        if not getattr(settings, name)
    ]
    if not settings.VIEW_AUTHORIZATION_ENABLED:
        # False is the default of the source (DataHub), so it is a warning and not an error.
        messages.append(
            Caution(
                "Every person who signed in may see every entity.",
                "Set VIEW_AUTHORIZATION_ENABLED.",
                id="authzsite.W014",
            )
        )
    return messages
