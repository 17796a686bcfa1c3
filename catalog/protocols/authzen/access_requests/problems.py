"""Refusals of the profile as problems (RFC 9457), each with the type that the profile gives it."""

from typing import Any

from django.http import HttpResponse, JsonResponse

from policies.errors import PolicyAppError
from policies.http.api.problem_details import MEDIA_TYPE, refusal_body

_TYPE_PREFIX = "urn:openid:authzen:access-request:error:"


class ProfileRefusal(PolicyAppError):
    """A refusal with a type of the profile, which ends with the code; `members` stand beside the usual ones."""

    title = ""

    def __init__(self, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.members = {"type": f"{_TYPE_PREFIX}{self.code}", "title": self.title, **members}


class NotRequestable(ProfileRefusal):
    """Nobody may ask for what was denied."""

    code, status, title = "not_requestable", 400, "Access is not requestable"


class ExpiredDenial(ProfileRefusal):
    """The time in which access could be requested after the denial is over."""

    code, status, title = "expired_denial", 410, "The denial has expired"


class InvalidDenialBinding(ProfileRefusal):
    """The request does not answer the denial that it names."""

    code, status, title = "invalid_denial_binding", 400, "The request is not bound to the denial"


class DuplicateRequest(ProfileRefusal):
    """The key of a submission, or one of its denials, was used for another one; or the same is asked for already."""

    code, status, title = "duplicate_request", 409, "The request was made before"


class UnknownTask(ProfileRefusal):
    """There is no such task, or not for this caller."""

    code, status, title = "unknown_task", 404, "Unknown task"

    def __init__(self) -> None:
        super().__init__("There is no task under this address.")


class TaskExpired(ProfileRefusal):
    """The handle of the task is no longer valid."""

    code, status, title = "task_expired", 410, "The task has expired"


class InvalidTaskState(ProfileRefusal):
    """The state of the task has moved on."""

    code, status, title = "invalid_task_state", 409, "Not possible in this state"


class CallbackRefused(PolicyAppError):
    """A callback was asked for; there are none."""

    code, status = "callback.refused", 400

    def __init__(self) -> None:
        super().__init__("Nobody is called back from here: leave `callback` out, and ask for the status of the task.")


def render_refusal(error: PolicyAppError) -> HttpResponse:
    """Return a refusal as problem+json."""
    return JsonResponse(refusal_body(error), status=error.status, content_type=MEDIA_TYPE)
