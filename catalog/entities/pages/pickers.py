"""Pickers of entities and people: suggestions, and validation of chosen URNs against the caller's view permissions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from catalog import urns
from catalog.access import entity_lists, view_permissions
from catalog.access.people_records import build_user_condition
from catalog.entities.pages import type_labels
from catalog.models import Entity
from policies.engine.model import Actor
from policies.errors import NotFound
from policies.http.guard import get_actor, signed_in
from policies.http.pages.list_and_form_pages import page_view
from policies.http.pages.picker import FormPicker
from policies.identity.queries import users_groups_roles
from policies.pdp import authorizer, display_names

#: Maximum number of suggestions of one search.
MAX_SUGGESTIONS = 20


@dataclass(frozen=True, slots=True)
class PickerKind:
    """The entities or people of these types that a picker offers; `label` is a plural."""

    name: str
    label: str
    types: tuple[str, ...]


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
class EntityPicker(FormPicker):
    """A picker of entities or people, which the caller may view; `initial_urns` are not checked again."""

    name: str = field(init=False)
    label: str = field(default="", kw_only=True)
    kind: PickerKind
    by: Actor
    _: KW_ONLY
    initial_urns: tuple[str, ...] = ()

    max_choices = 10_000
    max_named_errors = 20

    def __post_init__(self) -> None:
        """Take name and label from the kind."""
        self.name, self.label = self.kind.name, self.label or self.kind.label

    @property
    def search_url(self) -> str:
        """The URL that answers a search with suggestions."""
        return reverse("catalog-pick", args=[self.kind.name])

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

    def build_options(self, urns: Sequence[str]) -> list[dict[str, str]]:
        """Return chosen entities as options with their names."""
        names_by_urn = load_names(urns)
        return [build_option(urn, names_by_urn.get(urn, "")) for urn in urns]

    def validate(self) -> None:
        """Add an error for each added URN that is of another type, or of nothing that the caller may view.

        A removed user or group is not added, but stays where it is.
        """
        invalid_urns = dict.fromkeys(
            urn for urn in self.added_urns if urns.find_problem(urn, "", self.kind.types) is not None
        )
        valid_urns = [urn for urn in self.added_urns if urn not in invalid_urns]
        known_urns = _find_known(valid_urns, self.by)
        self.add_errors(
            [
                *(f"{urn} is not the URN of one of the {self.kind.label.lower()}." for urn in invalid_urns),
                *(f"There is no {urn}." for urn in valid_urns if urn not in known_urns),
            ]
        )


def build_option(urn: str, name: str) -> dict[str, str]:
    """Return a chip or suggestion of components/picker.html."""
    type_ = urns.entity_type(urn)
    return {"urn": urn, "label": name or urn, "type": type_, "hint": "" if name else type_labels.singular_label(type_)}


def load_names(entity_urns: Collection[str]) -> dict[str, str]:
    """Return URN -> display name."""
    return authorizer.load_names(urns=entity_urns) if entity_urns else {}


@page_view(signed_in)
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
        rows = view_permissions.filter_viewable(entity_lists.search(text=text, types=kind.types), by=by)
        return [build_option(row.urn, row.name) for row in rows[: MAX_SUGGESTIONS + 1]]
    suggestions = [
        build_option(row.urn, row.name)
        for type_ in kind.types
        for row in _search_people(type_, text, by)[: MAX_SUGGESTIONS + 1]
    ]
    return sorted(suggestions, key=lambda suggestion: (suggestion["label"].casefold(), suggestion["urn"]))


def _search_people(type_: str, text: str, by: Actor) -> QuerySet[Any]:
    if type_ == "corpuser":
        return users_groups_roles.list_users(q=text, address_condition=build_user_condition(by=by))
    return users_groups_roles.list_groups(q=text) if type_ == "corpGroup" else users_groups_roles.list_roles(q=text)


def _find_known(candidate_urns: Sequence[str], by: Actor) -> set[str]:
    if not candidate_urns:
        return set()
    rows = view_permissions.filter_viewable(Entity.objects.filter(urn__among=candidate_urns), by=by).order_by()
    known_urns = {*rows.values_list("urn", flat=True), *display_names.load_names(urns=candidate_urns)}
    return known_urns - display_names.find_removed(urns=candidate_urns)
