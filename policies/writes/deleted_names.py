"""Deleted users, groups and roles: marked, kept from coming back too early, and named by policies that narrow access.

Access given to a deleted name is taken away by a task (docs/adr/0045-deleted-names.md). Until then nothing is created
under the name, so that an account of the same name begins with what all users have.
"""

import logging
from collections.abc import Collection, Iterable, Mapping
from functools import partial

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, TextField
from django.db.models.functions import Cast

from policies.engine import families
from policies.engine.families import datahub, datahub_fields, datazone
from policies.engine.families.datazone_resource_patterns import PROJECT_TYPE
from policies.engine.model import Effect, Statement, StatementOrigin
from policies.engine.selectors import ID, ONESELF, OWNER, PROJECT, TYPE, Condition, Selector, is_relational, owner_type
from policies.errors import Conflict
from policies.models import Policy, PolicyEffect, PolicyFacet, PolicyVersion, Tombstone
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import per_snapshot, snapshot_store
from policies.pdp.ports import references
from policies.propagation import task_queue
from policies.propagation.pubsub import list_connection_errors

log = logging.getLogger(__name__)

#: The task that takes away what deleted names were given.
REMOVE_TASK = "policies.remove_deleted_names"

#: Most policies that a refusal names.
_MAX_NAMED_POLICIES = 5


def mark(urns: Collection[str]) -> None:
    """Mark URNs as deleted inside an open write: from its commit on they give nothing, and the task is queued.

    References to them in documents stop counting as facts at once.
    """
    Tombstone.mark(urns)
    references().detach(urns=urns)
    transaction.on_commit(partial(enqueue_removal, urns))


def enqueue_removal(urns: Iterable[str]) -> None:
    """Queue the task; a broker that is away is only logged, since the schedule repeats the task."""
    try:
        task_queue.enqueue(REMOVE_TASK, *urns)
    except list_connection_errors() as error:
        log.warning("removal_of_deleted_names_not_queued", extra={"error": str(error)})


def release(urns: Collection[str]) -> None:
    """Release the names of users, groups and roles that are being created, inside the write that creates them.

    Raises Conflict for one that was deleted and is still named by a policy that allows something, or by a document.
    """
    deleted_urns = Tombstone.find(urns)
    if not deleted_urns:
        return
    if unfinished_urns := sorted(_find_named(deleted_urns)):
        # Not on commit: the refusal rolls the write back.
        enqueue_removal(unfinished_urns)
        raise Conflict(
            f"{unfinished_urns[0]} was deleted, and what it was given is still being removed. Try again in a minute."
        )
    Tombstone.remove(deleted_urns)


def find_unfinished(urns: Collection[str]) -> frozenset[str]:
    """Return those of these URNs that were deleted and are still named, as `release` refuses them."""
    deleted_urns = Tombstone.find(urns)
    return _find_named(deleted_urns) if deleted_urns else frozenset()


def list_allowing_policies(urns: Collection[str]) -> Mapping[int, frozenset[str]]:
    """Return primary key of each policy that allows something -> those of these URNs that it names as actors."""
    facets = PolicyFacet.objects.filter(
        field=PolicyFacet.Field.ACTOR,
        value__among=list(urns),
        policy__facets__field=PolicyFacet.Field.EFFECT,
        policy__facets__value=PolicyEffect.ALLOW,
        policy__family=datahub.NAME,
    )
    names_by_policy: dict[int, frozenset[str]] = {}
    for policy, name in facets.order_by("policy").values_list("policy", "value"):
        names_by_policy[policy] = names_by_policy.get(policy, frozenset()) | {name}
    return names_by_policy


def refuse_narrowing(*, urn: str, name: str, object_name: str = "") -> None:
    """Raise Conflict if a policy that denies or excludes names what is to be deleted, in whatever state it is.

    Without the name it would reach others than before: the members of the group, or entities that carry the name. A
    user may be named as an actor, since the name of a deleted user stays there and the user is refused. `object_name`
    is the one of `make_object_name`, of what has an object id.
    """
    refuse_narrowing_many({urn: name, object_name: name} if object_name else {urn: name})


def make_object_name(kind: str, object_id: str) -> str:
    """Return the name by which a Datazone statement names one object, as its patterns spell it."""
    return f"{kind}:{object_id}"


def list_narrowing_policies(urn: str) -> list[str]:
    """Return the URNs of the policies for which `refuse_narrowing` refuses the deletion, in order."""
    return sorted(_load_narrowing_policies().get(urn, ()))


