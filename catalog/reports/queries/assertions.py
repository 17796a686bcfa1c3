"""The assertions in force, and their earlier versions."""

from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet

from catalog.models import AssertionText


def find_latest() -> AssertionText | None:
    """Return the newest version that was saved on the page; None before the first."""
    return AssertionText.objects.first()


def list_versions() -> QuerySet[AssertionText]:
    """Return every version, newest first."""
    return AssertionText.objects.order_by("-number")


def load_text() -> str:
    """Return the text in force: that of the file that the settings name, else the newest version.

    Raises OSError when the file cannot be read, and UnicodeDecodeError when it is no text.
    """
    if settings.ASSERTIONS_FILE:
        return Path(settings.ASSERTIONS_FILE).read_text(encoding="utf-8")
    version = find_latest()
    return version.text if version is not None else ""
