"""The page Why: a form of actor, privilege and resource, with the decision and its reasons."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from policies.decisions.pages import explore_common
from policies.decisions.pages.explore_common import AnswerViewer
from policies.engine.model import Effect
from policies.engine.near_misses import NearMatch
from policies.engine.requirements import privilege_requirement
from policies.http.guard import signed_in
from policies.http.pages import ways
from policies.http.pages.filter_forms import WhyForm
from policies.http.pages.list_and_form_pages import page_view
from policies.http.pages.request_links import build_request_url
from policies.pdp import actor_resolution, authorizer, explanations, snapshot_store
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.pdp.explanations import Explanation


@page_view(signed_in)
def show_explanation(request: HttpRequest) -> HttpResponse:
    """Page with the form, and the answer once a question was asked."""
    return explore_common.render_question_page(
        request, route="why", form=WhyForm.from_query(request.GET), template="why/page.html", build_answer=_build_answer
    )


def _build_answer(form: WhyForm, viewer: AnswerViewer, request: HttpRequest) -> dict[str, Any]:
    data = form.cleaned_data
    if (choices := explore_common.find_choices(form, request)) is not None:
        return {"choices": choices}
    urn, resource = data["actor"] or viewer.actor.urn, data["resource"]
    access_request = AccessRequest(
        privilege_requirement(data["privilege"]), ResourceRef(resource) if resource else None, data["sub_resources"]
    )
    explanation = explanations.explain_answer(actor=actor_resolution.load_actor(urn=urn), request=access_request)
    return {
        "answer": _build_explanation_context(
            explanation, urn, data["privilege"], resource, data["sub_resources"], viewer
        )
    }


def _build_explanation_context(
    explanation: Explanation,
    urn: str,
    privilege: str,
    resource: str,
    sub_resources: Sequence[str],
    viewer: AnswerViewer,
) -> dict[str, Any]:
    through_urns = {token for reason in explanation.reasons for token in ways.list_through_urns(reason.through)}
    names = authorizer.load_names(urns=({urn, resource} | through_urns) - {""})
    now = timezone.now()
    # The denies that decided are the first near misses; here they stand with the reasons.
    deciding_statements = {(reason.policy, reason.statement) for reason in explanation.reasons}
    deciding_misses = {
        (miss.policy, miss.statement): miss
        for miss in explanation.near_misses
        if (miss.policy, miss.statement) in deciding_statements
    }
    return {
        "is_allowed": explanation.decision.is_allowed,
        "sentence": explanations.SENTENCES[explanation.decision.code],
        "version": explanation.decision.version,
        "age": snapshot_store.age(),
        "actor": {"urn": urn, "name": names.get(urn, urn)},
        "privilege": explore_common.privilege_context(privilege),
        "resource": explore_common.resource_context(resource, names),
        "way_url": _way_url(explanation, urn, privilege, resource, sub_resources),
        "request_url": _request_url(explanation, urn, privilege, resource, sub_resources),
        "restrictions_url": _restrictions_url(explanation, urn, resource),
        "is_denied": any(reason.effect == Effect.DENY for reason in explanation.reasons),
        "reasons": [
            {
                "reason": reason,
                "way": ways.build_way(
                    now=now,
                    policy=reason.name,
                    policy_url=viewer.policy_url(reason.policy),
                    through=ways.build_through(reason.through, names=names, get_url=viewer.account_url),
                    until=reason.ends,
                ),
                "lacks": _list_lacks(deciding_misses.get((reason.policy, reason.statement))),
            }
            for reason in explanation.reasons
        ],
        "nearest": [
            {"near": near_match, "url": viewer.policy_url(near_match.policy), "lacks": _list_lacks(near_match)}
            for near_match in explanation.near_misses
            if (near_match.policy, near_match.statement) not in deciding_misses
        ],
    }


def _way_url(explanation: Explanation, actor: str, privilege: str, resource: str, sub_resources: Sequence[str]) -> str:
    """Return the page of the smallest change that would allow it, '' where no change of access would."""
    decision = explanation.decision
    if decision.is_allowed or not decision.missing or explanation.is_concealed:
        return ""
    query = {"actor": actor, "privilege": privilege, "resource": resource, "sub_resources": "\n".join(sub_resources)}
    return reverse("why-way", query={name: value for name, value in query.items() if value})


def _request_url(
    explanation: Explanation, actor: str, privilege: str, resource: str, sub_resources: Sequence[str]
) -> str:
    """Return the form that asks for what is refused; '' of an allow, and of a question about sub-resources."""
    if explanation.decision.is_allowed or sub_resources:
        return ""
    return build_request_url(privilege=privilege, resource=resource, actor=actor)


def _restrictions_url(explanation: Explanation, actor: str, resource: str) -> str:
    """Return the page of the rows and columns that the answer opens to the actor, '' where nothing is restricted."""
    if not explanation.decision.slices or not resource:
        return ""
    return reverse("why-restrictions", query={"actor": actor, "resource": resource})


def _list_lacks(near_match: NearMatch | None) -> list[dict[str, str]]:
    return [
        {"sentence": failed_condition.sentence, "remedy": explanations.format_remedy(failed_condition)}
        for failed_condition in (near_match.failed_conditions if near_match else ())
    ]
