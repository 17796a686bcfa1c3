"""Policies in the API (api.md 3.1): documents exactly as they were written, versions, and validation of drafts."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from policies.authoring.queries import policies
from policies.authoring.services import lints, policy_drafts
from policies.authoring.services import policies as service
from policies.authoring.services.policies import PolicyWriteResult
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine import families
from policies.engine.errors import Problem
from policies.errors import Invalid, NotFound
from policies.http.api import strict_fields
from policies.http.api.managed_fields import KeptMark, ManagedOut
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.problem_details import iterate_problems
from policies.http.api.views import CHANNEL, ApiView, PageParameters, find_read_only_changes
from policies.http.guard import needs
from policies.models import Policy, PolicyEffect, PolicyEvent

require_manage_policies = needs("MANAGE_POLICIES")

TAG = "policies"
_INSTANT_HELP = (
    "ISO 8601 with an offset, milliseconds since 1970, or null. For a family whose document says it, it must agree."
)
STATES = (Policy.State.ACTIVE.value, Policy.State.INACTIVE.value)


class NoteOut(serializers.Serializer[Any]):
    """A problem or a lint, with its place in the document."""

    code = serializers.CharField()
    pointer = serializers.CharField(allow_blank=True)
    detail = serializers.CharField()


class PolicyOut(serializers.Serializer[Any]):
    """A policy; `document` is its family's own published JSON."""

    urn = serializers.CharField()
    family = serializers.ChoiceField(Policy.Family.choices)
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(Policy.State.choices)
    editable = serializers.BooleanField(source="is_editable")
    version = serializers.IntegerField(min_value=1)
    valid_from = serializers.DateTimeField(allow_null=True, help_text="Before it, the policy counts as INACTIVE.")
    valid_until = serializers.DateTimeField(allow_null=True, help_text="From it on, the policy counts as INACTIVE.")
    managed = ManagedOut(allow_null=True)
    document = strict_fields.AnyJson()


class PolicyDetailOut(PolicyOut):
    """A policy, and in `lints` each field of its document that is unknown here and so keeps it INACTIVE."""

    lints = NoteOut(many=True)


class PolicyReplacedOut(PolicyDetailOut):
    """A policy as it was written, and the version it had before: without If-Match that may not be the one you read."""

    replaced_version = serializers.IntegerField(min_value=1)


class PolicyIn(strict_fields.StrictSerializer):
    """A policy to be stored. Members beside the document must agree with it.

    `lints`, `managed` and `replaced_version` of an answer are not read.
    """

    urn = strict_fields.StrictUrn(required=False)
    family = strict_fields.StrictString(max_length=16)
    document = strict_fields.AnyJson()
    name = strict_fields.StrictString(required=False, max_length=1000)
    description = strict_fields.StrictString(required=False, allow_blank=True)
    state = serializers.ChoiceField(Policy.State.choices, required=False)
    editable = strict_fields.StrictBoolean(required=False)
    version = strict_fields.StrictInteger(required=False, min_value=1)
    valid_from = strict_fields.AnyJson(required=False, allow_null=True, help_text=_INSTANT_HELP)
    valid_until = strict_fields.AnyJson(required=False, allow_null=True, help_text=_INSTANT_HELP)
    lints = strict_fields.AnyJson(required=False)
    replaced_version = strict_fields.StrictInteger(required=False, min_value=1)
    managed = KeptMark()


class StateIn(strict_fields.StrictSerializer):
    """The one thing that can be changed without sending the document."""

    state = serializers.ChoiceField(STATES)


class PolicyListFilters(PageParameters):
    """Filters of the list of policies: `privilege`, `actor`, `excluded` and `resource` equal a term of the document."""

    q = strict_fields.StrictString(
        required=False, allow_blank=True, max_length=255, help_text="Part of the name or description."
    )
    family = serializers.ChoiceField(Policy.Family.choices, required=False)
    type = serializers.ChoiceField(Policy.Type.choices, required=False)
    state = serializers.ChoiceField(Policy.State.choices, required=False)
    effect = serializers.ChoiceField(
        PolicyEffect.choices, required=False, help_text="Policies that have this effect; some of Datazone have both."
    )
    privilege = strict_fields.StrictString(required=False, max_length=255)
    actor = strict_fields.StrictString(
        required=False,
        max_length=512,
        help_text="Policies that name this user, group or role and reach it.",
    )
    excluded = strict_fields.StrictString(
        required=False,
        max_length=512,
        help_text="Policies that name this user, group or role and except it.",
    )
    resource = strict_fields.StrictString(required=False, max_length=1024)


