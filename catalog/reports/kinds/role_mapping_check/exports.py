"""`exports.json`: which exports of grants there are, how each is written, and how its names are read."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

NAME = "exports.json"

#: How far an access goes. What a privilege gives is the highest that it includes.
READ, WRITE, ADMIN = 1, 2, 3
LEVELS: Mapping[str, int] = {"READ": READ, "WRITE": WRITE, "ADMIN": ADMIN}
#: What the type of an external role says about it; any other type says nothing about how far it goes.
TYPES: Mapping[str, int] = {
    **dict.fromkeys(("READ", "READER", "VIEW", "VIEWER", "SELECT"), READ),
    **dict.fromkeys(("WRITE", "WRITER", "EDIT", "EDITOR"), WRITE),
    **dict.fromkeys(("ADMIN", "ADMINISTRATOR", "OWN", "OWNER"), ADMIN),
}

#: The privileges of each form that reach the data of a table, in the order in which repairs name them.
PRIVILEGES: Mapping[str, Mapping[str, int]] = {
    "snowflake": {
        "SELECT": READ,
        **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "TRUNCATE", "EVOLVE SCHEMA"), WRITE),
        **dict.fromkeys(("OWNERSHIP", "ALL", "ALL PRIVILEGES"), ADMIN),
    },
    "bigquery": {
        "roles/bigquery.dataViewer": READ,
        "roles/bigquery.filteredDataViewer": READ,
        "roles/bigquery.dataEditor": WRITE,
        "roles/bigquery.dataOwner": ADMIN,
        "roles/bigquery.admin": ADMIN,
        "roles/viewer": READ,
        "roles/editor": WRITE,
        "roles/owner": ADMIN,
    },
    "csv": {
        **dict.fromkeys(("READ", "SELECT"), READ),
        **dict.fromkeys(("WRITE", "INSERT", "UPDATE", "DELETE", "TRUNCATE"), WRITE),
        **dict.fromkeys(("ADMIN", "OWNER", "OWNERSHIP", "ALL", "ALL PRIVILEGES"), ADMIN),
    },
}
#: How many privileges of a form can be told apart: one bit each of a 64 bit number.
_MOST_PRIVILEGES = 62
_DIALECTS = ("snowflake", "bigquery", "postgres", "")
_DIALECT_OF = {"snowflake": "snowflake", "bigquery": "bigquery", "postgres": "postgres", "redshift": "postgres"}
_SPELLINGS = ("upper", "lower", "exact")


class BadExports(Exception):
    """`exports.json` cannot be used; the sentence says every reason."""


@dataclass(frozen=True, slots=True)
class Export:
    """One export: what it is of, its files, and how its names are read.

    `instance` is what DataHub puts before the names of one installation. `spelling` is how the source writes names that
    the catalog has in lower case ("exact": both write them alike). A role is called in the catalog what `roles` says
    (name in the source → identifier of the role's URN), else `role_prefix` and its name in lower case. Names of people
    and groups lose `@email_domain`. `has_groups`: groups themselves are members of roles; else their members are.
    `levels` says how far further privileges go, `ignored_roles` whose further grants and members are nobody's concern.
    `owner` takes over what a role should not own.
    """

    name: str
    platform: str
    form: str
    grants: tuple[str, ...]
    members: tuple[str, ...] = ()
    instance: str = ""
    env: str = "PROD"
    dialect: str = ""
    spelling: str = "exact"
    role_prefix: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    email_domain: str = ""
    has_groups: bool = False
    levels: Mapping[str, int] = field(default_factory=dict)
    ignored_roles: tuple[str, ...] = ()
    owner: str = "SYSADMIN"

    @property
    def vocabulary(self) -> Mapping[str, int]:
        """Each privilege that reaches data, with its level; its place here is its bit."""
        return {**PRIVILEGES[self.form], **self.levels}

    def spelt(self, name: str) -> str:
        """Return how the source writes a name of the catalog."""
        return {"upper": name.upper(), "lower": name.lower()}.get(self.spelling, name)

    def identifier(self, name: str) -> str:
        """Return the identifier, in lower case, of the catalog's role that the source calls so."""
        bare = self.bare(name)
        known = {self.bare(one): identifier.lower() for one, identifier in self.roles.items()}
        return known.get(bare, f"{self.role_prefix.lower()}{bare}")

    def bare(self, name: str) -> str:
        """Return a name of a role, person or group as it is compared: in lower case, without the domain."""
        lowered = name.lower()
        return lowered.removesuffix(f"@{self.email_domain.lower()}") if self.email_domain else lowered

    def role_name(self, identifier: str) -> str:
        """Return what the source calls a role of the catalog."""
        for name, known in self.roles.items():
            if known.lower() == identifier.lower():
                return name
        bare = identifier
        if identifier.lower().startswith(self.role_prefix.lower()):
            bare = identifier[len(self.role_prefix) :]
        return self.account(bare)

    def account(self, name: str) -> str:
        """Return what the source calls a person or group of the catalog."""
        spelt = self.spelt(name)
        return f"{spelt}@{self.email_domain}" if self.email_domain and "@" not in spelt else spelt


def read(text: str) -> tuple[Export, ...]:
    """Return the exports that the text of `exports.json` names. Raises BadExports."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise BadExports(f"{NAME} is no JSON: {error}.") from error
    listed = document.get("exports") if isinstance(document, dict) else None
    if not isinstance(listed, list) or not listed:
        raise BadExports(f'{NAME} has to hold {{"exports": […]}} with one export or more.')
    problems: list[str] = []
    found = [export for place, one in enumerate(listed) if (export := _export(one, f"exports/{place}", problems))]
    problems += _clashes(found)
    if problems:
        raise BadExports(f"{NAME}: {' '.join(problems)}")
    return tuple(found)


def _export(sent: Any, place: str, problems: list[str]) -> Export | None:
    if not isinstance(sent, dict):
        problems.append(f"{place} is no object.")
        return None
    before = len(problems)
    problems += [f"{place} has an unknown key {key!r}." for key in sent if key not in _KEYS]
    for key, is_right, wanted in (
        *((key, _is_text, "a text") for key in _TEXTS),
        *((key, _are_texts, "a list of texts") for key in ("grants", "members", "ignored_roles")),
        *((key, _maps_texts, "an object of texts") for key in ("roles", "levels")),
        ("has_groups", lambda value: isinstance(value, bool), "true or false"),
    ):
        if key in sent and not is_right(sent[key]):
            problems.append(f"{place}/{key} has to be {wanted}.")
    problems += [f"{place}/{key} is missing." for key in ("name", "platform", "form", "grants") if not sent.get(key)]
    if len(problems) > before:
        return None
    problems += _unknown(sent, place)
    return _made(sent) if len(problems) == before else None


def _unknown(sent: Mapping[str, Any], place: str) -> Iterable[str]:
    """Tell which values are none of those that there are."""
    chosen = (("form", tuple(PRIVILEGES)), ("dialect", _DIALECTS), ("spelling", _SPELLINGS))
    for key, among in chosen:
        if key in sent and sent[key] not in among:
            yield f"{place}/{key} has to be one of {', '.join(one or 'nothing' for one in among)}."
    for name, level in sent.get("levels", {}).items():
        if level.upper() not in LEVELS:
            yield f"{place}/levels/{name} has to be one of {', '.join(LEVELS)}."
    if len(sent.get("levels", {})) + max(map(len, PRIVILEGES.values())) > _MOST_PRIVILEGES:
        yield f"{place}/levels names too many privileges; there can be {_MOST_PRIVILEGES} in all."


def _made(sent: Mapping[str, Any]) -> Export:
    form = sent["form"]
    own: dict[str, Any] = {
        "dialect": _DIALECT_OF.get(sent["platform"], ""),
        "spelling": "upper" if form == "snowflake" else "exact",
        "has_groups": form == "bigquery",
    }
    given = {**own, **sent}
    for key in ("grants", "members", "ignored_roles"):
        given[key] = tuple(given.get(key, ()))
    given["levels"] = {name: LEVELS[level.upper()] for name, level in given.get("levels", {}).items()}
    return Export(**given)


def _clashes(found: Iterable[Export]) -> Iterable[str]:
    """Tell which exports cannot be told apart: each dataset lies in one at most."""
    seen: list[Export] = []
    for one in found:
        for other in seen:
            if one.name == other.name:
                yield f"Two exports are called {one.name}."
            alike = (one.platform, one.env) == (other.platform, other.env)
            if alike and (one.instance == other.instance or not one.instance or not other.instance):
                yield f"{other.name} and {one.name} are both of {one.platform}, {one.env}: give each its own instance."
        seen.append(one)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _maps_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


_TEXTS = ("name", "platform", "form", "instance", "env", "dialect", "spelling", "role_prefix", "email_domain", "owner")
_KEYS = (*_TEXTS, "grants", "members", "roles", "levels", "ignored_roles", "has_groups")
