"""Search for users, groups and roles, as options of a picker.

Users and groups are found by the beginnings of indexed words and few rows are returned, so the cost does not depend on
their number.
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from policies.engine.model import Actor
from policies.engine.requirements import any_of_requirement
from policies.errors import NotFound
from policies.http.guard import get_actor, signed_in
from policies.http.pages.list_and_form_pages import page_view
from policies.http.pages.people_picker import PREFIXES, build_option
from policies.identity.queries import users_groups_roles
from policies.models import User
from policies.pdp import authorizer
from policies.pdp.access_requests import ResourceRef
from policies.writes import people_records, required_privileges

#: Maximum number of options that a search returns.
MAX_OPTIONS = 20

#: Requirement for searching: any privilege to change people, or to check their access.
_SEARCH_REQUIREMENT = any_of_requirement(
    [
        [name]
        for name in (
            "MANAGE_POLICIES",
            "MANAGE_GUARDRAILS",
            "MANAGE_USERS_AND_GROUPS",
            "UPDATE_USERS_AND_GROUPS",
            "UPDATE_USERS",
            "UPDATE_GROUPS",
            "MANAGE_USER_CREDENTIALS",
            "MANAGE_ACCESS_TOKENS",
            "MANAGE_SERVICE_ACCOUNTS",
            "CHECK_ACCESS",
        )
    ]
)


@page_view(signed_in)
def list_options(request: HttpRequest) -> HttpResponse:
    """Render the first options that match a picker's search; raises Forbidden, NotFound for an unknown kind."""
    group = request.GET.get("group", "")
    actor = get_actor(request)
    if group:
        authorizer.require(
            by=actor, requirement=required_privileges.group_members(), resource=ResourceRef(group, "corpGroup")
        )
    else:
        authorizer.require(by=actor, requirement=_SEARCH_REQUIREMENT)
    kind = request.GET.get("kind", "")
    if kind not in PREFIXES:
        raise NotFound("There is no such search.")
    matches = _search(kind, request.GET.get("q", "")[:200], actor)
    context = {
        "name": request.GET.get("name", kind)[:40],
        "options": matches[:MAX_OPTIONS],
        "is_more": len(matches) > MAX_OPTIONS,
    }
    return render(request, "components/picker_options.html", context)


def _search(kind: str, text: str, by: Actor) -> list[dict[str, str]]:
    matches: list[dict[str, str]] = []
    max_matches = MAX_OPTIONS + 1
    if kind in ("user", "person", "holder"):
        matches += _search_users(text, User.Kind.PERSON if kind == "person" else None, by)[:max_matches]
    if kind in ("group", "holder") and len(matches) < max_matches:
        groups = users_groups_roles.list_groups(q=text).prefetch_related(None)
        matches += [
            build_option(group.urn, group.name, hint=group.identifier) for group in groups[: max_matches - len(matches)]
        ]
    if kind == "role":
        matches += [
            build_option(role.urn, role.name, hint=role.identifier)
            for role in users_groups_roles.list_roles(q=text)[:max_matches]
        ]
    return matches


def _search_users(text: str, kind: str | None, by: Actor) -> list[dict[str, str]]:
    """Return options for the first users that match; addresses are searched and shown only for visible records."""
    rows = users_groups_roles.list_users(
        q=text, kind=kind, address_condition=people_records.build_condition(by=by)
    ).prefetch_related(None)
    users = list(rows[: MAX_OPTIONS + 1])
    visible_urns = people_records.list_visible(urns=[user.urn for user in users], by=by)
    return [
        build_option(user.urn, user.name, hint=(user.email if user.urn in visible_urns else "") or user.username)
        for user in users
    ]
