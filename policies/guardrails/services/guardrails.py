"""Writes of guardrails, and their judgment as a whole. Each needs MANAGE_GUARDRAILS.

Breaches at the time of a guardrail's own write are stored with it, and listed. One that nothing can satisfy is
refused.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils import timezone

from policies import registries
from policies.engine.errors import InvalidPolicy, Problem
from policies.engine.guardrails.rules import Rule, RuleKind, read_rule
from policies.engine.model import Actor
from policies.errors import Conflict, Forbidden, Invalid, Stale
from policies.guardrails.queries import guardrails
from policies.guardrails.services.satisfiability import find_unsatisfiable
from policies.models import ChangeEvent, Gate, Guardrail, Verb, open_event_write, open_write
from policies.models.fields import is_storable
from policies.models.guardrail import GUARDRAIL_PREFIX, LOCKOUT_NAME, LOCKOUT_URN
from policies.models.people import MAX_NAME_LENGTH
from policies.pdp import snapshot_store
from policies.pdp.authorizer import SYSTEM
from policies.writes import managed_rows, required_privileges
from policies.writes.guardrail_check import emit_if_broken, serialize_judgment
from policies.writes.guardrail_judgment import GuardrailJudge, Judgment, build_unreadable, load_rule
from policies.writes.guardrail_worlds import JudgedWorld, load_timed_policies
from policies.writes.validation import MAX_TEXT_LENGTH, Checks

#: Most guardrails: each is judged at writes that can break it.
MAX_GUARDRAILS = 100

#: Most breaches that are stored and sent.
MAX_LISTED_BREACHES = 100


def create(
    *,
    name: str,
    rule: Any,
    by: Actor,
    channel: str,
    description: str = "",
    mode: str = Guardrail.Mode.ENFORCE,
    urn: str | None = None,
) -> Guardrail:
    """Store a new guardrail, under `urn` or a generated one.

    Raises Forbidden, Invalid with every problem, or Conflict when the URN is taken or there are too many.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_GUARDRAILS)
    urn = f"{GUARDRAIL_PREFIX}{uuid.uuid4()}" if urn is None else validate_urn(urn)
    values = {"name": name, "description": description, "mode": mode, "rule": rule}
    parsed_rule = validate_values(values)
    with open_write(Gate.PEOPLE) as write:
        if Guardrail.objects.filter(urn=urn).exists():
            raise Conflict(f"There is a guardrail {urn} already.")
        if Guardrail.objects.count() >= MAX_GUARDRAILS:
            raise Conflict(f"There are {MAX_GUARDRAILS} guardrails already.")
        guardrail = Guardrail(urn=urn, created_by=by.urn, **values)
        _store(guardrail, parsed_rule, by=by)
        write.record([_build_event(guardrail, Verb.CREATED, before=None, by=by, channel=channel)])
    return guardrail


