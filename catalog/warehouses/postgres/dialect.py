"""Repairs in the SQL of PostgreSQL: statements that do what they say on a real server.

A REVOKE takes what the role that runs it has granted, which is the owner for a superuser: what others have passed on is
taken as they, and what somebody has passed on ends with his grant. Nothing is revoked from an owner.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from catalog.warehouses.difference_details import parse_details
from catalog.warehouses.difference_words import describe_dependents, describe_role, render_owner_doubts
from catalog.warehouses.grant_facts import Grantee, list_privileges
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.named_accounts import NamedAccountsDialect
from catalog.warehouses.postgres.privileges import COLUMN_PRIVILEGES, DATA_ROLES, OWNER, SUPERUSER
from catalog.warehouses.postgres.source import PostgresSource, SourceGrant, read_source
from catalog.warehouses.principals import split_principal
from catalog.warehouses.repair_statements import render_note
from catalog.warehouses.sql_dialect import READ_AND_WRITE, SqlDialect, count_missing_parts, find_object_path
from catalog.warehouses.warehouse import DifferenceRow, Export, ExportCoverage

#: Everybody, whom no role can be called like.
_EVERYBODY = "public"
#: PostgreSQL cuts longer names off, so that a statement would name somebody else.
_MAX_NAME_BYTES = 63
#: A statement is a line: what stands after one of these would be another.
_LINE_ENDS = frozenset("\0\n\r")
#: What catalogs show in place of a role that is no longer there.
_GONE_PATTERN = re.compile(r"^(unknown [(]OID=[0-9]+[)]|[0-9]+|-)$")
#: The words for relations in ALTER, where they are other than the type.
_ALTERED_TYPES = {"PARTITIONED TABLE": "TABLE", None: "TABLE"}


@dataclass(frozen=True)
class PostgresDialect(NamedAccountsDialect):
    """The dialect of PostgreSQL; `source` is what it knows of the server."""

    source: PostgresSource = field(default_factory=PostgresSource)

    def bind(
        self, export: Export, facts: DataFrame, differences: DataFrame, coverage: ExportCoverage
    ) -> "PostgresDialect":
        """Return the dialect with what the facts of the export say beside these differences."""
        return replace(self, source=read_source(export, facts, differences, coverage))

    def render_principal(self, _kind: str | None, name: str) -> str:
        """Return a role, or PUBLIC."""
        return "PUBLIC" if name == _EVERYBODY else self.quote_name(split_principal(name)[1][-1])

    # -- grants --------------------------------------------------------------------------------------------------------

    def grant_access(self, export: Export, difference: DifferenceRow) -> str:
        """Return the GRANT of the level `wanted`, or of what lets the role into a container."""
        role = self.find_role(export, difference)
        if not self.is_nameable(role, *find_object_path(export, difference)):
            return ""
        if difference["object"] and not difference["entity"] and difference["wanted"] is None:
            return self._render_entry(export, difference)
        path = export.spell(str(difference["name"])).split(".")
        if difference["entity"] and not self._is_there(path):
            words = f"The source has no relation {'.'.join(path)}: make it, or take the role off the dataset."
            return render_note(words)
        statement = super().grant_access(export, difference)
        if not self.source.hides_entries or len(path) < self.table_parts:
            return statement
        usage = self._render_usage(path[-self.table_parts], role)
        return f"{statement}\n{render_note(f'If it does not get into the schema, which no file says: {usage}')}"

    def _render_usage(self, schema: str, role: str) -> str:
        return f"GRANT USAGE ON SCHEMA {self.quote_name(schema)} TO {self.render_principal(None, role)};"

    def _render_entry(self, export: Export, difference: DifferenceRow) -> str:
        path, grantee = find_object_path(export, difference), self.render_grantee(export, difference)
        privilege, word = ("CONNECT", "DATABASE") if difference["object_type"] == "DATABASE" else ("USAGE", "SCHEMA")
        return f"GRANT {privilege} ON {word} {self.quote_name(path[-1])} TO {grantee};"

    def change_level(self, export: Export, difference: DifferenceRow) -> str:
        """Return what makes access at one level access at the level `wanted`: an owner needs no grant."""
        grantee = difference["grantee"] or self.find_role(export, difference)
        if not self.is_nameable(*filter(None, (grantee, difference["via"]))):
            return ""
        is_owner = not difference["via"] and OWNER in list_privileges(export, difference["bits"] or 0)
        if is_owner and not export.owner:
            return self.render_owner_change(export, difference)
        return super().change_level(export, difference)

    def render_revokes(self, export: Export, difference: DifferenceRow, privileges: Sequence[str]) -> list[str]:
        """Return what takes privileges: an attribute, a membership, the ownership, or grants."""
        grantee = difference["grantee"] or self.find_role(export, difference)
        lines: list[str] = []
        if SUPERUSER in privileges:
            words = (
                f"{grantee} is a superuser. If it need not be one: ALTER ROLE {self.quote_name(grantee)} NOSUPERUSER;"
            )
            lines.append(render_note(words))
        for role in (name for name in DATA_ROLES if name.upper() in privileges):
            grantors = {details.get("grantor") for details in parse_details(difference["details"])}
            lines += self._render_member_revokes(role, grantee, grantors)
        if OWNER in privileges:
            return [*lines, self.render_owner_change(export, difference)]
        table_privileges = [
            name
            for name in privileges
            if name not in COLUMN_PRIVILEGES and name != SUPERUSER and name.lower() not in DATA_ROLES
        ]
        path = difference["object"] or ""
        if path in self.source.grants and table_privileges:
            lines += self._render_known_revokes(export, difference, grantee, table_privileges)
        else:
            revokes = super().render_revokes(export, difference, table_privileges)
            hides_owner = any(details.get("hides_owner") for details in parse_details(difference["details"]))
            lines += render_owner_doubts(grantee, revokes) if hides_owner else revokes
        return [*lines, *self._render_column_revokes(export, difference, grantee, table_privileges)]

    def _render_known_revokes(
        self, export: Export, difference: DifferenceRow, grantee: str, privileges: Sequence[str]
    ) -> list[str]:
        """Return the REVOKEs on an object of which it is known who granted what."""
        path, scope = difference["object"], self.render_scope(export, difference)
        names_by_grantor: dict[str, list[str]] = defaultdict(list)
        lines: list[str] = []
        for privilege in privileges:
            for grant in self.source.list_grants(path, grantee, privilege):
                giver = SourceGrant(privilege, grant.grantor, "", is_grantable=True)
                if grant.grantor != self.source.owners[path] and self.source.is_revoked(path, giver):
                    lines.append(render_note(f"{privilege} ends with the grant of {grant.grantor}, who passed it on."))
                else:
                    names_by_grantor[grant.grantor].append(privilege)
        for grantor, names in names_by_grantor.items():
            lines += self._render_dependents(path, scope, grantee, names)
            has_dependents = any(self.source.list_dependents(path, grantee, name) for name in names)
            end = " CASCADE" if has_dependents else ""
            statement = f"REVOKE {', '.join(names)} {scope} FROM {self.render_principal(None, grantee)}{end};"
            lines.append(self._run_as(grantor, statement, owner=self.source.owners[path]))
        return lines

    def _render_dependents(self, path: str, scope: str, grantee: str, names: Sequence[str]) -> list[str]:
        """Return notes about what CASCADE takes beside, and the GRANTs of what should stay."""
        lines = []
        for name in names:
            dependents = self.source.list_dependents(path, grantee, name)
            lines += describe_dependents(name, [grant.grantee for grant in dependents])
            for grant in dependents:
                others = self.source.list_grants(path, grant.grantee, name)
                is_kept = any(other.grantor == self.source.owners[path] for other in others)
                if not is_kept and not self.source.is_revoked(path, grant):
                    lines.append(f"GRANT {name} {scope} TO {self.render_principal(None, grant.grantee)};")
        return lines

    def _render_column_revokes(
        self, export: Export, difference: DifferenceRow, grantee: str, table_privileges: Sequence[str]
    ) -> list[str]:
        """Return the REVOKEs of privileges on columns; one on the whole table takes those, too."""
        columns: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for details in parse_details(difference["details"]):
            name = details.get("privilege")
            if details.get("column") and name not in table_privileges:
                key = (str(name), details.get("grantor") or "", details.get("owner") or "")
                columns[key].append(details["column"])
        lines = []
        for (name, grantor, owner), names in sorted(columns.items()):
            privilege = f"{name} ({', '.join(map(self.quote_name, sorted(set(names))))})"
            scope = self.render_scope(export, difference)
            statement = f"REVOKE {privilege} {scope} FROM {self.render_principal(None, grantee)};"
            lines.append(self._run_as(grantor, statement, owner=owner))
        return lines

    def _run_as(self, grantor: str, statement: str, *, owner: str) -> str:
        """Return a statement that runs as the one who granted, where that is not the owner."""
        if not grantor or not owner or grantor == owner:
            return statement
        return f"SET ROLE {self.quote_name(grantor)}; {statement} RESET ROLE;"

    def render_owner_change(self, export: Export, difference: DifferenceRow) -> str:
        """Return the statement that gives a relation to the usual owner, or words where there is none."""
        path = find_object_path(export, difference)
        if not export.owner or count_missing_parts(difference, path):
            return super().render_owner_change(export, difference)
        word = _ALTERED_TYPES.get(difference["object_type"], difference["object_type"])
        relation = self.quote_path(path[-self.table_parts :])
        return f"ALTER {word} {relation} OWNER TO {self.quote_name(export.owner)};"

    def revoke_future(self, export: Export, difference: DifferenceRow) -> str:
        """Return what ends the default privileges of a difference."""
        if not self.is_nameable(difference["grantee"]):
            return ""
        names: dict[tuple[str, str], list[str]] = defaultdict(list)
        for details in parse_details(difference["details"]):
            names[details["role"], details.get("schema") or ""].append(details["privilege"])
        grantee = self.render_principal(difference["kind"], difference["grantee"])
        order = list(export.vocabulary)
        return "\n".join(
            f"ALTER DEFAULT PRIVILEGES FOR ROLE {self.quote_name(role)}"
            f"{f' IN SCHEMA {self.quote_name(schema)}' if schema else ''}"
            f" REVOKE {', '.join(sorted(set(privileges), key=order.index))} ON TABLES FROM {grantee};"
            for (role, schema), privileges in sorted(names.items())
        )

    def enforce_policies(self, export: Export, difference: DifferenceRow) -> str:
        """Return the statement as a note: what reads all rows, such as a backup, may have to."""
        name, path = self.quote_name(difference["grantee"]), find_object_path(export, difference)
        if len(path) > self.table_parts:
            table = self.quote_path(path[-self.table_parts :])
            words = f"If its row filters should bind the owner, too: ALTER TABLE {table} FORCE ROW LEVEL SECURITY;"
            return render_note(words)
        return render_note(f"If its row filters should bind {difference['grantee']}: ALTER ROLE {name} NOBYPASSRLS;")

    # -- roles and members ---------------------------------------------------------------------------------------------

    def is_nameable(self, *names: str) -> bool:
        """Whether SQL can name these: it cuts long names off, and catalogs show a number for a role that is gone."""
        return all(
            name
            and _LINE_ENDS.isdisjoint(name)
            and len(name.encode()) <= _MAX_NAME_BYTES
            and not _GONE_PATTERN.match(name)
            for name in names
        )

    def render_opening(
        self, _export: Export, difference: DifferenceRow, role: str, paths: Sequence[Sequence[str]]
    ) -> Iterator[str]:
        """Yield what lets a new role in, its GRANTs, and notes about relations that do not exist."""
        privileges, grantee = self.levels[difference["wanted"]], self.render_principal(None, role)
        known_paths = [path for path in paths if self._is_there(path)]
        for database in sorted({path[0] for path in known_paths if len(path) > self.table_parts}):
            if self.source.open_containers.get(database) is False:
                yield f"GRANT CONNECT ON DATABASE {self.quote_name(database)} TO {grantee};"
        for container in sorted({tuple(path[:-1]) for path in known_paths}):
            if self._is_closed(container):
                yield self._render_usage(container[-1], role)
        for path in paths:
            if path in known_paths:
                relation = self.quote_path(path[-self.table_parts :])
                yield f"GRANT {privileges} ON TABLE {relation} TO {grantee};"
            else:
                yield render_note(f"The source has no relation {'.'.join(path)}.")

    def _is_there(self, path: Sequence[str]) -> bool:
        return not self.source.is_complete or ".".join(path) in self.source.relations

    def _is_closed(self, path: Sequence[str]) -> bool:
        return bool(path) and not self.source.open_containers.get(".".join(path), False)

    def drop_role(self, _export: Export, difference: DifferenceRow) -> str:
        """Return words: the catalog has the role, and it may have grants in databases that the export does not show."""
        name, role = difference["grantee"], describe_role(difference)
        if name in self.source.free_roles:
            return render_note(f"Name {role} on what it opens, or delete it in the catalog; nothing depends on it.")
        return render_note(
            f"Name {role} on what it opens. Before you drop it, see what depends on it: it may have members, and "
            "grants in this database or in another one that the export does not show."
        )

    def add_member(self, export: Export, difference: DifferenceRow) -> str:
        """Return the GRANT of a role to the account that the export names; groups have the names of the catalog."""
        base = SqlDialect if difference["kind"] == Grantee.GROUP else NamedAccountsDialect
        return base.add_member(self, export, difference)

    def render_hold(
        self, export: Export, difference: DifferenceRow, verb: str, role: str, kind: str | None, account: str
    ) -> str:
        """Return the GRANT of a role, or the REVOKEs of a membership."""
        if verb == "GRANT":
            return super().render_hold(export, difference, verb, role, kind, account)
        grantors = {details.get("grantor") for details in parse_details(difference["details"])}
        return "\n".join(self._render_member_revokes(role, account, grantors))

    def revoke_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return what takes an inherited role: it may come through others, of which one is taken."""
        holder, role = difference["grantee"] or self.find_role(export, difference), difference["via"]
        hops = self.source.list_hops(holder, role) or [role]
        lines = []
        for hop in hops:
            if (hop, role) in self.source.taken_roles:
                lines.append(render_note(f"{role} also comes through {hop}, from which it is taken itself."))
                continue
            grantors = {
                membership.grantor
                for membership in self.source.memberships
                if (membership.member, membership.role) == (holder, hop)
            }
            lines += self._render_member_revokes(hop, holder, grantors)
        return "\n".join(lines)

    def _render_member_revokes(self, role: str, member: str, grantors: Iterable[str | None]) -> list[str]:
        """Return the REVOKEs of a membership: since PostgreSQL 16 each grantor's is one of its own.

        There what a member has passed on needs CASCADE, and ends with his own.
        """
        lines: list[str] = []
        chained_memberships = [
            membership for membership in self.source.memberships if membership.is_chained and membership.role == role
        ]
        dependents = [membership for membership in chained_memberships if membership.grantor == member]
        lines += describe_dependents(role, [membership.member for membership in dependents])
        for membership in dependents:
            if (membership.member, role) not in self.source.taken_members:
                lines.append(f"GRANT {self.quote_name(role)} TO {self.quote_name(membership.member)};")
        end = " CASCADE" if dependents else ""
        statement = f"REVOKE {self.quote_name(role)} FROM {self.render_principal(None, member)}"
        for grantor in sorted(filter(None, grantors)):
            is_chained = any(membership.member == member for membership in chained_memberships)
            if is_chained and (grantor, role) in self.source.taken_members:
                lines.append(render_note(f"{role} ends with the membership of {grantor}, who passed it on."))
            elif self.is_nameable(grantor):
                lines.append(f"{statement} GRANTED BY {self.quote_name(grantor)}{end};")
        return lines or [f"{statement}{end};"]

    # -- what takes a repair back --------------------------------------------------------------------------------------

    def render_inverse(self, export: Export, difference: DifferenceRow, repair: str) -> str:
        """Return what takes a repair back, also what was passed on, by those who passed it on."""
        lines = super().render_inverse(export, difference, repair).split("\n")
        if difference["type"] == "EXTRA_MEMBER":
            role = difference["via"] or difference["object"]
            lines = [self._restore_option(line, role, difference["grantee"]) for line in lines]
        path, grantee = difference["object"] or "", difference["grantee"] or self.find_role(export, difference)
        names = self.source.revoked.get((path, grantee), frozenset())
        if path not in self.source.grants or not names:
            return "\n".join(lines)
        scope, restored = self.render_scope(export, difference), []
        for name in sorted(names):
            own_grants = self.source.list_grants(path, grantee, name)
            for grant in (*own_grants, *self.source.list_dependents(path, grantee, name)):
                option = " WITH GRANT OPTION" if grant.is_grantable else ""
                statement = f"GRANT {name} {scope} TO {self.render_principal(None, grant.grantee)}{option};"
                restored.append(self._run_as(grant.grantor, statement, owner=self.source.owners[path]))
        # Of the others, those that take back what stayed, or are about columns or the owner, remain.
        others = [line for line in lines if not line.startswith(("GRANT ", "SET ROLE ")) or '("' in line]
        return "\n".join((*restored, *others))

    def _restore_option(self, line: str, role: str, member: str) -> str:
        """Return the GRANT of a role to a member with the option that he had."""
        for membership in self.source.memberships:
            grantor = f" GRANTED BY {self.quote_name(membership.grantor)};"
            is_his = (membership.role, membership.member) == (role, member) and line.endswith((grantor, '";'))
            if is_his and membership.is_admin and line.startswith("GRANT "):
                start = line.removesuffix(grantor).removesuffix(";")
                return f"{start} WITH ADMIN OPTION{grantor if line.endswith(grantor) else ';'}"
        return line


DIALECT = PostgresDialect(
    name="postgres",
    quote='"',
    levels={READ: "SELECT", WRITE: f"{READ_AND_WRITE}, TRUNCATE", ADMIN: "ALL PRIVILEGES"},
    scopes=("ON TABLE", "ON ALL TABLES IN SCHEMA", ""),
    objects=("TABLE", "SCHEMA", "DATABASE"),
    table_parts=2,
    nouns={},
    membership="",
    owner_change="OWNER TO ",
    has_public=True,
    can_rename_roles=True,
    tells_quoted_tables=True,
)