class VersionOut(serializers.Serializer[Any]):
    """One version of a policy, as it was written; `document` is null where the policy was deleted."""

    urn = serializers.CharField()
    family = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    state = serializers.CharField()
    version = serializers.IntegerField(min_value=1)
    document = strict_fields.AnyJson()
    verb = serializers.CharField()
    by = serializers.CharField()
    at = serializers.DateTimeField()
    door = serializers.CharField()
    policy_version = serializers.IntegerField(min_value=1)


@extend_schema_serializer(component_name="CheckedOut")
class PolicyValidationOut(serializers.Serializer[Any]):
    """The validation of a draft: it can be stored when there are no errors; lints are advice."""

    valid = serializers.BooleanField()
    errors = NoteOut(many=True)  # type: ignore[assignment]  # the base has a property of this name
    lints = NoteOut(many=True)


#: Description of a write to a stored policy.
replacing_operation = partial(api_operation, answer=PolicyReplacedOut, is_versioned=True, moves_version=True, tag=TAG)


@require_manage_policies
class PolicyListView(ApiView):
    """The list of policies."""

    @list_operation("policies_list", "List policies", PolicyOut, "Policy", query=PolicyListFilters, tag=TAG)
    def get(self, **filters: str) -> QuerySet[Policy]:
        """Return a page of policies, by URN."""
        return policies.list_policies(**filters)

    @api_operation(
        "policies_create",
        "Store a new policy",
        body=PolicyIn,
        answer=PolicyDetailOut,
        status=201,
        statuses=(409,),
        moves_version=True,
        tag=TAG,
    )
    def post(self, payload: dict[str, Any]) -> Response:
        """Store a new policy under the URN sent, or under one made here."""
        draft = parse_draft(payload, version=1)
        return respond_with_policy(
            service.create(draft=draft, urn=payload.get("urn"), by=self.actor, channel=CHANNEL), status=201
        )


@require_manage_policies
class PolicyDetailView(ApiView):
    """One policy."""

    @api_operation("policies_get", "Get a policy", answer=PolicyDetailOut, tag=TAG)
    def get(self, urn: str) -> Response:
        """Return the policy; its version stands in ETag, too."""
        policy = policies.get_policy(urn=urn)
        return Response(_serialize_detail(policy), headers={"ETag": f'"{policy.version}"'})

    @replacing_operation("policies_replace", "Replace a policy", body=PolicyIn)
    def put(self, payload: dict[str, Any], urn: str) -> Response:
        """Store another document under this URN."""
        policy = policies.get_policy(urn=urn)
        draft = parse_draft(payload, version=policy.version, urn=urn)
        return respond_with_policy(
            service.update(urn=urn, draft=draft, by=self.actor, channel=CHANNEL, if_version=self.parse_if_match())
        )

    @replacing_operation("policies_set_state", "Activate or deactivate a policy", body=StateIn)
    def patch(self, payload: dict[str, Any], urn: str) -> Response:
        """Change the state, for a DataHub policy in its document."""
        return respond_with_policy(
            service.set_state(
                urn=urn, state=payload["state"], by=self.actor, channel=CHANNEL, if_version=self.parse_if_match()
            )
        )

    @api_operation("policies_delete", "Delete a policy", is_versioned=True, moves_version=True, tag=TAG)
    def delete(self, urn: str) -> Response:
        """Delete a policy, unless it belongs to the system."""
        version = service.delete(urn=urn, by=self.actor, channel=CHANNEL, if_version=self.parse_if_match())
        return Response(status=204, headers={"Policy-Version": str(version)})


@require_manage_policies
class PolicyVersionListView(ApiView):
    """The versions of a policy."""

    @list_operation("policies_versions", "List the versions of a policy", VersionOut, "Version", tag=TAG)
    def get(self, urn: str) -> QuerySet[PolicyEvent]:
        """Return a page of versions, newest first; also of a policy that is gone."""
        rows = policies.list_versions(urn=urn)
        if not rows.exists():
            raise NotFound(f"There is no policy {urn!r}.")
        return rows

    def prepare_rows(self, rows: Sequence[PolicyEvent]) -> list[dict[str, Any]]:
        """Return the versions with what their events hold of the policy."""
        return [_flatten_version(event) for event in rows]


