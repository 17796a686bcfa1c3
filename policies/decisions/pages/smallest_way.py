"""The smallest change that would give what was refused: a part of Why and of the page of a refusal, loaded after them.

It takes the viewer's one preview, so a page that names it does not wait for it.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse

from policies.decisions.pages import explore_common
from policies.decisions.pages.explore_common import AnswerViewer
from policies.engine.requirements import privilege_requirement
from policies.errors import Busy
from policies.http.guard import signed_in
from policies.http.pages.filter_forms import WhyForm
from policies.http.pages.list_and_form_pages import page_view
from policies.http.pages.request_links import build_request_url
from policies.pdp import actor_resolution
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.requests.ways import finding
from policies.requests.ways.asked_items import AskedAccess
from policies.requests.ways.wording import WordedWay, word_way

_NOTHING = WordedWay("No single change that could be made here gives it.", ())
_BUSY = WordedWay("Another preview of yours is still running; open this again when it has ended.", ())


@page_view(signed_in)
def show_smallest_way(request: HttpRequest) -> HttpResponse:
    """Page with the smallest change that would allow what the form asks."""
    return explore_common.render_question_page(
        request,
        route="why-way",
        form=WhyForm.from_query(request.GET),
        template="why/way.html",
        build_answer=_build_answer,
    )


def _build_answer(form: WhyForm, viewer: AnswerViewer, request: HttpRequest) -> dict[str, Any]:
    if (choices := explore_common.find_choices(form, request)) is not None:
        return {"choices": choices}
    data = form.cleaned_data
    resource = ResourceRef(data["resource"]) if data["resource"] else None
    question = AccessRequest(privilege_requirement(data["privilege"]), resource, data["sub_resources"])
    actor = actor_resolution.load_actor(urn=data["actor"] or viewer.actor.urn)
    query = {name: data[name] for name in ("privilege", "resource", "actor") if data[name]}
    request_url = "" if data["sub_resources"] else build_request_url(**query)
    try:
        way = finding.find_smallest_way(item=AskedAccess.load(actor=actor, request=question), by=viewer.actor)
    except Busy:
        return {"answer": _BUSY, "request_url": request_url}
    return {"answer": _NOTHING if way is None else word_way(way), "request_url": request_url}
