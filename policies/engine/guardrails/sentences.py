"""Guardrails and their examples in words. `names` are the display names of URNs; one without is shown as it is."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from policies.engine import wording
from policies.engine.families import display_privilege, vocabulary
from policies.engine.guardrails.rules import EVERYBODY_EXCEPT, TIMELESS_KINDS, RuleKind
from policies.engine.proofs.ways import list_accepted
from policies.engine.selectors import TYPE

_Document = Mapping[str, Any]

#: The lists of an example's resource and the field whose words they have.
_EXAMPLE_FIELDS = {"tags": "TAG", "domains": "DOMAIN", "terms": "GLOSSARY", "containers": "CONTAINER"}

_NAMED_LISTS = ("users", "groups", "roles")


#: Stands for what is not chosen yet.
_MISSING = "…"


def list_rule_urns(rule: Any) -> set[str]:
    """Return the URNs in a rule or an example, whose names its sentence needs."""
    if isinstance(rule, str):
        return {rule} if rule.startswith("urn:") else set()
    members = rule.values() if isinstance(rule, dict) else rule if isinstance(rule, list) else ()
    return set[str]().union(*(list_rule_urns(member) for member in members))


def describe_rule(rule: _Document, names: Mapping[str, str]) -> str:
    """Return the sentence of a rule that can be read (`rules.read_rule`), or whose lists are incomplete."""
    text = _describe_clause(rule, _RuleWords(names))
    return text if text.endswith(_MISSING) else f"{text}.{_describe_owners(rule)}{_describe_accepted(rule)}"


def describe_criteria(criteria: Sequence[_Document], names: Mapping[str, str]) -> str:
    """Return the conditions of a filter as clauses that follow a noun, '' for none."""
    words = _RuleWords(names)
    return " ".join(words.describe_criterion(criterion) for criterion in criteria)


def describe_example(example: _Document, names: Mapping[str, str]) -> str:
    """Return an example in words: who could do what, on an entity like which."""
    info = vocabulary.load_datahub().get(example["privilege"])
    privilege = info.display if info is not None else example["privilege"]
    actor, resource = example["actor"], example["resource"]
    words = _RuleWords(names)
    person = "somebody" if actor is None else words.join_names([actor["urn"]], "and")
    return f"{person}: {privilege} {words.describe_example_resource(resource)}."


def add_example(sentence: str, example: _Document | None, names: Mapping[str, str]) -> str:
    """Return a sentence followed by its example, if there is one."""
    return sentence if example is None else f"{sentence} For example {describe_example(example, names)}"


def word_added_breach(guardrail_name: str, *, is_certain: bool, breaks_at: datetime | None = None) -> str:
    """Return the clause on a guardrail that a change breaks, or of which nobody knows whether it does.

    `breaks_at` is the later time at which it breaks; None: at once.
    """
    clause = f"{guardrail_name} {'would be broken by this' if is_certain else 'could not be shown to hold after this'}"
    return clause if breaks_at is None else f"{clause} from {wording.word_time(breaks_at)} on"


def _describe_owners(rule: _Document) -> str:
    """Return the sentence about policies for owners, '' unless the rule is about single policies."""
    ((kind, body),) = rule.items()
    if kind != RuleKind.NO_POLICY:
        return ""
    if EVERYBODY_EXCEPT not in body["actors"] and body["actors"].get("allUsers"):
        return " A policy counts if it reaches everybody, whatever the entities carry."
    return " A policy for owners counts, too: one of these people may own such an entity."


def _describe_accepted(rule: _Document) -> str:
    """Return the sentence about the privileges that count as those of the rule do, '' if there are none."""
    ((kind, body),) = rule.items()
    if kind not in TIMELESS_KINDS:
        return ""
    scopes = (body["first"], body["second"]) if kind == RuleKind.NOT_BOTH else (body,)
    own_privileges = [name for scope in scopes for name in scope["privileges"]]
    accepted = dict.fromkeys(
        other for scope in scopes for name in scope["privileges"] for other in list_accepted(name, _list_types(scope))
    )
    names = [display_privilege(name) for name in accepted if name not in own_privileges]
    if not names:
        return ""
    listed_names = names[: wording.MAX_LISTED_NAMES]
    phrase = wording.join_words(listed_names, "and", len(names) - len(listed_names))
    is_one = len(names) == 1
    return f" {phrase} {'counts' if is_one else 'count'}, too: {'it includes' if is_one else 'they include'} this."


def _list_types(scope: _Document) -> list[str]:
    """Return the types that a scope names, none if it is about every type."""
    criteria = ((scope.get("resources") or {}).get("filter") or {}).get("criteria") or ()
    return [
        value
        for criterion in criteria
        if criterion["field"] == TYPE and (criterion.get("condition") or "EQUALS") == "EQUALS"
        for value in criterion.get("values") or ()
    ]


class _RuleWords:
    """Parts of the sentences."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def describe_nobody(self, actors: _Document) -> str:
        """Return the people of *never*, as the beginning of its sentence."""
        if EVERYBODY_EXCEPT in actors:
            return f"Nobody but {self.describe_people(actors[EVERYBODY_EXCEPT])}"
        if actors.get("allUsers"):
            exceptions = self._list_phrases(actors, "excluded")
            return f"Nobody but {wording.join_words(exceptions, 'and')}" if exceptions else "Nobody"
        return f"None of {self.describe_people(actors)}"

    def describe_people(self, actors: _Document) -> str:
        """Return the people of an actor clause."""
        if EVERYBODY_EXCEPT in actors:
            return f"everybody but {self.describe_people(actors[EVERYBODY_EXCEPT])}"
        if actors.get("allUsers"):
            phrases = ["all users"]
        else:
            phrases = self._list_phrases(actors, "")
            phrases += ["everybody in a group"] if actors.get("allGroups") else []
        exceptions = self._list_phrases(actors, "excluded")
        exception = f" except {wording.join_words(exceptions, 'and')}" if exceptions else ""
        return f"{wording.join_words(phrases, 'and') or _MISSING}{exception}"

    def describe_use(self, scope: _Document, conjunction: str, everything: str = "anything") -> str:
        """Return the privileges and what they are about."""
        privileges = self.join_privileges(scope, conjunction)
        block = scope.get("resources")
        if block is None:
            return privileges
        criteria = (block.get("filter") or {}).get("criteria") or ()
        clauses = [self.describe_criterion(criterion) for criterion in criteria]
        return f"{privileges} on {everything}{''.join(f' {clause}' for clause in clauses)}"

    def join_privileges(self, scope: _Document, conjunction: str) -> str:
        """Return the names of the privileges."""
        registry = vocabulary.load_datahub()
        privileges = list(dict.fromkeys(scope["privileges"]))
        listed_privileges = privileges[: wording.MAX_LISTED_NAMES]
        names = [info.display if (info := registry.get(name)) else name for name in listed_privileges]
        return wording.join_words(names, conjunction, len(privileges) - len(names)) or _MISSING

    def join_names(self, urns: Sequence[str], conjunction: str) -> str:
        """Return the names of the first few."""
        shown_names = [self._names.get(urn) or urn for urn in urns[: wording.MAX_LISTED_NAMES]]
        return wording.join_words(shown_names, conjunction, len(urns) - len(shown_names)) or _MISSING

    def describe_example_resource(self, resource: _Document | None) -> str:
        """Return an entity like which the example is."""
        if resource is None:
            return "across the platform"
        clauses = [
            wording.get_field_words(field).selecting.format(self.join_names(resource[key], "and"))
            for key, field in _EXAMPLE_FIELDS.items()
            if resource.get(key)
        ]
        owners = [owner["owner"] for owner in resource.get("owners") or ()]
        clauses += [f"owned by {self.join_names(owners, 'and')}"] if owners else []
        name = self._names.get(resource["urn"] or "") or f"a {resource['type']}"
        return f"on {name}{''.join(f' {clause}' for clause in clauses)}"

    def describe_criterion(self, criterion: _Document) -> str:
        """Return a condition as a clause that follows a noun."""
        condition, values = criterion.get("condition") or "EQUALS", criterion.get("values") or ()
        words = wording.get_field_words(criterion["field"])
        if condition == "STARTS_WITH":
            return f"whose {words.noun} begins with {self.join_names(values, 'or')}"
        phrase = words.selecting.format(self.join_names(values, "or") if values else "nothing")
        return f"not {phrase}" if condition == "NOT_EQUALS" else phrase

    def _list_phrases(self, actors: _Document, beginning: str) -> list[str]:
        phrases = []
        for key, opening in zip(_NAMED_LISTS, ("", "the members of ", "holders of the role "), strict=True):
            name = f"{beginning}{key.capitalize()}" if beginning else key
            if actors.get(name):
                phrases.append(f"{opening}{self.join_names(actors[name], 'and')}")
        return phrases


def _describe_clause(rule: _Document, words: _RuleWords) -> str:
    ((kind, body),) = rule.items()
    match kind:
        case RuleKind.NEVER:
            return f"{words.describe_nobody(body['actors'])} may ever {words.describe_use(body, 'or')}"
        case RuleKind.ALWAYS:
            users = words.join_names(body["actors"].get("users") or (), "and")
            return f"{users} must always be able to {words.describe_use(body, 'and', 'everything')}"
        case RuleKind.AT_LEAST:
            people = "person" if body["number"] == 1 else "people"
            return f"At least {body['number']} active {people} must hold {words.join_privileges(body, 'and')}"
        case RuleKind.NOT_BOTH:
            exception = f" but {words.describe_people(body['except'])}" if body.get("except") else ""
            first, second = (words.describe_use(body[name], "or") for name in ("first", "second"))
            return f"No one person{exception} may both {first}, and {second}"
        case _:
            people = words.describe_people(body["actors"])
            return f"No policy may let {people} {words.describe_use(body, 'or')}"
