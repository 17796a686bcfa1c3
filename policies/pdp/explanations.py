"""Decisions with their reasons in words: for the Why page, the API and `manage.py why`.

Explaining costs more than deciding (names are looked up, near misses are ranked), so only who asks for it pays.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from django.conf import settings

from policies.engine import explain, families, missing_grants
from policies.engine.families import vocabulary
from policies.engine.model import Actor, Code, Decision, Missing, Question
from policies.engine.selectors import Resource
from policies.engine.snapshot import Snapshot
from policies.models.people import ROOT_USERNAME, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer, display_names, inverse_queries, snapshot_store
from policies.pdp.authorizer import Ask, Asked

#: How many near misses an explanation names.
NEAREST = 3
#: Whom policies for administrators alone name: near misses that nobody should be added to while there are others.
ADMINISTRATORS = frozenset({f"{USER_PREFIX}{ROOT_USERNAME}", f"{ROLE_PREFIX}Admin"})
#: How many of those who could change something a sentence names.
_NAMED = 5
#: How a sentence calls what its reader may not view.
_CONCEALED = "something you may not view"
#: For how many unknown actors of one call users with a similar name are looked up.
STRANGERS = 5
#: For how many unknown privileges of one call similar names are looked up: finding one takes milliseconds.
MAX_SUGGESTIONS = 20


#: What each code of a decision means, as a sentence.
SENTENCES = {
    Code.ALLOWED: "A policy allows it.",
    Code.POLICIES_DISABLED: "Policies are switched off, so everything is allowed.",
    Code.SYSTEM_ACTOR: "The system itself may do everything.",
    Code.EXPLICIT_DENY: "A statement denies it, and a deny wins over every allow.",
    Code.IMPLICIT_DENY: "Nothing allows it.",
    Code.NO_COLUMNS: "What is allowed leaves no column to see.",
    Code.PATH_NOT_ALLOWED: "The path lies outside what is allowed.",
    Code.ACTOR_SUSPENDED: "The account is suspended or removed.",
}

#: What is said when nothing is stored about the resource of a question.
NOT_STORED = "The catalog does not hold this entity; it was judged by its URN and type alone."


@dataclass(frozen=True, slots=True)
class Hint:
    """A name in the question that nothing is known of, and what it may have been meant for."""

    what: str
    name: str
    suggestions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explained:
    """A decision, why it is so, for a refusal what came closest, and names that are not known.

    Where the reader may not view the resource (`is_concealed`), nothing that is stored about it is told: reasons have
    no words, and nothing comes close.
    """

    decision: Decision
    reasons: tuple[explain.Reason, ...]
    nearest: tuple[explain.Near, ...]
    hints: tuple[Hint, ...]
    is_concealed: bool = False


def explained(*, actor: Actor, ask: Ask, at_least: int = 0) -> Explained:
    """Answer one question and explain the answer; raises what `authority.answer` raises."""
    return explained_many(asks=[(actor, ask)], at_least=at_least)[0]


def explained_many(*, asks: Sequence[tuple[Actor, Ask]], at_least: int = 0) -> list[Explained]:
    """Answer questions in their order and explain each, in a number of queries that does not grow with them."""
    decisions = authorizer.answer_logged(asks=asks, at_least=at_least)
    snapshot = snapshot_store.current(at_least=max((decision.version for decision in decisions), default=at_least))
    facts = authorizer.facts_for(asks=[ask for _, ask in asks], snapshot=snapshot)
    traces = [
        _Trace(decision, actor, sorted(ask.requirement.privileges), *facts(ask))
        for (actor, ask), decision in zip(asks, decisions, strict=True)
    ]
    ungiven = {lack.entity for trace in traces for lack in missing_grants.pairs(trace.decision) if lack.entity}
    concealed = authorizer.directory().hidden(urns=({trace.urn for trace in traces} | ungiven) - {""})
    # Ranking is most of the work, so it is done once; words come twice, first to learn which names they need.
    lacking = _ungranted(traces, ungiven, concealed)
    pairs = [
        (trace, [] if trace.urn in concealed else _nearest([*mine, *trace.misses(snapshot)]))
        for trace, mine in zip(traces, lacking, strict=True)
    ]
    named = _Names()
    for trace, _ in pairs:
        trace.reasons(named)
    able = _who_could(snapshot, [miss.worded(named) for _, misses in pairs for miss in misses], concealed)
    for holders in able.values():
        for urn in holders:
            named(urn)
    name_of = named.resolved()
    hints = _hints(traces)
    return [
        Explained(
            one.decision,
            _unworded(one.reasons(name_of)) if one.urn in concealed else one.reasons(name_of),
            tuple(_with_who(miss.worded(name_of), able, name_of) for miss in misses),
            hints(one),
            is_concealed=one.urn in concealed,
        )
        for one, misses in pairs
    ]


def is_known(*, urn: str) -> bool:
    """Whether anything is stored about a URN; a question about another is judged by its URN and type alone."""
    return bool(display_names.names(urns=[urn]) or authorizer.facets().known(urns=[urn]))


def remedy(lack: explain.Lack) -> str:
    """Say who could change the condition that did not hold: by name where that is known, else with which privilege."""
    needed = lack.remedy
    if lack.who:
        names = [name for _, name in lack.who[:_NAMED]]
        names += [f"{more} more"] if (more := len(lack.who) - len(names)) else []
        listed = " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
        return f"{listed} can change that."
    info = vocabulary.datahub().get(needed.privilege)
    name = info.display if info else needed.privilege
    return f"Somebody with {name}{' on it' if needed.entity else ''} can change that."


@dataclass(frozen=True, slots=True)
class _Trace:
    """One answer with the facts it rests on."""

    decision: Decision
    actor: Actor
    privileges: list[str]
    resource: Resource | None
    subresources: tuple[Resource, ...]

    @property
    def urn(self) -> str:
        """What the question is about; nothing where it is about no one entity."""
        return self.resource.urn if self.resource else ""

    def reasons(self, name_of: explain.NameOf) -> tuple[explain.Reason, ...]:
        """Return why the answer is what it is."""
        return explain.reasons(self.decision, Question(self.actor, "", self.resource, self.subresources), name_of)

    def misses(self, snapshot: Snapshot) -> tuple[explain.Miss, ...]:
        """Rank the near misses of every privilege that would have done, a statement once."""
        if self.decision.is_allowed:
            return ()
        found: dict[tuple[str, int], explain.Miss] = {}
        for privilege in self.privileges:
            question = Question(self.actor, privilege, self.resource, self.subresources)
            for miss in explain.misses(snapshot, question, NEAREST, ADMINISTRATORS):
                origin = miss.statement.origin
                found.setdefault((origin.policy, origin.index), miss)
        return tuple(one for one in _nearest(tuple(found.values())) if isinstance(one, explain.Miss))


def _who_could(
    snapshot: Snapshot, nearest: Sequence[explain.Near], concealed: Collection[str]
) -> Mapping[Missing, tuple[str, ...]]:
    """Return the users, groups and roles that hold each privilege with which a lack could be mended, as policies say.

    One load of facts for all of them. Not looked up are those whom a lack names itself (who could grant), and who could
    do something about what is concealed.
    """
    lacks = [lack for near in nearest for lack in near.lacks if not lack.who]
    wanted = dict.fromkeys(lack.remedy for lack in lacks if lack.remedy.entity not in concealed)
    asked = [(lack.privilege, Asked(lack.entity) if lack.entity else None) for lack in wanted]
    found = inverse_queries.who_many(asked=asked, at_least=snapshot.version) if asked else []
    return {
        lack: (*holders.roles, *holders.groups, *holders.users) for lack, holders in zip(wanted, found, strict=True)
    }


def _with_who(near: explain.Near, able: Mapping[Missing, tuple[str, ...]], name_of: explain.NameOf) -> explain.Near:
    lacks = (
        lack if lack.who else replace(lack, who=tuple((urn, name_of(urn)) for urn in able.get(lack.remedy, ())))
        for lack in near.lacks
    )
    return replace(near, lacks=tuple(lacks))


def _unworded(reasons: Sequence[explain.Reason]) -> tuple[explain.Reason, ...]:
    return tuple(replace(one, because="") for one in reasons)


Missed = missing_grants.Ungranted | explain.Miss


def _nearest(found: Sequence[Missed]) -> list[Missed]:
    """Return the nearest; those for administrators only where there is no other."""
    others = [miss for miss in found if isinstance(miss, missing_grants.Ungranted) or not miss.is_last_resort]
    return sorted(others or found, key=lambda miss: miss.lacking)[:NEAREST]


def _ungranted(
    traces: Sequence[_Trace], urns: Collection[str], concealed: Collection[str]
) -> list[tuple[missing_grants.Ungranted, ...]]:
    """Return for each answer the grants that it lacks on these entities, in a number of queries that does not grow.

    Of what is concealed nobody is named: who administers it would tell that it is there (CD-22).
    """
    if not urns:
        return [()] * len(traces)
    grants, grantors = authorizer.granted_on(urns=urns), authorizer.grantors(urns=urns)
    told = {urn: who for urn, who in grantors.items() if urn not in concealed}
    return [missing_grants.ungranted(trace.decision, trace.actor, grants, told) for trace in traces]


def _hints(traces: Sequence[_Trace]) -> Callable[[_Trace], tuple[Hint, ...]]:
    """Return a function from a trace to its hints; suggestions are looked up for the first few unknown names of all."""
    known = list(families.vocabularies().values())
    actors = dict.fromkeys(trace.actor.urn for trace in traces)
    people = display_names.names(urns=list(actors))
    strangers = [urn for urn in actors if urn not in people]
    similar = {urn: display_names.similar_users(urn=urn) for urn in strangers[:STRANGERS]}

    suggestions: dict[str, tuple[str, ...]] = {}

    def suggest(name: str) -> tuple[str, ...]:
        if name not in suggestions and len(suggestions) < MAX_SUGGESTIONS:
            suggestions[name] = tuple(close for one in known for close in one.suggest(name))
        return suggestions.get(name, ())

    def find(trace: _Trace) -> tuple[Hint, ...]:
        hints = [
            Hint("privilege", name, suggest(name))
            for name in trace.privileges
            if all(one.get(name) is None for one in known) and name not in settings.CUSTOM_PRIVILEGES
        ]
        if trace.actor.urn not in people:
            hints.append(Hint("actor", trace.actor.urn, similar.get(trace.actor.urn, ())))
        return tuple(hints)

    return find


class _Names:
    """Collects the URNs a sentence wants to name, so that all names are looked up together."""

    def __init__(self) -> None:
        self._wanted: set[str] = set()

    def __call__(self, urn: str) -> str:
        self._wanted.add(urn)
        return urn

    def resolved(self) -> explain.NameOf:
        """Return a function that names each of them; one without a name is called by the id in its URN."""
        urns = {urn for urn in self._wanted if urn.startswith("urn:")}
        found = authorizer.names(urns=urns)
        concealed = authorizer.directory().hidden(urns=urns - found.keys())
        return lambda urn: _CONCEALED if urn in concealed else found.get(urn) or _plain(urn)


def _plain(urn: str) -> str:
    """Return the id of a URN that has a single one (`urn:li:tag:PII` is PII), else the text as it is."""
    parts = urn.split(":", 3)
    return parts[3] if len(parts) == 4 and parts[:2] == ["urn", "li"] and not parts[3].startswith("(") else urn
