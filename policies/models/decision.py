"""The decision log: one row for each logged decision, written in the background and deleted after DECISION_LOG_DAYS."""

from django.db import models
from django.db.models import Q

from policies.models.fields import BytewiseCharField, JsonTextField, UrnField

#: Longest text of required privileges that is stored, in characters.
MAX_WANTED_LENGTH = 1024
#: Longest id of an evaluation, in characters.
MAX_EVALUATION_LENGTH = 96


class LoggedDecision(models.Model):
    """A decision: `by` asked, through the channel `door`, whether `actor` may do something to `resource` ("" platform).

    `wanted` are the privileges ("A and B | C or D", where | binds closest), `statements` the deciding ones ([{policy,
    name, statement, effect}], the first few), `sub_resources` URNs. `milliseconds` is the time of the decision; in a
    batch, its share. `is_complete`: the row says all of the question, so that it can be asked again; what names further
    entities, columns, branches or properties, or is too long, cannot. `evaluation_id` is the id under which a policy
    enforcement point was told of a denial, empty for all others.
    """

    at = models.DateTimeField()
    actor = UrnField()
    by = UrnField()
    door = models.CharField(max_length=32)
    request_id = models.CharField(max_length=64)
    operation = models.CharField(max_length=255)
    wanted = BytewiseCharField(max_length=MAX_WANTED_LENGTH)
    resource = UrnField()
    resource_type = models.CharField(max_length=64)
    sub_resources = JsonTextField()
    is_allowed = models.BooleanField()
    code = models.CharField(max_length=32)
    policy_version = models.PositiveBigIntegerField()
    statements = JsonTextField()
    milliseconds = models.FloatField()
    is_complete = models.BooleanField(default=False, db_default=False)
    evaluation_id = BytewiseCharField(max_length=MAX_EVALUATION_LENGTH, default="", db_default="")

    class Meta:
        ordering = ("-at", "-id")
        indexes = [
            models.Index(fields=["-at", "-id"], name="decision_at"),
            models.Index(fields=["actor", "-at", "-id"], name="decision_of_actor"),
            models.Index(fields=["resource", "-at", "-id"], name="decision_of_resource"),
            models.Index(fields=["-at", "-id"], condition=Q(is_allowed=False), name="decision_refused"),
            models.Index(fields=["evaluation_id"], condition=~Q(evaluation_id=""), name="decision_of_evaluation"),
        ]

    def __str__(self) -> str:
        return f"{'ALLOW' if self.is_allowed else 'DENY'} {self.wanted} to {self.actor}"
