"""Parser of assertions about access, collecting every problem with its line (docs/assertions.md).

This module does not use Django: the page that validates a text and the report share it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import yaml

from catalog.assertions.yaml_nodes import YamlNodeReader
from policies.engine import families, selectors
from policies.engine.errors import Problem
from policies.engine.families import vocabulary
from policies.engine.selectors import Condition, Criterion, Selector
from policies.errors import Invalid

#: Maximum length of a text, in characters, and maximum number of assertions in it.
MAX_TEXT_LENGTH, MAX_ASSERTIONS = 1_000_000, 2_000

_HOLDER_PREFIXES = ("urn:li:corpuser:", "urn:li:corpGroup:", "urn:li:dataHubRole:")
_PLATFORM_PREFIX = "urn:li:dataPlatform:"
_ALLOW, _DENY = "ALLOW", "DENY"
#: Says that nothing needs to have the names in an assertion or an answer.
_ABSENT_KEY = "may_be_absent"
_ANSWER_KEYS = ("person", "privilege", "entity", "answer")

#: Facet tested by each key of `on` and `not`.
FIELDS_BY_WORD = {
    "type": selectors.TYPE,
    "urn": selectors.URN,
    "tag": selectors.TAG,
    "domain": selectors.DOMAIN,
    "container": selectors.CONTAINER,
    "term": selectors.GLOSSARY,
    "owner": selectors.OWNER,
    "instance": selectors.DATA_PLATFORM_INSTANCE,
}


class AssertionKind(StrEnum):
    """The kind of claim: nobody else may, all of these may, or a list of expected answers."""

    NOBODY = "nobody"
    EVERY = "every"
    EXPECT = "expect"


@dataclass(frozen=True, slots=True)
class Expectation:
    """One expected answer; `entity` is "" for a question about the platform."""

    actor: str
    privilege: str
    entity: str
    is_allowed: bool
    line: int
    may_be_absent: bool = False


@dataclass(frozen=True, slots=True)
class Assertion:
    """One assertion.

    NOBODY: no user outside `holders` may use any of the privileges on an entity in `scope`. EVERY: every user that is
    one of `holders`, or is in it or has it, may use each privilege on all of `scope`. EXPECT: `expectations`.
    `platform_privileges` are the privileges without a resource, `privileges` all others. `may_be_absent` says that
    nothing needs to have the names in it.
    """

    name: str
    line: int
    kind: AssertionKind
    holders: frozenset[str] = frozenset()
    privileges: tuple[str, ...] = ()
    platform_privileges: tuple[str, ...] = ()
    scope: Selector = selectors.EVERYTHING
    expectations: tuple[Expectation, ...] = ()
    may_be_absent: bool = False


class InvalidAssertions(Exception):
    """A text with problems, in the order of lines; the pointer of each is `line 12`."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(f"{problem.pointer}: {problem.detail}" for problem in problems))


def parse_one(text: str) -> Assertion:
    """Parse the text of one assertion, a mapping. Raises InvalidAssertions with every problem."""
    reader = AssertionReader()
    assertion = reader.read_single(text)
    if assertion is None:
        raise InvalidAssertions(
            tuple(Problem("assertions.invalid", f"line {line}", detail) for line, detail in reader.list_problems())
        )
    return assertion


def read_assertion(path: str, text: str) -> Assertion:
    """Return the assertion of a file. Raises Invalid with every problem, each with file and line."""
    try:
        return parse_one(text)
    except InvalidAssertions as error:
        raise Invalid(
            [
                Problem(problem.code, f"{path}:{problem.pointer.removeprefix('line ')}", problem.detail)
                for problem in error.problems
            ]
        ) from None


def parse(text: str) -> tuple[Assertion, ...]:
    """Parse a text. Raises InvalidAssertions with every problem. An empty text has no assertions."""
    reader = AssertionReader()
    assertions = tuple(reader.read_document(text))
    if reader.problems:
        raise InvalidAssertions(
            tuple(Problem("assertions.invalid", f"line {line}", detail) for line, detail in reader.list_problems())
        )
    return assertions


