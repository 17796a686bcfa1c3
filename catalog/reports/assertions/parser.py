"""Assertions about access: a YAML text, read with every problem in it and the line of each (docs/assertions.md).

Nothing of Django is here: the page that checks a text and the job that asks what it says read it alike.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import yaml

from catalog.reports.assertions.yaml_nodes import Nodes
from policies.engine import families, selectors
from policies.engine.errors import Problem
from policies.engine.families import vocabulary
from policies.engine.selectors import Condition, Criterion, Selector

#: Longest text, in characters, and most assertions in it.
LENGTH, MOST = 1_000_000, 2_000

_HOLDERS = ("urn:li:corpuser:", "urn:li:corpGroup:", "urn:li:dataHubRole:")
_PLATFORM = "urn:li:dataPlatform:"
_ALLOW, _DENY = "ALLOW", "DENY"
_ANSWER = ("person", "privilege", "entity", "answer")

#: What `on` and `not` may test, as it is called there.
_FIELDS = {
    "type": selectors.TYPE,
    "urn": selectors.URN,
    "tag": selectors.TAG,
    "domain": selectors.DOMAIN,
    "container": selectors.CONTAINER,
    "term": selectors.GLOSSARY,
    "owner": selectors.OWNER,
    "instance": selectors.DATA_PLATFORM_INSTANCE,
}


class Kind(StrEnum):
    """What an assertion claims: that nobody else may, that all of these may, or one answer a line."""

    NOBODY = "nobody"
    EVERY = "every"
    EXPECT = "expect"


@dataclass(frozen=True, slots=True)
class Expected:
    """One answer that is expected; without `entity` the question is about the platform."""

    actor: str
    privilege: str
    entity: str
    is_allowed: bool
    line: int


@dataclass(frozen=True, slots=True)
class Assertion:
    """One claim.

    NOBODY: nobody but `holders` may use one of the privileges on what `on` covers. EVERY: all who are one of `holders`,
    are in it or have it may use each of them on all of it. EXPECT: `expected`. `platform` are the privileges that are
    asked without a resource, `privileges` the others.
    """

    name: str
    line: int
    kind: Kind
    holders: frozenset[str] = frozenset()
    privileges: tuple[str, ...] = ()
    platform: tuple[str, ...] = ()
    on: Selector = selectors.EVERYTHING
    expected: tuple[Expected, ...] = ()


class InvalidAssertions(Exception):
    """A text with everything that is wrong in it, in the order of lines; a pointer is `line 12`."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(f"{one.pointer}: {one.detail}" for one in problems))


def parse(text: str) -> tuple[Assertion, ...]:
    """Read a text; raises InvalidAssertions with every problem. An empty text asserts nothing."""
    reading = _Reading()
    found = tuple(reading.document(text))
    if reading.problems:
        raise InvalidAssertions(
            tuple(Problem("assertions.invalid", f"line {line}", detail) for line, detail in reading.in_order())
        )
    return found


