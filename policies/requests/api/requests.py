"""Requests for access in the API (contract-requests.md section 2)."""

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers
from rest_framework.response import Response

from policies.engine.errors import InvalidPolicy
from policies.engine.families.document_reader import DocumentReader
from policies.engine.families.validity import parse_instant
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.operations import api_operation
from policies.http.api.views import CHANNEL, ApiView, PageParameters, build_page_serializer
from policies.http.guard import signed_in
from policies.models import SubmittedRequest
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.request import MAX_NOTE_LENGTH, RequestState
from policies.requests.asked import read_asked
from policies.requests.errors import RequestInvalid
from policies.requests.items import MAX_ITEMS
from policies.requests.plan import make_plan
from policies.requests.presenting import present_plan, present_requests
from policies.requests.queries import requests
from policies.requests.reading import get_request
from policies.requests.services import asking, deciding, own_requests

TAG = "requests"


class RequestStepOut(serializers.Serializer[Any]):
    """A step: its approvers are URNs as the rule names them, not expanded; `needs` is a number or `all`."""

    name = serializers.CharField()
    approvers = serializers.ListField(child=serializers.CharField())
    needs = strict_fields.AnyJson()
    due = serializers.CharField(allow_null=True)
    state = serializers.CharField()
    decisions = strict_fields.AnyJson()


class AccessRequestOut(serializers.Serializer[Any]):
    """A request: `items` are as they were sent, each with its state and its ways; `version` stands in ETag, too."""

    urn = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(RequestState.choices)
    actor = serializers.CharField()
    by = serializers.CharField()
    items = strict_fields.AnyJson()
    until = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    ticket = serializers.CharField(allow_null=True)
    confirmed = serializers.ListField(child=serializers.CharField())
    rule = serializers.CharField(allow_null=True)
    steps = RequestStepOut(many=True)
    trail = strict_fields.AnyJson()
    created = serializers.CharField(allow_null=True)
    version = serializers.IntegerField(min_value=0)
    renews = serializers.CharField(allow_null=True)
    missing = serializers.ListField(child=serializers.CharField(), required=False)

    def to_representation(self, instance: dict[str, Any]) -> dict[str, Any]:
        """Return what was presented."""
        return instance


class AccessRequestIn(strict_fields.StrictSerializer):
    """The request that is asked for; the room of requests reads every member with its problems."""

    actor = strict_fields.AnyJson(required=False, allow_null=True)
    items = strict_fields.AnyJson(required=False, allow_null=True)
    until = strict_fields.AnyJson(required=False, allow_null=True)
    reason = strict_fields.AnyJson(required=False, allow_null=True)
    ticket = strict_fields.AnyJson(required=False, allow_null=True)
    confirmed = strict_fields.AnyJson(required=False, allow_null=True)
    way = strict_fields.AnyJson(required=False, allow_null=True)


#: Values of a flag in a query string.
_FLAGS = ("true", "false")
_NOTE = {"max_length": MAX_NOTE_LENGTH}


class ApprovalIn(strict_fields.StrictSerializer):
    """An agreement: another way (one id, or one for each item), a shorter end, and which items."""

    way = strict_fields.AnyJson(required=False, allow_null=True)
    until = strict_fields.AnyJson(required=False, allow_null=True)
    note = strict_fields.StrictString(required=False, allow_blank=True, **_NOTE)
    items = serializers.ListField(
        child=strict_fields.StrictInteger(min_value=0, max_value=MAX_ITEMS - 1), required=False, min_length=1
    )


class DenialIn(strict_fields.StrictSerializer):
    """A denial with its reason."""

    note = strict_fields.StrictString(**_NOTE)
    items = serializers.ListField(
        child=strict_fields.StrictInteger(min_value=0, max_value=MAX_ITEMS - 1), required=False, min_length=1
    )


class WithdrawalIn(strict_fields.StrictSerializer):
    """A withdrawal, with a note if there is one."""

    note = strict_fields.StrictString(required=False, allow_blank=True, **_NOTE)


