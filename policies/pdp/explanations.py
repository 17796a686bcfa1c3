"""Decisions with worded reasons, for the Why page, the API and `manage.py why`.

Explaining costs more than deciding (it loads names and ranks near misses), so it is a call of its own.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from policies.engine import explain, missing_grants, openings, wording
from policies.engine.families import vocabulary
from policies.engine.model import Actor, Decision, DecisionCode, Effect, MissingPrivilege, Question
from policies.engine.near_misses import (
    FailedCondition,
    NearMatch,
    NearMiss,
    OtherTime,
    list_near_misses,
    list_timed_misses,
)
from policies.engine.selectors import Resource
from policies.engine.snapshot import Snapshot
from policies.models.people import ROOT_USERNAME, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer, display_names, inverse_queries, known_privileges, snapshot_store, timed_policies
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.pdp.ports import facet_source

#: Most near misses of one explanation.
MAX_NEAR_MISSES = 3
#: Actors of administrator-only policies: near misses for these alone are named after all others.
ADMINISTRATORS = frozenset({f"{USER_PREFIX}{ROOT_USERNAME}", f"{ROLE_PREFIX}Admin"})
#: Most actors that a sentence about a remedy names.
_MAX_NAMED_ACTORS = 5
#: Name of an entity that the viewer may not view, in a sentence.
_CONCEALED_NAME = "something you may not view"
#: Most unknown actors of one call for which users with similar names are looked up.
MAX_UNKNOWN_ACTORS = 5
#: Most unknown privileges of one call for which similar names are looked up: each costs milliseconds.
MAX_SUGGESTIONS = 20


#: What a refusal lacks, not yet worded.
AnyMiss = missing_grants.MissingGrant | NearMiss

#: Sentence for each decision code.
SENTENCES = {
    DecisionCode.ALLOWED: "A policy allows it.",
    DecisionCode.POLICIES_DISABLED: "Policies are switched off, so everything is allowed.",
    DecisionCode.SYSTEM_ACTOR: "The system itself may do everything.",
    DecisionCode.EXPLICIT_DENY: "A statement denies it, and a deny wins over every allow.",
    DecisionCode.IMPLICIT_DENY: "Nothing allows it.",
    DecisionCode.NO_COLUMNS: "An allowed question leaves no column to see.",
    DecisionCode.PATH_NOT_ALLOWED: "The path lies outside what is allowed.",
    DecisionCode.ACTOR_SUSPENDED: "The account is suspended.",
    DecisionCode.ACTOR_REMOVED: "The account was removed or deleted.",
    DecisionCode.PRIVILEGE_UNKNOWN: "There is no such privilege, so nothing can allow it.",
}

#: Note on a resource that is not stored.
NOT_STORED = "The catalog does not hold this entity; it was judged by its URN and type alone."


@dataclass(frozen=True, slots=True)
class Hint:
    """An unknown name in the question, and similar known names."""

    field_name: str
    name: str
    suggestions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision with its reasons, the near misses of a denial, and hints on unknown names.

    If the viewer may not view the resource (`is_concealed`), nothing stored about it is disclosed: reasons have no
    explanation, and there are no near misses.
    """

    decision: Decision
    reasons: tuple[explain.Reason, ...]
    near_misses: tuple[NearMatch, ...]
    hints: tuple[Hint, ...]
    is_concealed: bool = False


def explain_answer(*, actor: Actor, request: AccessRequest, at_least: int = 0) -> Explanation:
    """Return the explained decision on one question; raises what `authorizer.answer` raises."""
    return explain_answers(requests=[(actor, request)], at_least=at_least)[0]


