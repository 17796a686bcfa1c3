"""The shape of a way in the API (`finding.describe_way`)."""

from typing import Any

from rest_framework import serializers

from policies.engine.proofs.verdicts import Verdict
from policies.models import Guardrail
from policies.requests.ways.candidates import WayKind

#: What a proof answers.
VERDICTS = tuple(verdict.value for verdict in Verdict)


class GainsOut(serializers.Serializer[Any]):
    """The gains of a way: pairs of a person and an entity, one for each privilege, and what is held on the platform."""

    pairs = serializers.IntegerField(min_value=0)
    people = serializers.IntegerField(min_value=0)
    entities = serializers.IntegerField(min_value=0)
    platform = serializers.IntegerField(min_value=0)


class LossesOut(serializers.Serializer[Any]):
    """The losses of a way."""

    pairs = serializers.IntegerField(min_value=0)
    platform = serializers.IntegerField(min_value=0)


class OnlyThisOut(serializers.Serializer[Any]):
    """Whether a way gives only what was asked for, in any catalog; the example of a no is for who may see it."""

    verdict = serializers.ChoiceField(VERDICTS)
    example = serializers.JSONField(allow_null=True)


class BrokenGuardrailOut(serializers.Serializer[Any]):
    """A guardrail that a way would break."""

    urn = serializers.CharField()
    name = serializers.CharField()
    mode = serializers.ChoiceField(Guardrail.Mode.choices)
    sentence = serializers.CharField()


class WayOut(serializers.Serializer[Any]):
    """A change that would give what was asked for, with everything else that it would give and take."""

    id = serializers.CharField(help_text="A hash of the changes.")
    kind = serializers.ChoiceField([kind.value for kind in WayKind])
    changes = serializers.ListField(child=serializers.JSONField(), help_text="Those of preview.")
    gains = GainsOut()
    losses = LossesOut()
    is_exact = serializers.BooleanField(help_text="Whether everybody and everything was counted.")
    gives_only_this = OnlyThisOut()
    guardrails = BrokenGuardrailOut(many=True)
    rank = serializers.IntegerField(min_value=1)

    def get_fields(self) -> dict[str, Any]:
        """Return the fields; `source` is an attribute of every field, so it is no attribute of the class."""
        source = serializers.CharField(allow_null=True, help_text="The kind of system that has to make the changes.")
        return {**super().get_fields(), "source": source}
