"""Why: choose actor, privilege and resource; read the answer and what it rests on."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from policies.decisions.pages import explore_common
from policies.decisions.pages.explore_common import Asker
from policies.engine.explain import Near
from policies.engine.requirements import one
from policies.http.guard import signed_in
from policies.http.pages.filter_forms import WhyForm
from policies.models.people import USER_PREFIX
from policies.pdp import actor_resolution, authorizer, explanations, snapshot_store
from policies.pdp.authorizer import Ask, Asked
from policies.pdp.explanations import Explained, Hint


@require_GET
@never_cache
@signed_in
def why(request: HttpRequest) -> HttpResponse:
    """The form, and under it the answer when a question was asked."""
    return explore_common.page(
        request, route="why", form=WhyForm.asked(request.GET), template="why/page.html", answer=_answer
    )


def _answer(form: WhyForm, asker: Asker, request: HttpRequest) -> dict[str, Any]:
    data = form.cleaned_data
    if (choices := explore_common.choices(form, request)) is not None:
        return {"choices": choices}
    urn, resource = data["actor"] or asker.actor.urn, data["resource"]
    ask = Ask(one(data["privilege"]), Asked(resource) if resource else None, data["sub_resources"])
    found = explanations.explained(actor=actor_resolution.actor(urn=urn), ask=ask)
    return {"answer": _presented(found, urn, data["privilege"], resource, asker, request)}


def _presented(
    found: Explained, urn: str, privilege: str, resource: str, asker: Asker, request: HttpRequest
) -> dict[str, Any]:
    may_know = not found.is_concealed
    names = authorizer.names(urns={urn, resource} - {""})
    is_stored = not resource or not may_know or explanations.is_known(urn=resource)
    return {
        "is_allowed": found.decision.is_allowed,
        "sentence": explanations.SENTENCES[found.decision.code],
        "version": found.decision.version,
        "age": snapshot_store.age(),
        "actor": {"urn": urn, "name": names.get(urn, urn)},
        "privilege": explore_common.privilege_of(privilege),
        "resource": explore_common.resource_of(resource, names),
        "not_stored": "" if is_stored else explanations.NOT_STORED,
        "may_know": may_know,
        "restrictions_url": _restrictions_url(found, urn, resource) if may_know else "",
        "reasons": [{"reason": reason, "url": asker.policy_url(reason.policy)} for reason in found.reasons],
        "nearest": _nearest(found.nearest, asker),
        "hints": [_hint(hint, request) for hint in found.hints],
    }


def _restrictions_url(found: Explained, actor: str, resource: str) -> str:
    """Return the page that shows which part of a table the answer lets somebody see; nothing when it is all of it."""
    if not found.decision.slices or not resource:
        return ""
    return reverse("why-restrictions", query={"actor": actor, "resource": resource})


def _nearest(nearest: Sequence[Near], asker: Asker) -> list[dict[str, Any]]:
    return [
        {
            "near": near,
            "url": asker.policy_url(near.policy),
            "lacks": [{"sentence": lack.sentence, "remedy": explanations.remedy(lack)} for lack in near.lacks],
        }
        for near in nearest
    ]


def _hint(hint: Hint, request: HttpRequest) -> dict[str, Any]:
    suggestions: Iterable[tuple[str, str]] = ((close, close) for close in hint.suggestions)
    if hint.what == "actor":
        suggestions = ((close.removeprefix(USER_PREFIX), close) for close in hint.suggestions)
    return {
        "what": hint.what,
        "name": hint.name,
        "suggestions": [
            {"label": label, "url": explore_common.same(request, **{hint.what: value})} for label, value in suggestions
        ],
    }
