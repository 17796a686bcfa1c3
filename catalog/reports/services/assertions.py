"""What should hold of access: saved as a text, which is read before it is stored. Needs what reports need."""

from django.conf import settings
from django.db import IntegrityError, transaction

from catalog.models import AssertionText
from catalog.reports.assertions import parser
from catalog.reports.queries import assertions as queries
from catalog.reports.services.reports import REQUIRED_PRIVILEGE
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid, Stale
from policies.pdp import authorizer


def save(*, text: str, expected_version: int, by: Actor) -> AssertionText:
    """Store a new version of the text and return it; the same text again is no new version.

    Raises Forbidden, Invalid with every problem (a pointer is `line 12`), Stale when somebody else saved one since the
    version that was `expected_version` (0: none), and Conflict while a file holds the assertions.
    """
    authorizer.require(by=by, any_of=[[REQUIRED_PRIVILEGE]])
    if settings.ASSERTIONS_FILE:
        raise Conflict("ASSERTIONS_FILE names the file that holds the assertions; change them there.")
    text = text.replace("\r\n", "\n")
    validate(text)
    latest = queries.find_latest()
    number = latest.number if latest is not None else 0
    if expected_version != number:
        raise Stale(f"Somebody saved version {number} meanwhile.")
    if latest is not None and latest.text == text:
        return latest
    try:
        with transaction.atomic():
            return AssertionText.objects.create(number=number + 1, text=text, by=by.urn)
    except IntegrityError:
        raise Stale("Somebody saved another version meanwhile.") from None


def validate(text: str) -> tuple[parser.Assertion, ...]:
    """Return what a text asserts. Raises Invalid with every problem."""
    try:
        return parser.parse(text)
    except parser.InvalidAssertions as error:
        raise Invalid(error.problems) from None
