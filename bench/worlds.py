"""The worlds that are measured: a company of any size, always the same one for the same size.

People: each in five groups on average of 300, a third with one of eight roles. Entities: five types; a domain in a tree
three deep, none to three tags (a few are common), a schema in a database, one or two owners with types. Policies: nine
of ten name users, groups or roles, the others the owners of the resource, with or without types; 85 % name a type; most
have one criterion more: DOMAIN 30 %, TAG 25 %, URN 15 %, STARTS_WITH on the URN 10 %, CONTAINER 10 %, TAG NOT_EQUALS
5 %. In the realistic world a policy lists up to four privileges, some wanted far more often than others, and none that
another one implies, since other engines know no implications; in the hot world every policy lists the one privilege
that everybody asks for. Half of the questions are about any person and entity, half about such as a policy was made
for: most questions in real life are asked by people about what they may use.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

from policies.engine.families import datahub, vocabulary
from policies.engine.model import Actor, Question, Statement, StatementOrigin
from policies.engine.selectors import CONTAINER, DOMAIN, OWNER, TAG, Owner, Resource

HOT = "VIEW_ENTITY_PAGE"
TYPES = ("dataset", "dataset", "dataset", "dataset", "chart", "dashboard", "dataJob", "container")
OWNER_TYPES = tuple(
    f"urn:li:ownershipType:__system__{name}" for name in ("technical_owner", "business_owner", "data_steward")
)
PLATFORMS = ("snowflake", "bigquery", "hive", "postgres")
GROUPS, ROLES, DOMAINS, TAGS, DATABASES, SCHEMAS = 300, 8, 500, 500, 200, 2000

Document = dict[str, Any]


def dice_of(seed: int | str) -> Random:
    """Return dice that fall the same way on every run."""
    return Random(seed)


@dataclass(frozen=True)
class Person:
    """A user and everything it holds."""

    urn: str
    groups: tuple[str, ...]
    roles: tuple[str, ...]


@dataclass(frozen=True)
class Thing:
    """An entity with its direct facts."""

    urn: str
    type: str
    domain: str
    tags: tuple[str, ...]
    schema: str
    owners: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Asked:
    """One question, as raw facts."""

    person: Person
    privilege: str
    thing: Thing

    def question(self) -> Question:
        """Return the engine's question, made anew."""
        return Question(actor(self.person), self.privilege, resource(self.thing))


