"""The aspects that have their home in this app: their shapes, and every problem of a list of them.

Known fields are checked. Unknown ones are kept where an aspect describes somebody, and refused where it gives something
to somebody (ADR 19). Places are `/<position of the change>/<field>`.
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
from policies.models.people import GROUP_PREFIX, NAME_LENGTH, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.writes.validation import EMAIL_LENGTH, TEXT_LENGTH, Checks

USER, GROUP, ROLE, POLICY = "corpuser", "corpGroup", "dataHubRole", "dataHubPolicy"
POLICY_INFO = "dataHubPolicyInfo"

PREFIXES: Mapping[str, str] = MappingProxyType(
    {USER: USER_PREFIX, GROUP: GROUP_PREFIX, ROLE: ROLE_PREFIX, POLICY: POLICY_PREFIX}
)


@dataclass(frozen=True, slots=True)
class AspectChange:
    """One aspect of one entity as a client wrote it; a document of None deletes the aspect.

    `is_patch` says that the client changed a part of the document, and the rest is what was stored. With
    `keeps_unknown` the document is what was stored without something, and its unknown fields stay.
    """

    urn: str
    entity_type: str
    name: str
    document: dict[str, Any] | None
    is_patch: bool = False
    keeps_unknown: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known about an aspect: its texts with their lengths, flags, lists of URNs, choices and lists of words.

    A closed one has no other fields than these and `others`, which are in DataHub's schema and decide nothing.
    """

    texts: Mapping[str, int] = field(default_factory=dict)
    needed: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    lists: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    words: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    is_closed: bool = False

    def has(self, name: str) -> bool:
        """Whether this is one of the fields."""
        known = (self.texts, self.flags, self.lists, self.choices, self.words, self.others)
        return any(name in names for names in known)


_NAMES = {"displayName": NAME_LENGTH, "title": NAME_LENGTH, "email": EMAIL_LENGTH}
_ABOUT_GROUP = {"description": TEXT_LENGTH, "email": EMAIL_LENGTH}
_STATUS = Shape(
    flags=frozenset({"removed"}), others=frozenset({"lifecycleStage", "lifecycleLastUpdated"}), is_closed=True
)
_ROLES = Shape(lists={"roles": ROLE_PREFIX}, needed=frozenset({"roles"}), is_closed=True)

SHAPES: Mapping[tuple[str, str], Shape] = MappingProxyType(
    {
        (USER, documents.USER_INFO): Shape(
            texts={**_NAMES, "fullName": NAME_LENGTH}, needed=frozenset({"active"}), flags=frozenset({"active"})
        ),
        (USER, documents.USER_EDITABLE): Shape(texts={**_NAMES, "aboutMe": TEXT_LENGTH}),
        (USER, documents.USER_STATUS): Shape(
            texts={"status": NAME_LENGTH},
            needed=frozenset({"status"}),
            others=frozenset({"lastModified"}),
            is_closed=True,
        ),
        (USER, documents.STATUS): _STATUS,
        (USER, documents.EXTERNAL_GROUPS): Shape(
            lists={"groups": GROUP_PREFIX}, needed=frozenset({"groups"}), is_closed=True
        ),
        (USER, documents.NATIVE_GROUPS): Shape(
            lists={"nativeGroups": GROUP_PREFIX}, needed=frozenset({"nativeGroups"}), is_closed=True
        ),
        (USER, documents.ROLES): _ROLES,
        (USER, documents.SUB_TYPES): Shape(
            words=frozenset({"typeNames"}), needed=frozenset({"typeNames"}), is_closed=True
        ),
        (GROUP, documents.GROUP_INFO): Shape(texts={"displayName": NAME_LENGTH, **_ABOUT_GROUP}),
        (GROUP, documents.GROUP_EDITABLE): Shape(texts=_ABOUT_GROUP),
        (GROUP, documents.STATUS): _STATUS,
        (GROUP, documents.ORIGIN): Shape(
            choices={"type": ("NATIVE", "EXTERNAL")},
            needed=frozenset({"type"}),
            others=frozenset({"externalType"}),
            is_closed=True,
        ),
        (GROUP, documents.ROLES): _ROLES,
        (ROLE, documents.ROLE_INFO): Shape(
            texts={"name": NAME_LENGTH, "description": TEXT_LENGTH},
            needed=frozenset({"name"}),
            flags=frozenset({"editable"}),
            is_closed=True,
        ),
        (ROLE, documents.STATUS): _STATUS,
        (POLICY, POLICY_INFO): Shape(),
        (POLICY, documents.STATUS): _STATUS,
    }
)

