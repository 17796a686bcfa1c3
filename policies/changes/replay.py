"""Replay: which requests of the decision log would be answered differently after a change.

Each different question is answered once, by the engine that answers requests, from the snapshots, people and facts
before and after the change. Both are of today: what was answered then is not compared.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import nsmallest
from time import monotonic
from typing import NamedTuple

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from policies.changes.worlds import ChangedWorld
from policies.engine import access_change, fact_changes
from policies.engine.postings import Postings
from policies.engine.selectors import GROUP_MEMBERSHIP, OWNER, Resource
from policies.errors import Invalid
from policies.pdp import actor_resolution, authorizer, ports
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.pdp.log import decision_log_queries
from policies.pdp.log.decision_log import CUT_MARK
from policies.pdp.log.decision_log_queries import LoggedQuestion, LoggedText
from policies.pdp.request_facts import FactStaging
from policies.pdp.requirement_text import parse_requirement
from policies.writes import required_privileges

#: Most days that are looked back.
MAX_DAYS = 366
#: Most different questions that are answered, most texts of privileges, and seconds after which no more are answered.
MAX_QUESTIONS, MAX_TEXTS, MAX_SECONDS = 10_000, 2_000, 5.0
#: Most entities with other facts.
MAX_CHANGED_ENTITIES = 20_000
#: Questions that are answered together.
_BATCH_SIZE = 500
#: Entities that stand for those of one person and privilege.
_MAX_EXAMPLES = 3


class ReplayedAccess(NamedTuple):
    """The requests of one person for the same privileges that would be answered differently.

    `privilege` is a name, or several as the log has them ("A and B | C or D"); `entities` counts different ones.
    """

    actor: str
    privilege: str
    requests: int
    now_allowed: int
    now_denied: int
    entities: int
    examples: tuple[str, ...]
    last_asked: datetime


@dataclass(frozen=True, slots=True)
class Replay:
    """The log's answer about a change: numbers of requests, and the people and privileges with most of them.

    `requests` are all since then that were logged: every refusal, and the share `sample` of what was allowed.
    `left_out` of them could be concerned, and the log does not hold all of the question. Unless `is_exact`, there were
    too many different questions: only the newest were answered.
    """

    since: datetime
    sample: float
    is_exact: bool = True
    requests: int = 0
    left_out: int = 0
    now_allowed: int = 0
    now_denied: int = 0
    items: Sequence[ReplayedAccess] = ()


class _Answers(NamedTuple):
    question: LoggedQuestion
    before: bool
    after: bool


def replay_log(world: ChangedWorld, *, days: int, privileges: Collection[str] | None = None, limit: int) -> Replay:
    """Return the replay of the last days after changes, of `privileges` only, if given, naming at most `limit` items.

    Raises Forbidden for those who may not read the log, and Invalid for changes of grants, which are not replayed.
    """
    if not world.is_replayable:
        detail = "Requests are not replayed against changes of grants: leave this out."
        raise Invalid.from_problem(code="replay.grants", pointer="/replay_days", detail=detail)
    required_privileges.require(by=world.by, requirement=required_privileges.MANAGE_POLICIES)
    ends_at = monotonic() + MAX_SECONDS
    since = timezone.now() - timedelta(days=days)
    first = decision_log_queries.find_first_decision_time()
    texts = decision_log_queries.list_texts(since=since)
    replayed = Replay(
        since=since if first is None else max(since, first),
        sample=settings.DECISION_LOG_SAMPLE,
        requests=sum(text.requests for text in texts),
    )
    if not settings.AUTH_POLICIES_ENABLED:
        return replayed
    changed_privileges = _find_changed_privileges(world)
    changed_entities = _load_changed_entities(world)
    touched_texts = [text for text in texts if _is_touched(text, changed_privileges, privileges)]
    condition = _build_condition(touched_texts[:MAX_TEXTS], world, privileges, texts)
    # With too many changed entities nothing can be answered as it would be.
    max_count = MAX_QUESTIONS if changed_entities is not None else 0
    questions = decision_log_queries.list_questions(since=since, condition=condition, limit=max_count + 1)
    answers, is_over = _answer(questions[:max_count], world, _build_staging(world, changed_entities), ends_at)
    differences = [answer for answer in answers if answer.before != answer.after]
    return replace(
        replayed,
        is_exact=not is_over and len(questions) <= max_count and len(touched_texts) <= MAX_TEXTS,
        left_out=decision_log_queries.count_incomplete(since=since, condition=condition),
        now_allowed=sum(answer.question.requests for answer in differences if answer.after),
        now_denied=sum(answer.question.requests for answer in differences if answer.before),
        items=_list_items(differences, limit),
    )


def _find_changed_privileges(world: ChangedWorld) -> frozenset[str]:
    """Return the privileges whose statements changes of policies and of facts can concern, sub-resources included."""
    changed_statements = access_change.list_changed_statements(world.before, world.after, world.policy_urns)
    names = frozenset[str]().union(*(statement.privileges for statement in changed_statements))
    if not world.facts.has_changes:
        return names
    statements = frozenset((*world.before.statements, *world.after.statements))
    about_subresources = (item.privileges for item in statements if item.subresources is not None)
    scope = fact_changes.find_fact_scope(statements, world.facts)
    return names.union(scope.privileges, *about_subresources)


def _is_touched(text: LoggedText, changed_privileges: frozenset[str], privileges: Collection[str] | None) -> bool:
    """Whether the answer to questions with this text can rest on the changed policies."""
    if text.text.endswith(CUT_MARK):
        return bool(changed_privileges)
    names = parse_requirement(text.text).privileges
    return not names.isdisjoint(changed_privileges) and (privileges is None or not names.isdisjoint(privileges))


def _build_condition(
    touched_texts: Collection[LoggedText],
    world: ChangedWorld,
    privileges: Collection[str] | None,
    texts: Collection[LoggedText],
) -> Q:
    """Return the condition of the requests that the change can concern."""
    condition = Q(wanted__in={text.text for text in touched_texts})
    if world.people:
        by_people = Q(actor__in=list(world.people))
        if moved_urns := world.moved_people:
            # Who is in which group is a fact about them as resources, too.
            by_people |= Q(resource__in=moved_urns) | ~Q(sub_resources=[])
        if privileges is not None:
            names = [text.text for text in texts if not parse_requirement(text.text).privileges.isdisjoint(privileges)]
            by_people &= Q(wanted__in=names)
        condition |= by_people
    return condition


def _answer(
    questions: Sequence[LoggedQuestion], world: ChangedWorld, stage_facts: FactStaging, ends_at: float
) -> tuple[list[_Answers], bool]:
    """Return the answers before and after, and whether the time was over before all were answered."""
    answers: list[_Answers] = []
    for start in range(0, len(questions), _BATCH_SIZE):
        if monotonic() > ends_at:
            return answers, True
        batch = questions[start : start + _BATCH_SIZE]
        actors = actor_resolution.load_actors(urns={question.actor for question in batch})
        actors_after = actors | {urn: changed.now for urn, changed in world.people.items()}
        sides = [
            authorizer.decide_staged(
                requests=[(side_actors[question.actor], _build_request(question)) for question in batch],
                snapshot=snapshot,
                stage_facts=side_facts,
            )
            for snapshot, side_actors, side_facts in (
                (world.before, actors, dict),
                (world.after, actors_after, stage_facts),
            )
        ]
        answers += [
            _Answers(question, was.is_allowed, now.is_allowed) for question, was, now in zip(batch, *sides, strict=True)
        ]
    return answers, False


def _build_request(question: LoggedQuestion) -> AccessRequest:
    is_platform = not question.resource and not question.resource_type
    resource = None if is_platform else ResourceRef(question.resource, question.resource_type)
    return AccessRequest(parse_requirement(question.text), resource, question.sub_resources)


def _load_changed_entities(world: ChangedWorld) -> Postings | None:
    """Return the entities whose facts change, as they would be; None if there are too many."""
    if not world.facts.has_changes:
        return Postings(urns=(), types=(), fields=())
    postings = ports.postings_source().load_postings(
        covering=tuple(fact_changes.list_selectors(world.facts)),
        fields=world.before.all_tested_fields | world.after.all_tested_fields | {OWNER},
        limit=MAX_CHANGED_ENTITIES,
        with_people=True,
    )
    return None if postings is None else fact_changes.apply_fact_changes(postings, world.facts)


def _build_staging(world: ChangedWorld, changed_entities: Postings | None) -> FactStaging:
    """Return the function that gives resources the facts, and people the groups, that they have after the change."""
    moved_urns = frozenset(world.moved_people)

    def stage_fact(resource: Resource) -> Resource:
        number = None if changed_entities is None else changed_entities.number(resource.urn)
        if number is not None and changed_entities is not None:
            changed = changed_entities.build_resource(number)
            facets = {name: changed.facets.get(name, values) for name, values in resource.facets.items()}
            owners = changed.owners if resource.urn in world.facts.owners else resource.owners
            resource = replace(resource, facets=facets, owners=owners)
        if resource.urn in moved_urns and GROUP_MEMBERSHIP in resource.facets:
            facets = {**resource.facets, GROUP_MEMBERSHIP: world.people[resource.urn].now.groups}
            resource = replace(resource, facets=facets)
        return resource

    return lambda resources: {urn: stage_fact(resource) for urn, resource in resources.items()}


def _list_items(differences: Sequence[_Answers], limit: int) -> list[ReplayedAccess]:
    answers_by_kind: dict[tuple[str, str], list[_Answers]] = defaultdict(list)
    for answer in differences:
        answers_by_kind[answer.question.actor, answer.question.text].append(answer)
    items = [_build_item(*kind, answers) for kind, answers in answers_by_kind.items()]
    largest_items = nsmallest(limit, items, key=lambda item: (-item.requests, item.actor, item.privilege))
    urns = {urn for item in largest_items for urn in item.examples}
    hidden_urns = authorizer.directory().find_hidden_urns(urns=urns) if urns else frozenset()
    return [
        item._replace(examples=tuple(urn for urn in item.examples if urn not in hidden_urns)) for item in largest_items
    ]


def _build_item(actor: str, privilege: str, answers: Sequence[_Answers]) -> ReplayedAccess:
    entities = dict.fromkeys(answer.question.resource for answer in answers if answer.question.resource)
    allowed_count, denied_count = (
        sum(answer.question.requests for answer in answers if answer.after is is_allowed)
        for is_allowed in (True, False)
    )
    return ReplayedAccess(
        actor,
        privilege,
        allowed_count + denied_count,
        allowed_count,
        denied_count,
        len(entities),
        tuple(entities)[:_MAX_EXAMPLES],
        max(answer.question.last_at for answer in answers),
    )
