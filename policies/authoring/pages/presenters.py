"""Presenters of each family's policies. Pages look a presenter up here and never compare families themselves."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.urls import reverse

from policies.authoring.pages import (
    datahub_presenter,
    datahub_wording,
    datazone_presenter,
    diff_fields,
)
from policies.authoring.pages.version_diff import DiffFields, FieldChange, compare_fields, snapshot_fields
from policies.engine.families import datahub, datazone
from policies.engine.model import SYSTEM_ACTOR, Effect
from policies.http.guard import needs
from policies.http.pages.list_and_form_pages import Section
from policies.models import Policy
from policies.pdp import authorizer, display_names

PolicyDocument = Mapping[str, Any]

SECTION = Section("Policies", "policies", ("Settings", "Permissions"))

#: Guard of every page about policies.
MANAGE_GUARD = needs("MANAGE_POLICIES")

#: Most names in a row of the list before it counts the rest.
_MAX_NAMED_ACTORS = 4


@dataclass(frozen=True, slots=True)
class Presenter:
    """The functions and routes that pages need of a family.

    `template` draws the middle of a policy's page from `build_page_context`; `audience_badges` and `list_actors` are
    its actors, `list_exceptions` those it never reaches, and `list_effects` its effects; `diff_fields` are its fields
    for comparing versions.
    `edit_url_name` is the route of the editor, with the URN as its argument; `new_url_name` that of the page for a new
    policy, and `new_label` the label of links to it.
    """

    template: str
    build_page_context: Callable[[PolicyDocument], dict[str, Any]]
    describe_policy: Callable[[PolicyDocument], str]
    audience_badges: Callable[[PolicyDocument], list[str]]
    list_actors: Callable[[PolicyDocument], list[tuple[str, str]]]
    list_exceptions: Callable[[PolicyDocument], list[tuple[str, str]]]
    list_effects: Callable[[PolicyDocument], frozenset[Effect]]
    diff_fields: Callable[[PolicyDocument], DiffFields]
    edit_url_name: str
    new_url_name: str
    new_label: str


PRESENTERS: Mapping[str, Presenter] = MappingProxyType(
    {
        datahub.NAME: Presenter(
            template="policies/_datahub.html",
            build_page_context=datahub_presenter.build_page_context,
            describe_policy=datahub_wording.describe_policy,
            audience_badges=datahub_presenter.audience_badges,
            list_actors=datahub_presenter.list_actors,
            list_exceptions=datahub_presenter.list_exceptions,
            list_effects=datahub_presenter.list_effects,
            diff_fields=diff_fields.diff_fields,
            edit_url_name="policy-edit",
            new_url_name="policy-new",
            new_label="Create policy",
        ),
        datazone.NAME: Presenter(
            template="policies/_datazone.html",
            build_page_context=datazone_presenter.build_page_context,
            describe_policy=datazone_presenter.describe_policy,
            audience_badges=datazone_presenter.audience_badges,
            list_actors=datazone_presenter.list_actors,
            list_exceptions=datazone_presenter.list_exceptions,
            list_effects=datazone_presenter.list_effects,
            diff_fields=datazone_presenter.diff_fields,
            edit_url_name="datazone-edit",
            new_url_name="datazone-new",
            new_label="Create Datazone policy",
        ),
    }
)


def get_presenter(family: str) -> Presenter:
    """Return the presenter of a family; raises KeyError for an unknown one."""
    return PRESENTERS[family]


def edit_url(policy: Policy) -> str:
    """Return the URL of the page that edits a policy, '' where it is not editable."""
    return (
        reverse(get_presenter(policy.family).edit_url_name, args=[policy.urn])
        if policy.is_editable and not policy.is_managed
        else ""
    )


def new_policy_links() -> list[dict[str, str]]:
    """Return links to the pages for new policies, as label and URL."""
    return [{"label": presenter.new_label, "url": reverse(presenter.new_url_name)} for presenter in PRESENTERS.values()]


def load_author_names(urns: set[str]) -> Mapping[str, str]:
    """Return the names of the authors of changes by URN; an author without a name has the URN."""
    return {urn: urn for urn in urns} | authorizer.load_names(urns=urns) | {SYSTEM_ACTOR: "the system"}


def load_actor_names(policies: Iterable[Policy]) -> Mapping[str, str]:
    """Return the names of all actors that the rows of these policies show, by URN."""
    return display_names.load_names(
        urns={
            urn
            for policy in policies
            for actors in (_list_named_actors(policy), _list_named_exceptions(policy))
            for _, urn in actors[:_MAX_NAMED_ACTORS]
        }
    )


def audience_summary(policy: Policy, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the actors of a policy for a row of the list: badges, the first names, and the number of further ones.

    `exceptions` are in the same form those whom the policy never reaches.
    """
    presenter = get_presenter(policy.family)
    return {
        "pills": presenter.audience_badges(policy.document),
        **_summarize_actors(_list_named_actors(policy), names),
        "exceptions": _summarize_actors(_list_named_exceptions(policy), names),
    }


def compare_versions(
    family: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> list[FieldChange]:
    """Return the fields that differ between two versions in the change log; empty where one of them is None."""
    if before is None or after is None:
        return []
    build_fields = get_presenter(family).diff_fields
    old_fields, new_fields = (
        {**build_fields(snapshot["document"]), **snapshot_fields(snapshot)} for snapshot in (before, after)
    )
    return compare_fields(old_fields, new_fields)


def _list_named_actors(policy: Policy) -> list[tuple[str, str]]:
    return get_presenter(policy.family).list_actors(policy.document)


def _list_named_exceptions(policy: Policy) -> list[tuple[str, str]]:
    return get_presenter(policy.family).list_exceptions(policy.document)


def _summarize_actors(actors: Sequence[tuple[str, str]], names: Mapping[str, str]) -> dict[str, Any]:
    visible_actors = [
        {"name": names.get(urn, urn), "urn": urn, "kind": kind} for kind, urn in actors[:_MAX_NAMED_ACTORS]
    ]
    return {"actors": visible_actors, "more": len(actors) - len(visible_actors)}