#: (entity type, aspect) of what has its own page and comes through no other door, since it holds or makes secrets.
SECRETS = frozenset(
    {(USER, "corpUserCredentials"), ("dataHubAccessToken", "dataHubAccessTokenInfo"), ("inviteToken", "inviteToken")}
)


def problems_of(changes: Sequence[AspectChange]) -> list[Problem]:
    """Return every problem of these changes that can be seen without looking at what is stored."""
    found: list[Problem] = []
    for position, change in enumerate(changes):
        checks = Checks()
        _check(checks, change)
        found += [Problem(one.code, f"/{position}{one.pointer}", one.detail) for one in checks.problems]
    return found


def _check(checks: Checks, change: AspectChange) -> None:
    _check_urn(checks, change)
    document = change.document
    if document is None:
        return
    if not _is_storable(document):
        checks.add("text.unstorable", "", "A text holds no NUL and no half of a surrogate pair, a number is finite.")
        return
    shape = SHAPES[change.entity_type, change.name]
    if shape.is_closed and not change.keeps_unknown:
        _check_names(checks, shape, document)
    _check_fields(checks, shape, document)
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
        checks.identifier(change.urn.removeprefix(prefix), "/urn")
    elif not is_storable(change.urn):
        checks.add("text.unstorable", "/urn", "A text holds no NUL and no half of a surrogate pair.")


def _check_names(checks: Checks, shape: Shape, document: Mapping[str, Any]) -> None:
    for name in document:
        if not shape.has(name):
            checks.add("field.unknown", f"/{escape(name)}", f"There is no field {quote(name)} here.")


def _check_fields(checks: Checks, shape: Shape, document: Mapping[str, Any]) -> None:
    for name in sorted(shape.needed):
        if document.get(name) is None:
            checks.add("required", f"/{name}", "This field is required.")
    for name, value in document.items():
        if value is not None:
            _check_field(checks, shape, name, value)


def _check_field(checks: Checks, shape: Shape, name: str, value: Any) -> None:
    if name in shape.texts:
        checks.text(value, f"/{name}", limit=shape.texts[name])
    elif name in shape.flags and not isinstance(value, bool):
        checks.add("type", f"/{name}", "This must be true or false.")
    elif name in shape.choices:
        checks.choice(value, f"/{name}", shape.choices[name])
    elif name in shape.lists:
        _check_list(checks, value, f"/{name}", shape.lists[name])
    elif name in shape.words and not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
        checks.add("type", f"/{name}", "This must be a list of texts.")


def _check_list(checks: Checks, value: Any, pointer: str, prefix: str) -> None:
    if not isinstance(value, list):
        checks.add("type", pointer, "This must be a list of URNs.")
        return
    for position, urn in enumerate(value):
        place = f"{pointer}/{position}"
        if not isinstance(urn, str) or not urn.startswith(prefix):
            checks.add("urn.invalid", place, f"This is a URN that starts {prefix}.")
        else:
            checks.identifier(urn.removeprefix(prefix), place)


def _check_policy(checks: Checks, change: AspectChange) -> None:
    attempts: tuple[Callable[[], object], ...] = (
        lambda: policies.checked_urn(change.urn),
        lambda: policies.checked(policies.Draft("datahub", change.document, keeps_unknown=True)),
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
