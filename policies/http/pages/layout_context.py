"""Context of every page's layout: navigation, the account, banners.

Templates decide nothing: entries that the caller may not use are not in these lists.
"""

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from policies.engine.model import Actor
from policies.engine.requirements import privilege_requirement
from policies.http.guard import get_actor
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest
from policies.writes import required_privileges


@dataclass(frozen=True, slots=True)
class MenuLink:
    """One entry of a menu: its route, and the privileges of which any one makes it visible (none: always visible).

    `active_path` is the path below which the entry is marked as current, its own when empty. An entry with
    `requires_policies` disappears while policies are switched off (rules/datahub.md e). `setting_name` names a setting
    that must be on.
    """

    label: str
    route: str
    icon: str
    privileges: tuple[str, ...] = ()
    active_path: str = ""
    requires_policies: bool = False
    setting_name: str = ""


_POLICIES_LINK = MenuLink("Policies", "policies", "policy", privileges=("MANAGE_POLICIES",), requires_policies=True)

_USER_PRIVILEGES = tuple(chain.from_iterable(required_privileges.VIEW_USERS))
_GROUP_PRIVILEGES = tuple(chain.from_iterable(required_privileges.VIEW_GROUPS))
_TOKEN_PRIVILEGES = ("GENERATE_PERSONAL_ACCESS_TOKENS", "MANAGE_ACCESS_TOKENS")

SETTINGS_MENU = (
    (
        "Permissions",
        (
            _POLICIES_LINK,
            replace(_POLICIES_LINK, label="Roles", route="roles", icon="role"),
            replace(
                _POLICIES_LINK, label="Guardrails", route="guardrails", icon="lock", privileges=("MANAGE_GUARDRAILS",)
            ),
            replace(_POLICIES_LINK, label="Approval rules", route="approval-rules", icon="check"),
        ),
    ),
    (
        "Users & Groups",
        (
            MenuLink("Users", "users", "user", privileges=_USER_PRIVILEGES),
            MenuLink("Groups", "groups", "group", privileges=_GROUP_PRIVILEGES),
            MenuLink("Service accounts", "service-accounts", "service", privileges=("MANAGE_SERVICE_ACCOUNTS",)),
        ),
    ),
    ("Access tokens", (MenuLink("Access tokens", "tokens", "token", privileges=_TOKEN_PRIVILEGES),)),
    (
        "Installation",
        (
            MenuLink("Connections", "connections", "platform", privileges=("MANAGE_WAREHOUSES",)),
            MenuLink("Audit", "audit", "history", privileges=("MANAGE_POLICIES",)),
            MenuLink("Status", "status", "status", privileges=("MANAGE_POLICIES",)),
        ),
    ),
)

MAIN_MENU = (
    MenuLink("Home", "home", "home"),
    MenuLink("Catalog", "catalog", "catalog"),
    MenuLink("My access", "my-access", "user"),
    MenuLink("Requests", "requests", "lock", requires_policies=True),
    MenuLink("External roles", "external-roles", "external-role", setting_name="SHOW_ACCESS_MANAGEMENT"),
    MenuLink("Reports", "reports", "report", privileges=("MANAGE_POLICIES",)),
    MenuLink("Why", "why", "why"),
)

#: Settings that weaken the installation when they are off, and the banner that every page shows then.
_WEAKENED_SETTINGS = (
    ("AUTH_POLICIES_ENABLED", "Policies are switched off: everybody may do everything."),
    ("REST_API_AUTHORIZATION", "DataHub's REST APIs do not check entity reads and writes."),
    ("METADATA_SERVICE_AUTH_ENABLED", "Calls without a token act as the root user."),
    ("BOUNDED_DELEGATION", "People may give others platform privileges that they do not hold themselves."),
    ("MCP_VALIDATION_PRIVILEGE_CONSTRAINTS", "Constraints on tags are not checked for ingested metadata."),
)


def build_context(request: HttpRequest) -> dict[str, Any]:
    """Return the context of `base.html` and `settings.html`; empty for an anonymous caller."""
    if not getattr(request, "user", None) or not request.user.is_authenticated:
        return {}
    allowed_links = _find_allowed_links(get_actor(request))
    menu = [
        (label, [_menu_entry(link, request) for link in links if link in allowed_links])
        for label, links in SETTINGS_MENU
    ]
    # "Settings" links to the first settings page that the caller may use.
    first_link = _find_first_setting(allowed_links)
    main_links = [link for link in MAIN_MENU if link in allowed_links]
    if first_link is not None:
        main_links.append(replace(first_link, label="Settings", icon="settings", active_path="/settings/"))
    return {
        "navigation": [_menu_entry(link, request) for link in main_links],
        "settings_menu": [{"label": label, "items": entries} for label, entries in menu if entries],
        "account": {
            "name": request.user.get_full_name(),
            "profile_url": reverse("profile"),
            "sign_out_url": reverse("sign-out"),
        },
        "banners": [
            {"kind": "danger", "text": text} for name, text in _WEAKENED_SETTINGS if not getattr(settings, name)
        ],
        "has_policy_pages": settings.AUTH_POLICIES_ENABLED,
        "shows_external_roles": settings.SHOW_ACCESS_MANAGEMENT,
    }


def find_settings_url(request: HttpRequest, *, section: str = "") -> str | None:
    """Return the URL of the first settings page that the caller may use, or None.

    `section` is a label of `SETTINGS_MENU`; a section without a page that the caller may use falls back to all
    sections.
    """
    allowed_links = _find_allowed_links(get_actor(request))
    first_link = (section and _find_first_setting(allowed_links, section)) or _find_first_setting(allowed_links)
    return reverse(first_link.route) if first_link else None


def _find_first_setting(allowed_links: frozenset[MenuLink], section: str = "") -> MenuLink | None:
    return next(
        (link for label, links in SETTINGS_MENU for link in links if link in allowed_links and section in ("", label)),
        None,
    )


def _find_allowed_links(actor: Actor) -> frozenset[MenuLink]:
    """Return the menu entries that an actor may use, decided in one batch of requests."""
    links = [*MAIN_MENU, *(link for _, group in SETTINGS_MENU for link in group)]
    links = [link for link in links if not link.setting_name or getattr(settings, link.setting_name)]
    if not settings.AUTH_POLICIES_ENABLED:
        links = [link for link in links if not link.requires_policies]
    privileges = sorted({privilege for link in links for privilege in link.privileges})
    decisions = authorizer.answer_many(
        requests=[(actor, AccessRequest(privilege_requirement(privilege))) for privilege in privileges]
    )
    allowed_privileges = {
        privilege for privilege, decision in zip(privileges, decisions, strict=True) if decision.is_allowed
    }
    return frozenset(
        link for link in links if not link.privileges or not allowed_privileges.isdisjoint(link.privileges)
    )


def _menu_entry(link: MenuLink, request: HttpRequest) -> dict[str, Any]:
    url = reverse(link.route)
    is_active = request.path == url or request.path.startswith(link.active_path or f"{url}/")
    return {"label": link.label, "route": link.route, "url": url, "icon": link.icon, "is_active": is_active}
