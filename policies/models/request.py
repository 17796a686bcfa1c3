"""Requests for access: what is asked for, the steps that decide, every decision, and the trail.

Nothing here is ever deleted while the change log keeps its events: a request that was denied, withdrawn or expired
stays readable (contract-requests.md section 2).
"""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from policies.models.fields import BytewiseCharField, JsonTextField, UrnField

REQUEST_PREFIX = "urn:li:accessRequest:"

#: Begins the token of a seat that the holders of a privilege of the platform have.
PRIVILEGE_SEAT = "privilege:"

#: Longest reason and note, in characters.
MAX_NOTE_LENGTH = 2_000
#: Longest address of a ticket, in characters.
MAX_TICKET_LENGTH = 2_000


class RequestState(models.TextChoices):
    """The state of a request, and of each of its items; `partial` is one of requests only."""

    OPEN = "open"
    APPROVED = "approved"
    DONE = "done"
    WAITING_FOR_SOURCE = "waiting_for_source"
    FAILED = "failed"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    ENDED = "ended"
    PARTIAL = "partial"


#: States in which the same items cannot be asked for again.
UNFINISHED_STATES = (RequestState.OPEN.value, RequestState.APPROVED.value, RequestState.WAITING_FOR_SOURCE.value)


class SubmittedRequest(models.Model):
    """A request: `actor` is to get what `by` asks for.

    `until` null is for good. `rule` is the URN of the rule that decided its steps, empty without one. `is_blind`: the
    asker may not view what it is about, or it does not exist. `items_key` is a digest of actor and items. `version`
    counts what changed it, from 1. `renews` is the request whose end this one moves.
    """

    urn = UrnField(unique=True, editable=False)
    state = models.CharField(max_length=24, choices=RequestState, default=RequestState.OPEN)
    actor = UrnField()
    by = UrnField()
    reason = models.TextField(blank=True)
    ticket = models.TextField(blank=True)
    confirmed = JsonTextField(default=list)
    until = models.DateTimeField(null=True)
    rule = UrnField(blank=True)
    is_blind = models.BooleanField(default=False)
    items_key = BytewiseCharField(max_length=64, editable=False)
    renews = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="renewals")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    due_at = models.DateTimeField(null=True, editable=False)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(condition=Q(state__in=RequestState.values), name="access_request_state_known"),
            models.UniqueConstraint(
                fields=["items_key"],
                condition=Q(state__in=UNFINISHED_STATES) & Q(renews=None),
                name="access_request_unfinished_once",
            ),
            models.CheckConstraint(condition=Q(version__gte=1), name="access_request_version_from_one"),
        ]
        indexes = [
            models.Index(fields=["actor", "-id"], name="access_request_of_actor"),
            models.Index(fields=["by", "-id"], name="access_request_by"),
            models.Index(fields=["state", "-id"], name="access_request_in_state"),
            models.Index(fields=["due_at"], name="access_request_due"),
        ]

    def __str__(self) -> str:
        return str(self.urn)


class RequestItem(models.Model):
    """One thing that is asked for, as it was sent; `position` counts from 0.

    `way` is the way that was chosen, as the API shows it, null while there is none. `granted` is what was written for
    it, `ends_at` the end of that, null for good.
    """

    request = models.ForeignKey(SubmittedRequest, on_delete=models.PROTECT, related_name="items")
    position = models.PositiveSmallIntegerField()
    document = JsonTextField()
    entity = UrnField(blank=True)
    state = models.CharField(max_length=24, choices=RequestState, default=RequestState.OPEN)
    way = JsonTextField(null=True)
    granted = JsonTextField(null=True)
    ends_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("request", "position")
        constraints = [
            models.UniqueConstraint(fields=["request", "position"], name="request_item_once"),
            models.CheckConstraint(
                condition=Q(state__in=[state for state in RequestState.values if state != "partial"]),
                name="request_item_state_known",
            ),
        ]
        indexes = [
            models.Index(fields=["entity"], name="request_item_of_entity"),
            models.Index(fields=["ends_at"], name="request_item_ends"),
        ]

    def __str__(self) -> str:
        return f"{self.position} of {self.request_id}"


