"""Roles of this product and their assignments."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Concat
from django.utils import timezone

from policies.models.fields import BytewiseCharField, JsonTextField, UrnField
from policies.models.managed import ManagedRow
from policies.models.people import MAX_IDENTIFIER_LENGTH, MAX_NAME_LENGTH, GroupProfile, User, new_object_id
from policies.models.timed_rows import ScheduledRow, TimedRow

ROLE_PREFIX = "urn:li:dataHubRole:"


class Role(ManagedRow):
    """A role: gives its holders the privileges of policies that name it, and the grants of its hidden Django group."""

    urn = UrnField(unique=True, editable=False)
    identifier = BytewiseCharField(max_length=MAX_IDENTIFIER_LENGTH, unique=True, editable=False)
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    description = models.TextField(blank=True)
    is_editable = models.BooleanField(default=True)
    object_id = models.CharField(max_length=24, unique=True, default=new_object_id, editable=False)
    group = models.OneToOneField(Group, on_delete=models.PROTECT, related_name="role", editable=False)
    extra = JsonTextField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = UrnField(editable=False)

    class Meta(ManagedRow.Meta):
        abstract = False
        ordering = ("urn",)
        constraints = [
            models.CheckConstraint(
                condition=Q(urn=Concat(Value(ROLE_PREFIX), F("identifier"))), name="role_urn_is_identifier"
            ),
            models.CheckConstraint(condition=Q(object_id__regex="^[0-9a-f]{24}$"), name="role_object_id_is_hex"),
        ]

    def __str__(self) -> str:
        return self.name


class RoleAssignment(TimedRow):
    """The assignment of a role to a user or a group."""

    role = models.ForeignKey(Role, on_delete=models.CASCADE, related_name="assignments")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="role_assignments", null=True, blank=True
    )
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="role_assignments", null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = UrnField(editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=True, group__isnull=False) | Q(user__isnull=False, group__isnull=True),
                name="role_assignment_has_one_holder",
            ),
            models.UniqueConstraint(
                fields=["role", "user"], condition=Q(user__isnull=False), name="role_assignment_user_once"
            ),
            models.UniqueConstraint(
                fields=["role", "group"], condition=Q(group__isnull=False), name="role_assignment_group_once"
            ),
        ]
        # Few assignments end.
        indexes = [
            models.Index(fields=["valid_until"], condition=Q(valid_until__isnull=False), name="role_assignment_ends")
        ]

    def __str__(self) -> str:
        return f"{self.role_id} for user {self.user_id}, group {self.group_id}"

    @property
    def holder_row(self) -> User | GroupProfile:
        """The user or group that holds the role."""
        return _get_holder(self)


class ScheduledRoleAssignment(ScheduledRow):
    """The assignment of a role to a user or a group that has not begun."""

    role = models.ForeignKey(Role, on_delete=models.CASCADE, related_name="scheduled_assignments")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="scheduled_roles", null=True, blank=True
    )
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="scheduled_roles", null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=True, group__isnull=False) | Q(user__isnull=False, group__isnull=True),
                name="scheduled_role_has_one_holder",
            ),
            models.UniqueConstraint(
                fields=["role", "user"], condition=Q(user__isnull=False), name="scheduled_role_user_once"
            ),
            models.UniqueConstraint(
                fields=["role", "group"], condition=Q(group__isnull=False), name="scheduled_role_group_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role_id} for user {self.user_id}, group {self.group_id} from {self.valid_from}"

    @property
    def holder_row(self) -> User | GroupProfile:
        """The user or group that will hold the role."""
        return _get_holder(self)


def _get_holder(assignment: RoleAssignment | ScheduledRoleAssignment) -> User | GroupProfile:
    if assignment.group is not None:
        return assignment.group.profile
    user: User = assignment.user  # type: ignore[assignment]  # the database keeps exactly one of the two
    return user