class AssertionReader(YamlNodeReader):
    """Reads one text and collects its problems."""

    def __init__(self) -> None:
        super().__init__()
        self._scope_by_privilege = {
            name: info.scope
            for family_vocabulary in families.load_vocabularies().values()
            for name, info in family_vocabulary.privileges.items()
        }

    def read_document(self, text: str) -> Iterator[Assertion]:
        """Yield every assertion that has no problem."""
        root = self.parse_root(text, max_length=MAX_TEXT_LENGTH)
        if root is not None:
            yield from self.read_assertions(self._find_list(root))

    def read_single(self, text: str) -> Assertion | None:
        """Return the assertion that is the whole text; None after a problem."""
        root = self.parse_root(text, max_length=MAX_TEXT_LENGTH)
        if root is None:
            if not self.problems:
                self.problems.append((1, "This is empty: an assertion has a name and one of nobody, every and expect."))
            return None
        return self._read_assertion(root)

    def read_assertions(self, node: yaml.Node | None) -> Iterator[Assertion]:
        """Yield every assertion of a list that has no problem."""
        if node is None:
            return
        if not isinstance(node, yaml.SequenceNode):
            self.add_problem(node, "This must be a list of assertions, each beginning with `- name:`.")
            return
        entries = list(node.value)
        if len(entries) > MAX_ASSERTIONS:
            self.problems.append((1, f"A text holds up to {MAX_ASSERTIONS:,} assertions, not {len(entries):,}."))
            return
        line_by_name: dict[str, int] = {}
        for node in entries:
            assertion = self._read_assertion(node)
            if assertion is not None:
                if (first_line := line_by_name.setdefault(assertion.name, assertion.line)) != assertion.line:
                    self.add_problem(node, f"The name {assertion.name!r} is taken on line {first_line} already.")
                yield assertion

    def _find_list(self, root: yaml.Node) -> yaml.Node | None:
        """Return the node of the assertions: the root, or what is under the key `assertions`; None after a problem."""
        if not isinstance(root, yaml.MappingNode):
            return root
        return self.read_mapping(root, allowed_keys=("assertions",)).get("assertions")

    def _read_assertion(self, node: yaml.Node) -> Assertion | None:
        problem_count = len(self.problems)
        keys = self.read_mapping(node, allowed_keys=("name", *AssertionKind), rare_keys=(_ABSENT_KEY,))
        kinds = [kind for kind in AssertionKind if kind in keys]
        name = self.read_text(keys["name"], "a name") if "name" in keys else ""
        if isinstance(node, yaml.MappingNode):
            if "name" not in keys:
                self.add_problem(node, "An assertion needs a name; findings are kept under it.")
            if len(kinds) != 1:
                self.add_problem(node, "An assertion says one of `nobody`, `every` and `expect`.")
        assertion = None
        if len(kinds) == 1:
            line = node.start_mark.line + 1
            assertion = self._claim_readers[kinds[0]](self, name, line, keys[kinds[0]])
            assertion = replace(assertion, may_be_absent=self._read_absence(keys))
        return assertion if len(self.problems) == problem_count else None

    def _read_nobody(self, name: str, line: int, node: yaml.Node) -> Assertion:
        keys = self.read_mapping(node, allowed_keys=("outside", "may", "on"))
        holders = self._read_holders(keys["outside"]) if "outside" in keys else frozenset[str]()
        privileges, platform_privileges, scope = self._read_scope(node, keys)
        return Assertion(name, line, AssertionKind.NOBODY, holders, privileges, platform_privileges, scope)

    def _read_every(self, name: str, line: int, node: yaml.Node) -> Assertion:
        keys = self.read_mapping(node, allowed_keys=("in", "may", "on"))
        holders = self._read_holders(keys["in"]) if "in" in keys else frozenset[str]()
        if isinstance(node, yaml.MappingNode) and not holders and "in" not in keys:
            self.add_problem(node, "`in` is missing: the people, groups or roles that may.")
        privileges, platform_privileges, scope = self._read_scope(node, keys)
        return Assertion(name, line, AssertionKind.EVERY, holders, privileges, platform_privileges, scope)

    def _read_expectations(self, name: str, line: int, node: yaml.Node) -> Assertion:
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            self.add_problem(node, "`expect` is a list of answers: [person, privilege, entity, ALLOW or DENY].")
            return Assertion(name, line, AssertionKind.EXPECT)
        expectations = tuple(
            expectation for item in node.value if (expectation := self.read_expectation(item)) is not None
        )
        return Assertion(name, line, AssertionKind.EXPECT, expectations=expectations)

    _claim_readers: Mapping[AssertionKind, Callable[["AssertionReader", str, int, yaml.Node], Assertion]] = {
        AssertionKind.NOBODY: _read_nobody,
        AssertionKind.EVERY: _read_every,
        AssertionKind.EXPECT: _read_expectations,
    }

    def read_expectation(self, node: yaml.Node) -> Expectation | None:
        problem_count = len(self.problems)
        keys = self._read_answer_parts(node)
        actor = self.read_urn(keys["person"], _HOLDER_PREFIXES[:1]) if "person" in keys else ""
        privilege = self._read_privilege(keys["privilege"]) if "privilege" in keys else ""
        entity = self.read_urn(keys["entity"], ("urn:li:",)) if "entity" in keys else ""
        answer = self.read_text(keys["answer"], "ALLOW or DENY").upper() if "answer" in keys else ""
        if answer and answer not in (_ALLOW, _DENY):
            self.add_problem(keys["answer"], f"The answer is ALLOW or DENY, not {answer!r}.")
        if privilege and ("entity" in keys) == self._is_platform_privilege(privilege):
            subject = "the platform, so no entity is named with it" if entity else "entities, so one is named with it"
            self.add_problem(node, f"{privilege} is about {subject}.")
        if len(self.problems) > problem_count:
            return None
        line = node.start_mark.line + 1
        return Expectation(actor, privilege, entity, answer == _ALLOW, line, self._read_absence(keys))

    def _read_absence(self, keys: Mapping[str, yaml.Node]) -> bool:
        if _ABSENT_KEY not in keys:
            return False
        word = self.read_text(keys[_ABSENT_KEY], "true or false")
        if word not in ("true", "false", ""):
            self.add_problem(keys[_ABSENT_KEY], "This must be true or false.")
        return word == "true"

    def _read_answer_parts(self, node: yaml.Node) -> Mapping[str, yaml.Node]:
        """Return the parts of one answer by name, from a list of four, a list of three (platform) or a mapping."""
        if isinstance(node, yaml.SequenceNode):
            if len(node.value) == len(_ANSWER_KEYS):
                return dict(zip(_ANSWER_KEYS, node.value, strict=True))
            if len(node.value) == len(_ANSWER_KEYS) - 1:
                return dict(zip((key for key in _ANSWER_KEYS if key != "entity"), node.value, strict=True))
            sentence = "An answer is [person, privilege, entity, ALLOW or DENY], without entity about the platform."
            self.add_problem(node, f"{sentence} A URN with a comma needs quotes.")
            return {}
        keys = self.read_mapping(node, allowed_keys=_ANSWER_KEYS, rare_keys=(_ABSENT_KEY,))
        for name in _ANSWER_KEYS if isinstance(node, yaml.MappingNode) else ():
            if name not in keys and name != "entity":
                self.add_problem(node, f"`{name}` is missing.")
        return keys

    def _read_scope(
        self, node: yaml.Node, keys: Mapping[str, yaml.Node]
    ) -> tuple[tuple[str, ...], tuple[str, ...], Selector]:
        if not isinstance(node, yaml.MappingNode):
            return (), (), selectors.EVERYTHING
        if "may" not in keys:
            self.add_problem(node, "`may` is missing: the privileges that this is about.")
        names = [self._read_privilege(item) for item in self.list_items(keys["may"])] if "may" in keys else []
        platform_privileges = tuple(dict.fromkeys(item for item in names if item and self._is_platform_privilege(item)))
        privileges = tuple(dict.fromkeys(item for item in names if item and item not in platform_privileges))
        scope = self._read_selector(keys["on"]) if "on" in keys else selectors.EVERYTHING
        if platform_privileges and "on" in keys:
            self.add_problem(
                keys["on"], f"{', '.join(platform_privileges)}: this is about the platform and not about entities."
            )
        return privileges, platform_privileges, scope

    def _read_selector(self, node: yaml.Node) -> Selector:
        keys = self.read_mapping(node, allowed_keys=(*FIELDS_BY_WORD, "platform", "not"))
        excluded_nodes = self.read_mapping(keys["not"], allowed_keys=tuple(FIELDS_BY_WORD)) if "not" in keys else {}
        criteria = [
            self._read_criterion(name, value, Condition.EQUALS)
            for name, value in keys.items()
            if name in FIELDS_BY_WORD
        ]
        criteria += [self._read_criterion(name, value, Condition.NOT_EQUALS) for name, value in excluded_nodes.items()]
        if "platform" in keys:
            types = self._read_values("type", keys["type"]) if "type" in keys else frozenset(("dataset",))
            platforms = [self.read_urn(item, (_PLATFORM_PREFIX,)) for item in self.list_items(keys["platform"])]
            criteria.append(Criterion(selectors.URN, Condition.STARTS_WITH, _urn_prefixes(types, platforms)))
        return Selector(tuple(criteria), needs_resource=True)

    def _read_criterion(self, name: str, node: yaml.Node, condition: Condition) -> Criterion:
        return Criterion(FIELDS_BY_WORD[name], condition, self._read_values(name, node))

    def _read_values(self, name: str, node: yaml.Node) -> frozenset[str]:
        items = self.list_items(node)
        if name == "type":
            return frozenset(self.read_text(item, "a type of entity, such as dataset") for item in items)
        prefixes = _HOLDER_PREFIXES[:2] if name == "owner" else ("urn:li:",)
        return frozenset(self.read_urn(item, prefixes) for item in items)

    def _read_holders(self, node: yaml.Node) -> frozenset[str]:
        return frozenset(self.read_urn(item, _HOLDER_PREFIXES) for item in self.list_items(node))

    def _read_privilege(self, node: yaml.Node) -> str:
        name = self.read_text(node, "a privilege")
        if not name or name in self._scope_by_privilege:
            return name
        suggestions = [
            suggestion
            for family_vocabulary in families.load_vocabularies().values()
            for suggestion in family_vocabulary.suggest(name)
        ]
        hint = f" Is {' or '.join(suggestions[:3])} meant?" if suggestions else ""
        self.add_problem(node, f"There is no privilege {name!r}.{hint}")
        return ""

    def _is_platform_privilege(self, privilege: str) -> bool:
        return self._scope_by_privilege[privilege] == vocabulary.PLATFORM

    def read_urn(self, node: yaml.Node, prefixes: tuple[str, ...]) -> str:
        text = self.read_text(node, f"a URN such as {prefixes[0]}…")
        if text and not any(text.startswith(prefix) and len(text) > len(prefix) for prefix in prefixes):
            self.add_problem(node, f"{text!r} does not begin with {' or '.join(prefixes)}")
        return text


def _urn_prefixes(types: frozenset[str], platforms: list[str]) -> frozenset[str]:
    """Return the URN prefixes of these types on these platforms, with the platform's URN and with its bare name."""
    platform_names = [urn.removeprefix(_PLATFORM_PREFIX) for urn in platforms]
    return frozenset(
        f"urn:li:{entity_type}:({platform}," for entity_type in types for platform in (*platforms, *platform_names)
    )
