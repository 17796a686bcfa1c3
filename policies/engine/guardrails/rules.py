"""Rules of guardrails: from the JSON that states one to whom and what it is about (api-next.md section 3).

Actors, privileges and resources are those of a DataHub policy, checked and compiled by that family.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from policies.engine import families
from policies.engine.errors import InvalidPolicy, Problem
from policies.engine.families import datahub, vocabulary
from policies.engine.families.document_reader import DocumentReader, JsonValue
from policies.engine.model import Actor, Statement, StatementOrigin
from policies.engine.proofs.entity_terms import find_entity
from policies.engine.proofs.verdicts import ProofUnavailable
from policies.engine.proofs.ways import list_ways
from policies.engine.selectors import EVERYONE, EVERYTHING, ActorMatch, Selector, is_relational


class RuleKind(StrEnum):
    """The five kinds of rules, by the key of the document."""

    NEVER = "never"
    ALWAYS = "always"
    AT_LEAST = "at_least"
    NOT_BOTH = "not_both"
    NO_POLICY = "no_policy"


#: The kinds that are about every catalog there could be, so that facts about entities break none of them.
TIMELESS_KINDS = frozenset({RuleKind.NEVER, RuleKind.NOT_BOTH, RuleKind.NO_POLICY})

#: The fields of each rule.
_FIELDS = {
    RuleKind.NEVER: ("actors", "privileges", "resources"),
    RuleKind.ALWAYS: ("actors", "privileges", "resources"),
    RuleKind.AT_LEAST: ("number", "privileges"),
    RuleKind.NOT_BOTH: ("first", "second", "except"),
    RuleKind.NO_POLICY: ("actors", "privileges", "resources"),
}

#: Everybody but these: in place of the other fields of an actor clause.
EVERYBODY_EXCEPT = "everybody_except"

_ALL_USERS = {"allUsers": True}
_MAX_NUMBER = 10_000

#: Most pairs of a user and a privilege that *always* promises: each is a query before a write that can break it.
_MAX_ALWAYS_PAIRS = 100


@dataclass(frozen=True, slots=True)
class RuleScope:
    """The subject of a rule: any of these privileges, on the entities that the selector covers."""

    privileges: frozenset[str]
    resources: Selector = EVERYTHING


_NAMES_EVERYBODY = ActorMatch(frozenset({EVERYONE}))


@dataclass(frozen=True, slots=True)
class RulePeople:
    """The people of a rule: those whom the clause names, or, as a complement, everybody else."""

    match: ActorMatch = _NAMES_EVERYBODY
    is_complement: bool = False

    def includes(self, actor: Actor) -> bool:
        """Whether the rule is about this actor."""
        is_named = not self.match.tokens.isdisjoint(actor.tokens)
        is_named = is_named and self.match.excluded_tokens.isdisjoint(actor.tokens)
        return is_named != self.is_complement


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as it is judged: its kind, its scope (of `not_both` two), whom it is about, and of `at_least` how many."""

    kind: RuleKind
    scopes: tuple[RuleScope, ...]
    people: RulePeople = RulePeople()
    number: int = 0

    @property
    def privileges(self) -> frozenset[str]:
        """Every privilege that it names."""
        return frozenset[str]().union(*(scope.privileges for scope in self.scopes))

    @property
    def counted_privileges(self) -> frozenset[str]:
        """Every privilege that counts for it: of rules about every catalog also those accepted in place of its own."""
        if self.kind not in TIMELESS_KINDS:
            return self.privileges
        return frozenset(way.privilege for name in self.privileges for way in list_ways(name)) | self.privileges


def read_rule(document: JsonValue, *, custom: Collection[str] = ()) -> Rule:
    """Return the rule that a document states; `custom` are privileges besides those of the vocabulary.

    Raises InvalidPolicy with every problem, pointers beginning at `/rule`; a rule about nothing that there could be, or
    that nothing can satisfy, is one.
    """
    reader = DocumentReader()
    kinds = reader.read_mapping(document, "/rule")
    reader.check_keys(kinds, tuple(RuleKind), "/rule")
    if not reader.problems and len(kinds) != 1:
        names = ", ".join(RuleKind)
        reader.note("rule.one", "/rule", f"A guardrail has one rule, one of {names}.")
    reader.raise_problems()
    ((name, body),) = kinds.items()
    rule = _RuleReader(reader, custom, RuleKind(name)).read(body)
    reader.raise_problems()
    return rule


