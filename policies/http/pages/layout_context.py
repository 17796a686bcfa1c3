"""What every page shows around its content: navigation, the account, banners, the policy version.

Templates work nothing out: what a person may not use is not in these lists.
"""

from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from policies.engine.model import Actor
from policies.engine.requirements import one
from policies.http.guard import actor_of
from policies.pdp import authorizer
from policies.pdp.authorizer import Ask


@dataclass(frozen=True, slots=True)
class Link:
    """One entry of a menu: where it leads, and the privileges of which one is needed for it to be shown.

    `is_active_below` is the path under which the entry is the one a page belongs to, its own when empty. What
    `goes_with_policies` disappears while policies are switched off (rules/datahub.md e). `switch` names a setting that
    must be on.
    """

    label: str
    route: str
    icon: str
    needs: tuple[str, ...] = ()
    is_active_below: str = ""
    goes_with_policies: bool = False
    switch: str = ""


_POLICIES = Link("Policies", "policies", "policy", needs=("MANAGE_POLICIES",), goes_with_policies=True)

_USERS = ("MANAGE_USERS_AND_GROUPS", "UPDATE_USERS", "UPDATE_USERS_AND_GROUPS", "MANAGE_USER_CREDENTIALS")
_GROUPS = ("MANAGE_USERS_AND_GROUPS", "UPDATE_GROUPS", "UPDATE_USERS_AND_GROUPS")
_TOKENS = ("GENERATE_PERSONAL_ACCESS_TOKENS", "MANAGE_ACCESS_TOKENS")

SETTINGS = (
    ("Permissions", (_POLICIES, replace(_POLICIES, label="Roles", route="roles", icon="role"))),
    (
        "Users & Groups",
        (
            Link("Users", "users", "user", needs=_USERS),
            Link("Groups", "groups", "group", needs=_GROUPS),
            Link("Service accounts", "service-accounts", "service", needs=("MANAGE_SERVICE_ACCOUNTS",)),
        ),
    ),
    ("Access tokens", (Link("Access tokens", "tokens", "token", needs=_TOKENS),)),
    (
        "Installation",
        (
            Link("Audit", "audit", "history", needs=("MANAGE_POLICIES",)),
            Link("Status", "status", "status", needs=("MANAGE_POLICIES",)),
        ),
    ),
)

NAVIGATION = (
    Link("Catalog", "catalog", "catalog"),
    Link("External roles", "external-roles", "external-role", switch="SHOW_ACCESS_MANAGEMENT"),
    Link("Reports", "reports", "report", needs=("MANAGE_POLICIES",)),
    Link("Why", "why", "why"),
)

#: Switches that weaken the installation when they are off, and what every page says then.
_WEAKENED = (
    ("AUTH_POLICIES_ENABLED", "Policies are switched off: everybody may do everything."),
    ("REST_API_AUTHORIZATION", "DataHub's REST APIs do not check entity reads and writes."),
    ("METADATA_SERVICE_AUTH_ENABLED", "Calls without a token act as the root user."),
    ("BOUNDED_DELEGATION", "People may give others platform privileges that they do not hold themselves."),
    ("MCP_VALIDATION_PRIVILEGE_CONSTRAINTS", "Constraints on tags are not checked for ingested metadata."),
)


def around(request: HttpRequest) -> dict[str, Any]:
    """Return the context that `base.html` and `settings.html` draw; nothing for somebody who is not signed in."""
    if not getattr(request, "user", None) or not request.user.is_authenticated:
        return {}
    shown = _shown(actor_of(request))
    menu = [(label, [_entry(link, request) for link in links if link in shown]) for label, links in SETTINGS]
    # Settings lead to the first of their pages that somebody may use.
    first = _find_first_setting(shown)
    main = [link for link in NAVIGATION if link in shown]
    if first is not None:
        main.append(replace(first, label="Settings", icon="settings", is_active_below="/settings/"))
    return {
        "navigation": [_entry(link, request) for link in main],
        "settings_menu": [{"label": label, "items": entries} for label, entries in menu if entries],
        "account": {
            "name": request.user.get_full_name(),
            "profile_url": reverse("profile"),
            "sign_out_url": reverse("sign-out"),
        },
        "banners": [{"kind": "danger", "text": text} for name, text in _WEAKENED if not getattr(settings, name)],
        "has_policy_pages": settings.AUTH_POLICIES_ENABLED,
        "shows_external_roles": settings.SHOW_ACCESS_MANAGEMENT,
    }


def find_settings_url(request: HttpRequest, *, section: str = "") -> str | None:
    """Return the address of the first page of the settings that the caller may use, or None where there is none.

    `section` is a label of `SETTINGS`; a section without a page that the caller may use gives the first page of all.
    """
    shown = _shown(actor_of(request))
    first = (section and _find_first_setting(shown, section)) or _find_first_setting(shown)
    return reverse(first.route) if first else None


def _find_first_setting(shown: frozenset[Link], section: str = "") -> Link | None:
    return next(
        (link for label, links in SETTINGS for link in links if link in shown and section in ("", label)),
        None,
    )


def _shown(actor: Actor) -> frozenset[Link]:
    """Return the entries that somebody may use, asking for every privilege that they need in one go."""
    links = [*NAVIGATION, *(link for _, group in SETTINGS for link in group)]
    links = [link for link in links if not link.switch or getattr(settings, link.switch)]
    if not settings.AUTH_POLICIES_ENABLED:
        links = [link for link in links if not link.goes_with_policies]
    needed = sorted({privilege for link in links for privilege in link.needs})
    decisions = authorizer.answer_many(asks=[(actor, Ask(one(privilege))) for privilege in needed])
    held = {privilege for privilege, decision in zip(needed, decisions, strict=True) if decision.is_allowed}
    return frozenset(link for link in links if not link.needs or not held.isdisjoint(link.needs))


def _entry(link: Link, request: HttpRequest) -> dict[str, Any]:
    url = reverse(link.route)
    is_active = request.path == url or request.path.startswith(link.is_active_below or f"{url}/")
    return {"label": link.label, "url": url, "icon": link.icon, "is_active": is_active}
