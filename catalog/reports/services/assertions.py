"""Saving the text of the assertions, validated before it is stored. Requires MANAGE_POLICIES, as reports do."""

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
    """Store a new version of the text and return it; an unchanged text returns the latest version.

    Raises Forbidden, Invalid with every problem (a pointer is `line 12`), Stale when the latest version is not
    `expected_version` (0: none), and Conflict while ASSERTIONS_FILE holds the assertions.
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
    """Return the assertions of a text. Raises Invalid with every problem."""
    try:
        return parser.parse(text)
    except parser.InvalidAssertions as error:
        raise Invalid(error.problems) from None