def refuse_narrowing_many(displayed_names: Mapping[str, str]) -> None:
    """Raise Conflict as `refuse_narrowing` for the first URN or object name, each with what to call it; one query."""
    policies_by_name = _load_narrowing_policies()
    for key, name in displayed_names.items():
        if policy_urns := sorted(policies_by_name.get(key, ())):
            named_policies = ", ".join(policy_urns[:_MAX_NAMED_POLICIES])
            suffix = " and others" if len(policy_urns) > _MAX_NAMED_POLICIES else ""
            verb = "names it" if len(policy_urns) == 1 else "name it"
            raise Conflict(
                f"{name} cannot be deleted: {named_policies}{suffix} {verb} in a deny, an exclusion or a condition "
                "NOT_EQUALS. Change that first."
            )


def _find_named(urns: Collection[str]) -> frozenset[str]:
    names = frozenset[str]().union(*list_allowing_policies(urns).values())
    return names | references().find_named(urns=urns)


#: Name -> URNs of the policies that keep access from somebody or something by it.
_Index = Mapping[str, frozenset[str]]
#: Words in the documents of policies without a deny or an excluded person that keep access from something, too.
_NARROWING_WORDS = (Condition.NOT_EQUALS.value, datahub_fields.EXCLUDED_OWNER_TYPES)


def _load_narrowing_policies() -> _Index:
    """Return the index of the policies as they are.

    Kept for the version of all policies: a source that deletes many entities reads the policies once.
    """
    if PolicyVersion.is_moving():
        return _read_narrowing_policies()
    # A policy that another process wrote a moment ago counts, too.
    snapshot_store.get_current(at_least=PolicyVersion.load_version())
    return per_snapshot.memoize((__name__,), _read_narrowing_policies)


def _read_narrowing_policies() -> _Index:
    policies_by_name: dict[str, set[str]] = {}
    narrowing_facets = PolicyFacet.objects.filter(
        Q(field=PolicyFacet.Field.EFFECT, value=PolicyEffect.DENY) | Q(field=PolicyFacet.Field.EXCEPTION),
        policy=OuterRef("pk"),
    )
    is_narrowing = Q(Exists(narrowing_facets))
    for word in _NARROWING_WORDS:
        is_narrowing |= Q(text__contains=word)
    rows = Policy.objects.annotate(text=Cast("document", TextField())).filter(
        is_narrowing, family__in=(datahub.NAME, datazone.NAME)
    )
    for family_name, urn, name, document in rows.order_by().values_list("family", "urn", "name", "document"):
        family = families.get(family_name)
        for statement in family.compile(family.as_active(document), StatementOrigin(urn, name)):
            for narrowing_name in _list_narrowing_names(statement):
                policies_by_name.setdefault(narrowing_name, set()).add(urn)
    return {name: frozenset(urns) for name, urns in policies_by_name.items()}


def _list_narrowing_names(statement: Statement) -> Iterable[str]:
    is_deny = statement.effect is Effect.DENY
    for token in statement.actors.tested_tokens if is_deny else statement.actors.excluded_tokens:
        if token.startswith((GROUP_PREFIX, ROLE_PREFIX)):
            yield token
        elif is_relational(token) and token != ONESELF and (named_type := owner_type(token)) is not None:
            yield named_type
    for selector in (statement.resources, statement.subresources):
        for criterion in selector.criteria if selector is not None else ():
            if criterion.condition is Condition.NOT_EQUALS or (is_deny and criterion.condition is Condition.EQUALS):
                # A user is named here as an owner; by its own URN or groups nobody else is reached.
                yield from (
                    value for value in criterion.values if criterion.field == OWNER or not value.startswith(USER_PREFIX)
                )
    if is_deny:
        yield from _list_object_names(statement.resources)


def _list_object_names(resources: Selector) -> Iterable[str]:
    """Return the objects that a selector of a Datazone pattern names by their ids: one object, and its project.

    A wildcard names nothing: `dataset:*` is about whatever is there, and `project:<id>:*` about what the project
    contains, so this one names the project.
    """
    values_by_field: dict[str, frozenset[str]] = {
        criterion.field: criterion.values
        for criterion in resources.criteria
        if criterion.condition is Condition.EQUALS and criterion.field in (ID, PROJECT, TYPE)
    }
    for object_id in values_by_field.get(ID, ()):
        yield from (make_object_name(kind, object_id) for kind in values_by_field.get(TYPE, ()))
    yield from (make_object_name(PROJECT_TYPE, object_id) for object_id in values_by_field.get(PROJECT, ()))