def update(*, urn: str, by: Actor, channel: str, if_version: int | None = None, **changes: Any) -> Guardrail:
    """Change the given ones of `name`, `description`, `mode` and `rule`.

    Raises NotFound, Forbidden, Conflict if it is managed as code, Stale when `if_version` is given and is not the
    version, Invalid with every problem.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_GUARDRAILS)
    with open_write(Gate.PEOPLE) as write:
        guardrail = _get_current(urn, by=by, if_version=if_version)
        before = facts(guardrail)
        values = {"name": guardrail.name, "description": guardrail.description, "mode": guardrail.mode}
        values |= {"rule": guardrail.rule, **changes}
        parsed_rule = validate_values(values, urn=urn)
        for column, value in values.items():
            setattr(guardrail, column, value)
        guardrail.version += 1
        _store(guardrail, parsed_rule, by=by)
        write.record([_build_event(guardrail, Verb.UPDATED, before=before, by=by, channel=channel)])
    return guardrail


def delete(*, urn: str, by: Actor, channel: str, if_version: int | None = None) -> None:
    """Delete a guardrail. Raises NotFound, Forbidden, Conflict if it is managed as code, Stale."""
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_GUARDRAILS)
    with open_write(Gate.PEOPLE) as write:
        guardrail = _get_current(urn, by=by, if_version=if_version)
        event = _build_event(guardrail, Verb.DELETED, before=facts(guardrail), by=by, channel=channel)
        guardrail.mode = Guardrail.Mode.OFF
        _report(guardrail, [])
        guardrail.delete()
        write.record([event])


def ensure_built_in(*, by: Actor) -> None:
    """Store the built-in guardrail, if it is not stored yet."""
    rule = {RuleKind.AT_LEAST.value: {"number": 1, "privileges": ["MANAGE_POLICIES"]}}
    if not Guardrail.objects.filter(urn=LOCKOUT_URN).exists():
        Guardrail.objects.create(
            urn=LOCKOUT_URN,
            name=LOCKOUT_NAME,
            description="Built in: no change leaves nobody who can sign in and manage policies, now or later.",
            rule=rule,
            status=Guardrail.Status.HOLDS,
            created_by=by.urn,
            updated_by=by.urn,
        )


def judge(guardrail: Guardrail) -> Judgment:
    """Return the judgment of a guardrail now, whoever asks; UNKNOWN for one whose rule cannot be read any more."""
    try:
        rule = load_rule(guardrail)
    except Invalid as problems:
        return Judgment((build_unreadable(problems),))
    return _judge(rule)


def judge_rule(document: Any) -> Judgment:
    """Return the judgment of a rule that is not stored; raises InvalidPolicy with every problem of it."""
    return _judge(read_rule(document, custom=settings.CUSTOM_PRIVILEGES))


def refresh_status(guardrail: Guardrail) -> Guardrail:
    """Judge a guardrail, store what was found if it differs, and return it with that."""
    judgment = Judgment() if guardrail.mode == Guardrail.Mode.OFF else judge(guardrail)
    status, breaches = judgment.status.value, serialize_judgment(judgment, limit=MAX_LISTED_BREACHES)
    if (guardrail.status, guardrail.breaches) != (status, breaches):
        was_broken = guardrail.status == Guardrail.Status.BROKEN
        guardrail.status, guardrail.breaches, guardrail.judged_at = status, breaches, timezone.now()
        # One that was edited meanwhile was judged by that.
        rows = Guardrail.objects.filter(pk=guardrail.pk, version=guardrail.version)
        with open_event_write():
            # Two workers may judge at once: the first one tells of it.
            was_broken |= rows.filter(status=Guardrail.Status.BROKEN).exists()
            is_current = bool(rows.update(status=status, breaches=breaches, judged_at=guardrail.judged_at))
            _report(guardrail, breaches)
            emit_if_broken(guardrail, was_broken=was_broken or not is_current, by=SYSTEM)
    return guardrail


def refresh_statuses() -> int:
    """Judge every guardrail that is not off, and return how many are broken."""
    judged = [refresh_status(guardrail) for guardrail in Guardrail.objects.exclude(mode=Guardrail.Mode.OFF)]
    return sum(guardrail.status == Guardrail.Status.BROKEN for guardrail in judged)


def facts(guardrail: Guardrail) -> dict[str, Any]:
    """Return the state of a guardrail as the change log stores it."""
    return {
        "name": guardrail.name,
        "description": guardrail.description,
        "mode": guardrail.mode,
        "rule": guardrail.rule,
        "version": guardrail.version,
    }


def validate_urn(urn: str) -> str:
    """Return `urn` if a guardrail can have it; raises Invalid."""
    identifier = urn.removeprefix(GUARDRAIL_PREFIX)
    if identifier in (urn, "") or not identifier.isprintable() or len(urn) > MAX_NAME_LENGTH or not is_storable(urn):
        detail = f"The URN of a guardrail is {GUARDRAIL_PREFIX} and an id, up to {MAX_NAME_LENGTH} characters in all."
        raise Invalid.from_problem(code="urn.invalid", pointer="/urn", detail=detail)
    if urn == LOCKOUT_URN:
        raise Invalid.from_problem(
            code="urn.taken", pointer="/urn", detail="This is the URN of the built-in guardrail."
        )
    return urn


def validate_values(values: Mapping[str, Any], *, urn: str = "") -> Rule:
    """Return the rule of a guardrail with these values; raises Invalid with every problem.

    `urn` is that of the guardrail, if it is stored already. One that is off may say what nothing can satisfy.
    """
    checks = Checks()
    checks.validate_text(values["name"], "/name", limit=MAX_NAME_LENGTH, is_required=True)
    checks.validate_text(values["description"], "/description", limit=MAX_TEXT_LENGTH)
    checks.validate_choice(values["mode"], "/mode", Guardrail.Mode.values)
    problems: list[Problem] = list(checks.problems)
    try:
        rule = read_rule(values["rule"], custom=settings.CUSTOM_PRIVILEGES)
    except InvalidPolicy as error:
        raise Invalid([*problems, *error.problems]) from None
    if values["mode"] != Guardrail.Mode.OFF:
        problems += find_unsatisfiable(rule, urn=urn)
    if problems:
        raise Invalid(problems)
    return rule


def _store(guardrail: Guardrail, rule: Rule, *, by: Actor) -> None:
    """Store a guardrail with what breaks it already."""
    was_broken = guardrail.status == Guardrail.Status.BROKEN
    judgment = Judgment() if guardrail.mode == Guardrail.Mode.OFF else _judge(rule)
    guardrail.status = judgment.status
    guardrail.breaches = serialize_judgment(judgment, limit=MAX_LISTED_BREACHES)
    guardrail.judged_at = guardrail.updated_at = timezone.now()
    guardrail.updated_by = by.urn
    guardrail.save()
    _report(guardrail, guardrail.breaches)
    emit_if_broken(guardrail, was_broken=was_broken, by=by)


def _judge(rule: Rule) -> Judgment:
    return GuardrailJudge(rule, JudgedWorld(snapshot_store.get_current(), load_timed_policies())).judge()


def _report(guardrail: Guardrail, breaches: list[dict[str, Any]]) -> None:
    for tell in registries.load_entries("guardrail_hooks").values():
        tell(guardrail=guardrail, breaches=breaches)


def _get_current(urn: str, *, by: Actor, if_version: int | None) -> Guardrail:
    guardrail = guardrails.get_guardrail(urn=urn)
    if guardrail.is_built_in:
        raise Forbidden((), f"The guardrail {guardrail.name} is built in and cannot be changed or deleted.")
    managed_rows.refuse_managed(guardrail, by=by)
    if if_version is not None and guardrail.version != if_version:
        raise Stale(f"{guardrail.name} is at version {guardrail.version} now, not {if_version}.")
    return guardrail


def _build_event(
    guardrail: Guardrail, verb: Verb, *, before: dict[str, Any] | None, by: Actor, channel: str
) -> ChangeEvent:
    return ChangeEvent(
        object_urn=guardrail.urn,
        name=guardrail.name,
        verb=verb,
        by=by.urn,
        door=channel,
        before=before,
        after=None if verb is Verb.DELETED else facts(guardrail),
    )
