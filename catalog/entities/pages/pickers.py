"""What pickers offer and what they sent: things chosen by URN, checked against what their chooser may see."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from catalog import urns
from catalog.access import entity_lists, view_permissions
from catalog.access.people_records import build_visible_users
from catalog.entities.pages import type_labels
from catalog.models import Entity
from policies.engine.model import Actor
from policies.errors import NotFound
from policies.http.guard import actor_of, signed_in
from policies.identity.queries import users_groups_roles
from policies.pdp import authorizer, display_names

#: How many suggestions one search gives.
LIMIT = 20

#: How many URNs one picker takes at once.
MOST = 10_000

#: How many wrong URNs are named.
_NAMED = 20


@dataclass(frozen=True, slots=True)
class Kind:
    """What a picker chooses: entities or people of these types. `label` names several of them."""

    name: str
    label: str
    types: tuple[str, ...]

    @property
    def search_url(self) -> str:
        """The address that answers a search with suggestions."""
        return reverse("catalog-pick", args=[self.name])


TAGS = Kind("tags", "Tags", ("tag",))
TERMS = Kind("terms", "Glossary terms", ("glossaryTerm",))
DOMAINS = Kind("domains", "Domains", ("domain",))
ROLES = Kind("roles", "External roles", ("role",))
OWNERS = Kind("owners", "Users and groups", ("corpuser", "corpGroup"))
PRINCIPALS = Kind("principals", "Users, groups and roles", ("corpuser", "corpGroup", "dataHubRole"))
USERS = Kind("users", "Users", ("corpuser",))
GROUPS = Kind("groups", "Groups", ("corpGroup",))
REACHED = Kind("datasets", "Datasets, dashboards and containers", ("dataset", "dashboard", "container"))

KINDS: Mapping[str, Kind] = {
    kind.name: kind for kind in (TAGS, TERMS, DOMAINS, ROLES, OWNERS, PRINCIPALS, USERS, GROUPS, REACHED)
}


@dataclass(slots=True)
class Picker:
    """One picker of a form: what was there before, what is chosen now, and what is wrong with that."""

    kind: Kind
    by: Actor
    before: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    help: str = ""
    pasted: str = ""
    errors: list[str] = field(default_factory=list)

    def read(self, data: QueryDict) -> None:
        """Take in what was sent: ticked boxes and pasted lines."""
        self.pasted = data.get(f"{self.kind.name}_pasted", "")
        lines = (line.strip() for line in self.pasted.splitlines())
        self.chosen = tuple(dict.fromkeys([*data.getlist(self.kind.name), *(line for line in lines if line)]))
        self._check()
        if not self.errors:
            self.pasted = ""

    @property
    def added(self) -> list[str]:
        """What was not there before."""
        before = set(self.before)
        return [urn for urn in self.chosen if urn not in before]

    @property
    def removed(self) -> list[str]:
        """What was there before."""
        chosen = set(self.chosen)
        return [urn for urn in self.before if urn not in chosen]

    def context(self) -> dict[str, Any]:
        """Return what components/picker.html draws."""
        pasted = set(self.pasted.splitlines())
        shown = [urn for urn in self.chosen if urn not in pasted]
        found = names(shown)
        return {
            "name": self.kind.name,
            "label": self.kind.label,
            "search_url": self.kind.search_url,
            "chosen": [option(urn, found.get(urn, "")) for urn in shown],
            "pasted": self.pasted,
            "errors": self.errors,
            "help": self.help,
        }

    def _check(self) -> None:
        if len(self.chosen) > MOST:
            self.errors.append(f"At most {MOST} can be chosen at once.")
            return
        added = self.added
        wrong = dict.fromkeys(urn for urn in added if urns.problem(urn, "", self.kind.types) is not None)
        right = [urn for urn in added if urn not in wrong]
        known = _known(right, self.by)
        label = self.kind.label.lower()
        found = [f"{urn} is not the URN of one of the {label}." for urn in wrong]
        found += [f"There is no {urn}." for urn in right if urn not in known]
        self.errors += found[:_NAMED]
        if len(found) > _NAMED:
            self.errors.append(f"And {len(found) - _NAMED} more like these.")


def option(urn: str, name: str) -> dict[str, str]:
    """Return a chip or suggestion of components/picker.html."""
    type_ = urns.type_of(urn)
    return {"urn": urn, "label": name or urn, "type": type_, "hint": "" if name else type_labels.one(type_)}


def names(found: Collection[str]) -> dict[str, str]:
    """Return what people call these."""
    return authorizer.names(urns=found) if found else {}


@require_GET
@never_cache
@signed_in
def options(request: HttpRequest, kind: str) -> HttpResponse:
    """Suggestions for a picker, as it draws them; nothing that may not be viewed is among them."""
    if kind not in KINDS:
        raise NotFound("There is nothing of this kind to choose.")
    wanted, text = KINDS[kind], request.GET.get("q", "").strip()
    found = _suggest(wanted, text, actor_of(request)) if text else []
    context = {"name": wanted.name, "options": found[:LIMIT], "is_more": len(found) > LIMIT}
    return render(request, "components/picker_options.html", context)


def _suggest(kind: Kind, text: str, by: Actor) -> list[dict[str, str]]:
    if kind.types[0] not in urns.PEOPLE_TYPES:
        rows = view_permissions.viewable(entity_lists.search(text=text, types=kind.types), by=by)[: LIMIT + 1]
        return [option(row.urn, row.name) for row in rows]
    found: list[dict[str, str]] = []
    for type_ in kind.types:
        found += _PEOPLE[type_](text, by)
    return sorted(found, key=lambda one: (one["label"].casefold(), one["urn"]))


def _users(text: str, by: Actor) -> list[dict[str, str]]:
    rows = users_groups_roles.users(q=text, seen=build_visible_users(by=by))
    return [option(user.urn, user.get_full_name()) for user in rows[: LIMIT + 1]]


def _groups(text: str, _by: Actor) -> list[dict[str, str]]:
    return [option(group.urn, group.name) for group in users_groups_roles.groups(q=text)[: LIMIT + 1]]


def _roles(text: str, _by: Actor) -> list[dict[str, str]]:
    return [option(role.urn, role.name) for role in users_groups_roles.roles(q=text)[: LIMIT + 1]]


_PEOPLE: Mapping[str, Callable[[str, Actor], list[dict[str, str]]]] = {
    "corpuser": _users,
    "corpGroup": _groups,
    "dataHubRole": _roles,
}


def _known(found: Sequence[str], by: Actor) -> set[str]:
    if not found:
        return set()
    rows = view_permissions.viewable(Entity.objects.filter(urn__among=found), by=by).order_by()
    return {*rows.values_list("urn", flat=True), *display_names.names(urns=found)}
