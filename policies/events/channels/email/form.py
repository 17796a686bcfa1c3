"""The text of a mail, plain and as HTML: titles, texts, and links to pages that need a sign-in."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse

from policies.models import Mail, Notice

#: Most notices that one mail says; it counts the rest.
MAX_LISTED = 50


def build_message(mail: Mail, notices: Sequence[Notice], *, count: int, to: str) -> EmailMultiAlternatives:
    """Return the message of a mail with these notices, the first of `count`; its Message-ID stays at every try."""
    # A title is one line.
    subject = notices[0].title if count == 1 else f"{count:,} notices"
    context: dict[str, Any] = {
        "notices": [{"title": item.title, "text": item.text, "url": build_url(item.path)} for item in notices],
        "more_count": count - len(notices),
        "is_personal": mail.user_id is not None,
        "inbox_url": build_url(reverse("notifications")),
    }
    message = EmailMultiAlternatives(
        f"[authzsite] {subject}",
        render_to_string("email/notices.txt", context),
        to=[to],
        # Programs that answer mail leave it alone (RFC 3834).
        headers={"Message-ID": mail.message_id, "Auto-Submitted": "auto-generated"},
    )
    message.attach_alternative(render_to_string("email/notices.html", context), "text/html")
    return message


def build_url(path: str) -> str:
    """Return the address of a page as people outside reach it; the path alone without PUBLIC_URL."""
    return f"{settings.PUBLIC_URL or ''}{path}" if path else ""
