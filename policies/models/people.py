"""Users and groups: the actors of every family.

Groups are Django's own, so that django-guardian can grant to them; their further columns are in a profile.
"""

import hashlib
import secrets
import uuid
from typing import ClassVar

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, Group, PermissionsMixin
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Concat, Lower
from django.utils import timezone
from django.utils.crypto import salted_hmac

from policies.models.fields import BytewiseCharField, JsonTextField, UrnField
from policies.models.lookalikes import FoldedNameField
from policies.models.timed_rows import ScheduledRow, TimedRow

USER_PREFIX = "urn:li:corpuser:"
GROUP_PREFIX = "urn:li:corpGroup:"

#: The user that exists from the start and can never be removed or suspended.
ROOT_USERNAME = "datahub"
#: The name of the system actor; no row may have it.
SYSTEM_USERNAME = "__datahub_system"

#: Longest name or title of a user, group, role or policy, in characters.
MAX_NAME_LENGTH = 255
#: Longest `external_id` of a user or group, in characters.
MAX_EXTERNAL_ID_LENGTH = 255
#: Longest user name, and longest identifier of a group or role, in characters.
MAX_IDENTIFIER_LENGTH = 200

_MAX_GROUP_NAME_LENGTH = 150

#: Condition on users who have a password, and so can sign in with it.
HAS_PASSWORD = ~Q(password="") & ~Q(password__startswith=UNUSABLE_PASSWORD_PREFIX)


def new_object_id() -> str:
    """Return a new object id: 24 lower-case hexadecimal digits."""
    return secrets.token_hex(12)


def django_group_name(urn: str) -> str:
    """Return the name of the Django group of a URN: the URN, or its digest if it is too long for the column."""
    return urn if len(urn) <= _MAX_GROUP_NAME_LENGTH else f"sha256:{hashlib.sha256(urn.encode()).hexdigest()}"


class UserManager(BaseUserManager["User"]):
    """Finds users by name. Users are created by `policies.identity.services.people_writer`, which records them."""


