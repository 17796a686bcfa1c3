"""Answers as they are sent (api.md section 1): the shapes, and how a decision becomes one."""

from collections.abc import Iterable, Sequence
from typing import Any

from rest_framework import serializers

from policies.engine import explain
from policies.engine.alternatives import sort_narrowest_first
from policies.engine.families.cdap import Resultant
from policies.engine.model import Code, Decision, Missing
from policies.pdp import explanations, snapshot_store

#: What a decision says.
OUTCOMES = ["ALLOW", "DENY"]


class MissingOut(serializers.Serializer[Any]):
    """A privilege that is lacking, on an entity or (null) on the platform."""

    entity = serializers.CharField(allow_null=True)
    privilege = serializers.CharField()


class ReasonOut(serializers.Serializer[Any]):
    """A statement that decided."""

    policy = serializers.CharField()
    name = serializers.CharField()
    statement = serializers.IntegerField(min_value=0)
    effect = serializers.ChoiceField(["allow", "deny"])
    because = serializers.CharField(allow_blank=True)


class LackOut(serializers.Serializer[Any]):
    """A condition that did not hold, and the privilege with which somebody could change that."""

    part = serializers.ChoiceField([part.value for part in explain.Part])
    detail = serializers.CharField()
    changed_by = MissingOut()
    who = serializers.ListField(
        child=serializers.CharField(),
        help_text="Users, groups and roles that could change that, as policies and grants name them.",
    )


class NearOut(ReasonOut):
    """A statement that came close to allowing."""

    lacks = LackOut(many=True)


class UnknownOut(serializers.Serializer[Any]):
    """A name in the question that nothing is known of, and what it may have been meant for."""

    what = serializers.ChoiceField(["privilege", "actor"])
    name = serializers.CharField()
    did_you_mean = serializers.ListField(child=serializers.CharField())


class SliceOut(serializers.Serializer[Any]):
    """What one role lets its holder see: these columns of the rows that meet all conditions."""

    role = serializers.CharField(allow_blank=True)
    rows = serializers.ListField(child=serializers.CharField())
    columns = serializers.ListField(child=serializers.CharField(), allow_null=True)
    paths = serializers.ListField(child=serializers.CharField(), required=False)


class ResultantOut(serializers.Serializer[Any]):
    """A grant that a create gives."""

    principal = serializers.CharField()
    entity = serializers.CharField()
    privileges = serializers.ListField(child=serializers.CharField())


class DecisionOut(serializers.Serializer[Any]):
    """The answer, and why."""

    decision = serializers.ChoiceField(OUTCOMES)
    policy_version = serializers.IntegerField(min_value=0)
    reasons = ReasonOut(many=True)
    code = serializers.ChoiceField([code.value for code in Code])
    missing = MissingOut(many=True, help_text="Every privilege that is lacking; of alternatives, the shortest list.")
    missing_any = serializers.ListField(
        child=MissingOut(many=True), help_text="Every list that would be enough, the narrowest first."
    )
    restrictions = SliceOut(many=True, allow_null=True)
    resultant = ResultantOut(many=True)
    nearest = NearOut(many=True, required=False, help_text="Only with explain.")
    unknown = UnknownOut(many=True, required=False, help_text="Only with explain.")


class DecisionsOut(serializers.Serializer[Any]):
    """The answers in the order of the questions; one that could not be asked is {"error": problem}."""

    policy_version = serializers.IntegerField(min_value=0)
    decisions = serializers.ListField(child=serializers.JSONField())


class HoldersOut(serializers.Serializer[Any]):
    """Who may; groups and roles are not expanded."""

    all_users = serializers.BooleanField()
    all_groups = serializers.BooleanField()
    users = serializers.ListField(child=serializers.CharField())
    groups = serializers.ListField(child=serializers.CharField())
    roles = serializers.ListField(child=serializers.CharField())
    conditional = serializers.BooleanField(
        help_text="Whether further people may, if their properties or those of the action fit a policy."
    )
    policy_version = serializers.IntegerField(min_value=0)


class GrantedOut(serializers.Serializer[Any]):
    """Names of privileges, in order."""

    privileges = serializers.ListField(child=serializers.CharField())
    policy_version = serializers.IntegerField(min_value=0)


def shown(
    decision: Decision, reasons: Iterable[explain.Reason] | None = None, resultant: Sequence[Resultant] = ()
) -> dict[str, Any]:
    """Return a decision as it is sent; without `reasons` each deciding statement has an empty `because`.

    `resultant` are the grants that the operation gives when it is allowed.
    """
    if reasons is None:
        reasons = (
            explain.Reason(one.origin.policy, one.origin.name, one.origin.index, one.effect.value, "")
            for one in decision.statements
        )
    return {
        "decision": "ALLOW" if decision.is_allowed else "DENY",
        "policy_version": decision.version or snapshot_store.current().version,
        "reasons": [_reason(one) for one in reasons],
        "code": decision.code.value,
        "missing": lacking(decision.missing),
        "missing_any": [lacking(one) for one in sort_narrowest_first(decision.missing_any)],
        "restrictions": _restrictions(decision),
        "resultant": granted(resultant) if decision.is_allowed else [],
    }


def lacking(missing: Iterable[Missing]) -> list[dict[str, Any]]:
    """Return what is missing as it is sent."""
    return [{"entity": one.entity, "privilege": one.privilege} for one in missing]


def granted(resultant: Iterable[Resultant]) -> list[dict[str, Any]]:
    """Return the grants that a create gives as they are sent."""
    return [{"principal": one.principal, "entity": one.entity, "privileges": list(one.privileges)} for one in resultant]


def explained(found: explanations.Explained, resultant: Sequence[Resultant] = ()) -> dict[str, Any]:
    """Return a decision with its reasons in words, what came close, and the names that nobody knows."""
    return {
        **shown(found.decision, found.reasons, resultant),
        "nearest": [
            {
                **_reason(near),
                "lacks": [
                    {
                        "part": lack.part.value,
                        "detail": lack.sentence,
                        "changed_by": {"entity": lack.remedy.entity, "privilege": lack.remedy.privilege},
                        "who": [urn for urn, _ in lack.who],
                    }
                    for lack in near.lacks
                ],
            }
            for near in found.nearest
        ],
        "unknown": [
            {"what": hint.what, "name": hint.name, "did_you_mean": list(hint.suggestions)} for hint in found.hints
        ],
    }


def _reason(one: explain.Reason | explain.Near) -> dict[str, Any]:
    return {
        "policy": one.policy,
        "name": one.name,
        "statement": one.statement,
        "effect": one.effect,
        "because": one.because,
    }


def _restrictions(decision: Decision) -> list[dict[str, Any]] | None:
    if decision.slices is None:
        return None
    return [
        {
            "role": one.role,
            "rows": list(one.rows),
            "columns": None if one.columns is None else list(one.columns),
            **({} if one.paths is None else {"paths": list(one.paths)}),
        }
        for one in decision.slices
    ]