class RequestStep(models.Model):
    """A step: approvers (as a rule names them), how many of them have to agree (0: all), and when it is due.

    `items` are the positions of the items that it decides. `urns` are the approvers that were found when the step was
    made, not expanded. `given_away` are people who handed their seat over. `then` says what happens when it is due.
    """

    class State(models.TextChoices):
        """The state of a step."""

        LATER = "later"
        WAITING = "waiting"
        AGREED = "agreed"
        DENIED = "denied"
        EXPIRED = "expired"
        SKIPPED = "skipped"

    request = models.ForeignKey(SubmittedRequest, on_delete=models.PROTECT, related_name="steps")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=255)
    approvers = JsonTextField()
    items = JsonTextField()
    urns = JsonTextField(default=list)
    given_away = JsonTextField(default=list)
    needs = models.PositiveSmallIntegerField(default=1)
    within = models.DurationField(null=True)
    due = models.DateTimeField(null=True)
    then = models.CharField(max_length=16)
    state = models.CharField(max_length=16, choices=State, default=State.LATER)

    class Meta:
        ordering = ("request", "position")
        constraints = [
            models.UniqueConstraint(fields=["request", "position"], name="request_step_once"),
            models.CheckConstraint(
                condition=Q(state__in=["later", "waiting", "agreed", "denied", "expired", "skipped"]),
                name="request_step_state_known",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class RequestSeat(models.Model):
    """Who may decide a step that waits, for the lists of what somebody can decide: one row for each name.

    `token` is the URN of a user, group or role, or a privilege whose holders decide. It only finds rows: each decision
    is judged by the facts of its moment.
    """

    step = models.ForeignKey(RequestStep, on_delete=models.CASCADE, related_name="seats")
    token = UrnField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["token", "step"], name="request_seat_once")]

    def __str__(self) -> str:
        return f"{self.token} at {self.step_id}"


class RequestDecision(models.Model):
    """A decision of one person about items (their positions) at a step.

    `ways` are the ids of the ways that were agreed to, by position: the agreement is to these and to no others.
    """

    step = models.ForeignKey(RequestStep, on_delete=models.PROTECT, related_name="decisions")
    by = UrnField()
    time = models.DateTimeField(default=timezone.now)
    is_agreement = models.BooleanField()
    items = JsonTextField()
    ways = JsonTextField(default=dict)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{'agreed' if self.is_agreement else 'denied'} by {self.by}"


class RequestTrail(models.Model):
    """One thing that happened to a request; `is_alone`: root decided about root."""

    class What(models.TextChoices):
        """The kind of what happened."""

        ASKED = "asked"
        SOURCE = "source"
        COMMENT = "comment"
        AGREED = "agreed"
        APPROVED = "approved"
        AUTO = "auto"
        DONE = "done"
        DENIED = "denied"
        WITHDRAWN = "withdrawn"
        HANDED_OVER = "handed_over"
        CHANGED = "changed"
        ESCALATED = "escalated"
        EXPIRED = "expired"
        ENDED = "ended"

    request = models.ForeignKey(SubmittedRequest, on_delete=models.PROTECT, related_name="trail")
    time = models.DateTimeField(default=timezone.now)
    by = UrnField()
    what = models.CharField(max_length=16, choices=What)
    note = models.TextField(blank=True)
    is_alone = models.BooleanField(default=False)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    what__in=[
                        "asked",
                        "source",
                        "comment",
                        "agreed",
                        "approved",
                        "auto",
                        "done",
                        "denied",
                        "withdrawn",
                        "handed_over",
                        "changed",
                        "escalated",
                        "expired",
                        "ended",
                    ]
                ),
                name="request_trail_what_known",
            )
        ]

    def __str__(self) -> str:
        return self.what
