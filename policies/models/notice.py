"""Notices: what a person is told, in the inbox and by mail; and the mails that carry them."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from policies.models.fields import BytewiseCharField

#: Longest title of a notice, in characters.
MAX_TITLE_LENGTH = 255

#: Longest text of a notice, in characters.
MAX_NOTICE_LENGTH = 12_000

_MAX_KEY_LENGTH = 64
_MAX_ADDRESS_LENGTH = 320


class Mail(models.Model):
    """A mail that is to be sent to one address, with the notices that name it.

    `key` says of which event or day it is, so that one is made once; `message_id` stays through every try. A worker
    that sends it holds it until `claimed_until`; after that another one may try again.
    """

    class State(models.TextChoices):
        """WAITING: it is to be sent, or sent again. FAILED: given up. DROPPED: nobody is there to get it."""

        WAITING = "WAITING"
        SENT = "SENT"
        FAILED = "FAILED"
        DROPPED = "DROPPED"

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="mails")
    address = models.CharField(max_length=_MAX_ADDRESS_LENGTH, blank=True)
    key = BytewiseCharField(max_length=_MAX_KEY_LENGTH)
    message_id = models.CharField(max_length=255)
    state = models.CharField(max_length=16, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField(default=timezone.now)
    claimed_until = models.DateTimeField(null=True)
    problem = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["WAITING", "SENT", "FAILED", "DROPPED"]), name="mail_state_known"
            ),
            models.CheckConstraint(
                condition=Q(user__isnull=False, address="") | (Q(user__isnull=True) & ~Q(address="")),
                name="mail_has_one_receiver",
            ),
            models.UniqueConstraint(fields=["user", "key"], condition=Q(user__isnull=False), name="mail_to_user_once"),
            models.UniqueConstraint(
                fields=["address", "key"], condition=Q(user__isnull=True), name="mail_to_address_once"
            ),
        ]
        indexes = [
            models.Index(fields=["next_attempt_at"], condition=Q(state="WAITING"), name="mail_waiting"),
            models.Index(fields=["created_at"], name="mail_created"),
        ]

    def __str__(self) -> str:
        return f"{self.message_id} {self.state}"


class Notice(models.Model):
    """One notice to a user, or to one address of ALERT_RECIPIENTS: a title, a text, and the page it is about.

    `key` names the fact (an event, or an end that comes), so that nobody is told of it twice. `path` is below
    PUBLIC_URL. `mail` is the mail that carries it, null where none does. `opened_at` is when its link was opened, if
    that can be done once.
    """

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="notices", db_index=False
    )
    address = models.CharField(max_length=_MAX_ADDRESS_LENGTH, blank=True)
    key = BytewiseCharField(max_length=_MAX_KEY_LENGTH)
    type = BytewiseCharField(max_length=48)
    title = models.CharField(max_length=MAX_TITLE_LENGTH)
    text = models.TextField(blank=True)
    path = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    read_at = models.DateTimeField(null=True)
    opened_at = models.DateTimeField(null=True)
    mail = models.ForeignKey(Mail, on_delete=models.SET_NULL, null=True, related_name="notices")

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=False, address="") | (Q(user__isnull=True) & ~Q(address="")),
                name="notice_has_one_receiver",
            ),
            models.UniqueConstraint(
                fields=["user", "key"], condition=Q(user__isnull=False), name="notice_to_user_once"
            ),
            models.UniqueConstraint(
                fields=["address", "key"], condition=Q(user__isnull=True), name="notice_to_address_once"
            ),
        ]
        indexes = [
            models.Index(fields=["user", "-id"], name="notice_of_user"),
            models.Index(fields=["user"], condition=Q(read_at__isnull=True), name="notice_unread"),
            models.Index(fields=["created_at"], name="notice_created"),
        ]

    def __str__(self) -> str:
        return self.title


class NoticePreference(models.Model):
    """Whether a person gets notices by mail; without a row each notice is a mail."""

    class ByMail(models.TextChoices):
        """EACH: a mail for each notice. DAILY: one mail a day. NONE: the inbox alone."""

        EACH = "EACH", "A mail for each"
        DAILY = "DAILY", "One mail a day"
        NONE = "NONE", "No mail"

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="notice_preference"
    )
    by_mail = models.CharField(max_length=8, choices=ByMail, default=ByMail.EACH)
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(by_mail__in=["EACH", "DAILY", "NONE"]), name="notice_preference_known")
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.by_mail}"