@dataclass(frozen=True)
class Company:
    """A world of some size. Everything is made when it is asked for."""

    policies: int
    is_hot: bool = False
    users: int = 10_000
    entities: int = 100_000

    @cached_property
    def documents(self) -> list[tuple[str, Document]]:
        """Every policy: URN and published document."""
        dice = dice_of(f"policies {self.policies} {self.is_hot}")
        return [(f"urn:li:dataHubPolicy:p{index}", self._document(dice)) for index in range(self.policies)]

    @cached_property
    def compiled(self) -> list[tuple[str, tuple[Statement, ...]]]:
        """Every policy: URN and statements."""
        return [(urn, datahub.compile(document, StatementOrigin(urn, urn))) for urn, document in self.documents]

    def person(self, number: int) -> Person:
        """Return one user."""
        dice = dice_of(f"person {number}")
        groups = dice.sample(range(GROUPS), dice.choice((3, 4, 5, 5, 6, 7)))
        roles = (f"urn:li:dataHubRole:r{dice.randrange(ROLES)}",) if dice.random() < 0.33 else ()
        return Person(f"urn:li:corpuser:u{number}", tuple(f"urn:li:corpGroup:g{group}" for group in groups), roles)

    def thing(self, number: int) -> Thing:
        """Return one entity."""
        return self._thing(number, dice_of(number))

    def things(self) -> Iterator[Thing]:
        """Return all entities, drawn from one run of the dice, which is quicker."""
        dice = dice_of("things")
        return (self._thing(number, dice) for number in range(self.entities))

    def _thing(self, number: int, dice: Random) -> Thing:
        kind = dice.choice(TYPES)
        schema = dice.randrange(SCHEMAS)
        platform = f"urn:li:dataPlatform:{PLATFORMS[schema % len(PLATFORMS)]}"
        holders = (f"urn:li:corpuser:u{dice.randrange(self.users)}", f"urn:li:corpGroup:g{dice.randrange(GROUPS)}")
        return Thing(
            urn=f"urn:li:{kind}:({platform},db{schema % DATABASES}.schema{schema}.t{number},PROD)",
            type=kind,
            domain=f"urn:li:domain:d{dice.randrange(DOMAINS)}",
            tags=tuple(
                sorted({f"urn:li:tag:t{int(TAGS * dice.random() ** 3)}" for _ in range(dice.choice((0, 1, 2, 3)))})
            ),
            schema=f"urn:li:container:s{schema}",
            owners=tuple((holder, dice.choice(OWNER_TYPES)) for holder in holders[: dice.choice((1, 2))]),
        )

    def asked(self, number: int) -> list[Asked]:
        """Return questions, each from another person: every second one is aimed at what some policy gives."""
        dice = dice_of(f"questions {self.policies} {self.is_hot}")
        found = []
        for index, user in enumerate(dice.sample(range(self.users), number)):
            person, thing = self.person(user), self.thing(dice.randrange(self.entities))
            _, document = dice.choice(self.documents)
            if index % 2:
                person, thing = _aimed(document, person, thing)
            privilege = HOT if self.is_hot else dice.choice(document["privileges"])
            found.append(Asked(person, privilege, thing))
        return found

    def _document(self, dice: Random) -> Document:
        return {
            "displayName": "measured",
            "type": "METADATA",
            "state": "ACTIVE",
            "privileges": self._privileges(dice),
            "actors": self._actors(dice),
            "resources": {"filter": {"criteria": list(self._criteria(dice))}},
        }

    def _privileges(self, dice: Random) -> list[str]:
        known = vocabulary.load_datahub()
        names = sorted(info.name for info in known.metadata_privileges() if info.name not in known.reverse_implications)
        some = {names[int(len(names) * dice.random() ** 2)] for _ in range(dice.choice((1, 2, 3, 4)))}
        if self.is_hot or dice.random() < 0.3:
            some.add(HOT)
        return sorted(some)

    def _actors(self, dice: Random) -> Document:
        draw = dice.random()
        if draw < 0.1:
            types = {"resourceOwnersTypes": [dice.choice(OWNER_TYPES)]} if dice.random() < 0.5 else {}
            return {"resourceOwners": True, **types}
        if draw < 0.12:
            return {"roles": [f"urn:li:dataHubRole:r{dice.randrange(ROLES)}"]}
        users = [f"urn:li:corpuser:u{dice.randrange(self.users)}" for _ in range(2)]
        return {"users": users, "groups": [f"urn:li:corpGroup:g{dice.randrange(GROUPS)}"]}

    def _criteria(self, dice: Random) -> Iterator[Document]:
        if dice.random() < 0.85:
            yield {"field": "TYPE", "values": sorted({dice.choice(TYPES) for _ in range(dice.choice((1, 1, 2)))})}
        draw = dice.random()
        if draw < 0.30:
            yield {"field": "DOMAIN", "values": [f"urn:li:domain:d{dice.randrange(DOMAINS)}"]}
        elif draw < 0.55:
            yield {"field": "TAG", "values": [f"urn:li:tag:t{dice.randrange(TAGS)}"]}
        elif draw < 0.70:
            yield {"field": "URN", "values": [self.thing(dice.randrange(self.entities)).urn for _ in range(3)]}
        elif draw < 0.80:
            urn = self.thing(dice.randrange(self.entities)).urn
            yield {"field": "URN", "condition": "STARTS_WITH", "values": [urn[: urn.index(".t") + 1]]}
        elif draw < 0.90:
            yield {"field": "CONTAINER", "values": [f"urn:li:container:s{dice.randrange(SCHEMAS)}"]}
        elif draw < 0.95:
            yield {"field": "TAG", "condition": "NOT_EQUALS", "values": [f"urn:li:tag:t{dice.randrange(20)}"]}


