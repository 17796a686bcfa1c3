"""What a list offers for a policy beside editing it: switching it on and off, and deleting it after a question."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from policies import queries
from policies.engine import families
from policies.errors import Conflict, Forbidden, Invalid, Stale
from policies.guard import actor_of, needs
from policies.models import Policy
from policies.services import impact
from policies.services import policies as service
from policies.services.impact import MOST, Count
from policies.web import pages, presenters

_DONE = {Policy.State.ACTIVE: "is active", Policy.State.INACTIVE: "is inactive"}

#: How many privileges a question names.
_NAMED = 5


@require_POST
@needs("MANAGE_POLICIES")
def set_state(request: HttpRequest, urn: str) -> HttpResponse:
    """Activate or deactivate a policy, and go back to where the button was."""
    state = request.POST.get("state", "")
    try:
        written = service.set_state(
            urn=urn, state=state, by=actor_of(request), door=pages.DOOR, if_version=seen(request.POST.get("version"))
        )
    except (Conflict, Forbidden, Invalid, Stale) as refusal:
        messages.error(request, refusal_of(refusal))
    else:
        done = _DONE[Policy.State(state)]
        messages.success(request, f"{written.policy.name} {done} now. Saved as version {written.policy_version}.")
    return redirect(back(request, reverse("policy", args=[urn])))


@require_POST
@needs("MANAGE_POLICIES")
def duplicate(request: HttpRequest, urn: str) -> HttpResponse:
    """Store a copy that is not active, of a policy that no builder begins with."""
    policy = queries.policy(urn=urn)
    document = presenters.of(policy.family).copied(policy.document)
    draft = service.Draft(policy.family, document, state=Policy.State.INACTIVE)
    written = service.create(draft=draft, by=actor_of(request), door=pages.DOOR)
    messages.success(request, f"This is the copy; it is not active. Saved as version {written.policy_version}.")
    return redirect("policy", written.policy.urn)


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def delete(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask whether to delete a policy, saying what is lost with it; then do so."""
    policy = queries.policy(urn=urn)
    version = seen(request.GET.get("version"))
    if request.method == "POST":
        try:
            made = service.delete(urn=urn, by=actor_of(request), door=pages.DOOR, if_version=version)
        except (Conflict, Forbidden, Stale) as refusal:
            messages.error(request, refusal_of(refusal))
            return redirect("policy", urn)
        messages.success(request, f"{policy.name} is deleted. Saved as version {made}.")
        return redirect("policies")
    return pages.ask(
        request,
        title=f"Delete \N{LEFT DOUBLE QUOTATION MARK}{policy.name}\N{RIGHT DOUBLE QUOTATION MARK}?",
        text="It stops working at once. Its history is kept, and a new policy can be made of any version in it.",
        losses=losses(policy),
        label="Delete policy",
        cancel_url=reverse("policy", args=[urn]),
    )


def losses(policy: Policy) -> list[str]:
    """Return who loses what when a policy goes, in sentences."""
    if policy.state != Policy.State.ACTIVE:
        return ["Nobody loses anything: the policy is not active."]
    found = impact.measured(before=impact.draft_of(policy), after=None)
    lost = [_sentence(found.people, "person", "people", "may no longer do what only this policy lets them do")]
    if found.entities is not None:
        lost.append(_sentence(found.entities, "entity", "entities", "are no longer covered by it"))
    family = families.get(policy.family)
    listed = sorted(family.mentioned(policy.document)[0])
    if listed:
        known = family.vocabulary()
        shown = [info.display if (info := known.get(name)) else name for name in listed[:_NAMED]]
        more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
        lost.append(f"Privileges: {', '.join(shown)}{more}.")
    return lost


def counted(number: int) -> str:
    """Return a count as it is shown: beyond the limit only that it is more."""
    return f"{MOST:,}+" if number > MOST else f"{number:,}"


def seen(version: str | None) -> int | None:
    """Return the version that somebody saw; nothing that is none."""
    return int(version) if version and version.isdecimal() and len(version) < 10 else None


def back(request: HttpRequest, otherwise: str) -> str:
    """Return the address a form asks to go back to, if it is one of this site, or another one."""
    url = request.POST.get("back", "")
    is_ours = url_has_allowed_host_and_scheme(url, allowed_hosts=None) and url.startswith("/")
    return url if is_ours else otherwise


def refusal_of(refusal: Conflict | Forbidden | Invalid | Stale) -> str:
    """Return what a service refused with as one sentence for a toast."""
    if isinstance(refusal, Invalid):
        return " ".join(problem.detail for problem in refusal.problems[:3])
    if isinstance(refusal, Stale):
        return f"{refusal.detail} Nothing was changed; look at it again."
    return refusal.detail


def _sentence(count: Count, one: str, many: str, what: str) -> str:
    sample = f": {', '.join(name or urn for urn, name in count.lost.items())}" if count.lost else ""
    more = " and others" if count.lost and count.now > len(count.lost) else ""
    return f"{counted(count.now)} {one if count.now == 1 else many} {what}{sample}{more}."
