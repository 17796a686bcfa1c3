"""The assertions in force, and their earlier versions."""

from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet

from catalog.models import AssertionText, ManagedAssertion


def find_latest() -> AssertionText | None:
    """Return the latest saved version; None before the first."""
    return AssertionText.objects.first()


def list_versions() -> QuerySet[AssertionText]:
    """Return all versions, newest first."""
    return AssertionText.objects.order_by("-number")


def list_managed() -> QuerySet[ManagedAssertion]:
    """Return the marks of the assertions that are managed as code, by name."""
    return ManagedAssertion.objects.filter(is_managed=True)


def load_text() -> str:
    """Return the text in force: the file ASSERTIONS_FILE, else the latest version.

    Raises OSError when the file cannot be read, and UnicodeDecodeError when it is not UTF-8.
    """
    if settings.ASSERTIONS_FILE:
        return Path(settings.ASSERTIONS_FILE).read_text(encoding="utf-8")
    version = find_latest()
    return version.text if version is not None else ""
