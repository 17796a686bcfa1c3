"""Links for people who cannot sign in yet: invitations and password resets."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from policies.models.fields import UrnField
from policies.models.roles import Role

INVITE_PREFIX = "urn:li:inviteToken:"


class _Link(models.Model):
    """Columns of both kinds of link; only the digest of the secret is stored."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = UrnField(editable=False)
    expires_at = models.DateTimeField()

    class Meta:
        abstract = True
        ordering = ("-created_at", "id")


class InviteToken(_Link):
    """An invitation, one row for each role: its link allows sign-up, or replacing one's own roles by its role.

    Without a role, new users have none.
    """

    role = models.ForeignKey(Role, on_delete=models.CASCADE, related_name="invites", null=True, blank=True)

    class Meta(_Link.Meta):
        constraints = [
            # Primary keys begin at 1, so 0 stands for no role: there is one link of each.
            models.UniqueConstraint(Coalesce("role", 0), name="invite_token_once_for_a_role"),
            models.CheckConstraint(condition=Q(digest__regex="^[0-9a-f]{64}$"), name="invite_token_digest_is_sha256"),
            models.CheckConstraint(condition=Q(expires_at__gt=F("created_at")), name="invite_token_expires_later"),
        ]

    def __str__(self) -> str:
        return self.urn

    @property
    def urn(self) -> str:
        """The URN in the change log."""
        return f"{INVITE_PREFIX}{self.pk}"


class ResetToken(_Link):
    """A link with which one user sets a new password, once."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="reset_token")

    class Meta(_Link.Meta):
        constraints = [
            models.CheckConstraint(condition=Q(digest__regex="^[0-9a-f]{64}$"), name="reset_token_digest_is_sha256"),
            models.CheckConstraint(condition=Q(expires_at__gt=F("created_at")), name="reset_token_expires_later"),
        ]

    def __str__(self) -> str:
        return f"new password of user {self.user_id}"
