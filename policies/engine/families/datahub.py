"""DataHub policies: from the published document to statements.

Rules: `rules/datahub.md` a.1 to a.7; document shape: the policy entity (source 001) with the sub-resource constraints
of the policies guide (source 000).
"""

from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from sys import intern
from types import MappingProxyType

from policies.engine.errors import quote
from policies.engine.families import datahub_fields, datahub_properties, vocabulary
from policies.engine.families.datahub_fields import (
    CONSTRAINTS,
    EFFECT,
    EXCLUDED_ACTOR_LISTS,
    EXCLUDED_OWNER_TYPES,
    OLDER_CONSTRAINTS,
    VALID_FROM,
    VALID_UNTIL,
)
from policies.engine.families.document_reader import DocumentReader, JsonValue
from policies.engine.families.validity import (
    find_stored_instant,
    looks_like_seconds,
    read_stored_instant,
    read_validity,
)
from policies.engine.model import Effect, Statement, StatementOrigin
from policies.engine.property_conditions import ActorCondition
from policies.engine.requirements import Need, Quantifier, Requirement, any_of_requirement
from policies.engine.selectors import (
    CONTAINER,
    DATA_PLATFORM_INSTANCE,
    DOMAIN,
    EVERYONE,
    EVERYTHING,
    GLOSSARY,
    GROUP_MEMBERSHIP,
    IN_ANY_GROUP,
    NEVER_CRITERION,
    ONESELF,
    OWNER,
    TAG,
    TYPE,
    URN,
    ActorMatch,
    Condition,
    Criterion,
    Selector,
    owner_token,
)

NAME = "datahub"

PLATFORM, METADATA = "PLATFORM", "METADATA"
ACTIVE, INACTIVE, DRAFT = "ACTIVE", "INACTIVE", "DRAFT"

#: The values of the field `effect`; absent or null means the first.
ALLOW, DENY = "ALLOW", "DENY"
_EFFECTS = {ALLOW: Effect.ALLOW, DENY: Effect.DENY}

#: Number of problems in a document up to which unknown privileges get a suggestion: each one takes milliseconds.
MAX_SUGGESTIONS = 20

#: Fields of criteria besides properties (`datahub_properties`), and the two older names.
FIELDS = (TYPE, URN, OWNER, DOMAIN, CONTAINER, TAG, GLOSSARY, DATA_PLATFORM_INSTANCE, GROUP_MEMBERSHIP)
_CONDITIONS = tuple(Condition)
_OLDER_FIELDS = {"RESOURCE_TYPE": TYPE, "RESOURCE_URN": URN}
_FIELDS_BY_NAME = {**{field: field for field in FIELDS}, **_OLDER_FIELDS}

#: Most criteria that are held for the policies compiled next: many have the same, above all about a type.
_MAX_SHARED_CRITERIA = 2048

#: The lists of an actor clause and the prefixes of their URNs. `parse` refuses other URNs; in a document that was
#: stored without it, a URN in the wrong list names nobody.
_ACTOR_LISTS = {
    "users": "urn:li:corpuser:",
    "groups": "urn:li:corpGroup:",
    "roles": "urn:li:dataHubRole:",
}

#: The policy that applies to every actor's own entity without being stored (rules/datahub.md a.1).
VIEW_SELF = StatementOrigin("urn:li:dataHubPolicy:__view_self", "View Self")
_SELF_PRIVILEGES = ("VIEW_ENTITY_PAGE", "GET_ENTITY_PRIVILEGE", "EDIT_ENTITY", "DELETE_ENTITY")


def parse(document: JsonValue, *, custom: Collection[str] = (), keeps_unknown: bool = False) -> dict[str, JsonValue]:
    """Check a dataHubPolicyInfo document and return it as it is to be stored.

    Unknown fields are refused, since ignoring one could widen the policy. With `keeps_unknown` they are kept, and a
    document with one is returned with the state INACTIVE. `custom` are privileges besides those of the vocabulary.

    Raises InvalidPolicy with every problem of the document.
    """
    reader = DocumentReader()
    policy = reader.read_mapping(document, "")
    if not reader.problems:
        reader.read_text(policy.get("displayName"), "/displayName", is_required=True)
        reader.read_text(policy.get("description"), "/description")
        reader.read_choice(policy.get("type"), (PLATFORM, METADATA), "/type")
        reader.read_choice(policy.get("state"), (ACTIVE, INACTIVE, DRAFT), "/state")
        reader.read_choice(policy.get(EFFECT), (ALLOW, DENY), f"/{EFFECT}", default=ALLOW)
        reader.read_flag(policy.get("editable"), "/editable", default=True)
        _check_privileges(reader, policy, custom)
        _check_actors(reader, policy)
        _check_resources(reader, policy.get("resources"))
        _check_extra(reader, policy)
        if not keeps_unknown:
            for problem in datahub_fields.list_unknown_fields(policy):
                reader.add(problem)
    reader.raise_problems()
    normalized_policy = _with_one_spelling(policy)
    return (
        {**normalized_policy, "state": INACTIVE}
        if datahub_fields.has_unknown_fields(normalized_policy)
        else normalized_policy
    )