def explain_answers(
    *, requests: Sequence[tuple[Actor, AccessRequest]], at_least: int = 0, snapshot: Snapshot | None = None
) -> list[Explanation]:
    """Return the explained decisions on questions, in their order; the number of queries does not grow with them.

    Decisions and reasons come from `snapshot`, else from the current one.
    """
    if snapshot is None:
        snapshot = snapshot_store.get_current(at_least=at_least)
    decisions = authorizer.answer_and_log(requests=requests, snapshot=snapshot)
    find_facts = authorizer.load_request_facts(requests=[request for _, request in requests], snapshot=snapshot)
    traces = [
        _Trace(decision, actor, sorted(request.requirement.privileges), *find_facts(request))
        for (actor, request), decision in zip(requests, decisions, strict=True)
    ]
    grantable_urns = {
        missing_privilege.entity
        for trace in traces
        for missing_privilege in missing_grants.grantable_pairs(trace.decision)
        if missing_privilege.entity
    }
    concealed_urns = authorizer.directory().find_hidden_urns(
        urns=({trace.urn for trace in traces} | grantable_urns) - {""}
    )
    # Ranking is most of the work, so it is done once; wording runs twice, first to collect the URNs to be named.
    lacking_grants = _load_missing_grants(traces, grantable_urns, concealed_urns)
    timed_misses = _list_timed_misses(requests, traces)
    pairs: list[tuple[_Trace, list[AnyMiss]]] = [
        (
            trace,
            []
            if trace.urn in concealed_urns
            else _select_nearest([*trace_grants, *trace_timed_misses, *trace.list_near_misses(snapshot)]),
        )
        for trace, trace_grants, trace_timed_misses in zip(traces, lacking_grants, timed_misses, strict=True)
    ]
    _add_ways(pairs)
    _add_openings(snapshot, pairs)
    name_collector = _NameCollector()
    for trace, _ in pairs:
        trace.list_reasons(name_collector)
    holders_by_remedy = _find_remedy_holders(
        snapshot, [miss.to_near_match(name_collector) for _, misses in pairs for miss in misses], concealed_urns
    )
    for holders in holders_by_remedy.values():
        for urn in holders:
            name_collector(urn)
    name_of = name_collector.resolve()
    find_hints = _build_hint_finder(traces)
    return [
        Explanation(
            explained_trace.decision,
            tuple(
                replace(reason, explanation="", through=()) if explained_trace.urn in concealed_urns else reason
                for reason in explained_trace.list_reasons(name_of)
            ),
            tuple(_with_holders(miss.to_near_match(name_of), holders_by_remedy, name_of) for miss in misses),
            find_hints(explained_trace),
            is_concealed=explained_trace.urn in concealed_urns,
        )
        for explained_trace, misses in pairs
    ]


def is_known(*, urn: str) -> bool:
    """Whether a URN is stored; questions about any other are decided by its URN and type alone."""
    return bool(display_names.load_names(urns=[urn]) or facet_source().load_types(urns=[urn]))


def find_type(urn: str) -> str:
    """Return the type of the entity with a URN: the stored one, else the one in the URN ('' in a text without any)."""
    parts = urn.split(":", 3)
    return facet_source().load_types(urns=[urn]).get(urn) or (parts[2] if len(parts) > 2 else "")


def format_remedy(condition: FailedCondition) -> str:
    """Return a sentence on who could change the failed condition: by name if known, else by the required privilege."""
    remedy = condition.remedy
    if condition.remedy_actors:
        names = [name for _, name in condition.remedy_actors[:_MAX_NAMED_ACTORS]]
        return f"{wording.join_words(names, 'or', len(condition.remedy_actors) - len(names))} can change that."
    info = vocabulary.load_datahub().get(remedy.privilege)
    name = info.display if info else remedy.privilege
    return f"Somebody with {name}{' on it' if remedy.entity else ''} can change that."


@dataclass(frozen=True, slots=True)
class _Trace:
    """One decision with the facts it is based on."""

    decision: Decision
    actor: Actor
    privileges: list[str]
    resource: Resource | None
    subresources: tuple[Resource, ...]

    @property
    def urn(self) -> str:
        """The URN of the resource; empty if the question has no single entity."""
        return self.resource.urn if self.resource else ""

    def list_reasons(self, name_of: explain.NameOf) -> tuple[explain.Reason, ...]:
        """Return the reasons of the decision."""
        return explain.list_reasons(self.decision, Question(self.actor, "", self.resource, self.subresources), name_of)

    def list_near_misses(self, snapshot: Snapshot) -> tuple[NearMiss, ...]:
        """Return the nearest misses over all privileges of the question, each statement once; empty if allowed.

        First the denies that decided: without a change of these nothing else helps.
        """
        if self.decision.is_allowed:
            return ()
        denying_question = Question(self.actor, "", self.resource, self.subresources)
        near_misses = {
            (statement.origin.policy, statement.origin.index): NearMiss(statement, denying_question, 0)
            for statement in self.decision.statements
            if statement.effect is Effect.DENY
        }
        for privilege in self.privileges:
            question = Question(self.actor, privilege, self.resource, self.subresources)
            for miss in list_near_misses(snapshot, question, MAX_NEAR_MISSES, ADMINISTRATORS):
                origin = miss.statement.origin
                near_misses.setdefault((origin.policy, origin.index), miss)
        return tuple(_select_nearest(near_misses.values()))