@require_manage_policies
class PolicyVersionDetailView(ApiView):
    """One version of a policy."""

    @api_operation("policies_version", "Get a version of a policy", answer=VersionOut, tag=TAG)
    def get(self, urn: str, number: str) -> dict[str, Any]:
        """Return the policy as it was written then."""
        event = policies.list_versions(urn=urn).filter(version=int(number)).first()
        if event is None:
            raise NotFound(f"There is no version {number} of {urn!r}.")
        return _flatten_version(event)


@require_manage_policies
class PolicyRestoreView(ApiView):
    """Restoring an earlier version."""

    @replacing_operation("policies_restore", "Store an earlier version again")
    def post(self, urn: str, number: str) -> Response:
        """Store what the version says as a new version."""
        return respond_with_policy(
            service.restore(
                urn=urn, version=int(number), by=self.actor, channel=CHANNEL, if_version=self.parse_if_match()
            )
        )


@require_manage_policies
class PolicyValidateView(ApiView):
    """Validation of a draft."""

    @openapi_operation(
        "policies_validate", "Check a policy without storing it", body=PolicyIn, answer=PolicyValidationOut, tag=TAG
    )
    def post(self, request: Request) -> Response:
        """Return every problem and every lint of a draft, in one shape."""
        errors: list[Problem] = []
        lint_problems: tuple[Problem, ...] = ()
        try:
            payload = strict_fields.validate(PolicyIn, request.data)
            draft = parse_draft(payload, version=None)
            if payload.get("urn") is not None:
                service.validate_urn(payload["urn"])
            lint_problems = lints.find_lints(draft=draft, urn=payload.get("urn"))
        except ValidationError as error:
            errors = list(iterate_problems(error.detail))
        except Invalid as error:
            errors = list(error.problems)
        return Response(PolicyValidationOut({"valid": not errors, "errors": errors, "lints": lint_problems}).data)


def parse_draft(payload: Mapping[str, Any], *, version: int | None, urn: str | None = None) -> PolicyInput:
    """Return the draft that was sent; raises Invalid with every problem, also of the fields beside the document.

    `version` and `urn` are those of the stored policy (None: any); other values in `payload` are a problem.
    """
    draft = PolicyInput(payload["family"], payload["document"], payload.get("state"), payload.get("description"))
    draft, document = policy_drafts.validate_draft_with_times(
        draft, begins=payload.get("valid_from"), ends=payload.get("valid_until")
    )
    columns = families.get(draft.family).column_values(document)
    policy_values: dict[str, Any] = {"name": columns["name"], "editable": columns.get("is_editable", True)}
    policy_values |= {} if version is None else {"version": version}
    policy_values |= {} if urn is None else {"urn": urn}
    if problems := find_read_only_changes(payload, policy_values):
        raise Invalid(
            [
                Problem(f"{problem.pointer[1:]}.disagrees", problem.pointer, "This is not what the policy itself says.")
                for problem in problems
            ]
        )
    return draft


def respond_with_policy(result: PolicyWriteResult, status: int = 200) -> Response:
    """Return the response to a write: the stored policy, and the version of all policies in `Policy-Version`."""
    headers = {"Policy-Version": str(result.policy_version), "ETag": f'"{result.policy.version}"'}
    replaced_fields = {} if result.replaced_version is None else {"replaced_version": result.replaced_version}
    return Response(_serialize_detail(result.policy) | replaced_fields, status=status, headers=headers)


def _serialize_detail(policy: Policy) -> dict[str, Any]:
    unknown_fields = lints.unknown_fields(PolicyInput(policy.family, policy.document))
    return PolicyOut(policy).data | {"lints": NoteOut(unknown_fields, many=True).data}


def _flatten_version(event: PolicyEvent) -> dict[str, Any]:
    """Return a version as one object: its event, and what that holds of the policy."""
    after = event.after or {"document": None, "state": "", "description": ""}
    columns = {name: getattr(event, name) for name in ("family", "name", "version", "verb", "by", "at", "door")}
    return {"urn": event.policy_urn, **columns, **after, "policy_version": event.policy_version}