class User(AbstractBaseUser, PermissionsMixin):
    """A person or a service: an actor that can be asked about and, with a credential, can ask.

    `state` is SUSPENDED if the user's status or its source suspends it. `extra` keeps the parts of the
    user's aspects that no column holds (`documents`). `scim_id` is the id in SCIM; `external_id` and `delivered` hold
    what SCIM clients delivered and no aspect has a field for (`policies.identity.services.scim_provisioning`).
    `is_staff` and `is_superuser` give access to Django's admin and mean nothing to the engine.
    """

    class State(models.TextChoices):
        """Whether the user is suspended."""

        ACTIVE = "ACTIVE"
        SUSPENDED = "SUSPENDED"

    class Kind(models.TextChoices):
        """The kind of account."""

        PERSON = "PERSON"
        SERVICE = "SERVICE"

    username = BytewiseCharField(max_length=MAX_IDENTIFIER_LENGTH, unique=True)
    folded_username = FoldedNameField(source="username")
    urn = UrnField(unique=True, editable=False)
    display_name = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    email = models.CharField(max_length=320, blank=True)
    title = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    description = models.TextField(blank=True)
    state = models.CharField(max_length=16, choices=State, default=State.ACTIVE)
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.PERSON)
    is_removed = models.BooleanField(default=False)
    is_staff = models.BooleanField(default=False)
    object_id = models.CharField(max_length=24, unique=True, default=new_object_id, editable=False)
    session_epoch = models.PositiveIntegerField(default=0, editable=False)
    scim_id = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    external_id = BytewiseCharField(max_length=MAX_EXTERNAL_ID_LENGTH, blank=True, editable=False, db_index=True)
    delivered = JsonTextField(default=dict, blank=True, editable=False)
    extra = JsonTextField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = UrnField(editable=False)
    groups = models.ManyToManyField(  # type: ignore[assignment]  # the base declares it without `through`
        Group, through="Membership", related_name="user_set", related_query_name="user", blank=True
    )

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = UserManager()

    class Meta:
        ordering = ("urn",)
        constraints = [
            models.CheckConstraint(condition=Q(state__in=["ACTIVE", "SUSPENDED"]), name="user_state_known"),
            models.CheckConstraint(condition=Q(kind__in=["PERSON", "SERVICE"]), name="user_kind_known"),
            models.CheckConstraint(condition=Q(urn=Concat(Value(USER_PREFIX), F("username"))), name="user_urn_is_name"),
            models.CheckConstraint(condition=~Q(username=SYSTEM_USERNAME), name="user_is_not_system"),
            models.CheckConstraint(
                condition=~Q(username=ROOT_USERNAME) | Q(state="ACTIVE", is_removed=False), name="user_root_is_active"
            ),
            models.CheckConstraint(condition=Q(object_id__regex="^[0-9a-f]{24}$"), name="user_object_id_is_hex"),
        ]
        # Lists count and page by these from the index alone; the rows are long.
        indexes = [
            models.Index(fields=["kind", "is_removed", "urn"], name="user_listed"),
            # Few are removed: this index serves counts that exclude them.
            models.Index(fields=["id"], condition=Q(is_removed=True), name="user_removed"),
            # Sources of people look users up by name, ignoring letter case.
            models.Index(Lower("username"), name="user_folded"),
            # No account may be created with a name that looks like that of another one.
            models.Index(fields=["folded_username"], name="user_looks"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The display name, else the user name."""
        return self.display_name or self.username

    @property
    def is_active(self) -> bool:  # type: ignore[override]  # a column in the base, and derived here
        """Whether the user may act: neither suspended nor removed."""
        return self.state == self.State.ACTIVE and not self.is_removed

    @property
    def is_root(self) -> bool:
        """Whether this is the root user."""
        return bool(self.username == ROOT_USERNAME)

    @property
    def group_urns(self) -> list[str]:
        """The URNs of its groups, native and external, in order (prefetched by `users_groups_roles.list_users`)."""
        return sorted(membership.group.profile.urn for membership in self.memberships.all())

    @property
    def role_urns(self) -> list[str]:
        """The URNs of its own roles, in order (prefetched by `users_groups_roles.list_users`)."""
        return sorted(assignment.role.urn for assignment in self.role_assignments.all())

    @property
    def group_names(self) -> list[str]:
        """The names of its groups, in order (prefetched by `users_groups_roles.list_users`)."""
        return sorted((membership.group.profile.name for membership in self.memberships.all()), key=str.casefold)

    @property
    def role_names(self) -> list[str]:
        """The names of its own roles, in order (prefetched by `users_groups_roles.list_users`)."""
        return sorted((assignment.role.name for assignment in self.role_assignments.all()), key=str.casefold)

    def get_full_name(self) -> str:
        """Return the name, for Django's admin."""
        return self.name

    def get_short_name(self) -> str:
        """Return the name; there is no short form."""
        return self.name

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        # Part of every session: raising the epoch ends them all, without a new password.
        salt = "policies.models.User.session"
        return salted_hmac(salt, f"{self.password}:{self.session_epoch}", secret=secret, algorithm="sha256").hexdigest()


class GroupProfile(models.Model):
    """The columns of a group beyond Django's: its URN, origin, names and state.

    Members of an EXTERNAL group are delivered by its source and not edited by hand.
    """

    class Origin(models.TextChoices):
        """The owner of the list of members: people here, or an external source."""

        NATIVE = "NATIVE"
        EXTERNAL = "EXTERNAL"

    group = models.OneToOneField(Group, on_delete=models.CASCADE, related_name="profile")
    urn = UrnField(unique=True, editable=False)
    identifier = BytewiseCharField(max_length=MAX_IDENTIFIER_LENGTH, unique=True, editable=False)
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    description = models.TextField(blank=True)
    email = models.CharField(max_length=320, blank=True)
    origin = models.CharField(max_length=16, choices=Origin, default=Origin.NATIVE)
    is_removed = models.BooleanField(default=False)
    scim_id = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    external_id = BytewiseCharField(max_length=MAX_EXTERNAL_ID_LENGTH, blank=True, editable=False, db_index=True)
    extra = JsonTextField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = UrnField(editable=False)

    class Meta:
        ordering = ("urn",)
        constraints = [
            models.CheckConstraint(condition=Q(origin__in=["NATIVE", "EXTERNAL"]), name="group_origin_known"),
            models.CheckConstraint(
                condition=Q(urn=Concat(Value(GROUP_PREFIX), F("identifier"))), name="group_urn_is_identifier"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_active(self) -> bool:
        """Whether its members act as such: it is not removed."""
        return not self.is_removed

    @property
    def role_urns(self) -> list[str]:
        """The URNs of its roles, in order (prefetched by `users_groups_roles.list_groups`)."""
        return sorted(assignment.role.urn for assignment in self.group.role_assignments.all())

    @property
    def role_names(self) -> list[str]:
        """The names of its roles, in order (prefetched by `users_groups_roles.list_groups`)."""
        return sorted((assignment.role.name for assignment in self.group.role_assignments.all()), key=str.casefold)


class Membership(TimedRow):
    """A user in a group: native (assigned here), external (delivered by its source), or both.

    Its times are those of the native membership: what a source delivers lasts until the source ends it.
    """

    # A compound index in each order serves either foreign key.
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships", db_index=False)
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="memberships", db_index=False)
    is_native = models.BooleanField(default=False)
    is_external = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "group"], name="membership_once"),
            models.CheckConstraint(condition=Q(is_native=True) | Q(is_external=True), name="membership_has_origin"),
            models.CheckConstraint(
                condition=Q(is_native=True) | Q(valid_from__isnull=True, valid_until__isnull=True),
                name="membership_with_times_is_native",
            ),
        ]
        indexes = [
            models.Index(fields=["group", "user"], name="membership_of_group"),
            # Few memberships end.
            models.Index(fields=["valid_until"], condition=Q(valid_until__isnull=False), name="membership_ends"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.group_id}"


class ScheduledMembership(ScheduledRow):
    """A native membership that has not begun."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="scheduled_memberships", db_index=False)
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="scheduled_memberships")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "group"], name="scheduled_membership_once")]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.group_id} from {self.valid_from}"
