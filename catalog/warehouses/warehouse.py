"""The description of a warehouse: itself, an export of it, and the dialect in which access to it changes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catalog.warehouses.repair_statements import invert_repair

#: A difference between the catalog and a source, with the columns of `kinds/role_mapping_check/differences.py`.
DifferenceRow = Mapping[str, Any]


class BadExports(Exception):
    """`exports.json`, or a file that it names, is invalid; the message lists every problem."""


@dataclass(frozen=True, slots=True)
class Denials:
    """Grants that deny: `all_privileges` stands for every privilege but ownership, `everybody` for everybody."""

    all_privileges: str
    everybody: str


@dataclass(frozen=True, slots=True)
class ExportCoverage:
    """The facts that the files of an export show, by the layouts that they have.

    `listing_layouts` are those whose rows show that an object is there, and that its grants are in the export.
    `is_complete`: an object that no such row names does not exist. Where there are such layouts and it is not complete,
    nothing is said to be missing on what they do not name. `limits` are sentences about what the export cannot show.
    """

    listing_layouts: frozenset[str] = frozenset()
    is_complete: bool = False
    limits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Warehouse:
    """One system.

    - `name` is the `form` of an export.
    - `privileges` are those that reach the data of a table, with their levels, in the order of repairs.
    - `read_grants` and `read_policies` return the facts of an export, in frames with FACT_COLUMNS of `grant_facts` in
      which each line of each file gives at least one fact; `read_history` returns the history in the files of a
      pattern, with HISTORY_COLUMNS of `history`. All raise BadExports.
    - `dialect` is that of repairs; without one it is that of the platform.
    - `spelling` is how the system stores names that SQL writes without quotation marks: "upper", "lower" or "exact".
    - `has_groups`: groups themselves hold roles. `has_directory_names`: people and groups have the names of a
      directory, in which letter case says nothing. `has_role_addresses`: roles have addresses as people have.
      `role_kind` stands before the name of a grantee that is a role, in systems that name the kind of each.
    - `has_login_names`: accounts are compared in any letters, as logins are, and roles are not. `has_acting_roles`:
      people act as one role at a time, which has to get into schemas and databases by itself.
    - `denials` are rows of grants that deny; `has_conditions`: grants may hold for some tables of a container.
    - `partial_privileges` reach a part of a table: they are no access as declared, and access beyond it.
    - `unguarded_privileges` open a table to somebody who does not get into what contains it.
    - `guesses_accounts`: an account has the name that the catalog has for a person; else it is one of the export's.
    - `find_coverage` says what an export shows, by the names of the layouts of its files.
    - `usual_holders`: kinds, before a colon, of grantees that the system itself names on all that is made, and that
      stand for others. Their rights are said once for each top container, and are nothing that somebody gave away.
    - `grants_lag` and `history_lag` are how long the system says that its views of grants, and its history, may be
      behind, "" where it says nothing.
    - `hides_types`: grants do not tell views from tables, so that the words of the catalog count.
    - `history_names_views`: a history names the view that a statement read, and not only the tables below it.
    """

    name: str
    privileges: Mapping[str, int]
    read_grants: Callable[[SparkSession, str, "Export"], list[DataFrame]]
    read_policies: Callable[[SparkSession, str, "Export"], list[DataFrame]]
    read_history: Callable[[SparkSession, str, "Export", str], DataFrame]
    dialect: "Dialect | None" = None
    spelling: str = "exact"
    has_groups: bool = False
    has_directory_names: bool = False
    has_role_addresses: bool = False
    has_login_names: bool = False
    has_acting_roles: bool = False
    role_kind: str = ""
    denials: Denials | None = None
    has_conditions: bool = False
    partial_privileges: tuple[str, ...] = ()
    unguarded_privileges: tuple[str, ...] = ()
    guesses_accounts: bool = True
    find_coverage: Callable[[frozenset[str]], ExportCoverage] = lambda _: ExportCoverage()
    hides_types: bool = False
    history_names_views: bool = True
    usual_holders: tuple[str, ...] = ()
    grants_lag: str = ""
    history_lag: str = ""


@dataclass(frozen=True, slots=True)
class Export:
    """One export of a warehouse: its platform, files and mapping of names.

    `instance` is DataHub's prefix of the names of one installation. `spelling` is the case in which the source writes
    names that the catalog has in lower case ("exact": the same). `roles` maps names in the source to identifiers of
    role URNs; the identifier of any other role is `role_prefix` and its name in lower case. Names of people and groups
    lose `@email_domain`. `has_groups`: groups are members of roles in the source, instead of their members. `levels`
    are the levels of further privileges, `ignored_roles` the roles whose extra grants and members are not reported.
    `owner` receives what a role should not own, `database` contains the tables of layouts that name none. `hierarchy`
    and `denies` are files of Google Cloud: which folders and organizations a project is in, and deny policies.
    `imported` are databases that were made from shares.
    `policies` are the files of masks and row filters, `usage` those of the history of access. `dialect` is that of
    repairs, None where they are said in words.
    """

    name: str
    platform: str
    warehouse: Warehouse
    grants: tuple[str, ...]
    members: tuple[str, ...] = ()
    usage: tuple[str, ...] = ()
    instance: str = ""
    env: str = "PROD"
    dialect: "Dialect | None" = None
    spelling: str = "exact"
    role_prefix: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    email_domain: str = ""
    has_groups: bool = False
    levels: Mapping[str, int] = field(default_factory=dict)
    ignored_roles: tuple[str, ...] = ()
    owner: str = ""
    database: str = ""
    hierarchy: tuple[str, ...] = ()
    denies: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()

    @property
    def vocabulary(self) -> Mapping[str, int]:
        """Privileges that reach data, with their levels; the position of a privilege is its bit."""
        return {**self.warehouse.privileges, **self.levels}

    def spell(self, name: str) -> str:
        """Return a name of the catalog as the source writes it."""
        return {"upper": name.upper(), "lower": name.lower()}.get(self.spelling, name)

    def role_identifier(self, name: str) -> str:
        """Return the identifier, in lower case, of the role URN for the name of a role in the source."""
        if name in self.roles:
            return self.roles[name].lower()
        normalized_name = self.normalize_role(name)
        identifiers_by_name = {
            self.normalize_role(source_name): identifier.lower() for source_name, identifier in self.roles.items()
        }
        return identifiers_by_name.get(normalized_name, f"{self.role_prefix.lower()}{normalized_name}")

    def normalize(self, name: str) -> str:
        """Return a name of a person or group for comparison: in lower case, without the domain."""
        lowercase_name = name.lower()
        return lowercase_name.removesuffix(f"@{self.email_domain.lower()}") if self.email_domain else lowercase_name

    def normalize_role(self, name: str) -> str:
        """Return a name of a role for comparison: it loses the domain only where roles have addresses, too."""
        return self.normalize(name) if self.warehouse.has_role_addresses else name.lower()

    def role_name(self, identifier: str) -> str:
        """Return the name in the source of a role of the catalog."""
        for name, known_identifier in self.roles.items():
            if known_identifier.lower() == identifier.lower():
                return name
        bare_name = identifier
        if identifier.lower().startswith(self.role_prefix.lower()):
            bare_name = identifier[len(self.role_prefix) :]
        return self.account_name(bare_name) if self.warehouse.has_role_addresses else self.spell(bare_name)

    def account_name(self, name: str) -> str:
        """Return the name in the source of a person or group of the catalog."""
        spelled_name = self.spell(name)
        return f"{spelled_name}@{self.email_domain}" if self.email_domain and "@" not in spelled_name else spelled_name


class Dialect(ABC):
    """The statements that end differences between the catalog and a source.

    A method returns statements, one a line; a line that begins with -- is for the reader. It returns "" where the
    dialect has no statement, and the step is then said in words. Names are quoted, so that no name of a source or of
    the catalog becomes part of a statement.

    `name` is the `dialect` of exports.json, `owner` the usual new owner of what a role should not own.
    `tells_quoted_tables`: a table with capital letters is another one than the same name in lower case.
    """

    name: str
    owner: str = ""
    tells_quoted_tables: bool = False

    @property
    def asks_source(self) -> bool:
        """Whether `bind` makes another dialect of it."""
        return type(self).bind is not Dialect.bind

    def bind(self, export: Export, facts: DataFrame, differences: DataFrame, coverage: ExportCoverage, /) -> "Dialect":
        """Return the dialect with what it has to know of the source to end these differences.

        `facts` are those of all exports, `differences` those of which repairs are asked.
        """
        del export, facts, differences, coverage
        return self

    @abstractmethod
    def grant_access(self, export: Export, difference: DifferenceRow, /) -> str:
        """Return what gives a role the level `wanted` on a dataset, or on all that a container has."""

    @abstractmethod
    def revoke_access(self, export: Export, difference: DifferenceRow, /) -> str:
        """Return what takes the privileges `bits` on an object, or the role `via` which they come through."""

    @abstractmethod
    def change_level(self, export: Export, difference: DifferenceRow, /) -> str:
        """Return what makes access at one level access at the level `wanted`."""

    def revoke_future(self, export: Export, difference: DifferenceRow, /) -> str:
        """Return what ends a privilege on all tables that are made in a container."""
        del export, difference
        return ""

    def enforce_policies(self, export: Export, difference: DifferenceRow, /) -> str:
        """Return what makes row filters hold for somebody who bypasses them."""
        del export, difference
        return ""

    @abstractmethod
    def create_role(self, export: Export, difference: DifferenceRow, /) -> str:
        """Return what makes a role that the source lacks."""

    @abstractmethod
    def drop_role(self, export: Export, difference: DifferenceRow, /) -> str:
        """Return what deletes a role that opens nothing."""

    @abstractmethod
    def rename_role(self, export: Export, difference: DifferenceRow, /) -> str:
        """Return what gives a role its old name again."""

    @abstractmethod
    def add_member(self, export: Export, difference: DifferenceRow, /) -> str:
        """Return what gives somebody a role."""

    @abstractmethod
    def remove_member(self, export: Export, difference: DifferenceRow, /) -> str:
        """Return what takes a role from somebody."""

    def render_inverse(self, export: Export, difference: DifferenceRow, repair: str, /) -> str:
        """Return what takes a repair of a difference back, one statement a line."""
        del export, difference
        return invert_repair(repair)


#: Files of an export: the keys of exports.json with patterns, of which a single one may stand without a list.
ADDED_FILES = ("hierarchy", "denies", "policies", "usage")
FILE_KEYS = ("grants", "members", *ADDED_FILES)


def list_patterns(export: Export) -> Sequence[str]:
    """Return the patterns of all files of an export."""
    return [pattern for key in FILE_KEYS for pattern in getattr(export, key)]