class _RuleReader:
    """Reads the body of one rule of this kind."""

    def __init__(self, reader: DocumentReader, custom: Collection[str], kind: RuleKind) -> None:
        self._reader = reader
        self._custom = custom
        self._kind = kind
        self._pointer = f"/rule/{kind}"

    def read(self, value: JsonValue) -> Rule:
        """Return the rule; one with problems is not to be used."""
        body = self._reader.read_mapping(value, self._pointer)
        self._reader.check_keys(body, _FIELDS[self._kind], self._pointer)
        match self._kind:
            case RuleKind.NOT_BOTH:
                return self._read_not_both(body)
            case RuleKind.AT_LEAST:
                return self._read_at_least(body)
            case _:
                people, actors = self._read_people(body.get("actors"), f"{self._pointer}/actors")
                scope = self._read_scope(body, self._pointer)
                if self._kind is RuleKind.ALWAYS:
                    self._check_users(actors)
                    self._check_pairs(people, scope)
                return Rule(self._kind, (scope,), people)

    def _read_not_both(self, body: Mapping[str, Any]) -> Rule:
        scopes = []
        for name in ("first", "second"):
            pointer = f"{self._pointer}/{name}"
            part = self._reader.read_mapping(body.get(name), pointer)
            self._reader.check_keys(part, ("privileges", "resources"), pointer)
            scopes.append(self._read_scope(part, pointer))
        people = RulePeople()
        if body.get("except") is not None:
            named_people, _ = self._read_people(body["except"], f"{self._pointer}/except")
            people = RulePeople(named_people.match, not named_people.is_complement)
            self._check_somebody(people, f"{self._pointer}/except")
        return Rule(self._kind, tuple(scopes), people)

    def _read_at_least(self, body: Mapping[str, Any]) -> Rule:
        number, pointer = body.get("number"), f"{self._pointer}/number"
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= _MAX_NUMBER:
            self._reader.note("number", pointer, f"This must be a whole number from 1 to {_MAX_NUMBER}.")
            number = 1
        scope = self._read_scope(body, self._pointer)
        registry = vocabulary.load_datahub()
        for index, name in enumerate(self._list_known_privileges(body)):
            info = registry.get(name)
            if info is not None and info.scope != vocabulary.PLATFORM:
                detail = f"{name} is held on entities, and nobody holds it on the platform: nothing can satisfy this."
                self._reader.note("rule.unsatisfiable", f"{self._pointer}/privileges/{index}", detail)
        return Rule(self._kind, (scope,), number=number)

    # -- parts ----------------------------------------------------------------------------------------------------

    def _read_people(self, value: JsonValue, pointer: str) -> tuple[RulePeople, Mapping[str, Any]]:
        if value is None:
            self._reader.note("required", pointer, "Choose the people that the guardrail is about.")
            return RulePeople(), {}
        actors, is_complement = self._reader.read_mapping(value, pointer), False
        if EVERYBODY_EXCEPT in actors:
            self._reader.check_keys(actors, (EVERYBODY_EXCEPT,), pointer)
            pointer = f"{pointer}/{EVERYBODY_EXCEPT}"
            actors, is_complement = self._reader.read_mapping(actors[EVERYBODY_EXCEPT], pointer), True
        statement = self._compile({"actors": actors}, {"/actors": pointer})
        match = ActorMatch() if statement is None else statement.actors
        if statement is not None and not match.tokens:
            self._reader.note("actors.none", pointer, "This names nobody.")
        people = RulePeople(match, is_complement)
        self._check_somebody(people, pointer)
        if any(map(is_relational, match.tested_tokens)):
            detail = (
                "A rule about owners says nothing about people, since anybody could own anything: leave out owners."
            )
            self._reader.note("actors.owners", pointer, detail)
        return people, actors

    def _check_somebody(self, people: RulePeople, pointer: str) -> None:
        """Require that not everybody is excepted."""
        if people.is_complement and EVERYONE in people.match.tokens and not people.match.excluded_tokens:
            self._reader.note("actors.none", pointer, "This is about nobody: everybody is excepted.")

    def _check_users(self, actors: Mapping[str, Any]) -> None:
        """Require that `always` names users: what it promises is promised to each of them."""
        pointer = f"{self._pointer}/actors"
        if any(actors.get(name) for name in actors if name != "users"):
            self._reader.note("actors.users", pointer, "Name users: this rule is about each of them.")

    def _check_pairs(self, people: RulePeople, scope: RuleScope) -> None:
        count = len(people.match.tokens) * len(scope.privileges)
        if count > _MAX_ALWAYS_PAIRS:
            detail = (
                f"Each user is asked about each privilege, up to {_MAX_ALWAYS_PAIRS} times; these would be {count:,}."
            )
            self._reader.note("rule.too_large", self._pointer, detail)

    def _read_scope(self, body: Mapping[str, Any], pointer: str) -> RuleScope:
        document = {"privileges": body.get("privileges"), "resources": body.get("resources")}
        pointers = {"/privileges": f"{pointer}/privileges", "/resources": f"{pointer}/resources"}
        statement = self._compile(document, pointers)
        if statement is None:
            return RuleScope(frozenset())
        if not body["privileges"]:
            self._reader.note("privileges.none", f"{pointer}/privileges", "Name at least one privilege.")
        if statement.actor_conditions or statement.subresources is not None:
            detail = "A guardrail covers entities by what they are and carry, not by who asks or what else is touched."
            self._reader.note("resources.conditional", f"{pointer}/resources", detail)
        elif statement.resources.criteria and not _can_exist(statement.resources):
            detail = "No entity that there could be meets all of these criteria: the guardrail would say nothing."
            self._reader.note("resources.empty", f"{pointer}/resources", detail)
        return RuleScope(frozenset(body["privileges"]), statement.resources)

    def _compile(self, part: Mapping[str, Any], pointers: Mapping[str, str]) -> Statement | None:
        """Return the statement of a policy with this part; None after its problems were recorded."""
        document = {
            "displayName": "guardrail",
            "type": datahub.METADATA,
            "state": datahub.ACTIVE,
            "actors": _ALL_USERS,
            "privileges": [],
            **part,
        }
        try:
            datahub.parse(document, custom=self._custom)
        except InvalidPolicy as error:
            for problem in error.problems:
                beginning = next((start for start in pointers if problem.pointer.startswith(start)), "")
                pointer = f"{pointers.get(beginning, self._pointer)}{problem.pointer.removeprefix(beginning)}"
                named_problem = _name_family(problem, part)
                self._reader.add(Problem(named_problem.code, pointer, named_problem.detail))
            return None
        (statement,) = datahub.compile(document, StatementOrigin("", ""))
        return statement

    def _list_known_privileges(self, body: Mapping[str, Any]) -> list[str]:
        privileges = body.get("privileges")
        return [name for name in privileges if isinstance(name, str)] if isinstance(privileges, list) else []


@lru_cache(maxsize=1024)
def _can_exist(resources: Selector) -> bool:
    """Whether a catalog could hold such an entity; without a solver it is not said that none could."""
    try:
        return find_entity((resources,)) is not None
    except ProofUnavailable:
        return True


def _name_family(problem: Problem, part: Mapping[str, Any]) -> Problem:
    """Return the problem of an unknown privilege as that of another family's privilege, if it is one."""
    if problem.code != "privilege.unknown":
        return problem
    name = part["privileges"][int(problem.pointer.rpartition("/")[2])]
    for family, words in families.load_vocabularies().items():
        if name in words.names:
            label = families.FAMILIES[family].label if family in families.FAMILIES else family.upper()
            detail = f"{name} is a privilege of {label}. Guardrails are about privileges of DataHub policies alone."
            return Problem("privilege.family", problem.pointer, detail)
    return problem
