"""Shapes of the answers (api.md section 1), and the serialization of decisions into them."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from policies.engine import explain, near_misses, openings
from policies.engine.alternatives import sort_narrowest_first
from policies.engine.families.cdap import ResultingGrant
from policies.engine.model import Decision, DecisionCode, MissingPrivilege, Statement
from policies.engine.restrictions import RoleSlice
from policies.pdp import explanations, snapshot_store
from policies.requests.ways.way_shape import WayOut

#: Values of `decision`.
OUTCOMES = ["ALLOW", "DENY"]


@extend_schema_serializer(component_name="MissingOut")
class MissingPrivilegeOut(serializers.Serializer[Any]):
    """A privilege that is lacking, on an entity or (null) on the platform."""

    entity = serializers.CharField(allow_null=True)
    privilege = serializers.CharField()


@extend_schema_serializer(component_name="DecidedByOut")
class DecidingStatementOut(serializers.Serializer[Any]):
    """A statement that decided."""

    policy = serializers.CharField()
    name = serializers.CharField()
    statement = serializers.IntegerField(min_value=0)
    effect = serializers.ChoiceField(["allow", "deny"])


@extend_schema_serializer(component_name="ReasonOut")
class ReasonOut(DecidingStatementOut):
    """A statement that decided."""

    because = serializers.CharField(allow_blank=True)
    ends = serializers.DateTimeField(
        allow_null=True,
        help_text="The earliest end on the way to it: of the policy or grant, or of what leads from it to the actor.",
    )


@extend_schema_serializer(component_name="LackOut")
class FailedConditionOut(serializers.Serializer[Any]):
    """A condition that did not hold, and the privilege with which somebody could change that."""

    part = serializers.ChoiceField([part.value for part in near_misses.ConditionPart])
    detail = serializers.CharField()
    changed_by = MissingPrivilegeOut()
    who = serializers.ListField(
        child=serializers.CharField(),
        help_text="Users, groups and roles that could change that, as policies and grants name them.",
    )


@extend_schema_serializer(component_name="OpensMoreOut")
class OpeningOut(serializers.Serializer[Any]):
    """How much more than the question asks a suggestion would open."""

    privileges = serializers.IntegerField(min_value=0, help_text="Privileges beside those of the question.")
    on = serializers.ChoiceField(
        [extent.value for extent in openings.Extent],
        help_text="The entity of the question, all that the policies cover, or every entity.",
    )
    detail = serializers.CharField()


@extend_schema_serializer(component_name="NearOut")
class NearMatchOut(ReasonOut):
    """A statement that came close to allowing."""

    lacks = FailedConditionOut(many=True)
    opens_more = OpeningOut(
        allow_null=True,
        help_text="Privileges beside the question that would be open if it applied; null if there are none.",
    )


@extend_schema_serializer(component_name="UnknownOut")
class UnknownNameOut(serializers.Serializer[Any]):
    """A name in the question that nothing is known of, and what it may have been meant for."""

    what = serializers.ChoiceField(["privilege", "actor"])
    name = serializers.CharField()
    did_you_mean = serializers.ListField(child=serializers.CharField())


@extend_schema_serializer(component_name="SliceOut")
class RoleSliceOut(serializers.Serializer[Any]):
    """The part of a table that one role shows: these columns of the rows that meet all conditions."""

    role = serializers.CharField(allow_blank=True)
    rows = serializers.ListField(child=serializers.CharField())
    columns = serializers.ListField(child=serializers.CharField(), allow_null=True)
    paths = serializers.ListField(child=serializers.CharField(), required=False)


@extend_schema_serializer(component_name="ResultantOut")
class ResultingGrantOut(serializers.Serializer[Any]):
    """A grant that a create gives."""

    principal = serializers.CharField()
    entity = serializers.CharField()
    privileges = serializers.ListField(child=serializers.CharField())


class DecisionOut(serializers.Serializer[Any]):
    """The answer, and why."""

    decision = serializers.ChoiceField(OUTCOMES)
    policy_version = serializers.IntegerField(min_value=0)
    reasons = ReasonOut(many=True)
    code = serializers.ChoiceField([code.value for code in DecisionCode])
    missing = MissingPrivilegeOut(
        many=True, help_text="Every privilege that is lacking; of alternatives, the shortest list."
    )
    missing_any = serializers.ListField(
        child=MissingPrivilegeOut(many=True), help_text="Every list that would be enough, the narrowest first."
    )
    restrictions = RoleSliceOut(many=True, allow_null=True)
    resultant = ResultingGrantOut(many=True)
    nearest = NearMatchOut(many=True, required=False, help_text="Only with explain.")
    unknown = UnknownNameOut(many=True, required=False, help_text="Only with explain.")
    way = WayOut(
        required=False,
        allow_null=True,
        help_text="Only with explain, of one question: the smallest change that would allow it, null where none would.",
    )


class DecisionsOut(serializers.Serializer[Any]):
    """The answers in the order of the questions; one that could not be asked is {"error": problem}."""

    policy_version = serializers.IntegerField(min_value=0)
    decisions = serializers.ListField(child=serializers.JSONField())


class ActorUrnsOut(serializers.Serializer[Any]):
    """URNs of users, groups and roles, in order."""

    users = serializers.ListField(child=serializers.CharField())
    groups = serializers.ListField(child=serializers.CharField())
    roles = serializers.ListField(child=serializers.CharField())


@extend_schema_serializer(component_name="HoldersOut")
class AllowedActorsOut(ActorUrnsOut):
    """The actors that may use the privilege; with a resource, groups and roles whose active members all may."""

    all_users = serializers.BooleanField()
    all_groups = serializers.BooleanField()
    conditional = serializers.BooleanField(
        help_text="Whether further people may, if their properties or those of the action fit a policy, or whether it "
        "depends on the owners of an entity that the question does not name. False where the question names an entity."
    )
    is_complete = serializers.BooleanField(
        help_text="Whether all are listed: where members of a group or role differ, users are named, up to 10,000."
    )
    policy_version = serializers.IntegerField(min_value=0)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return the fields, with `except`, which is no name of a class attribute in Python."""
        exceptions = ActorUrnsOut(help_text="The people that a deny or an exclusion takes out of these.")
        return {**super().get_fields(), "except": exceptions}


