"""`manage.py why`: the explained decision on one question, as plain text."""

import sys
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from policies.engine.families import datazone_resource_patterns
from policies.engine.near_misses import NearMatch
from policies.engine.requirements import privilege_requirement
from policies.errors import PolicyAppError
from policies.models.fields import is_storable
from policies.models.people import USER_PREFIX
from policies.pdp import actor_resolution, authorizer, explanations
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.pdp.explanations import Explanation

#: Exit code for a wrong question; 0 means allow and 1 deny.
BAD_INPUT_EXIT_CODE = 2


class Command(BaseCommand):
    """Exits with 0 for allow, 1 for deny and 2 for a wrong question, for use in scripts."""

    help = "Show whether a user may use a privilege, and why. Exit code 0: allow, 1: deny, 2: wrong input."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add actor, privilege, resource and tags."""
        parser.add_argument("actor", help="user name or URN of a user")
        parser.add_argument("privilege", help="for example EDIT_ENTITY_TAGS")
        parser.add_argument("resource", nargs="?", default="", help="URN of an entity (default: the platform itself)")
        parser.add_argument(
            "--touching", nargs="+", default=[], metavar="TAG", help="URNs of the tags that the change adds or removes"
        )

    def handle(self, *_: Any, actor: str, privilege: str, resource: str, touching: list[str], **__: Any) -> None:
        """Print the explained decision, and exit with 1 if it denies."""
        urn = actor if actor.startswith("urn:") else f"{USER_PREFIX}{actor}"
        if problems := list(_find_problems(actor, urn, privilege, resource, touching)):
            raise CommandError(" ".join(problems), returncode=BAD_INPUT_EXIT_CODE)
        request = AccessRequest(
            privilege_requirement(privilege), ResourceRef(resource) if resource else None, tuple(touching)
        )
        try:
            explanation = explanations.explain_answer(actor=actor_resolution.load_actor(urn=urn), request=request)
        except PolicyAppError as error:
            raise CommandError(error.detail, returncode=BAD_INPUT_EXIT_CODE) from None
        self.stdout.write("\n".join(_render_explanation(explanation, urn, privilege, resource)))
        if not explanation.decision.is_allowed:
            sys.exit(1)


def _find_problems(actor: str, urn: str, privilege: str, resource: str, tags: list[str]) -> Iterable[str]:
    if not actor or not urn.startswith(USER_PREFIX):
        yield "The actor must be a user name or the URN of a user, such as urn:li:corpuser:jane."
    if not privilege:
        yield "Name a privilege, such as EDIT_ENTITY_TAGS."
    if resource and not resource.startswith("urn:"):
        yield f"{resource!r} is not a URN; the resource must be one, such as urn:li:tag:pii."
    elif resource and (
        problem := datazone_resource_patterns.check_question(privilege, explanations.find_type(resource), "")
    ):
        yield problem.detail
    for tag in tags:
        if not tag.startswith("urn:"):
            yield f"{tag!r} is not a URN; --touching takes URNs of tags, such as urn:li:tag:pii."
    if not all(is_storable(text) for text in (actor, privilege, resource, *tags)):
        yield "An argument holds a character that cannot be stored, such as NUL; leave it out."


def _render_explanation(explanation: Explanation, urn: str, privilege: str, resource: str) -> Iterable[str]:
    names = authorizer.load_names(urns={urn, resource} - {""})
    target = f" on {names.get(resource, resource)}" if resource else ""
    yield f"{'ALLOW' if explanation.decision.is_allowed else 'DENY'}: {names.get(urn, urn)}, {privilege}{target}"
    yield explanations.SENTENCES[explanation.decision.code]
    for hint in explanation.hints:
        suggestions = f" Did you mean {' or '.join(hint.suggestions)}?" if hint.suggestions else ""
        yield f"There is no {hint.field_name} {hint.name}.{suggestions}"
    if resource and not explanations.is_known(urn=resource):
        yield explanations.NOT_STORED
    for reason in explanation.reasons:
        yield f"- {reason.name} ({reason.policy}), {reason.effect}: {reason.explanation}"
    if explanation.near_misses:
        yield "Policies that almost allow it:"
    for near_miss in explanation.near_misses:
        yield from _render_near_miss(near_miss)
    yield f"Answered from policies at version {explanation.decision.version}."


def _render_near_miss(near_miss: NearMatch) -> Iterable[str]:
    yield " ".join(filter(None, (f"- {near_miss.name} ({near_miss.policy}).", near_miss.explanation)))
    for condition in near_miss.failed_conditions:
        yield f"    lacking: {condition.sentence} {explanations.format_remedy(condition)}"
    if near_miss.opening:
        yield f"    {near_miss.opening.sentence}"
