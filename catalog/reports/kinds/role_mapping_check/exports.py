"""`exports.json`: the exports of grants, their formats and the mapping of their names."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from catalog.reports.kinds.role_mapping_check.file_patterns import find_pattern_problem

EXPORTS_FILE = "exports.json"

#: Levels of access; a privilege has the highest level that it includes.
READ, WRITE, ADMIN = 1, 2, 3
LEVELS: Mapping[str, int] = {"READ": READ, "WRITE": WRITE, "ADMIN": ADMIN}
#: Level of each type of an external role; other types have none.
ROLE_TYPE_LEVELS: Mapping[str, int] = {
    **dict.fromkeys(("READ", "READER", "VIEW", "VIEWER", "SELECT"), READ),
    **dict.fromkeys(("WRITE", "WRITER", "EDIT", "EDITOR"), WRITE),
    **dict.fromkeys(("ADMIN", "ADMINISTRATOR", "OWN", "OWNER"), ADMIN),
}

_POSTGRES_PRIVILEGES: Mapping[str, int] = {
    "SELECT": READ,
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "TRUNCATE"), WRITE),
    **dict.fromkeys(("OWNER", "ALL PRIVILEGES"), ADMIN),
}
#: Privileges of each form that reach the data of a table, with their levels, in the order of repairs.
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
    "databricks": {
        "SELECT": READ,
        "MODIFY": WRITE,
        # Who manages or owns an object can give himself every privilege on it.
        **dict.fromkeys(("ALL PRIVILEGES", "MANAGE", "OWN", "OWNERSHIP"), ADMIN),
    },
    "redshift": _POSTGRES_PRIVILEGES,
    "postgres": _POSTGRES_PRIVILEGES,
    "trino": {
        "SELECT": READ,
        **dict.fromkeys(("INSERT", "UPDATE", "DELETE"), WRITE),
        **dict.fromkeys(("OWNERSHIP", "ALL PRIVILEGES"), ADMIN),
    },
    "csv": {
        **dict.fromkeys(("READ", "SELECT"), READ),
        **dict.fromkeys(("WRITE", "INSERT", "UPDATE", "DELETE", "TRUNCATE"), WRITE),
        **dict.fromkeys(("ADMIN", "OWNER", "OWNERSHIP", "ALL", "ALL PRIVILEGES"), ADMIN),
    },
}
#: Maximum number of privileges of a form: one bit each of a 64 bit number.
_MAX_PRIVILEGES = 62
_DIALECTS = ("snowflake", "bigquery", "postgres", "redshift", "databricks", "trino", "")
_DIALECT_OF = {name: name for name in ("snowflake", "bigquery", "postgres", "redshift")}
#: Forms whose rows name everything in lower case unless it is quoted, with a dialect of the same name.
_LOWERCASE_FORMS = ("databricks", "redshift", "postgres", "trino")
_SPELLINGS = ("upper", "lower", "exact")


#: Files beside grants and members; a single one may stand without a list.
_ADDED_FILES = ("hierarchy", "denies", "policies", "usage")
#: All keys with patterns of files.
_FILE_KEYS = ("grants", "members", *_ADDED_FILES)


class BadExports(Exception):
    """`exports.json` is invalid; the message lists every problem."""


@dataclass(frozen=True, slots=True)
class Export:
    """One export: its platform, files and mapping of names.

    `instance` is DataHub's prefix of the names of one installation. `spelling` is the case in which the source writes
    names that the catalog has in lower case ("exact": the same). `roles` maps names in the source to identifiers of
    role URNs; the identifier of any other role is `role_prefix` and its name in lower case. Names of people and groups
    lose `@email_domain`. `has_groups`: groups are members of roles in the source, instead of their members. `levels`
    are the levels of further privileges, `ignored_roles` the roles whose extra grants and members are not reported.
    `owner` receives what a role should not own, `database` contains the tables of layouts that name none. `hierarchy`
    and `denies` are files of Google Cloud: which folders and organizations a project is in, and deny policies.
    `policies` are the files of masks and row filters, `usage` those of the history of access.
    """

    name: str
    platform: str
    form: str
    grants: tuple[str, ...]
    members: tuple[str, ...] = ()
    usage: tuple[str, ...] = ()
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
    database: str = ""
    hierarchy: tuple[str, ...] = ()
    denies: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()

    @property
    def vocabulary(self) -> Mapping[str, int]:
        """Privileges that reach data, with their levels; the position of a privilege is its bit."""
        return {**PRIVILEGES[self.form], **self.levels}

    def list_patterns(self) -> list[str]:
        """Return the patterns of all files of the export."""
        return [pattern for key in _FILE_KEYS for pattern in getattr(self, key)]

    def spell(self, name: str) -> str:
        """Return a name of the catalog as the source writes it."""
        return {"upper": name.upper(), "lower": name.lower()}.get(self.spelling, name)

    def role_identifier(self, name: str) -> str:
        """Return the identifier, in lower case, of the role URN for the name of a role in the source."""
        if name in self.roles:
            return self.roles[name].lower()
        normalized_name = self.normalize(name)
        identifiers_by_name = {
            self.normalize(source_name): identifier.lower() for source_name, identifier in self.roles.items()
        }
        return identifiers_by_name.get(normalized_name, f"{self.role_prefix.lower()}{normalized_name}")

    def normalize(self, name: str) -> str:
        """Return a name of a role, person or group for comparison: in lower case, without the domain."""
        lowercase_name = name.lower()
        return lowercase_name.removesuffix(f"@{self.email_domain.lower()}") if self.email_domain else lowercase_name

    def role_name(self, identifier: str) -> str:
        """Return the name in the source of a role of the catalog."""
        for name, known_identifier in self.roles.items():
            if known_identifier.lower() == identifier.lower():
                return name
        bare_name = identifier
        if identifier.lower().startswith(self.role_prefix.lower()):
            bare_name = identifier[len(self.role_prefix) :]
        # Only people have addresses there; the roles of BigQuery are groups with addresses of their own.
        return self.spell(bare_name) if self.form in _LOWERCASE_FORMS else self.account_name(bare_name)

    def account_name(self, name: str) -> str:
        """Return the name in the source of a person or group of the catalog."""
        spelled_name = self.spell(name)
        return f"{spelled_name}@{self.email_domain}" if self.email_domain and "@" not in spelled_name else spelled_name


def parse_exports(text: str) -> tuple[Export, ...]:
    """Return the exports of the text of `exports.json`. Raises BadExports."""
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
    entry = {**entry, **{key: [entry[key]] for key in _ADDED_FILES if isinstance(entry.get(key), str)}}
    problem_count, known_keys = len(problems), {attribute.name for attribute in fields(Export)}
    problems += [f"{pointer} has an unknown key {key!r}." for key in entry if key not in known_keys]
    for attribute in fields(Export):
        type_label, is_valid = _SHAPES[attribute.type]
        if attribute.name in entry and not is_valid(entry[attribute.name]):
            problems.append(f"{pointer}/{attribute.name} has to be {type_label}.")
    problems += [f"{pointer}/{key} is missing." for key in ("name", "platform", "form", "grants") if not entry.get(key)]
    if len(problems) > problem_count:
        return None
    problems += [*_find_unknown_values(entry, pointer), *_find_bad_patterns(entry, pointer)]
    return _build_export(entry) if len(problems) == problem_count else None


def _find_unknown_values(entry: Mapping[str, Any], pointer: str) -> Iterable[str]:
    """Yield a sentence for each value that nothing can have, and for too many privileges."""
    choices_by_key = (("form", tuple(PRIVILEGES)), ("dialect", _DIALECTS), ("spelling", _SPELLINGS))
    for key, choices in choices_by_key:
        if key in entry and entry[key] not in choices:
            yield f"{pointer}/{key} has to be one of {', '.join(choice or 'nothing' for choice in choices)}."
    for key in ("platform", "env"):
        if "," in entry.get(key, ""):
            yield f"{pointer}/{key} has a comma, as in no URN of a dataset."
    for name, level in entry.get("levels", {}).items():
        if level.upper() not in LEVELS:
            yield f"{pointer}/levels/{name} has to be one of {', '.join(LEVELS)}."
    if len(entry.get("levels", {})) + max(map(len, PRIVILEGES.values())) > _MAX_PRIVILEGES:
        yield f"{pointer}/levels names too many privileges; there can be {_MAX_PRIVILEGES} in all."


def _find_bad_patterns(entry: Mapping[str, Any], pointer: str) -> Iterable[str]:
    """Yield a sentence for each pattern of files that may lead out of the folder."""
    for key in _FILE_KEYS:
        for index, pattern in enumerate(entry.get(key, ())):
            if problem := find_pattern_problem(pattern):
                yield f"{pointer}/{key}/{index} {problem}"


def _build_export(entry: Mapping[str, Any]) -> Export:
    form = entry["form"]
    defaults: dict[str, Any] = {
        "dialect": form if form in _LOWERCASE_FORMS else _DIALECT_OF.get(entry["platform"], ""),
        "spelling": "lower" if form in _LOWERCASE_FORMS else "upper" if form == "snowflake" else "exact",
        "has_groups": form in ("bigquery", "databricks"),
        "owner": "" if form in _LOWERCASE_FORMS else "SYSADMIN",
    }
    arguments = {**defaults, **entry}
    for key in ("ignored_roles", *_FILE_KEYS):
        arguments[key] = tuple(arguments.get(key, ()))
    arguments["levels"] = {name: LEVELS[level.upper()] for name, level in arguments.get("levels", {}).items()}
    return Export(**arguments)


def _find_clashes(exports: Iterable[Export]) -> Iterable[str]:
    """Yield a sentence for each pair of exports with one name or with datasets in common."""
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


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(item, str) for item in values)


#: How each type of an attribute is written in JSON: a phrase, and the check.
_SHAPES: Mapping[Any, tuple[str, Callable[[Any], bool]]] = {
    str: ("a text", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    tuple[str, ...]: ("a list of texts", lambda value: isinstance(value, list) and _are_texts(value)),
    **dict.fromkeys(
        (Mapping[str, str], Mapping[str, int]),
        ("an object of texts", lambda value: isinstance(value, dict) and _are_texts(value.values())),
    ),
}
