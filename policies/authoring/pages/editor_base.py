"""Base of the editors of all families: loading the policy or a copy, storing the draft, and reporting refusals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from policies.authoring.pages import presenters
from policies.authoring.pages.policy_actions import parse_version
from policies.authoring.queries import policies
from policies.authoring.services import policies as service
from policies.authoring.services.policies import PolicyInput
from policies.errors import Conflict, Forbidden, NotFound, Stale
from policies.http.guard import get_actor
from policies.http.pages import list_and_form_pages
from policies.models import Policy


@dataclass(slots=True, kw_only=True)
class EditorRequest:
    """One request of an editor: the policy to be replaced (None: a new one), and the result of trying to save.

    `version` is the one that the edit started from. `refusal` is a sentence where storing was refused as a whole.
    """

    request: HttpRequest
    urn: str | None = None
    policy: Policy | None = None
    version: int | None = None
    refusal: str = ""
    status: int = 200

    def take_over(self) -> None:
        """Set `version` to the newest version that the page showed, so that saving replaces it."""
        self.version = parse_version(self.request.POST.get("newest"))

    def save(self, draft: PolicyInput) -> HttpResponse | None:
        """Store a draft and redirect to its page; None where it was refused, with `refusal` and `status` set.

        Raises Invalid with every problem, and Forbidden naming the privilege that is missing.
        """
        by = get_actor(self.request)
        try:
            if self.urn is None:
                result = service.create(draft=draft, by=by, channel=list_and_form_pages.CHANNEL)
            else:
                result = service.update(
                    urn=self.urn, draft=draft, by=by, channel=list_and_form_pages.CHANNEL, if_version=self.version
                )
        except (Conflict, Forbidden) as refusal:
            if isinstance(refusal, Forbidden) and refusal.missing:
                raise
            self.refusal, self.status = refusal.detail, refusal.status
        except (Stale, NotFound) as refusal:
            self.status = refusal.status
        else:
            text = "Saved. Decisions follow it from now on."
            messages.success(self.request, text)
            return redirect("policy", result.policy.urn)
        return None


def open_policy(*, urn: str, family: str) -> Policy:
    """Return the policy to edit; raises NotFound, also for another family, and Forbidden if it is not editable."""
    policy = policies.get_policy(urn=urn)
    _require_family(policy.family, policy.name, expected_family=family)
    if not policy.is_editable:
        raise Forbidden((), f"{policy.name} cannot be changed.")
    return policy


def load_copy(request: HttpRequest, *, family: str) -> tuple[Mapping[str, Any], str] | None:
    """Return document and description of a copy of the policy (or a version of it) that the query names in `like`.

    None without `like`. Raises NotFound, also for a policy of another family.
    """
    source_urn, number = request.GET.get("like", ""), parse_version(request.GET.get("version"))
    if not source_urn:
        return None
    if number is None:
        policy = policies.get_policy(urn=source_urn)
        _require_family(policy.family, policy.name, expected_family=family)
        return presenters.get_presenter(family).copy_document(policy.document), policy.description
    event = policies.list_versions(urn=source_urn).filter(version=number, after__isnull=False).first()
    if event is None:
        raise NotFound(f"There is no version {number} of {source_urn!r}.")
    _require_family(event.family, event.name, expected_family=family)
    return presenters.get_presenter(family).copy_document(event.after["document"]), event.after["description"]


def _require_family(family: str, name: str, *, expected_family: str) -> None:
    """Raise NotFound for a policy of another family than this editor's."""
    if family != expected_family:
        raise NotFound(f"{name} is not written here.")
