"""Saving the text of the assertions, validated before it is stored. Requires MANAGE_POLICIES, as reports do."""

from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from catalog.assertions import parser, yaml_nodes
from catalog.models import AssertionText, ManagedAssertion
from catalog.reports.queries import assertions as queries
from catalog.reports.services.reports import REQUIRED_PRIVILEGE
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid, Stale
from policies.pdp import authorizer
from policies.writes import managed_rows


def save(*, text: str, expected_version: int, by: Actor) -> AssertionText:
    """Store a new version of the text and return it; an unchanged text returns the latest version.

    Raises Forbidden, Invalid with every problem (a pointer is `line 12`), Stale when the latest version is not
    `expected_version` (0: none), and Conflict while ASSERTIONS_FILE holds the assertions, or for a change of one
    that is managed as code.
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
    refuse_managed_changes(latest.text if latest is not None else "", text, by=by)
    try:
        with transaction.atomic():
            return AssertionText.objects.create(number=number + 1, text=text, by=by.urn)
    except IntegrityError:
        raise Stale("Somebody saved another version meanwhile.") from None


def list_values(text: str) -> dict[str, Any]:
    """Return name → the assertion as mappings, lists and texts, in the order of a valid text."""
    root = yaml_nodes.load_texts(text)
    entries = root.get("assertions") if isinstance(root, dict) else root
    return {entry["name"].strip(): entry for entry in entries or ()}


def refuse_managed_changes(old_text: str, new_text: str, *, by: Actor) -> None:
    """Raise Conflict if an assertion that is managed as code differs between two texts, naming its source."""
    rows = ManagedAssertion.objects.filter(is_managed=True)
    if not rows:
        return
    old_values, new_values = list_values(old_text), list_values(new_text)
    for row in rows:
        if old_values.get(row.name) != new_values.get(row.name):
            managed_rows.refuse_managed(row, by=by)


def validate(text: str) -> tuple[parser.Assertion, ...]:
    """Return the assertions of a text. Raises Invalid with every problem."""
    try:
        return parser.parse(text)
    except parser.InvalidAssertions as error:
        raise Invalid(error.problems) from None
