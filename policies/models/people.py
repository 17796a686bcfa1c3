"""Users and groups: the actors of every family.

Groups are Django's own, so that django-guardian can grant to them; what Django does not know about a group stands in
its profile.
"""

import hashlib
import secrets
import uuid
from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, Group, PermissionsMixin
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Concat, Lower
from django.utils import timezone
from django.utils.crypto import salted_hmac

from policies.models.fields import BytewiseCharField, JsonTextField, UrnField
from policies.models.lookalikes import FoldedNameField

USER_PREFIX = "urn:li:corpuser:"
GROUP_PREFIX = "urn:li:corpGroup:"

#: Who exists from the start and can never be removed or suspended.
ROOT_USERNAME = "datahub"
#: The name of the actor as which the product itself acts; no row may ever carry it.
SYSTEM_USERNAME = "__datahub_system"

#: Longest name or title of a person, group, role or policy, in characters.
MAX_NAME_LENGTH = 255
#: Longest id that a source of people gives them, in characters.
MAX_EXTERNAL_ID_LENGTH = 255
#: Longest user name and longest id of a group or role, in characters.
MAX_IDENTIFIER_LENGTH = 200

_MAX_GROUP_NAME_LENGTH = 150


def new_object_id() -> str:
    """Return a fresh object id: 24 lower-case hexadecimal digits."""
    return secrets.token_hex(12)


def django_group_name(urn: str) -> str:
    """Return the name of the Django group behind a URN: the URN, or a digest of one too long for the column."""
    return urn if len(urn) <= _MAX_GROUP_NAME_LENGTH else f"sha256:{hashlib.sha256(urn.encode()).hexdigest()}"


class UserManager(BaseUserManager["User"]):
    """Finds users by name. Users are made by `services.people`, which checks and records, never here."""


class User(AbstractBaseUser, PermissionsMixin):
    """A person or a service that can be asked about and, with a credential, can ask.

    `state` is what counts: SUSPENDED when the status or the source that delivers the user says so. `extra` keeps the
    parts of the user's aspects that no column holds (services.aspects). `scim_id` is what sources of people call the
    user, `external_id` and `delivered` what they say of it that no aspect has a place for (services.provisioning).
    `is_staff` and `is_superuser` open Django's admin and mean nothing to the engine.
    """

    class State(models.TextChoices):
        """Whether the user may act."""

        ACTIVE = "ACTIVE"
        SUSPENDED = "SUSPENDED"

    class Kind(models.TextChoices):
        """Who is behind the user."""

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
        # Lists count and page by these without looking at the rows, which are long.
        indexes = [
            models.Index(fields=["kind", "is_removed", "urn"], name="user_listed"),
            # Few are removed: counts of the others leave these out.
            models.Index(fields=["id"], condition=Q(is_removed=True), name="user_removed"),
            # Sources of people look users up by name, whatever its letters' size.
            models.Index(Lower("username"), name="user_folded"),
            # No account is made whose name looks like that of another one.
            models.Index(fields=["folded_username"], name="user_looks"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """What people see: the display name, else the user name."""
        return self.display_name or self.username

    @property
    def is_active(self) -> bool:  # type: ignore[override]  # a column in the base, and derived here
        """Whether the user may act at all."""
        return self.state == self.State.ACTIVE and not self.is_removed

    @property
    def is_root(self) -> bool:
        """Whether this is the user that exists from the start."""
        return bool(self.username == ROOT_USERNAME)

    @property
    def group_urns(self) -> list[str]:
        """Its groups, native and external, in order (prefetched by `queries.users`)."""
        return sorted(membership.group.profile.urn for membership in self.memberships.all())

    @property
    def role_urns(self) -> list[str]:
        """The roles it holds itself, in order (prefetched by `queries.users`)."""
        return sorted(assignment.role.urn for assignment in self.role_assignments.all())

    @property
    def group_names(self) -> list[str]:
        """What its groups are called, in order (prefetched by `queries.users`)."""
        return sorted((membership.group.profile.name for membership in self.memberships.all()), key=str.casefold)

    @property
    def role_names(self) -> list[str]:
        """What the roles are called that it holds itself, in order (prefetched by `queries.users`)."""
        return sorted((assignment.role.name for assignment in self.role_assignments.all()), key=str.casefold)

    def get_full_name(self) -> str:
        """Return the name that Django's admin greets with."""
        return self.name

    def get_short_name(self) -> str:
        """Return the short form of the name; there is none."""
        return self.name

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        # Every session carries this; raising the epoch ends them all, also without a new password.
        salt = "policies.models.User.session"
        return salted_hmac(salt, f"{self.password}:{self.session_epoch}", secret=secret, algorithm="sha256").hexdigest()


class GroupProfile(models.Model):
    """What a group is beside its name in Django: its URN, where it comes from and how people see it.

    Members of an EXTERNAL group come with its source and are not edited by hand.
    """

    class Origin(models.TextChoices):
        """Who keeps the list of members."""

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
    def role_urns(self) -> list[str]:
        """The roles it holds, in order (prefetched by `queries.groups`)."""
        return sorted(assignment.role.urn for assignment in self.group.role_assignments.all())

    @property
    def role_names(self) -> list[str]:
        """What the roles are called that it holds, in order (prefetched by `queries.groups`)."""
        return sorted((assignment.role.name for assignment in self.group.role_assignments.all()), key=str.casefold)


class Membership(models.Model):
    """A user is in a group: because somebody here said so (native), because its source did (external), or both."""

    # Each foreign key is served by an index of both, in one order and in the other.
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships", db_index=False)
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="memberships", db_index=False)
    is_native = models.BooleanField(default=False)
    is_external = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "group"], name="membership_once"),
            models.CheckConstraint(condition=Q(is_native=True) | Q(is_external=True), name="membership_has_origin"),
        ]
        indexes = [models.Index(fields=["group", "user"], name="membership_of_group")]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.group_id}"
