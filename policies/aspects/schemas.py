"""Schemas of the aspects that belong to this app, and validation of changes to them.

Known fields are checked. Unknown ones are stored if the aspect describes a user, group or policy, and refused if it
gives access (ADR 19). Pointers are `/<index of the change>/<field>`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from policies.authoring.services import policies
from policies.engine.errors import Problem, quote
from policies.engine.families.document_reader import escape
from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Invalid
from policies.models import documents
from policies.models.fields import is_storable
from policies.models.people import GROUP_PREFIX, MAX_NAME_LENGTH, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.writes.validation import MAX_EMAIL_LENGTH, MAX_TEXT_LENGTH, Checks

USER, GROUP, ROLE, POLICY = "corpuser", "corpGroup", "dataHubRole", "dataHubPolicy"
POLICY_INFO = "dataHubPolicyInfo"

PREFIXES: Mapping[str, str] = MappingProxyType(
    {USER: USER_PREFIX, GROUP: GROUP_PREFIX, ROLE: ROLE_PREFIX, POLICY: POLICY_PREFIX}
)


@dataclass(frozen=True, slots=True)
class AspectChange:
    """One aspect of one entity as a client wrote it; a document of None deletes the aspect.

    `is_patch`: the client changed a part of the stored document. `keeps_unknown`: the document is the stored one with
    something removed, and may keep its unknown fields.
    """

    urn: str
    entity_type: str
    name: str
    document: dict[str, Any] | None
    is_patch: bool = False
    keeps_unknown: bool = False


@dataclass(frozen=True, slots=True)
class AspectSchema:
    """The known fields of an aspect: texts with their lengths, flags, lists of URNs with their prefix, choices, words.

    `words` are lists of texts. A closed schema has no fields but these and `other_fields`, which are in DataHub's
    schema and affect no decision.
    """

    texts: Mapping[str, int] = field(default_factory=dict)
    required_fields: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    lists: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    words: frozenset[str] = frozenset()
    other_fields: frozenset[str] = frozenset()
    is_closed: bool = False

    def has_field(self, name: str) -> bool:
        """Whether the field is known."""
        field_sets = (self.texts, self.flags, self.lists, self.choices, self.words, self.other_fields)
        return any(name in names for names in field_sets)


_NAME_LENGTHS = {"displayName": MAX_NAME_LENGTH, "title": MAX_NAME_LENGTH, "email": MAX_EMAIL_LENGTH}
_GROUP_TEXT_LENGTHS = {"description": MAX_TEXT_LENGTH, "email": MAX_EMAIL_LENGTH}
_STATUS_SCHEMA = AspectSchema(
    flags=frozenset({"removed"}), other_fields=frozenset({"lifecycleStage", "lifecycleLastUpdated"}), is_closed=True
)
_ROLES_SCHEMA = AspectSchema(lists={"roles": ROLE_PREFIX}, required_fields=frozenset({"roles"}), is_closed=True)

SCHEMAS: Mapping[tuple[str, str], AspectSchema] = MappingProxyType(
    {
        (USER, documents.USER_INFO): AspectSchema(
            texts={**_NAME_LENGTHS, "fullName": MAX_NAME_LENGTH},
            required_fields=frozenset({"active"}),
            flags=frozenset({"active"}),
        ),
        (USER, documents.USER_EDITABLE): AspectSchema(texts={**_NAME_LENGTHS, "aboutMe": MAX_TEXT_LENGTH}),
        (USER, documents.USER_STATUS): AspectSchema(
            texts={"status": MAX_NAME_LENGTH},
            required_fields=frozenset({"status"}),
            other_fields=frozenset({"lastModified"}),
            is_closed=True,
        ),
        (USER, documents.STATUS): _STATUS_SCHEMA,
        (USER, documents.EXTERNAL_GROUPS): AspectSchema(
            lists={"groups": GROUP_PREFIX}, required_fields=frozenset({"groups"}), is_closed=True
        ),
        (USER, documents.NATIVE_GROUPS): AspectSchema(
            lists={"nativeGroups": GROUP_PREFIX}, required_fields=frozenset({"nativeGroups"}), is_closed=True
        ),
        (USER, documents.ROLES): _ROLES_SCHEMA,
        (USER, documents.SUB_TYPES): AspectSchema(
            words=frozenset({"typeNames"}), required_fields=frozenset({"typeNames"}), is_closed=True
        ),
        (GROUP, documents.GROUP_INFO): AspectSchema(texts={"displayName": MAX_NAME_LENGTH, **_GROUP_TEXT_LENGTHS}),
        (GROUP, documents.GROUP_EDITABLE): AspectSchema(texts=_GROUP_TEXT_LENGTHS),
        (GROUP, documents.STATUS): _STATUS_SCHEMA,
        (GROUP, documents.ORIGIN): AspectSchema(
            choices={"type": ("NATIVE", "EXTERNAL")},
            required_fields=frozenset({"type"}),
            other_fields=frozenset({"externalType"}),
            is_closed=True,
        ),
        (GROUP, documents.ROLES): _ROLES_SCHEMA,
        (ROLE, documents.ROLE_INFO): AspectSchema(
            texts={"name": MAX_NAME_LENGTH, "description": MAX_TEXT_LENGTH},
            required_fields=frozenset({"name"}),
            flags=frozenset({"editable"}),
            is_closed=True,
        ),
        (ROLE, documents.STATUS): _STATUS_SCHEMA,
        (POLICY, POLICY_INFO): AspectSchema(),
        (POLICY, documents.STATUS): _STATUS_SCHEMA,
    }
)

#: (entity type, aspect) of secrets; they are written on their own pages and refused here.
SECRET_ASPECTS = frozenset(
    {(USER, "corpUserCredentials"), ("dataHubAccessToken", "dataHubAccessTokenInfo"), ("inviteToken", "inviteToken")}
)


def find_problems(changes: Sequence[AspectChange]) -> list[Problem]:
    """Return every problem of these changes that can be found without the stored rows."""
    problems: list[Problem] = []
    for position, change in enumerate(changes):
        checks = Checks()
        _check(checks, change)
        problems += [
            Problem(problem.code, f"/{position}{problem.pointer}", problem.detail) for problem in checks.problems
        ]
    return problems


def _check(checks: Checks, change: AspectChange) -> None:
    _check_urn(checks, change)
    document = change.document
    if document is None:
        return
    if not _is_storable(document):
        checks.add("text.unstorable", "", "A text holds no NUL and no half of a surrogate pair, a number is finite.")
        return
    schema = SCHEMAS[change.entity_type, change.name]
    if schema.is_closed and not change.keeps_unknown:
        _check_names(checks, schema, document)
    _check_fields(checks, schema, document)
    if (change.entity_type, change.name) == (POLICY, POLICY_INFO):
        _check_policy(checks, change)
    if change.name == documents.STATUS and change.entity_type in (ROLE, POLICY) and document.get("removed"):
        checks.add("status.hard_only", "/removed", "A policy or role is deleted, or the policy's state set INACTIVE.")


def _check_urn(checks: Checks, change: AspectChange) -> None:
    prefix = PREFIXES[change.entity_type]
    if not change.urn.startswith(prefix):
        checks.add("urn.invalid", "/urn", f"The URN of a {change.entity_type} starts {prefix}.")
    elif change.urn == SYSTEM_ACTOR:
        checks.add("username.reserved", "/urn", "The name of the system actor is reserved.")
    elif change.entity_type != POLICY:
        checks.validate_identifier(change.urn.removeprefix(prefix), "/urn")
    elif not is_storable(change.urn):
        checks.add("text.unstorable", "/urn", "A text holds no NUL and no half of a surrogate pair.")


def _check_names(checks: Checks, schema: AspectSchema, document: Mapping[str, Any]) -> None:
    for name in document:
        if not schema.has_field(name):
            checks.add("field.unknown", f"/{escape(name)}", f"There is no field {quote(name)} here.")


def _check_fields(checks: Checks, schema: AspectSchema, document: Mapping[str, Any]) -> None:
    for name in sorted(schema.required_fields):
        if document.get(name) is None:
            checks.add("required", f"/{name}", "This field is required.")
    for name, value in document.items():
        if value is not None:
            _check_field(checks, schema, name, value)


def _check_field(checks: Checks, schema: AspectSchema, name: str, value: Any) -> None:
    if name in schema.texts:
        checks.validate_text(value, f"/{name}", limit=schema.texts[name])
    elif name in schema.flags and not isinstance(value, bool):
        checks.add("type", f"/{name}", "This must be true or false.")
    elif name in schema.choices:
        checks.validate_choice(value, f"/{name}", schema.choices[name])
    elif name in schema.lists:
        _check_list(checks, value, f"/{name}", schema.lists[name])
    elif name in schema.words and not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
        checks.add("type", f"/{name}", "This must be a list of texts.")


def _check_list(checks: Checks, value: Any, pointer: str, prefix: str) -> None:
    if not isinstance(value, list):
        checks.add("type", pointer, "This must be a list of URNs.")
        return
    for position, urn in enumerate(value):
        item_pointer = f"{pointer}/{position}"
        if not isinstance(urn, str) or not urn.startswith(prefix):
            checks.add("urn.invalid", item_pointer, f"This is a URN that starts {prefix}.")
        else:
            checks.validate_identifier(urn.removeprefix(prefix), item_pointer)


def _check_policy(checks: Checks, change: AspectChange) -> None:
    attempts: tuple[Callable[[], object], ...] = (
        lambda: policies.validate_urn(change.urn),
        lambda: policies.validate_draft(policies.PolicyInput("datahub", change.document, keeps_unknown=True)),
    )
    for attempt in attempts:
        try:
            attempt()
        except Invalid as error:
            checks.problems += error.problems


def _is_storable(value: Any) -> bool:
    match value:
        case str():
            return is_storable(value)
        case float():
            return value - value == 0
        case list():
            return all(map(_is_storable, value))
        case dict():
            return all(is_storable(key) and _is_storable(item) for key, item in value.items())
        case _:
            return True
