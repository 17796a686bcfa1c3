"""The terms of an approval rule: from the JSON of the API to who decides what (contract-requests.md section 4)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from policies.engine.errors import quote
from policies.engine.families import vocabulary
from policies.engine.families.document_reader import DocumentReader, JsonValue
from policies.engine.selectors import EVERYTHING, Selector
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import known_privileges
from policies.requests.durations import parse_duration
from policies.requests.items import EXTERNAL_ROLE_PREFIX, compile_filter

#: Most steps of a rule, and most conditions.
MAX_STEPS, MAX_CONDITIONS = 10, 20
MAX_NAME_LENGTH = 255
_MAX_CONDITION_LENGTH = 1_000
_MAX_NEEDS = 100

#: The longest time without a rule, or where a rule says nothing.
USUAL_LONGEST = timedelta(days=90)

#: What happens to a step when it is due.
NEXT, EXPIRE, ESCALATE = "next", "expire", "escalate"
_ALL = "all"
_TICKETS = ("none", "optional", "required")
_CONDITION_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
OWNERSHIP_TYPE_PREFIX = "urn:li:ownershipType:"

#: The members of a rule that its terms are.
TERM_FIELDS = (
    "for",
    "steps",
    "auto_approve",
    "auto_approve_longest",
    "longest",
    "allows_permanent",
    "ticket",
    "conditions",
    "requestable",
)
_FOR_FIELDS = ("privileges", "resources", "roles", "groups", "external_roles", "permanent")
_STEP_FIELDS = ("name", "approvers", "needs", "within", "then")
_APPROVER_FIELDS = ("resourceOwners", "resourceOwnersTypes", "domainOwners", "users", "groups", "roles", "privilege")


@dataclass(frozen=True, slots=True)
class Approvers:
    """Who may decide: owners of the entity (of these types, if any are named), of its domains, and people by name.

    Holders of `privilege` decide, too: on the entity if it is one of entities. `is_holders` stands for those who hold
    what the item gives on the platform, and `manages` for holders of MANAGE_POLICIES; no rule can name these two.
    """

    is_owners: bool = False
    owner_types: frozenset[str] = frozenset()
    is_domain_owners: bool = False
    names: frozenset[str] = frozenset()
    privilege: str = ""
    is_holders: bool = False
    manages: bool = False


@dataclass(frozen=True, slots=True)
class StepTerms:
    """A step of a rule; `needs` 0 stands for all approvers. `document` is what is stored of the approvers."""

    name: str
    approvers: Approvers
    needs: int = 1
    within: timedelta | None = None
    then: str = NEXT
    document: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuleReach:
    """The scope of a rule: any of these names, on entities that the selector covers; without names everything.

    `permanent` is None for all requests, else whether those for good, or those with an end, are meant.
    """

    privileges: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    external_roles: frozenset[str] = frozenset()
    resources: Selector = EVERYTHING
    permanent: bool | None = None


@dataclass(frozen=True, slots=True)
class RuleTerms:
    """Everything a rule says, as it is used."""

    scope: RuleReach = RuleReach()
    steps: tuple[StepTerms, ...] = ()
    is_auto: bool = False
    auto_longest: timedelta | None = None
    longest: timedelta = USUAL_LONGEST
    allows_permanent: bool = False
    ticket: str = "none"
    conditions: Mapping[str, str] = field(default_factory=dict)
    is_requestable: bool = True


def read_terms(value: JsonValue) -> RuleTerms:
    """Return the terms that a document states. Raises InvalidPolicy with every problem, pointers into the document."""
    reader = DocumentReader()
    document = reader.read_mapping(value, "")
    reader.check_keys(document, TERM_FIELDS, "")
    is_requestable = reader.read_flag(document.get("requestable"), "/requestable", default=True)
    is_auto = reader.read_flag(document.get("auto_approve"), "/auto_approve", default=False)
    terms = RuleTerms(
        _read_scope(reader, document.get("for")),
        _read_steps(reader, document.get("steps")),
        is_auto,
        _read_duration(reader, document.get("auto_approve_longest"), "/auto_approve_longest"),
        _read_duration(reader, document.get("longest"), "/longest") or USUAL_LONGEST,
        reader.read_flag(document.get("allows_permanent"), "/allows_permanent", default=False),
        reader.read_choice(document.get("ticket"), _TICKETS, "/ticket", default="none"),
        _read_conditions(reader, document.get("conditions")),
        is_requestable,
    )
    if not terms.steps and is_requestable and not is_auto and not reader.problems:
        reader.note("steps.none", "/steps", "Name at least one step: somebody has to decide.")
    if terms.auto_longest is not None and not is_auto:
        reader.note("auto.off", "/auto_approve_longest", "This bounds what is approved by itself; nothing is.")
    reader.raise_problems()
    return terms


def read_approvers(value: JsonValue) -> Approvers:
    """Return approvers as a step stores them, with the two kinds that no rule can name. Raises InvalidPolicy."""
    reader = DocumentReader()
    document = dict(reader.read_mapping(value, "/approvers"))
    is_holders, manages = bool(document.pop("holders", False)), bool(document.pop("manages", False))
    approvers = _read_approvers(reader, document, "/approvers")
    reader.raise_problems()
    return Approvers(
        approvers.is_owners,
        approvers.owner_types,
        approvers.is_domain_owners,
        approvers.names,
        approvers.privilege,
        is_holders,
        manages,
    )


def _read_scope(reader: DocumentReader, value: JsonValue) -> RuleReach:
    document = {} if value is None else reader.read_mapping(value, "/for")
    reader.check_keys(document, _FOR_FIELDS, "/for")
    resources = document.get("resources")
    is_filter_empty = resources is None or resources in ({}, {"filter": {"criteria": []}}, {"filter": {}})
    selector = None if is_filter_empty else compile_filter(reader, resources, "/for/resources")
    permanent = document.get("permanent")
    for name, prefix in (("roles", ROLE_PREFIX), ("groups", GROUP_PREFIX), ("external_roles", EXTERNAL_ROLE_PREFIX)):
        reader.check_urns(document.get(name), f"/for/{name}", prefix)
    return RuleReach(
        _read_privileges(reader, document.get("privileges"), "/for/privileges"),
        _read_names(document.get("roles")),
        _read_names(document.get("groups")),
        _read_names(document.get("external_roles")),
        selector or EVERYTHING,
        None if permanent is None else reader.read_flag(permanent, "/for/permanent", default=False),
    )


def _read_privileges(reader: DocumentReader, value: JsonValue, pointer: str) -> frozenset[str]:
    names = reader.read_texts(value, pointer)
    for index, name in enumerate(names):
        if name is not None and not known_privileges.is_known(name):
            reader.note("privilege.unknown", f"{pointer}/{index}", f"There is no privilege {quote(name)}.")
    return frozenset(name for name in names if name is not None)


def _read_names(value: JsonValue) -> frozenset[str]:
    return frozenset(name for name in value if isinstance(name, str)) if isinstance(value, list) else frozenset()


def _read_steps(reader: DocumentReader, value: JsonValue) -> tuple[StepTerms, ...]:
    return tuple(
        _read_step(reader, document, f"/steps/{index}")
        for index, document in enumerate(reader.read_items(value, "/steps", limit=MAX_STEPS))
    )


def _read_step(reader: DocumentReader, value: JsonValue, pointer: str) -> StepTerms:
    document = reader.read_mapping(value, pointer)
    reader.check_keys(document, _STEP_FIELDS, pointer)
    name = reader.read_text(document.get("name"), f"{pointer}/name", is_required=True)
    if len(name) > MAX_NAME_LENGTH:
        reader.note("text.long", f"{pointer}/name", f"This has up to {MAX_NAME_LENGTH} characters.")
    approvers = _read_approvers(reader, document.get("approvers"), f"{pointer}/approvers")
    if approvers == Approvers() and not reader.problems:
        reader.note("approvers.none", f"{pointer}/approvers", "Name who decides: owners, users, groups or a privilege.")
    needs, needs_pointer = document.get("needs", 1), f"{pointer}/needs"
    if needs == _ALL:
        needs = 0
    elif not isinstance(needs, int) or isinstance(needs, bool) or not 1 <= needs <= _MAX_NEEDS:
        reader.note("number", needs_pointer, f'This must be a whole number from 1 to {_MAX_NEEDS}, or "all".')
        needs = 1
    within = _read_duration(reader, document.get("within"), f"{pointer}/within")
    then = reader.read_choice(document.get("then"), (NEXT, EXPIRE, ESCALATE), f"{pointer}/then", default=NEXT)
    stored_document = document.get("approvers")
    return StepTerms(name, approvers, needs, within, then, stored_document if isinstance(stored_document, dict) else {})


def _read_approvers(reader: DocumentReader, value: JsonValue, pointer: str) -> Approvers:
    document = reader.read_mapping(value, pointer)
    reader.check_keys(document, _APPROVER_FIELDS, pointer)
    for name, prefix in (("users", USER_PREFIX), ("groups", GROUP_PREFIX), ("roles", ROLE_PREFIX)):
        reader.check_urns(document.get(name), f"{pointer}/{name}", prefix)
    reader.check_urns(document.get("resourceOwnersTypes"), f"{pointer}/resourceOwnersTypes", OWNERSHIP_TYPE_PREFIX)
    privilege = reader.read_text(document.get("privilege"), f"{pointer}/privilege")
    if privilege and not known_privileges.is_known(privilege):
        reader.note("privilege.unknown", f"{pointer}/privilege", f"There is no privilege {quote(privilege)}.")
    return Approvers(
        reader.read_flag(document.get("resourceOwners"), f"{pointer}/resourceOwners", default=False),
        _read_names(document.get("resourceOwnersTypes")),
        reader.read_flag(document.get("domainOwners"), f"{pointer}/domainOwners", default=False),
        frozenset[str]().union(*(_read_names(document.get(name)) for name in ("users", "groups", "roles"))),
        privilege,
    )


def _read_duration(reader: DocumentReader, value: JsonValue, pointer: str) -> timedelta | None:
    text = reader.read_text(value, pointer)
    try:
        return parse_duration(text) if text else None
    except ValueError as error:
        reader.note("duration.invalid", pointer, str(error))
        return None


def _read_conditions(reader: DocumentReader, value: JsonValue) -> dict[str, str]:
    conditions: dict[str, str] = {}
    for index, item in enumerate(reader.read_items(value, "/conditions", limit=MAX_CONDITIONS)):
        pointer = f"/conditions/{index}"
        condition = reader.read_mapping(item, pointer)
        reader.check_keys(condition, ("id", "text"), pointer)
        name = reader.read_text(condition.get("id"), f"{pointer}/id", is_required=True)
        text = reader.read_text(condition.get("text"), f"{pointer}/text", is_required=True)
        if name and not _CONDITION_ID.fullmatch(name):
            detail = "An id has up to 64 letters, digits, dots, hyphens and underscores."
            reader.note("condition.id", f"{pointer}/id", detail)
        if name in conditions:
            reader.note("repeated", f"{pointer}/id", f"There is a condition {quote(name)} already.")
        if len(text) > _MAX_CONDITION_LENGTH:
            reader.note("text.long", f"{pointer}/text", f"This has up to {_MAX_CONDITION_LENGTH} characters.")
        conditions[name] = text
    return conditions


def find_platform_privileges() -> frozenset[str]:
    """Return the names of the privileges that are held on the platform."""
    return frozenset(privilege.name for privilege in vocabulary.load_datahub().platform_privileges())