class _Reading(Nodes):
    """One text, and what is wrong with it."""

    def __init__(self) -> None:
        super().__init__()
        self._scopes = {
            name: info.scope for some in families.vocabularies().values() for name, info in some.privileges.items()
        }

    def document(self, text: str) -> Iterator[Assertion]:
        """Give every assertion that can be read."""
        root = self.root(text, most=LENGTH)
        entries = self._entries(root) if root is not None else []
        if len(entries) > MOST:
            self.problems.append((1, f"A text holds up to {MOST:,} assertions, not {len(entries):,}."))
            return
        named: dict[str, int] = {}
        for node in entries:
            found = self._assertion(node)
            if found is not None:
                if (first := named.setdefault(found.name, found.line)) != found.line:
                    self.note(node, f"The name {found.name!r} is taken on line {first} already.")
                yield found

    def _entries(self, root: yaml.Node) -> list[yaml.Node]:
        """Return the assertions: the list itself, or what stands under `assertions`."""
        if isinstance(root, yaml.MappingNode):
            keys = self.mapping(root, known=("assertions",))
            if not keys:
                return []
            root = keys["assertions"]
        if not isinstance(root, yaml.SequenceNode):
            self.note(root, "This must be a list of assertions, each beginning with `- name:`.")
            return []
        return list(root.value)

    def _assertion(self, node: yaml.Node) -> Assertion | None:
        before = len(self.problems)
        keys = self.mapping(node, known=("name", *Kind))
        kinds = [kind for kind in Kind if kind in keys]
        name = self.text(keys["name"], "a name") if "name" in keys else ""
        if isinstance(node, yaml.MappingNode):
            if "name" not in keys:
                self.note(node, "An assertion needs a name; findings are kept under it.")
            if len(kinds) != 1:
                self.note(node, "An assertion says one of `nobody`, `every` and `expect`.")
        found = None
        if len(kinds) == 1:
            line = node.start_mark.line + 1
            found = self._claims[kinds[0]](self, name, line, keys[kinds[0]])
        return found if len(self.problems) == before else None

    def _nobody(self, name: str, line: int, node: yaml.Node) -> Assertion:
        keys = self.mapping(node, known=("outside", "may", "on"))
        holders = self._holders(keys["outside"]) if "outside" in keys else frozenset[str]()
        privileges, platform, on = self._what(node, keys)
        return Assertion(name, line, Kind.NOBODY, holders, privileges, platform, on)

    def _every(self, name: str, line: int, node: yaml.Node) -> Assertion:
        keys = self.mapping(node, known=("in", "may", "on"))
        holders = self._holders(keys["in"]) if "in" in keys else frozenset[str]()
        if isinstance(node, yaml.MappingNode) and not holders and "in" not in keys:
            self.note(node, "`in` is missing: the people, groups or roles that may.")
        privileges, platform, on = self._what(node, keys)
        return Assertion(name, line, Kind.EVERY, holders, privileges, platform, on)

    def _expect(self, name: str, line: int, node: yaml.Node) -> Assertion:
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            self.note(node, "`expect` is a list of answers: [person, privilege, entity, ALLOW or DENY].")
            return Assertion(name, line, Kind.EXPECT)
        rows = tuple(row for one in node.value if (row := self._expected(one)) is not None)
        return Assertion(name, line, Kind.EXPECT, expected=rows)

    _claims: Mapping[Kind, Callable[["_Reading", str, int, yaml.Node], Assertion]] = {
        Kind.NOBODY: _nobody,
        Kind.EVERY: _every,
        Kind.EXPECT: _expect,
    }

    def _expected(self, node: yaml.Node) -> Expected | None:
        before = len(self.problems)
        keys = self._answer(node)
        actor = self._urn(keys["person"], _HOLDERS[:1]) if "person" in keys else ""
        privilege = self._privilege(keys["privilege"]) if "privilege" in keys else ""
        entity = self._urn(keys["entity"], ("urn:li:",)) if "entity" in keys else ""
        answer = self.text(keys["answer"], "ALLOW or DENY").upper() if "answer" in keys else ""
        if answer and answer not in (_ALLOW, _DENY):
            self.note(keys["answer"], f"The answer is ALLOW or DENY, not {answer!r}.")
        if privilege and ("entity" in keys) == self._is_platform(privilege):
            about = "the platform, so no entity is named with it" if entity else "entities, so one is named with it"
            self.note(node, f"{privilege} is about {about}.")
        if len(self.problems) > before:
            return None
        return Expected(actor, privilege, entity, answer == _ALLOW, node.start_mark.line + 1)

    def _answer(self, node: yaml.Node) -> Mapping[str, yaml.Node]:
        """Return the parts of one answer: of a list of four, of three for the platform, or of a mapping."""
        if isinstance(node, yaml.SequenceNode):
            if len(node.value) == len(_ANSWER):
                return dict(zip(_ANSWER, node.value, strict=True))
            if len(node.value) == len(_ANSWER) - 1:
                return dict(zip((one for one in _ANSWER if one != "entity"), node.value, strict=True))
            said = "An answer is [person, privilege, entity, ALLOW or DENY], without entity about the platform."
            self.note(node, f"{said} A URN with a comma needs quotes.")
            return {}
        keys = self.mapping(node, known=_ANSWER)
        for name in _ANSWER if isinstance(node, yaml.MappingNode) else ():
            if name not in keys and name != "entity":
                self.note(node, f"`{name}` is missing.")
        return keys

    def _what(
        self, node: yaml.Node, keys: Mapping[str, yaml.Node]
    ) -> tuple[tuple[str, ...], tuple[str, ...], Selector]:
        if not isinstance(node, yaml.MappingNode):
            return (), (), selectors.EVERYTHING
        if "may" not in keys:
            self.note(node, "`may` is missing: the privileges that this is about.")
        names = [self._privilege(one) for one in self.several(keys["may"])] if "may" in keys else []
        platform = tuple(dict.fromkeys(one for one in names if one and self._is_platform(one)))
        privileges = tuple(dict.fromkeys(one for one in names if one and one not in platform))
        on = self._selector(keys["on"]) if "on" in keys else selectors.EVERYTHING
        if platform and "on" in keys:
            self.note(keys["on"], f"{', '.join(platform)}: this is about the platform and not about entities.")
        return privileges, platform, on

    def _selector(self, node: yaml.Node) -> Selector:
        keys = self.mapping(node, known=(*_FIELDS, "platform", "not"))
        excluded = self.mapping(keys["not"], known=tuple(_FIELDS)) if "not" in keys else {}
        criteria = [self._criterion(name, value, Condition.EQUALS) for name, value in keys.items() if name in _FIELDS]
        criteria += [self._criterion(name, value, Condition.NOT_EQUALS) for name, value in excluded.items()]
        if "platform" in keys:
            types = self._values("type", keys["type"]) if "type" in keys else frozenset(("dataset",))
            platforms = [self._urn(one, (_PLATFORM,)) for one in self.several(keys["platform"])]
            criteria.append(Criterion(selectors.URN, Condition.STARTS_WITH, _beginnings(types, platforms)))
        return Selector(tuple(criteria), needs_resource=True)

    def _criterion(self, name: str, node: yaml.Node, condition: Condition) -> Criterion:
        return Criterion(_FIELDS[name], condition, self._values(name, node))

    def _values(self, name: str, node: yaml.Node) -> frozenset[str]:
        some = self.several(node)
        if name == "type":
            return frozenset(self.text(one, "a type of entity, such as dataset") for one in some)
        kinds = _HOLDERS[:2] if name == "owner" else ("urn:li:",)
        return frozenset(self._urn(one, kinds) for one in some)

    def _holders(self, node: yaml.Node) -> frozenset[str]:
        return frozenset(self._urn(one, _HOLDERS) for one in self.several(node))

    def _privilege(self, node: yaml.Node) -> str:
        name = self.text(node, "a privilege")
        if not name or name in self._scopes:
            return name
        meant = [one for some in families.vocabularies().values() for one in some.suggest(name)]
        hint = f" Is {' or '.join(meant[:3])} meant?" if meant else ""
        self.note(node, f"There is no privilege {name!r}.{hint}")
        return ""

    def _is_platform(self, privilege: str) -> bool:
        return self._scopes[privilege] == vocabulary.PLATFORM

    def _urn(self, node: yaml.Node, kinds: tuple[str, ...]) -> str:
        text = self.text(node, f"a URN such as {kinds[0]}…")
        if text and not any(text.startswith(kind) and len(text) > len(kind) for kind in kinds):
            self.note(node, f"{text!r} does not begin with {' or '.join(kinds)}")
        return text


def _beginnings(types: frozenset[str], platforms: list[str]) -> frozenset[str]:
    """Return how the URNs of these types on these platforms begin, whether they hold the platform's URN or its name."""
    short = [urn.removeprefix(_PLATFORM) for urn in platforms]
    return frozenset(f"urn:li:{kind}:({one}," for kind in types for one in (*platforms, *short))
