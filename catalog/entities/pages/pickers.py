"""Pickers of entities and people: suggestions, and validation of chosen URNs against the caller's view permissions."""

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
from catalog.access.people_records import build_user_condition
from catalog.entities.pages import type_labels
from catalog.models import Entity
from policies.engine.model import Actor
from policies.errors import NotFound
from policies.http.guard import get_actor, signed_in
from policies.identity.queries import users_groups_roles
from policies.pdp import authorizer, display_names

#: Maximum number of suggestions of one search.
MAX_SUGGESTIONS = 20

#: Maximum number of URNs in one picker.
MAX_CHOICES = 10_000

#: Maximum number of invalid URNs that are named.
_MAX_LISTED_ERRORS = 20


@dataclass(frozen=True, slots=True)
class PickerKind:
    """The entities or people of these types that a picker offers; `label` is a plural."""

    name: str
    label: str
    types: tuple[str, ...]

    @property
    def search_url(self) -> str:
        """The URL that answers a search with suggestions."""
        return reverse("catalog-pick", args=[self.name])


TAGS = PickerKind("tags", "Tags", ("tag",))
TERMS = PickerKind("terms", "Glossary terms", ("glossaryTerm",))
DOMAINS = PickerKind("domains", "Domains", ("domain",))
ROLES = PickerKind("roles", "External roles", ("role",))
OWNERS = PickerKind("owners", "Users and groups", ("corpuser", "corpGroup"))
PRINCIPALS = PickerKind("principals", "Users, groups and roles", ("corpuser", "corpGroup", "dataHubRole"))
USERS = PickerKind("users", "Users", ("corpuser",))
GROUPS = PickerKind("groups", "Groups", ("corpGroup",))
ACCESS_ENTITIES = PickerKind("datasets", "Datasets, dashboards and containers", ("dataset", "dashboard", "container"))

PICKER_KINDS: Mapping[str, PickerKind] = {
    kind.name: kind for kind in (TAGS, TERMS, DOMAINS, ROLES, OWNERS, PRINCIPALS, USERS, GROUPS, ACCESS_ENTITIES)
}


@dataclass(slots=True)
class EntityPicker:
    """One picker of a form: initial and chosen URNs, and errors."""

    kind: PickerKind
    by: Actor
    initial_urns: tuple[str, ...] = ()
    chosen_urns: tuple[str, ...] = ()
    label: str = ""
    pasted_text: str = ""
    errors: list[str] = field(default_factory=list)

    def read(self, data: QueryDict) -> None:
        """Read the submitted data: ticked boxes and pasted lines."""
        self.pasted_text = data.get(f"{self.kind.name}_pasted", "")
        lines = (line.strip() for line in self.pasted_text.splitlines())
        self.chosen_urns = tuple(dict.fromkeys([*data.getlist(self.kind.name), *(line for line in lines if line)]))
        self._validate()
        if not self.errors:
            self.pasted_text = ""

    @property
    def added_urns(self) -> list[str]:
        """The chosen URNs that are not initial."""
        initial_urns = set(self.initial_urns)
        return [urn for urn in self.chosen_urns if urn not in initial_urns]

    @property
    def removed_urns(self) -> list[str]:
        """The initial URNs that are no longer chosen."""
        chosen_urns = set(self.chosen_urns)
        return [urn for urn in self.initial_urns if urn not in chosen_urns]

    def build_context(self) -> dict[str, Any]:
        """Return the context of components/picker.html."""
        pasted_lines = set(self.pasted_text.splitlines())
        picked_urns = [urn for urn in self.chosen_urns if urn not in pasted_lines]
        names_by_urn = load_names(picked_urns)
        return {
            "name": self.kind.name,
            "label": self.label or self.kind.label,
            "search_url": self.kind.search_url,
            "chosen": [build_option(urn, names_by_urn.get(urn, "")) for urn in picked_urns],
            "pasted": self.pasted_text,
            "errors": self.errors,
            "help": "",
        }

    def _validate(self) -> None:
        if len(self.chosen_urns) > MAX_CHOICES:
            self.errors.append(f"At most {MAX_CHOICES} can be chosen at once.")
            return
        added_urns = self.added_urns
        invalid_urns = dict.fromkeys(
            urn for urn in added_urns if urns.find_problem(urn, "", self.kind.types) is not None
        )
        valid_urns = [urn for urn in added_urns if urn not in invalid_urns]
        known_urns = _find_known(valid_urns, self.by)
        label = self.kind.label.lower()
        messages = [f"{urn} is not the URN of one of the {label}." for urn in invalid_urns]
        messages += [f"There is no {urn}." for urn in valid_urns if urn not in known_urns]
        self.errors += messages[:_MAX_LISTED_ERRORS]
        if len(messages) > _MAX_LISTED_ERRORS:
            self.errors.append(f"And {len(messages) - _MAX_LISTED_ERRORS} more like these.")