@extend_schema_serializer(component_name="GrantedOut")
class AllowedPrivilegesOut(serializers.Serializer[Any]):
    """Names of privileges, in order."""

    privileges = serializers.ListField(child=serializers.CharField())
    policy_version = serializers.IntegerField(min_value=0)


def serialize_decision(
    decision: Decision, reasons: Iterable[explain.Reason] | None = None, resulting_grants: Sequence[ResultingGrant] = ()
) -> dict[str, Any]:
    """Return a decision as it is sent; without `reasons` each deciding statement has an empty `because`.

    `resulting_grants` are the grants that the operation creates; they are sent only when it is allowed.
    """
    is_allowed, code, version, slices, missing, _, bits, grants, missing_any = decision
    missing_body = serialize_missing(missing) if missing else []
    if not missing_any:
        missing_any_body = []
    elif len(missing_any) == 1 and missing_any[0] is missing:
        missing_any_body = [missing_body]
    else:
        missing_any_body = [serialize_missing(item) for item in sort_narrowest_first(missing_any)]
    if reasons is not None:
        reason_bodies = [_serialize_reason(item) for item in reasons]
    else:
        reason_bodies = [_serialize_statement(item) for item in decision.statements] if bits or grants else []
    return {
        "decision": "ALLOW" if is_allowed else "DENY",
        "policy_version": version or snapshot_store.get_current().version,
        "reasons": reason_bodies,
        "code": str(code),
        "missing": missing_body,
        "missing_any": missing_any_body,
        "restrictions": None if slices is None else _serialize_slices(slices),
        "resultant": serialize_grants(resulting_grants) if is_allowed and resulting_grants else [],
    }


def serialize_missing(missing: Iterable[MissingPrivilege]) -> list[dict[str, Any]]:
    """Return missing privileges as they are sent."""
    return [{"entity": entity, "privilege": privilege} for entity, privilege in missing]


def _serialize_missing_privilege(missing_privilege: MissingPrivilege) -> dict[str, Any]:
    (body,) = serialize_missing((missing_privilege,))
    return body


def serialize_grants(resulting_grants: Iterable[ResultingGrant]) -> list[dict[str, Any]]:
    """Return the grants that a create operation gives, as they are sent."""
    return [
        {"principal": grant.principal, "entity": grant.entity, "privileges": list(grant.privileges)}
        for grant in resulting_grants
    ]


def serialize_explanation(
    explanation: explanations.Explanation, resulting_grants: Sequence[ResultingGrant] = ()
) -> dict[str, Any]:
    """Return an explained decision as it is sent: with worded reasons, near matches, and unknown names."""
    return {
        **serialize_decision(explanation.decision, explanation.reasons, resulting_grants),
        "nearest": [
            {
                **_serialize_reason(near_match),
                "lacks": [
                    {
                        "part": failed_condition.part.value,
                        "detail": failed_condition.sentence,
                        "changed_by": _serialize_missing_privilege(failed_condition.remedy),
                        "who": [urn for urn, _ in failed_condition.remedy_actors],
                    }
                    for failed_condition in near_match.failed_conditions
                ],
                "opens_more": _serialize_opening(near_match.opening),
            }
            for near_match in explanation.near_misses
        ],
        "unknown": [
            {"what": hint.field_name, "name": hint.name, "did_you_mean": list(hint.suggestions)}
            for hint in explanation.hints
        ],
    }


def _serialize_opening(opening: openings.Opening | None) -> dict[str, Any] | None:
    if not opening:
        return None
    return {"privileges": opening.privilege_count, "on": opening.extent.value, "detail": opening.sentence}


def _serialize_reason(reason: explain.Reason | near_misses.NearMatch) -> dict[str, Any]:
    return _build_reason(reason.policy, reason.name, reason.statement, reason.effect, reason.explanation, reason.ends)


def _serialize_statement(statement: Statement) -> dict[str, Any]:
    """Return a deciding statement as a reason without explanation."""
    origin = statement.origin
    # `str` and not `value`, which is a property that takes as long as the rest.
    return _build_reason(origin.policy, origin.name, origin.index, str(statement.effect), "", statement.ends)


def _build_reason(
    policy: str, name: str, statement: int, effect: str, because: str, ends: datetime | None
) -> dict[str, Any]:
    return {
        "policy": policy,
        "name": name,
        "statement": statement,
        "effect": effect,
        "because": because,
        "ends": None if ends is None else ends.isoformat().replace("+00:00", "Z"),
    }


def _serialize_slices(slices: Iterable[RoleSlice]) -> list[dict[str, Any]]:
    return [
        {
            "role": role_slice.role,
            "rows": list(role_slice.rows),
            "columns": None if role_slice.columns is None else list(role_slice.columns),
            **({} if role_slice.paths is None else {"paths": list(role_slice.paths)}),
        }
        for role_slice in slices
    ]
