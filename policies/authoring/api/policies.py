"""Policies over the API (api.md 3.1): documents exactly as they were written, their versions, and checks of drafts."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from policies.authoring.queries import policies
from policies.authoring.services import lints
from policies.authoring.services import policies as service
from policies.authoring.services.policies import Draft, Written
from policies.engine import families
from policies.engine.errors import Problem
from policies.errors import Invalid, NotFound
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import described
from policies.http.api.problem_details import places
from policies.http.api.views import DOOR, Door, Paged, page_of, unchanged
from policies.http.guard import needs
from policies.models import Policy, PolicyEvent

manages = needs("MANAGE_POLICIES")

TAG = "policies"
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
    document = strict_fields.Json()


class PolicyDetailOut(PolicyOut):
    """A policy, and in `lints` each field of its document that is unknown here and so keeps it INACTIVE."""

    lints = NoteOut(many=True)


class PolicyReplacedOut(PolicyDetailOut):
    """A policy as it was written, and the version it had before: without If-Match that may not be the one you read."""

    replaced_version = serializers.IntegerField(min_value=1)


class PolicyIn(strict_fields.Strict):
    """A policy to be stored. What stands beside the document must agree with it.

    `lints` and `replaced_version` of an answer are not read.
    """

    urn = strict_fields.Urn(required=False)
    family = strict_fields.Text(max_length=16)
    document = strict_fields.Json()
    name = strict_fields.Text(required=False, max_length=1000)
    description = strict_fields.Text(required=False, allow_blank=True)
    state = serializers.ChoiceField(Policy.State.choices, required=False)
    editable = strict_fields.Flag(required=False)
    version = strict_fields.Whole(required=False, min_value=1)
    lints = strict_fields.Json(required=False)
    replaced_version = strict_fields.Whole(required=False, min_value=1)


class StateIn(strict_fields.Strict):
    """The one thing that can be changed without sending the document."""

    state = serializers.ChoiceField(STATES)


class PolicyFilters(Paged):
    """Which policies to list. `privilege`, `actor` and `resource` are what a document names, exactly."""

    q = strict_fields.Text(
        required=False, allow_blank=True, max_length=255, help_text="Part of the name or description."
    )
    family = serializers.ChoiceField(Policy.Family.choices, required=False)
    type = serializers.ChoiceField(Policy.Type.choices, required=False)
    state = serializers.ChoiceField(Policy.State.choices, required=False)
    privilege = strict_fields.Text(required=False, max_length=255)
    actor = strict_fields.Text(required=False, max_length=512)
    resource = strict_fields.Text(required=False, max_length=1024)


class VersionOut(serializers.Serializer[Any]):
    """One version of a policy, as it was written; `document` is null where the policy was deleted."""

    urn = serializers.CharField()
    family = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    state = serializers.CharField()
    version = serializers.IntegerField(min_value=1)
    document = strict_fields.Json()
    verb = serializers.CharField()
    by = serializers.CharField()
    at = serializers.DateTimeField()
    door = serializers.CharField()
    policy_version = serializers.IntegerField(min_value=1)


class CheckedOut(serializers.Serializer[Any]):
    """What would happen to a draft: it is stored when there are no errors; lints are worth a look."""

    valid = serializers.BooleanField()
    errors = NoteOut(many=True)  # type: ignore[assignment]  # the base has a property of this name
    lints = NoteOut(many=True)


@manages
class Policies(Door):
    """The list of policies."""

    @described("policies_list", "List policies", query=PolicyFilters, answer=page_of(PolicyOut, "Policy"), tag=TAG)
    def get(self, _request: Request) -> Response:
        """Return a page of policies, by URN."""
        asked = self.asked(PolicyFilters)
        filters = {name: value for name, value in asked.items() if name not in ("page", "page_size")}
        return self.page(policies.policies(**filters), lambda rows: PolicyOut(rows, many=True).data, asked)

    @described(
        "policies_create",
        "Store a new policy",
        body=PolicyIn,
        answer=PolicyDetailOut,
        status=201,
        statuses=(409,),
        moves_version=True,
        tag=TAG,
    )
    def post(self, request: Request) -> Response:
        """Store a new policy under the URN sent, or under one made here."""
        sent = strict_fields.checked(PolicyIn, request.data)
        draft = agreeing(sent, version=1)
        return answered(service.create(draft=draft, urn=sent.get("urn"), by=self.actor, door=DOOR), status=201)


@manages
class OnePolicy(Door):
    """One policy."""

    @described("policies_get", "Get a policy", answer=PolicyDetailOut, tag=TAG)
    def get(self, _request: Request, urn: str) -> Response:
        """Return the policy; its version stands in ETag, too."""
        policy = policies.policy(urn=urn)
        return Response(_detail(policy), headers={"ETag": f'"{policy.version}"'})

    @described(
        "policies_replace",
        "Replace a policy",
        body=PolicyIn,
        answer=PolicyReplacedOut,
        is_versioned=True,
        moves_version=True,
        tag=TAG,
    )
    def put(self, request: Request, urn: str) -> Response:
        """Store another document under this URN."""
        sent = strict_fields.checked(PolicyIn, request.data)
        stored = policies.policy(urn=urn)
        draft = agreeing(sent, version=stored.version, urn=urn)
        written = service.update(urn=urn, draft=draft, by=self.actor, door=DOOR, if_version=self.if_version())
        return answered(written)

    @described(
        "policies_set_state",
        "Activate or deactivate a policy",
        body=StateIn,
        answer=PolicyReplacedOut,
        is_versioned=True,
        moves_version=True,
        tag=TAG,
    )
    def patch(self, request: Request, urn: str) -> Response:
        """Change the state, for a DataHub policy in its document."""
        sent = strict_fields.checked(StateIn, request.data)
        written = service.set_state(
            urn=urn, state=sent["state"], by=self.actor, door=DOOR, if_version=self.if_version()
        )
        return answered(written)

    @described("policies_delete", "Delete a policy", status=204, is_versioned=True, moves_version=True, tag=TAG)
    def delete(self, _request: Request, urn: str) -> Response:
        """Delete a policy, unless it belongs to the system."""
        version = service.delete(urn=urn, by=self.actor, door=DOOR, if_version=self.if_version())
        return Response(status=204, headers={"Policy-Version": str(version)})


@manages
class Versions(Door):
    """What a policy has been."""

    @described(
        "policies_versions",
        "List the versions of a policy",
        query=Paged,
        answer=page_of(VersionOut, "Version"),
        tag=TAG,
    )
    def get(self, _request: Request, urn: str) -> Response:
        """Return a page of versions, newest first; also of a policy that is gone."""
        asked = self.asked()
        rows = policies.versions(urn=urn)
        if not rows.exists():
            raise NotFound(f"There is no policy {urn!r}.")
        return self.page(rows, lambda events: [_version(event) for event in events], asked)


@manages
class OneVersion(Door):
    """One version of a policy."""

    @described("policies_version", "Get a version of a policy", answer=VersionOut, tag=TAG)
    def get(self, _request: Request, urn: str, number: str) -> Response:
        """Return the policy as it was written then."""
        event = policies.versions(urn=urn).filter(version=int(number)).first()
        if event is None:
            raise NotFound(f"There is no version {number} of {urn!r}.")
        return Response(_version(event))


@manages
class Restore(Door):
    """Taking up an earlier version again."""

    @described(
        "policies_restore",
        "Store an earlier version again",
        answer=PolicyReplacedOut,
        is_versioned=True,
        moves_version=True,
        tag=TAG,
    )
    def post(self, _request: Request, urn: str, number: str) -> Response:
        """Store what the version says as a new version."""
        return answered(
            service.restore(urn=urn, version=int(number), by=self.actor, door=DOOR, if_version=self.if_version())
        )


@manages
class Validate(Door):
    """Checking a draft."""

    @described("policies_validate", "Check a policy without storing it", body=PolicyIn, answer=CheckedOut, tag=TAG)
    def post(self, request: Request) -> Response:
        """Return every problem and every lint of a draft, in one shape."""
        errors: list[Problem] = []
        found: tuple[Problem, ...] = ()
        try:
            sent = strict_fields.checked(PolicyIn, request.data)
            draft = agreeing(sent, version=None)
            if sent.get("urn") is not None:
                service.checked_urn(sent["urn"])
            found = lints.lints(draft=draft, urn=sent.get("urn"))
        except ValidationError as error:
            errors = list(places(error.detail))
        except Invalid as error:
            errors = list(error.problems)
        return Response({"valid": not errors, "errors": _notes(errors), "lints": _notes(found)})


def agreeing(sent: Mapping[str, Any], *, version: int | None, urn: str | None = None) -> Draft:
    """Return the draft that was sent; raises Invalid with every problem, also of what stands beside the document.

    `version` and `urn` are those the policy has (None: any): sending others means another policy than this one.
    """
    draft = Draft(sent["family"], sent["document"], sent.get("state"), sent.get("description"))
    document = service.checked(draft)
    columns = families.get(draft.family).columns(document)
    facts: dict[str, Any] = {"name": columns["name"], "editable": columns.get("is_editable", True)}
    facts |= {} if version is None else {"version": version}
    facts |= {} if urn is None else {"urn": urn}
    if problems := unchanged(sent, facts):
        raise Invalid(
            [
                Problem(f"{one.pointer[1:]}.disagrees", one.pointer, "This is not what the policy itself says.")
                for one in problems
            ]
        )
    return draft


def answered(written: Written, status: int = 200) -> Response:
    """Answer with a policy that was written, and the version that the write made."""
    headers = {"Policy-Version": str(written.policy_version), "ETag": f'"{written.policy.version}"'}
    replaced = {} if written.replaced_version is None else {"replaced_version": written.replaced_version}
    return Response(_detail(written.policy) | replaced, status=status, headers=headers)


def _detail(policy: Policy) -> dict[str, Any]:
    draft = Draft(policy.family, policy.document)
    return PolicyOut(policy).data | {"lints": _notes(lints.unknown_fields(draft))}


def _version(event: PolicyEvent) -> dict[str, Any]:
    after = event.after or {"document": None, "state": "", "description": ""}
    return {
        "urn": event.policy_urn,
        "family": event.family,
        "name": event.name,
        "description": after["description"],
        "state": after["state"],
        "version": event.version,
        "document": after["document"],
        "verb": event.verb,
        "by": event.by,
        "at": event.at,
        "door": event.door,
        "policy_version": event.policy_version,
    }


def _notes(problems: list[Problem] | tuple[Problem, ...]) -> list[dict[str, str]]:
    return [{"code": one.code, "pointer": one.pointer, "detail": one.detail} for one in problems]
