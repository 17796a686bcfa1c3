"""The preview of changes in the API (api-next.md section 2): what changes, taken as one, would give and take."""

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from policies.changes import preview
from policies.changes.comparison import EffectQuestion
from policies.changes.kinds import read_change
from policies.changes.net_change import ChangedAccess, ChangeSide, KeptAccess, NetChange, PlatformAccess
from policies.changes.preview import Preview
from policies.changes.proofs import ChangeProofs
from policies.changes.replay import MAX_DAYS, Replay
from policies.changes.shapes import ChangeList
from policies.engine.proofs.verdicts import Verdict
from policies.http.api import strict_fields
from policies.http.api.operations import api_operation
from policies.http.api.views import ApiView
from policies.http.guard import signed_in
from policies.models import Guardrail

#: Most items of one kind in an answer, and the number without `limit`.
MAX_LIMIT, DEFAULT_LIMIT = 1_000, 100

#: Most privileges by which a preview can be limited.
_MAX_PRIVILEGES = 500

TAG = "preview"


class PreviewIn(strict_fields.StrictSerializer):
    """Changes that are taken as one, and what the answer should hold."""

    changes = ChangeList()
    privileges = strict_fields.StrictList(
        child=strict_fields.StrictString(max_length=255), max_length=_MAX_PRIVILEGES, required=False
    )
    proof = strict_fields.StrictBoolean(required=False, default=False)
    replay_days = strict_fields.StrictInteger(
        required=False, min_value=1, max_value=MAX_DAYS, help_text="Needs MANAGE_POLICIES, as the decision log does."
    )
    limit = strict_fields.StrictInteger(required=False, min_value=0, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)


class TallyOut(serializers.Serializer[Any]):
    """Pairs of one active person and one entity, for each privilege; people and entities count once."""

    pairs = serializers.IntegerField(min_value=0)
    people = serializers.IntegerField(min_value=0)
    entities = serializers.IntegerField(min_value=0)


class ChangedAccessOut(serializers.Serializer[Any]):
    """One person, one privilege, and the number of entities; `examples` are some of them."""

    actor = serializers.CharField()
    privilege = serializers.CharField()
    entities = serializers.IntegerField(min_value=1)
    examples = serializers.ListField(child=serializers.CharField())


class ChangeSideOut(TallyOut):
    """The gains, or the losses; `items` are the largest, as many as `limit`."""

    by_privilege = serializers.DictField(child=TallyOut())
    items = ChangedAccessOut(many=True)


class KeptAccessOut(serializers.Serializer[Any]):
    """One person who keeps a privilege that a changed policy no longer gives, through these policies.

    They are named to holders of MANAGE_POLICIES.
    """

    actor = serializers.CharField()
    privilege = serializers.CharField()
    entities = serializers.IntegerField(min_value=1)
    through = serializers.ListField(child=serializers.CharField())


class PlatformAccessOut(serializers.Serializer[Any]):
    """One person and one privilege on the platform."""

    actor = serializers.CharField()
    privilege = serializers.CharField()


class PlatformChangeOut(serializers.Serializer[Any]):
    """Privileges on the platform that are gained and lost."""

    gained = PlatformAccessOut(many=True)
    lost = PlatformAccessOut(many=True)


class ReportRequestOut(serializers.Serializer[Any]):
    """The report that finds the net change exactly, with its parameters."""

    kind = serializers.CharField()
    parameters = strict_fields.AnyJson()


class ProofOut(serializers.Serializer[Any]):
    """A proof over all catalogs there could be; `example` is a question that `authorize` would answer so."""

    verdict = serializers.ChoiceField([verdict.value for verdict in Verdict])
    example = strict_fields.AnyJson()


class ChangeProofsOut(serializers.Serializer[Any]):
    """Whether the changes of policies allow anybody anything more, or less, whatever is in the catalog."""

    allows_more = ProofOut()
    allows_less = ProofOut()


class GuardrailVerdictOut(serializers.Serializer[Any]):
    """Whether a guardrail holds after the changes; `is_added`: they break it, or add to what breaks it.

    In the mode `enforce` they would be refused then. Others are listed for holders of MANAGE_GUARDRAILS only. Of the
    example, whoever may not see a person gets null as `actor`, and as `urn` of a resource that is hidden. `breaks_at`
    is the later time at which it breaks; null: at once, or never as far as is known.
    """

    urn = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    mode = serializers.ChoiceField(Guardrail.Mode.choices)
    sentence = serializers.CharField(allow_blank=True)
    verdict = serializers.ChoiceField(Guardrail.Status.choices)
    is_added = serializers.BooleanField()
    example = strict_fields.AnyJson(allow_null=True)
    breaks_at = serializers.CharField(
        allow_null=True, help_text="The later instant at which it breaks; null: now, or never as far as is known."
    )