def _list_timed_misses(
    requests: Sequence[tuple[Actor, AccessRequest]], traces: Sequence[_Trace]
) -> list[list[NearMiss]]:
    """Return for each refusal the allows that nearly match of policies that have not begun or have ended."""
    misses: list[list[NearMiss]] = [[] for _ in traces]
    if all(trace.decision.code is not DecisionCode.IMPLICIT_DENY for trace in traces):
        return misses
    snapshot, times = timed_policies.load_timed_policies()
    if not times:
        return misses
    find_facts = authorizer.load_request_facts(requests=[request for _, request in requests], snapshot=snapshot)
    for (_, request), trace, trace_misses in zip(requests, traces, misses, strict=True):
        for privilege in trace.privileges if trace.decision.code is DecisionCode.IMPLICIT_DENY else ():
            question = Question(trace.actor, privilege, *find_facts(request))
            known_statements = {miss.statement for miss in trace_misses}
            trace_misses += (
                miss
                for miss in list_timed_misses(snapshot, question, times, MAX_NEAR_MISSES)
                if miss.statement not in known_statements
            )
    return misses


def _add_ways(pairs: Sequence[tuple["_Trace", list[AnyMiss]]]) -> None:
    """Add to near misses when the actor was, or will be, in a group or holder of a role that the statement names."""
    allows = [
        miss
        for _, misses in pairs
        for miss in misses
        if isinstance(miss, NearMiss) and miss.statement.effect is Effect.ALLOW
    ]
    if not allows:
        return
    ways = timed_policies.load_timed_ways(
        actors={miss.question.actor.urn for miss in allows},
        tokens=frozenset[str]().union(*(miss.statement.actors.tokens for miss in allows)),
    )
    for _, misses in pairs if ways else ():
        misses[:] = [_with_ways(miss, ways) if isinstance(miss, NearMiss) else miss for miss in misses]


def _add_openings(snapshot: Snapshot, pairs: Sequence[tuple["_Trace", list[AnyMiss]]]) -> None:
    """Add to near misses how much more than the question they would open."""
    meter = openings.OpeningMeter(snapshot)
    for trace, misses in pairs:
        misses[:] = [
            replace(miss, opening=meter.measure(miss.statement, miss.question, trace.privileges))
            if isinstance(miss, NearMiss) and miss.statement.effect is Effect.ALLOW
            else miss
            for miss in misses
        ]


def _with_ways(miss: NearMiss, ways: Mapping[tuple[str, str], OtherTime]) -> NearMiss:
    actor = miss.question.actor
    tokens = miss.statement.actors.tokens
    if miss.statement.effect is Effect.DENY or not tokens.isdisjoint(actor.tokens):
        return miss
    times = [way for token in sorted(tokens) if (way := ways.get((actor.urn, token))) is not None]
    return replace(miss, times=(*miss.times, *times))


def _find_remedy_holders(
    snapshot: Snapshot, near_matches: Sequence[NearMatch], concealed_urns: Collection[str]
) -> Mapping[MissingPrivilege, tuple[str, ...]]:
    """Return remedy → the roles, groups and users that hold its privilege according to the policies.

    The facts of all are loaded together. Left out are conditions that name their remedy's actors themselves (the
    grantors), and remedies on concealed entities.
    """
    failed_conditions = [
        item for near_match in near_matches for item in near_match.failed_conditions if not item.remedy_actors
    ]
    remedies = dict.fromkeys(item.remedy for item in failed_conditions if item.remedy.entity not in concealed_urns)
    questions = [(item.privilege, ResourceRef(item.entity) if item.entity else None) for item in remedies]
    answers = (
        inverse_queries.find_named_actors_many(questions=questions, at_least=snapshot.version) if questions else []
    )
    return {
        item: (*holders.roles, *holders.groups, *holders.users) for item, holders in zip(remedies, answers, strict=True)
    }


