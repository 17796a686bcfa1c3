"""Proofs for one person: whether denies leave anything of an allow, where witnesses alone do not tell."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from policies.engine.guardrails.rules import RuleScope
from policies.engine.model import Actor, Question, Statement
from policies.engine.proofs.prover import AccessScope, find_access
from policies.engine.proofs.verdicts import ProofUnavailable, Verdict
from policies.engine.proofs.ways import Way
from policies.engine.selectors import ActorMatch, is_relational
from policies.engine.snapshot import Snapshot

#: The time limit of one proof: a write waits for it.
_SECONDS = 0.2


class ProvenAccess(NamedTuple):
    """The verdict of a proof for one person, with an example; `reason` says why there was no proof, if it does."""

    verdict: Verdict
    question: Question | None = None
    reason: str = ""


def find_proven_access(
    snapshot: Snapshot,
    actor: Actor,
    way: Way,
    scope: RuleScope,
    statement: Statement,
    denies: Iterable[Statement],
) -> ProvenAccess:
    """Return whether an allow gives a person this way to something that the scope covers, and an example.

    Allow and denies are bound to the person, whose groups and roles are those of today; an example that `decide` does
    not confirm for them makes it unknown.
    """
    privilege = way.privilege
    # Whatever it denies of this way, a deny refuses the privilege that is held.
    bound_denies = (replace(_bind_to(deny, actor), privileges=frozenset({privilege})) for deny in denies)
    bound_statements = [_bind_to(statement, actor), *bound_denies]
    policies = [(f"{number}", (item,)) for number, item in enumerate(bound_statements)]
    people = ActorMatch(frozenset({actor.urn}))
    try:
        proof = find_access(
            Snapshot.build(0, policies), AccessScope(people, frozenset({privilege}), scope.resources), seconds=_SECONDS
        )
    except ProofUnavailable as error:
        return ProvenAccess(Verdict.UNKNOWN, reason=str(error))
    if proof.question is None:
        return ProvenAccess(proof.verdict)
    fields = snapshot.tested_fields(way.denied)
    resource = proof.question.resource
    if resource is not None:
        resource = replace(resource, facets={**dict.fromkeys(fields, frozenset()), **resource.facets})
    question = Question(actor, privilege, resource)
    is_confirmed = way.is_open(snapshot, question)
    return ProvenAccess(Verdict.YES, question) if is_confirmed else ProvenAccess(Verdict.UNKNOWN)


def _bind_to(statement: Statement, actor: Actor) -> Statement:
    """Return the statement with the person in place of the groups and roles by which it names them."""
    match = statement.actors
    tokens = frozenset(filter(is_relational, match.tokens))
    if not match.tokens.isdisjoint(actor.tokens):
        tokens |= {actor.urn}
    return replace(statement, actors=ActorMatch(tokens, frozenset(filter(is_relational, match.excluded_tokens))))