def compile(document: Mapping[str, JsonValue], origin: StatementOrigin) -> tuple[Statement, ...]:
    """Return the statement of a stored document, or none if it is not ACTIVE or has a field that is unknown here.

    The time in which it counts is not looked at: the engine has no clock, and who stores it has it begin and end.
    An unknown field or condition of a criterion makes the criterion false for an allow, under NOT_EQUALS too (a.4), and
    true for a deny. An effect that is none grants nothing.
    """
    effect = _EFFECTS.get(str(document.get(EFFECT) or ALLOW))
    if document.get("state") != ACTIVE or effect is None or datahub_fields.has_unknown_fields(document):
        return ()
    is_platform = document.get("type") == PLATFORM
    block = None if is_platform else document.get("resources")
    resources = document.get("resources") or {}
    criteria, actor_conditions = _compile_criteria(block or {})
    constraints = resources.get(CONSTRAINTS)
    if constraints is None:
        constraints = resources.get(OLDER_CONSTRAINTS)
    constraint_criteria = None if constraints is None else _compile_filter(constraints)
    if effect is Effect.DENY:
        criteria = _without_unknown_criteria(criteria)
        constraint_criteria = constraint_criteria and _without_unknown_criteria(constraint_criteria)
    statement = Statement(
        origin=origin,
        effect=effect,
        actors=_compile_actors(document.get("actors") or {}, is_platform=is_platform),
        privileges=vocabulary.load_datahub().widen(document.get("privileges") or ()),
        resources=EVERYTHING if block is None else Selector(criteria, needs_resource=True),
        subresources=None if constraint_criteria is None else Selector(constraint_criteria),
        actor_conditions=actor_conditions,
    )
    return (statement,)


