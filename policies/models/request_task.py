"""Tasks: the handles by which policy enforcement points follow the requests that they handed in (docs/authzen.md)."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from policies.models.decision import MAX_EVALUATION_LENGTH
from policies.models.fields import BytewiseCharField, JsonTextField, UrnField
from policies.models.request import RequestItem, SubmittedRequest

#: Longest key of a submission, and length of the random ids of tasks and approvals, in characters.
MAX_KEY_LENGTH = 255
MAX_TOKEN_LENGTH = 64


class RequestTask(models.Model):
    """A task: `by` handed in `request` for denials that it was given, and follows it under the random id `token`.

    `is_bundle`: it was handed in with a list of items. `idempotency_key` is the caller's name of the submission, empty
    without one, and `body_digest` the digest of what was sent under it. `subject` and `client` are as they were sent;
    nothing is decided by `client`. The handle is valid until `expires_at`, or longer if what was given is.
    """

    token = BytewiseCharField(max_length=MAX_TOKEN_LENGTH, unique=True)
    request = models.OneToOneField(SubmittedRequest, on_delete=models.PROTECT, related_name="task")
    by = UrnField()
    is_bundle = models.BooleanField(default=False)
    idempotency_key = BytewiseCharField(max_length=MAX_KEY_LENGTH, blank=True)
    body_digest = BytewiseCharField(max_length=64)
    subject = JsonTextField()
    client = JsonTextField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=["by", "idempotency_key"], condition=~Q(idempotency_key=""), name="request_task_key_once"
            ),
        ]
        indexes = [models.Index(fields=["expires_at"], name="request_task_expires")]

    def __str__(self) -> str:
        return f"Task of {self.request_id}"


class RequestTaskItem(models.Model):
    """One denial of a task: the evaluation that it answers, what that was about, and the approval of the item.

    `resource` and `action` are as they were sent. `binding` is the digest of subject, resource, action and context, for
    which alone the approval counts. `approval` is its random id.
    """

    task = models.ForeignKey(RequestTask, on_delete=models.CASCADE, related_name="items")
    item = models.OneToOneField(RequestItem, on_delete=models.PROTECT, related_name="task_item")
    evaluation_id = BytewiseCharField(max_length=MAX_EVALUATION_LENGTH, unique=True)
    resource = JsonTextField()
    action = JsonTextField()
    binding = BytewiseCharField(max_length=64)
    approval = BytewiseCharField(max_length=MAX_TOKEN_LENGTH, unique=True)

    class Meta:
        ordering = ("task", "id")

    def __str__(self) -> str:
        return str(self.evaluation_id)
