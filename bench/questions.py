"""Questions about people and entities as they are stored, so that other engines can be given the same facts.

Each is asked about another person. Every second one is aimed: where a policy speaks to the person and to an entity that
is stored, it asks for what that policy gives. Most questions in real life are about what people may use.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from random import Random
from typing import Any

from bench.worlds import Asked, Company, Document, Person, Thing, dice_of
from policies.engine.evaluate import matches
from policies.engine.model import Statement

#: Policies that are tried for a question that is aimed, and entities of each.
_POLICIES_TRIED, _THINGS_TRIED = 8, 8

_Policy = tuple[Document, tuple[Statement, ...]]


@cache
def list_questions(company: Company, count: int) -> Sequence[Asked]:
    """Return that many questions, always the same ones."""
    return tuple(_Asking(company).draw(count))


def body_of(asked: Asked) -> dict[str, Any]:
    """Return a question as authorize is asked it."""
    return {"actor": asked.person.urn, "privilege": asked.privilege, "resource": {"urn": asked.thing.urn}}


def evaluation_of(asked: Asked) -> dict[str, object]:
    """Return a question as AuthZEN asks it."""
    return {
        "subject": {"type": "user", "id": asked.person.urn.rpartition(":")[2]},
        "action": {"name": asked.privilege},
        "resource": {"type": asked.thing.type, "id": asked.thing.urn},
    }


@cache
def _stored_things(users: int, entities: int) -> tuple[Sequence[Thing], dict[str, list[Thing]]]:
    """Return every entity, and value → the entities that have it: tag, domain, schema, owner, URN, start of a URN."""
    company = Company(0, users=users, entities=entities)
    things = [company.thing(number) for number in range(entities)]
    by_value: dict[str, list[Thing]] = defaultdict(list)
    for thing in things:
        holders = (holder for holder, _ in thing.owners)
        start = thing.urn[: thing.urn.index(".t") + 1]
        for value in (*thing.tags, thing.domain, thing.schema, *holders, thing.urn, start):
            by_value[value].append(thing)
    return things, dict(by_value)


@dataclass(frozen=True)
class _Asking:
    """Draws questions for a company."""

    company: Company

    @cached_property
    def _policies_by_actor(self) -> dict[str, list[_Policy]]:
        """User or group → the policies that name it; `""` → those that name the owners of a resource."""
        found = defaultdict(list)
        for (_, document), (_, statements) in zip(self.company.documents, self.company.compiled, strict=True):
            actors = document["actors"]
            for urn in (*actors.get("users", ()), *actors.get("groups", ()), *([""] * ("resourceOwners" in actors))):
                found[urn].append((document, statements))
        return dict(found)

    def draw(self, count: int) -> Iterator[Asked]:
        """Yield questions."""
        dice = dice_of(f"stored questions {self.company.policies}")
        things, _ = _stored_things(self.company.users, self.company.entities)
        for index, number in enumerate(dice.sample(range(self.company.users), count)):
            # The roles of the generated people are not stored (bench.filling).
            person = replace(self.company.person(number), roles=())
            aimed = self._aim(person, dice) if index % 2 else None
            if aimed is None:
                _, document = dice.choice(self.company.documents)
                aimed = Asked(person, dice.choice(document["privileges"]), dice.choice(things))
            yield aimed

    def _aim(self, person: Person, dice: Random) -> Asked | None:
        """Return a question whose answer is yes; None where none was found soon."""
        by_actor = self._policies_by_actor
        policies = [policy for urn in (person.urn, *person.groups, "") for policy in by_actor.get(urn, ())]
        for document, statements in dice.sample(policies, min(_POLICIES_TRIED, len(policies))):
            privilege = dice.choice(document["privileges"])
            for thing in self._candidates(document, person, dice):
                asked = Asked(person, privilege, thing)
                question = asked.question()
                if any(matches(statement, question) for statement in statements):
                    return asked
        return None

    def _candidates(self, document: Document, person: Person, dice: Random) -> list[Thing]:
        """Return some entities that a policy may speak of to a person."""
        things, by_value = _stored_things(self.company.users, self.company.entities)
        found: Sequence[Thing] = things
        for criterion in document["resources"]["filter"]["criteria"]:
            if criterion["field"] != "TYPE" and criterion.get("condition") != "NOT_EQUALS":
                found = [thing for value in criterion["values"] for thing in by_value.get(value, ())]
        if "resourceOwners" in document["actors"]:
            found = [thing for urn in (person.urn, *person.groups) for thing in by_value.get(urn, ())]
        return dice.sample(found, min(_THINGS_TRIED, len(found)))