def build_option(urn: str, name: str) -> dict[str, str]:
    """Return a chip or suggestion of components/picker.html."""
    type_ = urns.entity_type(urn)
    return {"urn": urn, "label": name or urn, "type": type_, "hint": "" if name else type_labels.singular_label(type_)}


def load_names(entity_urns: Collection[str]) -> dict[str, str]:
    """Return URN -> display name."""
    return authorizer.load_names(urns=entity_urns) if entity_urns else {}


@require_GET
@never_cache
@signed_in
def list_options(request: HttpRequest, kind: str) -> HttpResponse:
    """Return the suggestions of a picker as HTML, without entities that may not be viewed."""
    if kind not in PICKER_KINDS:
        raise NotFound("There is nothing of this kind to choose.")
    picker_kind, text = PICKER_KINDS[kind], request.GET.get("q", "").strip()
    suggestions = _suggest(picker_kind, text, get_actor(request)) if text else []
    context = {
        "name": picker_kind.name,
        "options": suggestions[:MAX_SUGGESTIONS],
        "is_more": len(suggestions) > MAX_SUGGESTIONS,
    }
    return render(request, "components/picker_options.html", context)


def _suggest(kind: PickerKind, text: str, by: Actor) -> list[dict[str, str]]:
    if kind.types[0] not in urns.PEOPLE_TYPES:
        rows = view_permissions.filter_viewable(entity_lists.search(text=text, types=kind.types), by=by)[
            : MAX_SUGGESTIONS + 1
        ]
        return [build_option(row.urn, row.name) for row in rows]
    suggestions: list[dict[str, str]] = []
    for type_ in kind.types:
        suggestions += _PEOPLE_SEARCHES[type_](text, by)
    return sorted(suggestions, key=lambda suggestion: (suggestion["label"].casefold(), suggestion["urn"]))


def _search_users(text: str, by: Actor) -> list[dict[str, str]]:
    rows = users_groups_roles.list_users(q=text, address_condition=build_user_condition(by=by))
    return [build_option(user.urn, user.get_full_name()) for user in rows[: MAX_SUGGESTIONS + 1]]


def _search_groups(text: str, _by: Actor) -> list[dict[str, str]]:
    return [
        build_option(group.urn, group.name) for group in users_groups_roles.list_groups(q=text)[: MAX_SUGGESTIONS + 1]
    ]


def _search_roles(text: str, _by: Actor) -> list[dict[str, str]]:
    return [build_option(role.urn, role.name) for role in users_groups_roles.list_roles(q=text)[: MAX_SUGGESTIONS + 1]]


_PEOPLE_SEARCHES: Mapping[str, Callable[[str, Actor], list[dict[str, str]]]] = {
    "corpuser": _search_users,
    "corpGroup": _search_groups,
    "dataHubRole": _search_roles,
}


def _find_known(candidate_urns: Sequence[str], by: Actor) -> set[str]:
    if not candidate_urns:
        return set()
    rows = view_permissions.filter_viewable(Entity.objects.filter(urn__among=candidate_urns), by=by).order_by()
    return {*rows.values_list("urn", flat=True), *display_names.load_names(urns=candidate_urns)}