def column_values(document: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the list columns of a checked document: name, description, type, state, is_editable, and its validity."""
    editable = document.get("editable")
    begins, ends = (find_stored_instant(document.get(name)) for name in (VALID_FROM, VALID_UNTIL))
    return {
        "name": document["displayName"],
        "description": document.get("description") or "",
        "type": document["type"],
        "state": document["state"],
        "is_editable": True if editable is None else editable,
        "valid_from": begins,
        "valid_until": ends,
    }


def spell_stored_times(document: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a stored document with its times as texts where they are numbers that look like seconds now."""
    times = {name: document.get(name) for name in (VALID_FROM, VALID_UNTIL)}
    spelled_times = {
        name: read_stored_instant(value).isoformat() for name, value in times.items() if looks_like_seconds(value)
    }
    return {**document, **spelled_times}


def required_urns(document: JsonValue) -> tuple[tuple[str, str], ...]:  # noqa: ARG001 - every family has one
    """Return the URNs that must exist when a document is stored: none, a policy may name future entities."""
    return ()


def document_terms(document: Mapping[str, JsonValue]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the privileges as a document spells them; the resources are empty, since criteria select them."""
    return frozenset(document.get("privileges") or ()), frozenset()


def as_active(document: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the evaluated part of the document with the state ACTIVE, for lists and hints; never decide by it."""
    return {**datahub_fields.without_unknown_fields(document), "state": ACTIVE}


def implicit_policies() -> tuple[tuple[str, tuple[Statement, ...]], ...]:
    """Return the policies in force without being stored: every actor may view, edit and delete its own entity."""
    statement = Statement(
        origin=VIEW_SELF,
        effect=Effect.ALLOW,
        actors=ActorMatch(frozenset({ONESELF})),
        privileges=vocabulary.load_datahub().widen(_SELF_PRIVILEGES),
        resources=Selector(needs_resource=True),
    )
    return ((VIEW_SELF.policy, (statement,)),)


@cache
def load_operations() -> Mapping[str, Requirement]:
    """Return the requirements of the derived operations, by operation (rules/datahub.md section c)."""
    table = vocabulary.read_table("datahub_operations")["operation"]
    return MappingProxyType({entry["name"]: _parse_requirement(entry) for entry in table})


@cache
def load_operation_groups() -> Mapping[str, Requirement]:
    """Return the requirements of the generic entity operations, by key such as `entity.read` (rules/datahub.md a.7)."""
    table = vocabulary.read_table("datahub_operations")["group"]
    return MappingProxyType({entry["key"]: any_of_requirement(entry["any_of"]) for entry in table})


# -- checking ---------------------------------------------------------------------------------------------------------


def _check_privileges(reader: DocumentReader, policy: Mapping[str, JsonValue], custom: Collection[str]) -> None:
    if policy.get("privileges") is None:
        reader.note("required", "/privileges", "Give the list of privileges; it may be empty.")
    registry = vocabulary.load_datahub()
    for index, name in enumerate(reader.read_texts(policy.get("privileges"), "/privileges")):
        if name is not None and name not in registry.names and name not in custom:
            suggestions = registry.suggest(name) if len(reader.problems) < MAX_SUGGESTIONS else ()
            hint = f" Did you mean {' or '.join(suggestions)}?" if suggestions else ""
            reader.note("privilege.unknown", f"/privileges/{index}", f"There is no privilege {quote(name)}.{hint}")


def _check_actors(reader: DocumentReader, policy: Mapping[str, JsonValue]) -> None:
    if policy.get("actors") is None:
        reader.note("required", "/actors", "Choose the people that the policy is for.")
        return
    actors = reader.read_mapping(policy["actors"], "/actors")
    for name, prefix in _ACTOR_LISTS.items():
        reader.check_urns(actors.get(name), f"/actors/{name}", prefix)
    for name, prefix in EXCLUDED_ACTOR_LISTS.items():
        reader.check_urns(actors.get(name), f"/actors/{name}", prefix)
    for name in ("resourceOwnersTypes", EXCLUDED_OWNER_TYPES):
        reader.check_urns(actors.get(name), f"/actors/{name}", "urn:li:ownershipType:")
    for name in ("resourceOwners", "allUsers", "allGroups"):
        reader.read_flag(actors.get(name), f"/actors/{name}", default=False)


def _check_resources(reader: DocumentReader, value: JsonValue) -> None:
    if value is None:
        return
    block = reader.read_mapping(value, "/resources")
    reader.read_text(block.get("type"), "/resources/type")
    reader.read_texts(block.get("resources"), "/resources/resources")
    reader.read_flag(block.get("allResources"), "/resources/allResources", default=False)
    if CONSTRAINTS in block and OLDER_CONSTRAINTS in block:
        reader.note("constraints.twice", f"/resources/{OLDER_CONSTRAINTS}", f"Give {CONSTRAINTS} only.")
    for name in ("filter", CONSTRAINTS, OLDER_CONSTRAINTS):
        if block.get(name) is not None:
            _check_filter(reader, block[name], f"/resources/{name}")


def _check_filter(reader: DocumentReader, value: JsonValue, pointer: str) -> None:
    filter_block = reader.read_mapping(value, pointer)
    for index, item in enumerate(reader.read_items(filter_block.get("criteria"), f"{pointer}/criteria")):
        item_pointer = f"{pointer}/criteria/{index}"
        criterion = reader.read_mapping(item, item_pointer)
        field = criterion.get("field")
        has_properties = pointer.endswith("/filter")
        if has_properties and datahub_properties.is_property_field(field):
            datahub_properties.check(reader, field, criterion.get("values"), item_pointer)
        else:
            property_fields = datahub_properties.FIELD_FORMS if has_properties else ()
            reader.read_choice(field, (*FIELDS, *_OLDER_FIELDS, *property_fields), f"{item_pointer}/field")
        reader.read_choice(
            criterion.get("condition"), tuple(Condition), f"{item_pointer}/condition", default=Condition.EQUALS
        )
        if criterion.get("values") is None:
            reader.note("required", f"{item_pointer}/values", "Give the list of values.")
        reader.read_texts(criterion.get("values"), f"{item_pointer}/values")


def _check_extra(reader: DocumentReader, policy: Mapping[str, JsonValue]) -> None:
    read_validity(
        reader,
        policy.get(VALID_FROM),
        policy.get(VALID_UNTIL),
        begins_at=f"/{VALID_FROM}",
        ends_at=f"/{VALID_UNTIL}",
    )
    timestamp = policy.get("lastUpdatedTimestamp")
    if timestamp is not None and (
        not isinstance(timestamp, int) or isinstance(timestamp, bool) or not 0 <= timestamp < 2**63
    ):
        reader.note("type.time", "/lastUpdatedTimestamp", "This must be a time in milliseconds.")
    if not reader.is_storable(policy):
        reader.note("text.invalid", "", "The document holds a character that cannot be stored.")


def _with_one_spelling(policy: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the document with `policyConstraints` renamed to `privilegeConstraints`, otherwise unchanged."""
    normalized_policy = dict(policy)
    block = normalized_policy.get("resources")
    if block is not None and OLDER_CONSTRAINTS in block:
        normalized_policy["resources"] = {
            CONSTRAINTS if name == OLDER_CONSTRAINTS else name: value for name, value in block.items()
        }
    return normalized_policy


# -- compiling --------------------------------------------------------------------------------------------------------


def _compile_actors(actors: Mapping[str, JsonValue], *, is_platform: bool) -> ActorMatch:
    """Return the actor clause (a.2). Owners count for metadata policies only: platform policies have no resource."""
    tokens = {
        intern(urn) for name, prefix in _ACTOR_LISTS.items() for urn in actors.get(name) or () if urn.startswith(prefix)
    }
    if actors.get("allUsers"):
        tokens.add(EVERYONE)
    if actors.get("allGroups"):
        tokens.add(IN_ANY_GROUP)
    if actors.get("resourceOwners") and not is_platform:
        types = actors.get("resourceOwnersTypes")
        tokens |= {owner_token(None)} if types is None else {owner_token(owner_type) for owner_type in types}
    excluded_tokens = {intern(urn) for name in EXCLUDED_ACTOR_LISTS for urn in _list_texts(actors.get(name))}
    excluded_tokens.update(owner_token(owner_type) for owner_type in _list_texts(actors.get(EXCLUDED_OWNER_TYPES)))
    return ActorMatch(frozenset(tokens), frozenset(excluded_tokens))


def _list_texts(value: JsonValue) -> list[str]:
    """Return the texts of a list; none for what earlier releases stored as an unknown field, which was not checked."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _compile_criteria(block: Mapping[str, JsonValue]) -> tuple[tuple[Criterion, ...], tuple[ActorCondition, ...]]:
    """Return the criteria and actor conditions of the filter, or else the deprecated fields as criteria (a.4)."""
    if block.get("filter") is not None:
        conditions = [
            datahub_properties.read(item) or _compile_criterion(item) for item in block["filter"].get("criteria") or ()
        ]
        return (
            tuple(condition for condition in conditions if isinstance(condition, Criterion)),
            tuple(condition for condition in conditions if isinstance(condition, ActorCondition)),
        )
    criteria = []
    if block.get("type") is not None:
        criteria.append(Criterion(TYPE, Condition.EQUALS, frozenset({block["type"]})))
    if block.get("resources") is not None and not block.get("allResources"):
        criteria.append(Criterion(URN, Condition.EQUALS, frozenset(block["resources"])))
    return tuple(criteria), ()


def _without_unknown_criteria(criteria: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
    # The object itself: a criterion that lists no URN is equal to it, and can be read.
    return tuple(criterion for criterion in criteria if criterion is not NEVER_CRITERION)


def _compile_filter(filter_block: Mapping[str, JsonValue]) -> tuple[Criterion, ...]:
    return tuple(_compile_criterion(item) for item in filter_block.get("criteria") or ())


def _compile_criterion(item: Mapping[str, JsonValue]) -> Criterion:
    field = _FIELDS_BY_NAME.get(str(item.get("field") or "").upper())
    condition = item.get("condition") or Condition.EQUALS
    if field is None or condition not in _CONDITIONS:
        return NEVER_CRITERION
    return _build_criterion(field, condition, tuple(item.get("values") or ()))


@lru_cache(_MAX_SHARED_CRITERIA)
def _build_criterion(field: str, condition: str, values: tuple[JsonValue, ...]) -> Criterion:
    return Criterion(field, Condition(condition), frozenset(values))


def _parse_requirement(entry: Mapping[str, JsonValue]) -> Requirement:
    return Requirement(
        tuple(
            tuple(Need(tuple(need["privileges"]), need["on"], Quantifier(need["quantifier"])) for need in needs)
            for needs in entry["any_of"]
        )
    )
