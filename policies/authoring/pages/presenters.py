"""How each family's policies are shown. Pages look a presenter up here and never ask which family a policy is of."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.urls import reverse

from policies.authoring.pages import (
    datahub_presenter,
    datahub_templates,
    datahub_wording,
    datazone_presenter,
    diff_fields,
)
from policies.authoring.pages.version_diff import Change, Parts, beside, compared
from policies.engine.families import datahub, datazone
from policies.models import Policy
from policies.pdp import display_names

Document = Mapping[str, Any]

#: How many names a row of the list shows before it says how many more there are.
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Presenter:
    """What pages need of a family.

    `template` draws the middle of a policy's page from `body`; `pills` and `actors` say whom a policy is for; `parts`
    are its fields for comparing versions, `copied` is the document of a copy. `editor` is the route of the page that
    edits one, and takes its URN; `maker` that of the page that writes a new one, and `making` what leads there.
    """

    template: str
    body: Callable[[Document], dict[str, Any]]
    sentence: Callable[[Document], str]
    pills: Callable[[Document], list[str]]
    actors: Callable[[Document], list[tuple[str, str]]]
    parts: Callable[[Document], Parts]
    copied: Callable[[Document], dict[str, Any]]
    editor: str = ""
    maker: str = ""
    making: str = ""


PRESENTERS: Mapping[str, Presenter] = MappingProxyType(
    {
        datahub.NAME: Presenter(
            template="policies/_datahub.html",
            body=datahub_presenter.body,
            sentence=datahub_wording.sentence,
            pills=datahub_presenter.pills,
            actors=datahub_presenter.listed_actors,
            parts=diff_fields.parts,
            copied=datahub_templates.copied,
            editor="policy-edit",
            maker="policy-new",
            making="Create policy",
        ),
        datazone.NAME: Presenter(
            template="policies/_datazone.html",
            body=datazone_presenter.body,
            sentence=datazone_presenter.sentence,
            pills=datazone_presenter.pills,
            actors=datazone_presenter.listed_actors,
            parts=datazone_presenter.parts,
            copied=datazone_presenter.copied,
            editor="datazone-edit",
            maker="datazone-new",
            making="Create Datazone policy",
        ),
    }
)


def of(family: str) -> Presenter:
    """Return the presenter of a family."""
    return PRESENTERS[family]


def edit_url(policy: Policy) -> str:
    """Return the page that edits a policy, or nothing where it cannot be edited or its family has no editor."""
    editor = of(policy.family).editor
    return reverse(editor, args=[policy.urn]) if editor and policy.is_editable else ""


def makers() -> list[dict[str, str]]:
    """Return the pages that write new policies, as links."""
    return [{"label": one.making, "url": reverse(one.maker)} for one in PRESENTERS.values() if one.maker]


def has_editor(family: str) -> bool:
    """Whether a page edits policies of this family; then a copy begins there, and else it is stored at once."""
    return bool(of(family).editor)


def names_of(policies: Iterable[Policy]) -> Mapping[str, str]:
    """Return the names of everybody that the rows of these policies show."""
    return display_names.names(
        urns={urn for policy in policies for _, urn in of(policy.family).actors(policy.document)[:_SHOWN]}
    )


def short_audience(policy: Policy, names: Mapping[str, str]) -> dict[str, Any]:
    """Return whom a policy is for, short enough for a row: pills, then the first few names."""
    presenter = of(policy.family)
    listed = presenter.actors(policy.document)
    shown = [{"name": names.get(urn, urn), "urn": urn, "kind": kind} for kind, urn in listed[:_SHOWN]]
    return {"pills": presenter.pills(policy.document), "actors": shown, "more": len(listed) - len(shown)}


def changes(family: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[Change]:
    """Return the fields that differ between two versions as the change log keeps them; nothing for a missing side."""
    if before is None or after is None:
        return []
    parts_of = of(family).parts
    was, now = ({**parts_of(one["document"]), **beside(one)} for one in (before, after))
    return compared(was, now)