class CommentIn(strict_fields.StrictSerializer):
    """A comment."""

    text = strict_fields.StrictString(**_NOTE)


class HandOverIn(strict_fields.StrictSerializer):
    """Those who decide in place of the caller."""

    to = serializers.ListField(
        child=strict_fields.StrictUrn(prefixes=(USER_PREFIX, GROUP_PREFIX)), min_length=1, max_length=20
    )
    note = strict_fields.StrictString(**_NOTE)


class RenewalIn(strict_fields.StrictSerializer):
    """A later end, and why."""

    until = strict_fields.AnyJson(required=False, allow_null=True)
    reason = strict_fields.StrictString(**_NOTE)


class AccessRequestFilters(PageParameters):
    """Filters of the list of requests."""

    mine = serializers.ChoiceField(_FLAGS, required=False, help_text="Asked for by the caller, or for it.")
    to_decide = serializers.ChoiceField(
        _FLAGS, required=False, help_text="Waiting for the caller, by the time they are due."
    )
    state = serializers.ChoiceField(RequestState.choices, required=False)
    actor = strict_fields.StrictUrn(required=False)
    entity = strict_fields.StrictUrn(required=False)
    rule = strict_fields.StrictUrn(required=False)


@signed_in
class AccessRequestListView(ApiView):
    """The list of requests."""

    @openapi_operation(
        "requests_list",
        "List requests for access",
        query=AccessRequestFilters,
        answer=build_page_serializer(AccessRequestOut, "SubmittedRequest"),
        tag=TAG,
    )
    def get(self, _request: Any) -> Response:
        """Return a page of the requests that the caller may read, the newest first."""
        parameters = self.parse_query(AccessRequestFilters)
        filters = {name: value for name, value in parameters.items() if name not in ("page", "page_size")}
        filters |= {name: filters[name] == "true" for name in ("mine", "to_decide") if name in filters}
        rows = requests.list_requests(by=self.actor, **filters)
        return self.paginate(rows, self._present_rows, parameters)

    @api_operation(
        "requests_ask",
        "Ask for access",
        body=AccessRequestIn,
        answer=AccessRequestOut,
        status=201,
        statuses=(403, 409),
        tag=TAG,
    )
    def post(self, payload: dict[str, Any]) -> Response:
        """Store a request with its steps; what a rule approves by itself is done in the answer."""
        request = asking.ask(asked_body=read_asked(payload), by=self.actor, channel=CHANNEL)
        return _respond(requests.get_request(urn=request.urn, by=self.actor), self, status=201)

    def _present_rows(self, rows: Iterable[SubmittedRequest]) -> Iterable[Any]:
        return present_requests(rows, reader=self.actor)


