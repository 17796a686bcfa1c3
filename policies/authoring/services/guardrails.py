"""Writes of guardrails, and their judgment as a whole. Each needs MANAGE_GUARDRAILS.

What already breaks a guardrail when it is written is stored with it, and listed. One that nothing can satisfy is
refused.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string

from policies.authoring.queries import guardrails
from policies.engine.errors import InvalidPolicy, Problem
from policies.engine.guardrails.rules import Rule, RuleKind, read_rule
from policies.engine.model import Actor
from policies.errors import Conflict, Forbidden, Invalid, Stale
from policies.models import ChangeEvent, Gate, Guardrail, Policy, User, Verb, open_write
from policies.models.fields import is_storable
from policies.models.guardrail import GUARDRAIL_PREFIX, LOCKOUT_URN
from policies.models.people import MAX_NAME_LENGTH
from policies.pdp import snapshot_store
from policies.writes import managed_rows, required_privileges
from policies.writes.guardrail_check import serialize_judgment
from policies.writes.guardrail_judgment import (
    GuardrailJudge,
    JudgedWorld,
    Judgment,
    add_pending_policies,
    load_rule,
)
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
        parsed_rule = validate_values(values)
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
            name="Somebody can manage policies",
            description="Built in: no change leaves nobody who can sign in and manage policies, now or later.",
            rule=rule,
            status=Guardrail.Status.HOLDS,
            created_by=by.urn,
            updated_by=by.urn,
        )


def judge(guardrail: Guardrail) -> Judgment:
    """Return what breaks a guardrail now, whoever asks."""
    return _judge(load_rule(guardrail))


def judge_rule(document: Any) -> Judgment:
    """Return what breaks a rule now that is not stored; raises InvalidPolicy."""
    return _judge(read_rule(document, custom=settings.CUSTOM_PRIVILEGES))


def refresh_status(guardrail: Guardrail) -> Guardrail:
    """Judge a guardrail, store what was found if it differs, and return it with that."""
    judgment = Judgment() if guardrail.mode == Guardrail.Mode.OFF else judge(guardrail)
    status, breaches = judgment.status.value, serialize_judgment(judgment, limit=MAX_LISTED_BREACHES)
    if (guardrail.status, guardrail.breaches) != (status, breaches):
        guardrail.status, guardrail.breaches, guardrail.judged_at = status, breaches, timezone.now()
        # One that was edited meanwhile was judged by that.
        rows = Guardrail.objects.filter(pk=guardrail.pk, version=guardrail.version)
        rows.update(status=status, breaches=breaches, judged_at=guardrail.judged_at)
        _report(guardrail, breaches)
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


def validate_values(values: Mapping[str, Any]) -> Rule:
    """Return the rule of a guardrail with these values; raises Invalid with every problem."""
    checks = Checks()
    checks.validate_text(values["name"], "/name", limit=MAX_NAME_LENGTH, is_required=True)
    checks.validate_text(values["description"], "/description", limit=MAX_TEXT_LENGTH)
    checks.validate_choice(values["mode"], "/mode", Guardrail.Mode.values)
    problems: list[Problem] = list(checks.problems)
    try:
        rule = read_rule(values["rule"], custom=settings.CUSTOM_PRIVILEGES)
    except InvalidPolicy as error:
        raise Invalid([*problems, *error.problems]) from None
    problems += _find_unsatisfiable(rule)
    if problems:
        raise Invalid(problems)
    return rule


def _find_unsatisfiable(rule: Rule) -> list[Problem]:
    """Return why nothing that people could change would satisfy a rule about today's people."""
    active_users = User.objects.filter(state=User.State.ACTIVE, is_removed=False)
    if rule.kind is RuleKind.AT_LEAST:
        count = active_users.filter(kind=User.Kind.PERSON).count()
        if count < rule.number:
            detail = f"There are {count} active people: nothing can satisfy this."
            return [Problem("rule.unsatisfiable", "/rule/at_least/number", detail)]
    if rule.kind is RuleKind.ALWAYS:
        urns = rule.people.match.tokens
        present_urns = set(active_users.filter(urn__in=urns).values_list("urn", flat=True))
        return [
            Problem(
                "rule.unsatisfiable", "/rule/always/actors/users", f"{urn} is no active user: nothing can satisfy this."
            )
            for urn in sorted(urns - present_urns)
        ]
    if rule.kind is RuleKind.NEVER:
        return [
            Problem(
                "rule.unsatisfiable",
                "/rule/never/actors",
                f"The policy {breach['policy']}, which cannot be changed, gives this to {breach['people'][0]}: leave "
                "them out with everybody_except.",
            )
            for breach in _list_fixed_breaches(rule)
        ]
    return []


def _list_fixed_breaches(rule: Rule) -> list[dict[str, Any]]:
    """Return what system policies that cannot be changed let people do against a rule."""
    urns = set(Policy.objects.filter(is_system=True, is_editable=False).values_list("urn", flat=True))
    world = JudgedWorld(snapshot_store.get_current())
    judgment = GuardrailJudge(rule, world).judge_change(policies=urns, is_open=False, users=())
    return serialize_judgment(judgment, limit=1)


def _store(guardrail: Guardrail, rule: Rule, *, by: Actor) -> None:
    """Store a guardrail with what breaks it already."""
    judgment = Judgment() if guardrail.mode == Guardrail.Mode.OFF else _judge(rule)
    guardrail.status = judgment.status
    guardrail.breaches = serialize_judgment(judgment, limit=MAX_LISTED_BREACHES)
    guardrail.judged_at = guardrail.updated_at = timezone.now()
    guardrail.updated_by = by.urn
    guardrail.save()
    _report(guardrail, guardrail.breaches)


def _judge(rule: Rule) -> Judgment:
    snapshot, _ = add_pending_policies(snapshot_store.get_current())
    return GuardrailJudge(rule, JudgedWorld(snapshot)).judge()


def _report(guardrail: Guardrail, breaches: list[dict[str, Any]]) -> None:
    for path in settings.GUARDRAIL_HOOKS:
        import_string(path)(guardrail=guardrail, breaches=breaches)


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
