"""Guardrails that nothing people could change would satisfy: each is refused when it is written, with the reason."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.conf import settings

from policies.engine.errors import InvalidPolicy, Problem
from policies.engine.guardrails.contradictions import PROMISES, RESTRICTIONS, find_overlap, is_contradicted
from policies.engine.guardrails.rules import Rule, RuleKind, read_rule
from policies.engine.model import Actor, Effect
from policies.engine.snapshot import Snapshot
from policies.models import Guardrail, Policy, User
from policies.pdp import authorizer, snapshot_store
from policies.writes.guardrail_check import serialize_judgment
from policies.writes.guardrail_judgment import GuardrailJudge
from policies.writes.guardrail_worlds import JudgedWorld

_CODE = "rule.unsatisfiable"


def find_unsatisfiable(rule: Rule, *, urn: str = "") -> list[Problem]:
    """Return why nothing that people could change would satisfy a rule; `urn` is the guardrail that has it."""
    if overlap := find_overlap(rule):
        detail = (
            f"A person with {overlap} on entities of both parts breaks this alone. Say never, or keep the two "
            "parts apart."
        )
        return [Problem(_CODE, "/rule/not_both/second", detail)]
    people_problems = list(_find_missing_people(rule))
    if people_problems:
        return people_problems
    return [*_find_contradictions(rule, urn), *_find_fixed_breaches(rule)]


def _find_missing_people(rule: Rule) -> Iterator[Problem]:
    if rule.kind is RuleKind.AT_LEAST:
        count = _list_active_users().filter(kind=User.Kind.PERSON).count()
        if count < rule.number:
            detail = f"There are {count} active people: nothing can satisfy this."
            yield Problem(_CODE, "/rule/at_least/number", detail)
    if rule.kind is RuleKind.ALWAYS:
        urns = rule.people.match.tokens
        present_urns = set(_list_active_users().filter(urn__in=urns).values_list("urn", flat=True))
        for urn in sorted(urns - present_urns):
            detail = f"{urn} is no active user: nothing can satisfy this."
            yield Problem(_CODE, "/rule/always/actors/users", detail)


def _find_contradictions(rule: Rule, urn: str) -> Iterator[Problem]:
    """Yield the other guardrails that are not off and that nothing can satisfy together with this one."""
    world = JudgedWorld(snapshot_store.get_current())
    for guardrail in Guardrail.objects.exclude(mode=Guardrail.Mode.OFF).exclude(urn=urn).order_by("urn"):
        try:
            other_rule = read_rule(guardrail.rule, custom=settings.CUSTOM_PRIVILEGES)
        except InvalidPolicy:
            continue
        for promise, restriction in ((rule, other_rule), (other_rule, rule)):
            if promise.kind not in PROMISES or restriction.kind not in RESTRICTIONS:
                continue
            if is_contradicted(promise, restriction, partial(_load_people, promise, world)):
                detail = f"The guardrail {guardrail.name} ({guardrail.urn}) says the opposite: both cannot hold."
                yield Problem(_CODE, f"/rule/{rule.kind}", detail)


def _load_people(promise: Rule, world: JudgedWorld) -> dict[str, Actor]:
    """Return by URN the active people whom a promise is about."""
    if promise.kind is RuleKind.AT_LEAST:
        urns = list(_list_active_users().filter(kind=User.Kind.PERSON).values_list("urn", flat=True))
    else:
        rows = _list_active_users().filter(urn__in=promise.people.match.tokens)
        urns = list(rows.values_list("urn", flat=True))
    return {actor.urn: actor for actor in world.load_actors(urns)}


def _find_fixed_breaches(rule: Rule) -> Iterator[Problem]:
    """Yield what system policies that cannot be changed let people do against a rule."""
    if rule.kind not in RESTRICTIONS:
        return
    snapshot = snapshot_store.get_current()
    urns = set(Policy.objects.filter(is_system=True, is_editable=False).values_list("urn", flat=True))
    judge = GuardrailJudge(rule, JudgedWorld(_build_fixed_snapshot(rule, snapshot, urns)))
    judgment = judge.judge(policies=urns)
    fields = {RuleKind.NEVER: ("actors", "everybody_except"), RuleKind.NOT_BOTH: ("except", "except")}
    member, way_out = fields[rule.kind]
    breaches = list(serialize_judgment(judgment, limit=1))
    names = authorizer.load_names(
        urns={urn for breach in breaches for urn in (breach["policy"], *breach["people"][:1])}
    )
    for breach in breaches:
        policy, person = (names.get(urn) or urn for urn in (breach["policy"], breach["people"][0]))
        detail = f'"{policy}" is built in and gives this to {person}. Add {person} to the exceptions ({way_out}).'
        yield Problem(_CODE, f"/rule/{rule.kind}/{member}", detail)


def _build_fixed_snapshot(rule: Rule, snapshot: Snapshot, urns: set[str]) -> Snapshot:
    """Return a snapshot of these policies and of all denies that the rule meets."""
    denying_urns = {
        statement.origin.policy
        for privilege in rule.counted_privileges
        for statement in snapshot.list_statements(privilege)
        if statement.effect is Effect.DENY
    }
    statements: dict[str, list[Any]] = {}
    for statement in snapshot.list_statements_of(urns | denying_urns):
        if statement.effect is Effect.DENY or statement.origin.policy in urns:
            statements.setdefault(statement.origin.policy, []).append(statement)
    return Snapshot.build(snapshot.version, [(urn, tuple(group)) for urn, group in statements.items()])


def _list_active_users() -> Any:
    return User.objects.filter(state=User.State.ACTIVE, is_removed=False)
