"""How mails are sent: claimed for a time, at least once under one Message-ID, again while the server is away.

A worker that dies between sending and storing leaves its claim, which ends by itself; the mail is sent again then, and
its receiver's program knows the Message-ID.
"""

import logging
import time
from datetime import datetime, timedelta
from smtplib import SMTPDataError, SMTPException, SMTPRecipientsRefused, SMTPSenderRefused

from django.conf import settings
from django.core import mail as django_mail
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import Q, QuerySet
from django.utils import timezone

from policies.events.channels.email import form
from policies.events.channels.email.planning import is_address
from policies.models import Mail

log = logging.getLogger(__name__)

#: After this age a mail is given up.
MAX_AGE = timedelta(days=3)

#: Minutes to the next try, by the tries before; the last for all further ones.
_RETRY_MINUTES = (1, 5, 15, 60)

#: A conversation with a server takes up to so many of its timeouts.
_TIMEOUTS_PER_MAIL = 12

#: Errors about one mail; after any other one the server is taken to be away.
_ERRORS_OF_ONE_MAIL = (SMTPRecipientsRefused, SMTPDataError, SMTPSenderRefused)


def send_due(*, seconds: float) -> int:
    """Send the mails that are due, for about this long or until the server is away; return how many were sent."""
    deadline, count = time.monotonic() + seconds, 0
    connection: BaseEmailBackend = django_mail.get_connection()
    try:
        while time.monotonic() < deadline and (mail := claim_next()) is not None:
            try:
                count += _send(mail, connection)
            except (OSError, SMTPException) as error:
                _store_failure(mail, error)
                if not isinstance(error, _ERRORS_OF_ONE_MAIL):
                    break
    finally:
        connection.close()
    return count


def claim_next() -> Mail | None:
    """Claim the mail that is due longest for this worker, and return it; None when none is due."""
    while True:
        now = timezone.now()
        key = _select_due(now).order_by("next_attempt_at", "pk").values_list("pk", flat=True).first()
        if key is None:
            return None
        claimed_until = now + timedelta(seconds=_TIMEOUTS_PER_MAIL * settings.EMAIL_TIMEOUT)
        if _select_due(now).filter(pk=key).update(claimed_until=claimed_until):
            return Mail.objects.select_related("user").get(pk=key)


def delete_old(*, before: datetime, batch: int) -> int:
    """Delete up to `batch` mails from before a time that are not to be sent any more; return their number."""
    old_mails = Mail.objects.filter(created_at__lt=before).exclude(state=Mail.State.WAITING).order_by("created_at")
    deleted_count, _ = Mail.objects.filter(pk__in=list(old_mails.values_list("pk", flat=True)[:batch])).delete()
    return deleted_count


def _select_due(now: datetime) -> QuerySet[Mail]:
    is_free = Q(claimed_until__isnull=True) | Q(claimed_until__lt=now)
    return Mail.objects.filter(is_free, state=Mail.State.WAITING, next_attempt_at__lte=now)


def _send(mail: Mail, connection: BaseEmailBackend) -> int:
    """Send a claimed mail, and return 1; 0 where nobody is there to get it. Raises OSError and SMTPException."""
    address = mail.address if mail.user is None else mail.user.email if mail.user.is_active else ""
    notices = mail.notices.order_by("pk")
    count = notices.count()
    if not count or not is_address(address):
        _store(mail, state=Mail.State.DROPPED, problem="Its receiver is gone or has no address.")
        return 0
    message = form.build_message(mail, list(notices[: form.MAX_LISTED]), count=count, to=address)
    connection.send_messages([message])
    _store(mail, state=Mail.State.SENT, sent_at=timezone.now(), problem="")
    return 1


def _store_failure(mail: Mail, error: Exception) -> None:
    now = timezone.now()
    log.warning("mail_not_sent", extra={"mail": mail.pk, "attempts": mail.attempts + 1, "error": str(error)})
    is_given_up = now - mail.created_at > MAX_AGE
    minutes = _RETRY_MINUTES[min(mail.attempts, len(_RETRY_MINUTES) - 1)]
    _store(
        mail,
        state=Mail.State.FAILED if is_given_up else Mail.State.WAITING,
        next_attempt_at=now + timedelta(minutes=minutes),
        problem=str(error)[:1_000].replace("\x00", "?"),
    )


def _store(mail: Mail, **columns: object) -> None:
    """Store the outcome of a try, unless another worker holds the mail by now."""
    own_claim = Mail.objects.filter(pk=mail.pk, claimed_until=mail.claimed_until)
    own_claim.update(claimed_until=None, attempts=mail.attempts + 1, **columns)
