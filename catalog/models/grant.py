"""Grants on single entities, stored by django-guardian as rows with a foreign key, so that they are deleted with the
entity, and grants on every entity whose URN has a common prefix.
"""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils import timezone
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase

from catalog.models.entity import Entity
from policies.models.fields import BytewiseCharField, UrnField
from policies.models.timed_rows import ScheduledRow, TimedRow


class EntityUserGrant(TimedRow, UserObjectPermissionBase):
    """A grant of one privilege on one entity to a user, with grantor and time."""

    id = models.BigAutoField(primary_key=True)
    content_object = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="user_grants")
    given_by = UrnField(editable=False, blank=True, default="")
    given_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "permission", "content_object"], name="user_grant_once"),
        ]
        # Few grants end.
        indexes = [models.Index(fields=["valid_until"], condition=Q(valid_until__isnull=False), name="user_grant_ends")]

    def __str__(self) -> str:
        return f"user grant {self.pk}"


class EntityGroupGrant(TimedRow, GroupObjectPermissionBase):
    """A grant of one privilege on one entity to a group, or the hidden group of a role, with grantor and time."""

    id = models.BigAutoField(primary_key=True)
    content_object = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="group_grants")
    given_by = UrnField(editable=False, blank=True, default="")
    given_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["group", "permission", "content_object"], name="group_grant_once"),
        ]
        # Few grants end.
        indexes = [
            models.Index(fields=["valid_until"], condition=Q(valid_until__isnull=False), name="group_grant_ends")
        ]

    def __str__(self) -> str:
        return f"group grant {self.pk}"


class WildcardGrant(TimedRow):
    """A grant of one privilege on every entity whose URN begins with `prefix`, to a user, group or role (CD-5).

    `pattern` is the URN with the asterisk, `kind` the only kind that it matches, and `within` the innermost entity that
    contains everything that it can match, so that the grant is deleted with that entity.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="wildcard_grants", null=True, blank=True
    )
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="wildcard_grants", null=True, blank=True)
    pattern = UrnField()
    kind = BytewiseCharField(max_length=64)
    prefix = UrnField()
    within = UrnField()
    privilege = BytewiseCharField(max_length=16)
    given_by = UrnField(editable=False, blank=True, default="")
    given_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=True, group__isnull=False) | Q(user__isnull=False, group__isnull=True),
                name="wildcard_grant_has_one_holder",
            ),
            models.CheckConstraint(
                condition=Q(privilege__in=["READ", "WRITE", "EXECUTE", "ADMIN"]), name="wildcard_grant_privilege_known"
            ),
            models.UniqueConstraint(
                fields=["user", "pattern", "privilege"],
                condition=Q(user__isnull=False),
                name="wildcard_grant_user_once",
            ),
            models.UniqueConstraint(
                fields=["group", "pattern", "privilege"],
                condition=Q(group__isnull=False),
                name="wildcard_grant_group_once",
            ),
        ]
        indexes = [
            models.Index(fields=["within"], name="wildcard_grant_within"),
            models.Index(fields=["pattern"], name="wildcard_grant_by_pattern"),
            models.Index(fields=["valid_until"], condition=Q(valid_until__isnull=False), name="wildcard_grant_ends"),
        ]

    def __str__(self) -> str:
        return f"{self.privilege} on {self.pattern}"


class ScheduledGrant(ScheduledRow):
    """A grant of one privilege on an entity or pattern, to a user, group or role, that has not begun.

    `target` is the URN of the entity or the pattern, `within` the entity with which it is deleted.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="scheduled_grants", null=True, blank=True
    )
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="scheduled_grants", null=True, blank=True)
    target = UrnField(db_index=True)
    within = UrnField(db_index=True)
    privilege = BytewiseCharField(max_length=16)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=True, group__isnull=False) | Q(user__isnull=False, group__isnull=True),
                name="scheduled_grant_has_one_holder",
            ),
            models.UniqueConstraint(
                fields=["user", "target", "privilege"],
                condition=Q(user__isnull=False),
                name="scheduled_grant_user_once",
            ),
            models.UniqueConstraint(
                fields=["group", "target", "privilege"],
                condition=Q(group__isnull=False),
                name="scheduled_grant_group_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.privilege} on {self.target} from {self.valid_from}"