class ReplayedAccessOut(serializers.Serializer[Any]):
    """One person and the privileges that were asked for: the requests that would be answered differently.

    `privilege` is as the decision log has it: a name, or `A and B | C or D`. `examples` are some of the entities.
    """

    actor = serializers.CharField()
    privilege = serializers.CharField(allow_blank=True)
    requests = serializers.IntegerField(min_value=1)
    now_allowed = serializers.IntegerField(min_value=0)
    now_denied = serializers.IntegerField(min_value=0)
    entities = serializers.IntegerField(min_value=0)
    examples = serializers.ListField(child=serializers.CharField())
    last_asked = serializers.DateTimeField()


class ReplayOut(serializers.Serializer[Any]):
    """Requests of the decision log `since` then, answered as today and as after the changes.

    Logged are all refusals and the share `sample` of what was allowed: `now_denied` counts those that were logged.
    `left_out` are requests that the changes could concern and of which the log does not hold the whole question.
    Unless `is_exact`, there were too many different questions, and only those asked last were answered.
    """

    since = serializers.DateTimeField()
    sample = serializers.FloatField(min_value=0, max_value=1)
    is_exact = serializers.BooleanField()
    asked = serializers.IntegerField(min_value=0)
    left_out = serializers.IntegerField(min_value=0)
    now_allowed = serializers.IntegerField(min_value=0)
    now_denied = serializers.IntegerField(min_value=0)
    items = ReplayedAccessOut(many=True)


class PreviewOut(serializers.Serializer[Any]):
    """The gains and losses of the changes. Unless `is_exact`, the numbers are what was found in the time there is."""

    policy_version = serializers.IntegerField(min_value=0)
    is_exact = serializers.BooleanField()
    is_concealed = serializers.BooleanField(
        help_text="Whether only numbers are told of others: the caller has neither CHECK_ACCESS nor MANAGE_POLICIES."
    )
    gained = ChangeSideOut()
    lost = ChangeSideOut()
    kept = KeptAccessOut(many=True)
    platform = PlatformChangeOut()
    report = ReportRequestOut(required=False)
    proof = ChangeProofsOut(required=False)
    guardrails = GuardrailVerdictOut(many=True)
    replay = ReplayOut(required=False)


@signed_in
class PreviewView(ApiView):
    """The preview of changes."""

    @api_operation(
        "preview", "Preview who gains and who loses what", body=PreviewIn, answer=PreviewOut, statuses=(403,), tag=TAG
    )
    def post(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the people who would gain and lose privileges, with the entities; nothing is stored.

        It needs what the changes themselves need. Without CHECK_ACCESS or MANAGE_POLICIES it tells of others numbers
        only. An account has one preview at a time: another one waits for ten seconds, and is 429 then.
        """
        return _serialize_preview(
            preview.preview_changes(
                changes=[read_change(change) for change in payload["changes"]],
                by=self.actor,
                question=EffectQuestion(payload["limit"], payload.get("privileges")),
                is_proved=payload["proof"],
                is_guarded=True,
                replay_days=payload.get("replay_days"),
            )
        )


def _serialize_preview(result: Preview) -> dict[str, Any]:
    answer = serialize_net_change(result.change)
    if result.report is not None:
        answer["report"] = result.report
    if result.proofs is not None:
        answer["proof"] = serialize_proofs(result.proofs)
    answer["guardrails"] = [verdict._asdict() for verdict in result.guardrails]
    if result.replay is not None:
        answer["replay"] = _serialize_replay(result.replay)
    return answer


def serialize_proofs(proofs: ChangeProofs) -> dict[str, Any]:
    """Return the proofs of a change as `ChangeProofsOut` has them."""
    named_proofs = {"allows_more": proofs.allows_more, "allows_less": proofs.allows_less}
    return {name: {"verdict": proof.verdict.value, "example": proof.example} for name, proof in named_proofs.items()}


def serialize_net_change(change: NetChange) -> dict[str, Any]:
    """Return a net change as `PreviewOut` has it."""
    return {
        "policy_version": change.policy_version,
        "is_exact": change.is_exact,
        "is_concealed": not change.disclosure.tells_others,
        "gained": _serialize_side(change.gained),
        "lost": _serialize_side(change.lost),
        "kept": _list_fields(change.kept_items),
        "platform": {"gained": _list_fields(change.platform_gained), "lost": _list_fields(change.platform_lost)},
    }


def _serialize_replay(replay: Replay) -> dict[str, Any]:
    return {
        "since": replay.since,
        "sample": replay.sample,
        "is_exact": replay.is_exact,
        "asked": replay.requests,
        "left_out": replay.left_out,
        "now_allowed": replay.now_allowed,
        "now_denied": replay.now_denied,
        "items": [item._asdict() for item in replay.items],
    }


def _serialize_side(side: ChangeSide) -> dict[str, Any]:
    by_privilege = {privilege: tally._asdict() for privilege, tally in side.by_privilege.items()}
    return {**side.total._asdict(), "by_privilege": by_privilege, "items": _list_fields(side.items)}


def _list_fields(items: Iterable[ChangedAccess | KeptAccess | PlatformAccess]) -> list[dict[str, Any]]:
    return [item._asdict() for item in items]
