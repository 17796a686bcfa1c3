"""Reader of the files of `tests/` in a bundle (docs/policies-as-code.md): facts, a decision table and assertions.

The words are those of assertions (docs/assertions.md); every problem is collected with its line.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from catalog.assertions.parser import FIELDS_BY_WORD, Assertion, AssertionKind, AssertionReader
from catalog.bundle_tests.inline_facts import InlineFacts
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.engine.selectors import Owner
from policies.errors import Invalid

#: Longest text of a file, in characters, and most questions of one table.
MAX_TEXT_LENGTH, MAX_QUESTIONS = 262_144, 10_000

_KEYS = ("facts", "table", "assertions")
_FACT_KEYS = ("people", "groups", "entities", "below")
_GROUP_PREFIX, _ROLE_PREFIX, _USER_PREFIX = "urn:li:corpGroup:", "urn:li:dataHubRole:", "urn:li:corpuser:"
_ANY_PREFIX = "urn:li:"
_MAX_ANCESTORS = 100


@dataclass(frozen=True, slots=True)
class CaseFile:
    """One file: its facts (None: those of the snapshot) and claims, of which each question of the table is one."""

    path: str
    facts: InlineFacts | None
    claims: tuple[Assertion, ...]


def read_case_file(path: str, text: str) -> CaseFile:
    """Return the facts and claims of a file of tests. Raises Invalid with every problem, each with file and line."""
    reader = _CaseReader()
    case_file = reader.read_file(path, text)
    if reader.problems:
        raise Invalid([Problem("tests.invalid", f"{path}:{line}", detail) for line, detail in reader.list_problems()])
    return case_file


class _CaseReader(AssertionReader):
    """Reads one file and collects its problems."""

    def read_file(self, path: str, text: str) -> CaseFile:
        """Return the facts and claims that could be read; what could not is in `problems`, and left out."""
        root = self.parse_root(text, max_length=MAX_TEXT_LENGTH)
        if root is None:
            if not self.problems:
                self.problems.append((1, "This is empty: a file of tests has `table` or `assertions`."))
            return CaseFile(path, None, ())
        keys = self.read_mapping(root, allowed_keys=_KEYS)
        if isinstance(root, yaml.MappingNode) and not keys.keys() & {"table", "assertions"}:
            self.add_problem(root, "`table` or `assertions` is missing: what is asked.")
        facts = self._read_facts(keys["facts"]) if "facts" in keys else None
        claims = self._read_table(keys["table"]) if "table" in keys else ()
        if "assertions" in keys:
            claims += tuple(self.read_assertions(keys["assertions"]))
        return CaseFile(path, facts, claims)

    def _read_table(self, node: yaml.Node) -> tuple[Assertion, ...]:
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            self.add_problem(node, "`table` is a list of answers: [person, privilege, entity, ALLOW or DENY].")
            return ()
        if len(node.value) > MAX_QUESTIONS:
            self.add_problem(node, f"A table has up to {MAX_QUESTIONS:,} questions, not {len(node.value):,}.")
            return ()
        answers = [answer for item in node.value if (answer := self.read_expectation(item)) is not None]
        return tuple(
            Assertion(
                f"{answer.actor} {answer.privilege} {answer.entity or 'the platform'}",
                answer.line,
                AssertionKind.EXPECT,
                expectations=(answer,),
            )
            for answer in answers
        )

    def _read_facts(self, node: yaml.Node) -> InlineFacts:
        keys = self.read_mapping(node, allowed_keys=_FACT_KEYS)
        roles_by_group = {
            urn: self._read_urns(self.read_mapping(value, allowed_keys=("roles",)), "roles", _ROLE_PREFIX)
            for urn, value in self._read_named(keys, "groups", _GROUP_PREFIX).items()
        }
        people = [
            self._read_person(urn, value, roles_by_group)
            for urn, value in self._read_named(keys, "people", _USER_PREFIX).items()
        ]
        facts = InlineFacts(tuple(people), roles_by_group, self._read_hierarchy(keys))
        for urn, value in self._read_named(keys, "entities", _ANY_PREFIX).items():
            self._read_entity(facts, urn, value)
        return facts

    def _read_person(self, urn: str, node: yaml.Node, roles_by_group: Mapping[str, frozenset[str]]) -> Actor:
        keys = self.read_mapping(node, allowed_keys=("groups", "roles", "active", "attributes"))
        groups = self._read_urns(keys, "groups", _GROUP_PREFIX)
        roles = self._read_urns(keys, "roles", _ROLE_PREFIX)
        is_active = True
        if "active" in keys and self.read_text(keys["active"], "true or false") != "true":
            is_active = False
            if self.read_text(keys["active"], "true or false") not in ("false", ""):
                self.add_problem(keys["active"], "This must be true or false.")
        attributes = self._read_open_values(keys["attributes"]) if "attributes" in keys else {}
        return Actor(
            urn,
            groups,
            roles.union(*(roles_by_group.get(group, frozenset()) for group in groups)),
            is_active=is_active,
            attributes=frozenset((field, value) for field, values in attributes.items() for value in values),
        )

    def _read_entity(self, facts: InlineFacts, urn: str, node: yaml.Node) -> None:
        words = {word for word in FIELDS_BY_WORD if word not in ("type", "urn", "owner")}
        keys = self.read_mapping(node, allowed_keys=(*sorted(words), "owner", "facets"))
        values_by_field = {
            FIELDS_BY_WORD[word]: self._read_urns(keys, word, _ANY_PREFIX) for word in words & keys.keys()
        }
        if "facets" in keys:
            values_by_field |= self._read_open_values(keys["facets"])
        owners = [self._read_owner(item) for item in self.list_items(keys["owner"])] if "owner" in keys else []
        facts.add_entity(urn, values_by_field, owners)

    def _read_owner(self, node: yaml.Node) -> Owner:
        prefixes = (_USER_PREFIX, _GROUP_PREFIX)
        if not isinstance(node, yaml.MappingNode):
            return Owner(self.read_urn(node, prefixes), "")
        keys = self.read_mapping(node, allowed_keys=("owner", "type"))
        if "owner" not in keys:
            self.add_problem(node, "`owner` is missing.")
            return Owner("", "")
        owner_type = self.read_urn(keys["type"], ("urn:li:ownershipType:",)) if "type" in keys else ""
        return Owner(self.read_urn(keys["owner"], prefixes), owner_type)

    def _read_hierarchy(self, keys: Mapping[str, yaml.Node]) -> dict[str, tuple[str, ...]]:
        """Return node → all nodes below it; a node below itself is a problem."""
        nodes = self._read_named(keys, "below", _ANY_PREFIX)
        parents = {urn: self.read_urn(value, (_ANY_PREFIX,)) for urn, value in nodes.items()}
        descendants: dict[str, list[str]] = {}
        for urn in parents:
            ancestor, count = parents.get(urn, ""), 0
            while ancestor:
                count += 1
                if ancestor == urn or count > _MAX_ANCESTORS:
                    self.add_problem(nodes[urn], f"{urn} is below itself, or more than {_MAX_ANCESTORS} levels deep.")
                    break
                descendants.setdefault(ancestor, []).append(urn)
                ancestor = parents.get(ancestor, "")
        return {node: tuple(below) for node, below in descendants.items()}

    def _read_named(self, keys: Mapping[str, yaml.Node], name: str, prefix: str) -> dict[str, yaml.Node]:
        """Return the value nodes of a mapping whose keys are URNs."""
        if name not in keys:
            return {}
        return {self.read_urn(key, (prefix,)): value for key, value in self.read_open_mapping(keys[name]) if key.value}

    def _read_open_values(self, node: yaml.Node) -> dict[str, frozenset[str]]:
        return {
            key.value: frozenset(self.read_text(item, "a value") for item in self.list_items(value))
            for key, value in self.read_open_mapping(node)
        }

    def _read_urns(self, keys: Mapping[str, yaml.Node], name: str, prefix: str) -> frozenset[str]:
        if name not in keys:
            return frozenset()
        return frozenset(self.read_urn(item, (prefix,)) for item in self.list_items(keys[name]))
