"""`exports.json`: which exports of grants there are, how each is written, and how its names are read."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

EXPORTS_FILE = "exports.json"

#: How far an access goes. What a privilege gives is the highest that it includes.
READ, WRITE, ADMIN = 1, 2, 3
LEVELS: Mapping[str, int] = {"READ": READ, "WRITE": WRITE, "ADMIN": ADMIN}
#: What the type of an external role says about it; any other type says nothing about how far it goes.
ROLE_TYPE_LEVELS: Mapping[str, int] = {
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
_MAX_PRIVILEGES = 62
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

    def spell(self, name: str) -> str:
        """Return how the source writes a name of the catalog."""
        return {"upper": name.upper(), "lower": name.lower()}.get(self.spelling, name)

    def role_identifier(self, name: str) -> str:
        """Return the identifier, in lower case, of the catalog's role that the source calls so."""
        normalized_name = self.normalize(name)
        identifiers_by_name = {
            self.normalize(source_name): identifier.lower() for source_name, identifier in self.roles.items()
        }
        return identifiers_by_name.get(normalized_name, f"{self.role_prefix.lower()}{normalized_name}")

    def normalize(self, name: str) -> str:
        """Return a name of a role, person or group as it is compared: in lower case, without the domain."""
        lowercase_name = name.lower()
        return lowercase_name.removesuffix(f"@{self.email_domain.lower()}") if self.email_domain else lowercase_name

    def role_name(self, identifier: str) -> str:
        """Return what the source calls a role of the catalog."""
        for name, known_identifier in self.roles.items():
            if known_identifier.lower() == identifier.lower():
                return name
        bare_name = identifier
        if identifier.lower().startswith(self.role_prefix.lower()):
            bare_name = identifier[len(self.role_prefix) :]
        return self.account_name(bare_name)

    def account_name(self, name: str) -> str:
        """Return what the source calls a person or group of the catalog."""
        spelled_name = self.spell(name)
        return f"{spelled_name}@{self.email_domain}" if self.email_domain and "@" not in spelled_name else spelled_name


def parse_exports(text: str) -> tuple[Export, ...]:
    """Return the exports that the text of `exports.json` names. Raises BadExports."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise BadExports(f"{EXPORTS_FILE} is no JSON: {error}.") from error
    entries = document.get("exports") if isinstance(document, dict) else None
    if not isinstance(entries, list) or not entries:
        raise BadExports(f'{EXPORTS_FILE} has to hold {{"exports": […]}} with one export or more.')
    problems: list[str] = []
    exports = [
        export for index, entry in enumerate(entries) if (export := _parse_export(entry, f"exports/{index}", problems))
    ]
    problems += _find_clashes(exports)
    if problems:
        raise BadExports(f"{EXPORTS_FILE}: {' '.join(problems)}")
    return tuple(exports)


def _parse_export(entry: Any, pointer: str, problems: list[str]) -> Export | None:
    if not isinstance(entry, dict):
        problems.append(f"{pointer} is no object.")
        return None
    problem_count = len(problems)
    problems += [f"{pointer} has an unknown key {key!r}." for key in entry if key not in _KEYS]
    for key, is_valid, type_label in (
        *((key, _is_text, "a text") for key in _TEXT_KEYS),
        *((key, _is_text_list, "a list of texts") for key in ("grants", "members", "ignored_roles")),
        *((key, _is_text_map, "an object of texts") for key in ("roles", "levels")),
        ("has_groups", lambda value: isinstance(value, bool), "true or false"),
    ):
        if key in entry and not is_valid(entry[key]):
            problems.append(f"{pointer}/{key} has to be {type_label}.")
    problems += [f"{pointer}/{key} is missing." for key in ("name", "platform", "form", "grants") if not entry.get(key)]
    if len(problems) > problem_count:
        return None
    problems += _find_unknown_values(entry, pointer)
    return _build_export(entry) if len(problems) == problem_count else None


def _find_unknown_values(entry: Mapping[str, Any], pointer: str) -> Iterable[str]:
    """Tell which values are none of those that there are."""
    choices_by_key = (("form", tuple(PRIVILEGES)), ("dialect", _DIALECTS), ("spelling", _SPELLINGS))
    for key, choices in choices_by_key:
        if key in entry and entry[key] not in choices:
            yield f"{pointer}/{key} has to be one of {', '.join(choice or 'nothing' for choice in choices)}."
    for name, level in entry.get("levels", {}).items():
        if level.upper() not in LEVELS:
            yield f"{pointer}/levels/{name} has to be one of {', '.join(LEVELS)}."
    if len(entry.get("levels", {})) + max(map(len, PRIVILEGES.values())) > _MAX_PRIVILEGES:
        yield f"{pointer}/levels names too many privileges; there can be {_MAX_PRIVILEGES} in all."


def _build_export(entry: Mapping[str, Any]) -> Export:
    form = entry["form"]
    defaults: dict[str, Any] = {
        "dialect": _DIALECT_OF.get(entry["platform"], ""),
        "spelling": "upper" if form == "snowflake" else "exact",
        "has_groups": form == "bigquery",
    }
    arguments = {**defaults, **entry}
    for key in ("grants", "members", "ignored_roles"):
        arguments[key] = tuple(arguments.get(key, ()))
    arguments["levels"] = {name: LEVELS[level.upper()] for name, level in arguments.get("levels", {}).items()}
    return Export(**arguments)


def _find_clashes(exports: Iterable[Export]) -> Iterable[str]:
    """Tell which exports cannot be told apart: each dataset lies in one at most."""
    earlier_exports: list[Export] = []
    for export in exports:
        for other_export in earlier_exports:
            if export.name == other_export.name:
                yield f"Two exports are called {export.name}."
            is_same_platform = (export.platform, export.env) == (other_export.platform, other_export.env)
            if is_same_platform and (
                export.instance == other_export.instance or not export.instance or not other_export.instance
            ):
                names = f"{other_export.name} and {export.name}"
                yield f"{names} are both of {export.platform}, {export.env}: give each its own instance."
        earlier_exports.append(export)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_text_map(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


_TEXT_KEYS = (
    "name",
    "platform",
    "form",
    "instance",
    "env",
    "dialect",
    "spelling",
    "role_prefix",
    "email_domain",
    "owner",
)
_KEYS = (*_TEXT_KEYS, "grants", "members", "roles", "levels", "ignored_roles", "has_groups")
