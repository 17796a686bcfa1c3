"""The effect of granting and revoking, in sentences, for the pages that ask before it."""

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from catalog.cdap.grant_forms import GrantForm
from catalog.entities.pages.pickers import EntityPicker
from policies.engine.model import Actor
from policies.http.pages.change_effect import ProposedChange, describe_effect
from policies.http.pages.list_and_form_pages import is_fragment_request
from policies.http.pages.times import describe_times

#: Most principals whose grants are previewed together.
MAX_PREVIEWED = 100

NOT_ALL = f"Only the first {MAX_PREVIEWED} of those chosen are counted here."


def is_effect_request(request: HttpRequest) -> bool:
    """Whether the form was posted to show the effect of granting, not to grant."""
    return request.POST.get("go") == "look"


def render_effect(request: HttpRequest, sentences: Sequence[str]) -> HttpResponse | None:
    """Return the sentences alone where htmx asks for them; None where the whole page is wanted."""
    if not (is_effect_request(request) and is_fragment_request(request)):
        return None
    return render(request, "components/form_effect.html", {"effect": sentences})


def describe_grants(*, target: str, form: GrantForm, picker: EntityPicker, by: Actor) -> list[str]:
    """Return sentences on who would gain what by these grants on an entity or pattern; none while they are invalid."""
    # The errors of a draft that nobody has sent yet are not shown.
    is_whole = form.is_valid() and form.fields.keys() <= form.cleaned_data.keys()
    if not (is_whole and form.cleaned_data["privileges"] and picker.chosen_urns and picker.is_sound):
        return []
    changes: list[ProposedChange] = [
        {"grant": {"principal": principal, "entity": target, "privileges": form.cleaned_data["privileges"]}}
        for principal in picker.chosen_urns[:MAX_PREVIEWED]
    ]
    cut = [NOT_ALL] if len(picker.chosen_urns) > MAX_PREVIEWED else []
    return [*describe_times(form), *describe_effect(*changes, by=by), *cut]


def describe_revocation(*, principal: str, target: str, privileges: Sequence[str], by: Actor) -> list[str]:
    """Return sentences on who would lose and gain what once it is confirmed, also if it is the last ADMIN."""
    revocation = {"principal": principal, "entity": target, "privileges": list(privileges), "is_confirmed": True}
    return describe_effect({"revoke": revocation}, by=by)