def _with_holders(
    near_match: NearMatch,
    holders_by_remedy: Mapping[MissingPrivilege, tuple[str, ...]],
    name_of: explain.NameOf,
) -> NearMatch:
    failed_conditions = (
        condition
        if condition.remedy_actors
        else replace(
            condition, remedy_actors=tuple((urn, name_of(urn)) for urn in holders_by_remedy.get(condition.remedy, ()))
        )
        for condition in near_match.failed_conditions
    )
    return replace(near_match, failed_conditions=tuple(failed_conditions))


AnyNearMiss = TypeVar("AnyNearMiss", bound=missing_grants.MissingGrant | NearMiss)


def _select_nearest(misses: Iterable[AnyNearMiss]) -> list[AnyNearMiss]:
    """Return the MAX_NEAR_MISSES nearest, nearest first; those for administrators only where places are free."""
    nearest = sorted(misses, key=lambda miss: (miss.is_last_resort, miss.missing_count))
    return sorted(nearest[:MAX_NEAR_MISSES], key=lambda miss: miss.missing_count)


def _load_missing_grants(
    traces: Sequence[_Trace], urns: Collection[str], concealed_urns: Collection[str]
) -> list[tuple[missing_grants.MissingGrant, ...]]:
    """Return for each trace the grants that it lacks on these entities; the number of queries does not grow.

    Grantors of concealed entities are not named: that would disclose that the entity exists (CD-22).
    """
    if not urns:
        return [()] * len(traces)
    grants, grantors = authorizer.load_grants(urns=urns), authorizer.load_grantors(urns=urns)
    visible_grantors = {urn: grantor_urns for urn, grantor_urns in grantors.items() if urn not in concealed_urns}
    ended_grants = timed_policies.load_ended_grants(entities=urns)
    return [
        tuple(
            replace(
                missing_grant,
                ended_at=ended_grants.get((trace.actor.urn, missing_grant.entity, missing_grant.privilege)),
            )
            for missing_grant in missing_grants.list_missing_grants(
                trace.decision, trace.actor, grants, visible_grantors
            )
        )
        for trace in traces
    ]


def _build_hint_finder(traces: Sequence[_Trace]) -> Callable[[_Trace], tuple[Hint, ...]]:
    """Return a function from a trace to its hints; suggestions are computed for the first few unknown names."""
    # What is said of a deleted account is that it was deleted.
    actors = dict.fromkeys(trace.actor.urn for trace in traces if not trace.actor.is_removed)
    names_by_urn = display_names.load_names(urns=list(actors))
    unknown_urns = [urn for urn in actors if urn not in names_by_urn]
    similar_users = {urn: display_names.find_similar_users(urn=urn) for urn in unknown_urns[:MAX_UNKNOWN_ACTORS]}

    suggestions: dict[str, tuple[str, ...]] = {}

    def suggest(name: str) -> tuple[str, ...]:
        if name not in suggestions and len(suggestions) < MAX_SUGGESTIONS:
            suggestions[name] = known_privileges.suggest_names(name)
        return suggestions.get(name, ())

    def find_hints(trace: _Trace) -> tuple[Hint, ...]:
        hints = [
            Hint("privilege", name, suggest(name)) for name in trace.privileges if not known_privileges.is_known(name)
        ]
        if trace.actor.urn in actors and trace.actor.urn not in names_by_urn:
            hints.append(Hint("actor", trace.actor.urn, similar_users.get(trace.actor.urn, ())))
        return tuple(hints)

    return find_hints


class _NameCollector:
    """Collects the URNs that sentences name, so that all names are loaded together."""

    def __init__(self) -> None:
        self._urns: set[str] = set()

    def __call__(self, urn: str) -> str:
        self._urns.add(urn)
        return urn

    def resolve(self) -> explain.NameOf:
        """Return a function from a URN to its name; a URN without a name is called by the id in it."""
        urns = {urn for urn in self._urns if urn.startswith("urn:")}
        names_by_urn = authorizer.load_names(urns=urns)
        concealed_urns = authorizer.directory().find_hidden_urns(urns=urns - names_by_urn.keys())
        return lambda urn: _CONCEALED_NAME if urn in concealed_urns else names_by_urn.get(urn) or _strip_urn(urn)


def _strip_urn(urn: str) -> str:
    """Return the id of a URN with a single part (`urn:li:tag:PII` → PII), else the text unchanged."""
    parts = urn.split(":", 3)
    return parts[3] if len(parts) == 4 and parts[:2] == ["urn", "li"] and not parts[3].startswith("(") else urn