def _aimed(document: Document, person: Person, thing: Thing) -> tuple[Person, Thing]:
    """Return the person and the entity changed so that the policy speaks to them."""
    actors = document["actors"]
    if actors.get("resourceOwners"):
        thing = replace(thing, owners=((person.urn, actors.get("resourceOwnersTypes", OWNER_TYPES)[0]),))
    else:
        joined = (*person.groups[1:], *actors.get("groups", ()))
        person = replace(person, groups=joined, roles=(*person.roles[1:], *actors.get("roles", ())))
    for criterion in document["resources"]["filter"]["criteria"]:
        thing = replace(thing, **_passing(criterion, thing))
    return person, thing


def _passing(criterion: Document, thing: Thing) -> dict[str, Any]:
    """Return the facts to change so that the entity passes a criterion."""
    value = criterion["values"][0]
    match criterion["field"], criterion.get("condition", "EQUALS"):
        case "TAG", "NOT_EQUALS":
            return {"tags": tuple(tag for tag in thing.tags if tag != value)}
        case "TAG", _:
            return {"tags": tuple(sorted({*thing.tags[1:], value}))}
        case "URN", "STARTS_WITH":
            return {"urn": f"{value}t1,PROD)"}
        case field, _:
            return {{"CONTAINER": "schema"}.get(field, field.lower()): value}


def parent_of(node: str) -> str | None:
    """Return the node above a domain (three levels: 0 to 19, 20 to 99, the rest) or above a schema (its database)."""
    kind, number = node.rsplit(":", 1)[0], int(node.rsplit(":", 1)[1][1:])
    if kind == "urn:li:domain":
        return None if number < 20 else f"{kind}:d{number % 20 if number < 100 else 20 + number % 80}"
    return f"{kind}:b{number % DATABASES}" if node.rsplit(":", 1)[1].startswith("s") else None


def closed(node: str) -> frozenset[str]:
    """Return a node and everything above it."""
    nodes = [node]
    while (above := parent_of(nodes[-1])) is not None:
        nodes.append(above)
    return frozenset(nodes)


def actor(person: Person) -> Actor:
    """Return the engine's actor."""
    return Actor(person.urn, frozenset(person.groups), frozenset(person.roles))


def resource(thing: Thing) -> Resource:
    """Return the engine's resource, with every facet that a policy here can test."""
    facets = {
        DOMAIN: closed(thing.domain),
        CONTAINER: containers_of(thing),
        TAG: frozenset(thing.tags),
        OWNER: frozenset(holder for holder, _ in thing.owners),
    }
    return Resource(thing.urn, thing.type, facets, frozenset(Owner(*owner) for owner in thing.owners))


def containers_of(thing: Thing) -> frozenset[str]:
    """Return the containers that an entity is in; a container is one of its own (rules/datahub.md a.4)."""
    return closed(thing.schema) | ({thing.urn} if thing.type == "container" else frozenset())


def below() -> dict[str, set[str]]:
    """Return, for each domain and container that has nodes under it, all of them."""
    nodes = [f"urn:li:domain:d{number}" for number in range(DOMAINS)]
    nodes += [f"urn:li:container:s{number}" for number in range(SCHEMAS)]
    under: dict[str, set[str]] = {}
    for node in nodes:
        for above in closed(node) - {node}:
            under.setdefault(above, set()).add(node)
    return under


def rows(things: Iterable[Thing]) -> Iterator[tuple[int, str, str, str]]:
    """Return the direct facts of numbered entities as rows for postings."""
    for number, thing in enumerate(things):
        yield number, DOMAIN, thing.domain, ""
        yield number, CONTAINER, thing.schema, ""
        if thing.type == "container":
            yield number, CONTAINER, thing.urn, ""
        for tag in thing.tags:
            yield number, TAG, tag, ""
        for holder, owner_type in thing.owners:
            yield number, OWNER, holder, owner_type