@signed_in
class AccessRequestPreviewView(ApiView):
    """The request that would be made."""

    @api_operation(
        "requests_preview",
        "Show what a request would be",
        body=AccessRequestIn,
        answer=AccessRequestOut,
        statuses=(403, 409),
        tag=TAG,
    )
    def post(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return all ways of each item and the steps that would decide; `missing` is what the form still lacks."""
        return present_plan(make_plan(read_asked(payload), by=self.actor, is_preview=True))


@signed_in
class AccessRequestDetailView(ApiView):
    """One request."""

    @api_operation("requests_get", "Get a request", answer=AccessRequestOut, tag=TAG)
    def get(self, urn: str) -> Response:
        """Return a request that the caller may read; its version stands in ETag, too."""
        return _respond(get_request(urn=urn, by=self.actor), self)


@signed_in
class RequestApproveView(ApiView):
    """Agreement."""

    @api_operation(
        "requests_approve",
        "Approve a request",
        body=ApprovalIn,
        answer=AccessRequestOut,
        statuses=(403, 409),
        is_versioned=True,
        tag=TAG,
    )
    def post(self, payload: dict[str, Any], urn: str) -> Response:
        """Agree to what the caller may decide; the last agreement writes it in the same transaction."""
        reader = DocumentReader()
        way = payload.get("way")
        names = way if isinstance(way, list) else [] if way is None else [way]
        ways = [reader.read_text(name, f"/way/{index}") for index, name in enumerate(names)]
        until = _read_instant(reader, payload.get("until"))
        _raise_problems(reader)
        request = deciding.approve(
            urn=urn,
            by=self.actor,
            channel=CHANNEL,
            ways=ways,
            until=until,
            note=payload.get("note", ""),
            positions=payload.get("items"),
            if_version=self.parse_if_match(),
        )
        return _respond(request, self)


@signed_in
class RequestDenyView(ApiView):
    """Denial."""

    @api_operation(
        "requests_deny",
        "Deny a request",
        body=DenialIn,
        answer=AccessRequestOut,
        statuses=(403, 409),
        is_versioned=True,
        tag=TAG,
    )
    def post(self, payload: dict[str, Any], urn: str) -> Response:
        """Deny what the caller may decide, with the reason that the asker reads."""
        request = deciding.deny(
            urn=urn,
            by=self.actor,
            note=payload["note"],
            positions=payload.get("items"),
            channel=CHANNEL,
            if_version=self.parse_if_match(),
        )
        return _respond(request, self)


@signed_in
class RequestWithdrawView(ApiView):
    """Withdrawal."""

    @api_operation(
        "requests_withdraw",
        "Withdraw a request",
        body=WithdrawalIn,
        answer=AccessRequestOut,
        statuses=(403, 409),
        is_versioned=True,
        tag=TAG,
    )
    def post(self, payload: dict[str, Any], urn: str) -> Response:
        """Withdraw what is not decided yet."""
        request = own_requests.withdraw(
            urn=urn, by=self.actor, channel=CHANNEL, note=payload.get("note", ""), if_version=self.parse_if_match()
        )
        return _respond(request, self)


@signed_in
class RequestCommentView(ApiView):
    """Comments."""

    @api_operation("requests_comment", "Comment on a request", body=CommentIn, answer=AccessRequestOut, tag=TAG)
    def post(self, payload: dict[str, Any], urn: str) -> Response:
        """Add a comment to the trail."""
        return _respond(own_requests.comment(urn=urn, by=self.actor, text=payload["text"]), self)


@signed_in
class RequestHandOverView(ApiView):
    """Handing over."""

    @api_operation(
        "requests_hand_over",
        "Hand the decision over",
        body=HandOverIn,
        answer=AccessRequestOut,
        statuses=(403, 409),
        is_versioned=True,
        tag=TAG,
    )
    def post(self, payload: dict[str, Any], urn: str) -> Response:
        """Give the caller's seat to others, who are neither asker nor actor."""
        request = deciding.hand_over(
            urn=urn, by=self.actor, to=payload["to"], note=payload["note"], if_version=self.parse_if_match()
        )
        return _respond(request, self)


@signed_in
class RequestRenewView(ApiView):
    """Renewal."""

    @api_operation(
        "requests_renew",
        "Ask for more time",
        body=RenewalIn,
        answer=AccessRequestOut,
        status=201,
        statuses=(403, 409),
        tag=TAG,
    )
    def post(self, payload: dict[str, Any], urn: str) -> Response:
        """Make a request with the same items and rule that moves the end once it is approved."""
        reader = DocumentReader()
        until = _read_instant(reader, payload.get("until"))
        _raise_problems(reader)
        request = own_requests.renew(urn=urn, by=self.actor, until=until, reason=payload["reason"])
        return _respond(request, self, status=201)


def _read_instant(reader: DocumentReader, value: Any) -> Any:
    try:
        return None if value is None else parse_instant(value)
    except ValueError as error:
        reader.note("type.time", "/until", str(error))
        return None


def _raise_problems(reader: DocumentReader) -> None:
    try:
        reader.raise_problems()
    except InvalidPolicy as error:
        raise RequestInvalid(error.problems) from None


def _respond(request: SubmittedRequest, view: ApiView, status: int = 200) -> Response:
    (body,) = present_requests([request], reader=view.actor)
    return Response(body, status=status, headers={"ETag": f'"{request.version}"'})
