"""The assertions in force, and their earlier versions."""

from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet

from catalog.models import AssertionText


def latest() -> AssertionText | None:
    """Return the newest version that was saved on the page; None before the first."""
    return AssertionText.objects.first()


def versions() -> QuerySet[AssertionText]:
    """Return every version, newest first."""
    return AssertionText.objects.order_by("-number")


def text() -> str:
    """Return the text in force: that of the file that the settings name, else the newest version.

    Raises OSError when the file cannot be read, and UnicodeDecodeError when it is no text.
    """
    if settings.ASSERTIONS_FILE:
        return Path(settings.ASSERTIONS_FILE).read_text(encoding="utf-8")
    found = latest()
    return found.text if found is not None else ""
