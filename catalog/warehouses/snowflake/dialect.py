"""Repairs in the SQL of Snowflake, which names the type of every object and principal.

A REVOKE of what somebody has passed on does nothing without CASCADE. Nothing is revoked from an owner.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from catalog.warehouses.difference_details import parse_details
from catalog.warehouses.difference_words import describe_role
from catalog.warehouses.grant_facts import Grantee
from catalog.warehouses.levels import ADMIN, OWNERSHIPS, READ, WRITE
from catalog.warehouses.named_accounts import NamedAccountsDialect
from catalog.warehouses.principals import DATABASE_ROLE, INSTANCE_ROLE, SEPARATOR, describe_principal, split_principal
from catalog.warehouses.repair_statements import render_note
from catalog.warehouses.snowflake.privileges import IMPORTED, MANAGE_GRANTS, READ_ONLY_TYPES
from catalog.warehouses.snowflake.source import SnowflakeSource, read_source
from catalog.warehouses.sql_dialect import READ_AND_WRITE, find_object_path
from catalog.warehouses.warehouse import DifferenceRow, Export, ExportCoverage

#: Types of objects on which no access to one table is granted.
_WIDE_TYPES: Sequence[str] = ("SCHEMA", "DATABASE")
_MAX_NAME_LENGTH = 255


@dataclass(frozen=True)
class SnowflakeDialect(NamedAccountsDialect):
    """The dialect of Snowflake; `source` is what it knows of the account."""

    source: SnowflakeSource = field(default_factory=SnowflakeSource)

    def bind(
        self, export: Export, facts: DataFrame, differences: DataFrame, _coverage: ExportCoverage
    ) -> "SnowflakeDialect":
        """Return the dialect with what the facts of the export say beside these differences."""
        return replace(self, source=read_source(export, facts, differences))

    # -- names ---------------------------------------------------------------------------------------------------------

    def render_scope(self, export: Export, difference: DifferenceRow) -> str:
        """Return the clause ON of a statement."""
        return f"ON {self.render_object(export, difference)}"

    def render_object(self, export: Export, difference: DifferenceRow) -> str:
        """Return the object of a difference after its type."""
        path = self.quote_path(find_object_path(export, difference))
        return f"{difference['object_type'] or 'TABLE'} {path}"

    def render_container_scope(self, export: Export, difference: DifferenceRow) -> str:
        """Return the clause ON for all tables of a container."""
        return f"ON ALL TABLES IN {self.render_object(export, difference)}"

    def narrow_to_dataset(self, export: Export, difference: DifferenceRow) -> DifferenceRow:
        """Return the difference about its dataset, with the name and the type that it has in the source."""
        if difference["object"] and difference["object_type"] not in _WIDE_TYPES:
            return difference
        object_type = None if difference["object_type"] in _WIDE_TYPES else difference["object_type"]
        path, real_type = self._find_object(export, str(difference["name"]), object_type)
        return {**difference, "object": SEPARATOR.join(path), "object_type": real_type}

    def _find_object(self, export: Export, name: str, object_type: str | None) -> tuple[list[str], str]:
        """Return the parts of an object's name, and its type: those of the source, else those of the catalog."""
        key = export.spell(name)
        path, real_type = self.source.objects.get(key, (key.replace(".", SEPARATOR), object_type or "TABLE"))
        return path.split(SEPARATOR), real_type

    def render_principal(self, kind: str | None, name: str) -> str:
        """Return a user or a role of any type; groups are roles."""
        return f"USER {self.quote_name(name)}" if kind == Grantee.USER else self.render_role(name)

    def find_declared_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return the name that a role should have in the source: DATABASE.ROLE is one of a database."""
        name = super().find_declared_role(export, difference)
        return SEPARATOR.join([DATABASE_ROLE, *name.split(".", 1)]) if "." in name else name

    # -- grants --------------------------------------------------------------------------------------------------------

    def grant_access(self, export: Export, difference: DifferenceRow) -> str:
        """Return the GRANT of the level `wanted`, or of what lets the role into a container."""
        role = self.find_role(export, difference)
        path = find_object_path(export, difference)
        if not self.is_nameable(role, *path):
            return ""
        if path[0] in self.source.imported:
            return self._render_import("GRANT", path[0], difference["kind"], role)
        if difference["object"] and not difference["entity"] and difference["wanted"] is None:
            return f"GRANT USAGE {self.render_scope(export, difference)} TO {self.render_grantee(export, difference)};"
        grant = super().grant_access(export, difference)
        return "\n".join([*self._let_in(path, self.render_grantee(export, difference)), grant])

    def _let_in(self, path: Sequence[str], grantee: str) -> list[str]:
        """Return what lets a role into containers of which no finding says that it does not get in."""
        if not self.source.entered:
            return []
        unsaid = [size for size in (1, 2) if SEPARATOR.join(path[:size]) not in self.source.entered]
        return [f"GRANT USAGE ON {_WIDE_TYPES[-size]} {self.quote_path(path[:size])} TO {grantee};" for size in unsaid]

    def render_grant(self, export: Export, difference: DifferenceRow, level: int) -> str:
        """Return the GRANT of a level on a table, or on all that a container has."""
        if difference["object"] and not difference["entity"]:
            return super().render_grant(export, difference, level)
        difference = self.narrow_to_dataset(export, difference)
        path, grantee = find_object_path(export, difference), self.render_grantee(export, difference)
        return "\n".join(self._render_dataset_grant(path, difference["object_type"], level, grantee))

    def _render_dataset_grant(self, path: list[str], object_type: str, level: int, grantee: str) -> Iterator[str]:
        is_read_only = level == WRITE and object_type in READ_ONLY_TYPES
        privileges = self.levels[READ if is_read_only else level]
        yield from self._note_managed(path)
        yield f"GRANT {privileges} ON {object_type} {self.quote_path(path)} TO {grantee};"
        if is_read_only:
            yield render_note(f"Nobody writes a {object_type.lower()}: {'.'.join(path)} can only be read.")

    def _note_managed(self, path: Sequence[str]) -> list[str]:
        owner = self.source.managed.get(SEPARATOR.join(path[:2]))
        words = f"The schema {'.'.join(path[:2])} has managed access: run this as {owner}, or with MANAGE GRANTS."
        return [render_note(words)] if owner else []

    def _render_import(self, verb: str, database: str, kind: str | None, name: str) -> str:
        preposition = "TO" if verb == "GRANT" else "FROM"
        principal = self.render_principal(kind, name)
        return f"{verb} {IMPORTED} ON DATABASE {self.quote_name(database)} {preposition} {principal};"

    def change_level(self, export: Export, difference: DifferenceRow) -> str:
        """Return what makes access at one level access at the level `wanted`, unless nothing has that level."""
        narrowed = self.narrow_to_dataset(export, difference)
        is_read_only = narrowed["object_type"] in READ_ONLY_TYPES and difference["level"] == READ
        if difference["wanted"] == WRITE and is_read_only:
            words = (
                f"Nobody writes a {narrowed['object_type'].lower()}: give {describe_role(difference)} the type READ."
            )
            return render_note(words)
        return super().change_level(export, difference)

    def render_revokes(self, export: Export, difference: DifferenceRow, privileges: Sequence[str]) -> list[str]:
        """Return what takes privileges: of the account, of a database made from a share, or of an object."""
        grantee = self.render_grantee(export, difference)
        name, path = difference["grantee"] or self.find_role(export, difference), difference["object"] or ""
        lines = []
        if MANAGE_GRANTS in privileges:
            lines.append(f"REVOKE {MANAGE_GRANTS} ON ACCOUNT FROM {grantee};")
        if IMPORTED in privileges:
            lines.append(self._render_import("REVOKE", path.split(SEPARATOR)[0], difference["kind"], name))
        others = [privilege for privilege in privileges if privilege not in (MANAGE_GRANTS, IMPORTED)]
        # An owner has ownership from itself, or from the owner before, and takes it along with what it passed on.
        grantors = {
            grant.privilege: grant.grantor
            for grant in self.source.passed.get(path, ())
            if grant.grantee == name and grant.privilege not in OWNERSHIPS
        }
        ended = [item for item in others if self.source.is_revoked(path, grantors.get(item, ""), item)]
        lines += [render_note(f"{item} ends with the grant of {grantors[item]}, who passed it on.") for item in ended]
        others = [privilege for privilege in others if privilege not in ended]
        is_passable = any(details.get("is_grantable") for details in parse_details(difference["details"]))
        passable = others if set(OWNERSHIPS).isdisjoint(others) else []
        dependents = [grant for item in passable for grant in self.source.list_dependents(path, name, item)]
        scope = self.render_scope(export, difference)
        for grant in dependents:
            holder = describe_principal(grant.grantee)
            lines.append(render_note(f"CASCADE also takes {grant.privilege} from {holder}, to whom it was passed on."))
            if not self.source.is_revoked(path, grant.grantee, grant.privilege):
                principal = self.render_principal(grant.kind, grant.grantee)
                lines.append(f"GRANT {grant.privilege} {scope} TO {principal};")
        if others and path:
            lines += self._note_managed(path.split(SEPARATOR))
        statements = super().render_revokes(export, difference, others)
        end = " CASCADE" if is_passable or dependents else ""
        return [*lines, *(f"{line[:-1]}{end};" if line.startswith("REVOKE") else line for line in statements)]

    def render_owner_change(self, export: Export, difference: DifferenceRow) -> str:
        """Return the statement that gives an object to the usual owner, or words where it is that one's already."""
        if export.owner in ("", difference["grantee"]):
            return render_note(f"{difference['grantee']} owns {'.'.join(find_object_path(export, difference))}.")
        object_clause, owner = self.render_object(export, difference), self.quote_name(export.owner)
        return f"GRANT OWNERSHIP ON {object_clause} TO ROLE {owner} COPY CURRENT GRANTS;"

    def revoke_future(self, _export: Export, difference: DifferenceRow) -> str:
        """Return what ends the grants on future objects of a container."""
        path = str(difference["object"]).split(SEPARATOR)
        if not self.is_nameable(difference["grantee"], *path):
            return ""
        container = f"{'SCHEMA' if len(path) > 1 else 'DATABASE'} {self.quote_path(path)}"
        principal = self.render_principal(difference["kind"], difference["grantee"])
        return "\n".join(
            f"REVOKE {details['privilege']} ON FUTURE {details['type']}S IN {container} FROM {principal};"
            for details in sorted(parse_details(difference["details"]), key=str)
        )

    # -- roles ---------------------------------------------------------------------------------------------------------

    def is_nameable(self, *names: str) -> bool:
        """Whether statements can name these: a role of an instance is named by what contains it."""
        parts = map(split_principal, names)
        return super().is_nameable(*names) and all(
            kind != INSTANCE_ROLE and len(path[-1]) <= _MAX_NAME_LENGTH for kind, path in parts
        )

    def render_creation(self, export: Export, difference: DifferenceRow) -> str:
        """Return the CREATE ROLE of a role that the source lacks."""
        principal_type, parts = split_principal(self.find_role(export, difference))
        return f"CREATE {principal_type or 'ROLE'} IF NOT EXISTS {self.quote_path(parts)};"

    def render_opening(
        self, export: Export, difference: DifferenceRow, role: str, paths: Sequence[Sequence[str]]
    ) -> Iterator[str]:
        """Yield the GRANTs of a new role: what lets it in, then what it opens."""
        grantee = self.render_role(role)
        types = {
            export.spell(name): object_type
            for details in parse_details(difference["details"])
            for name, object_type in (details.get("types") or {}).items()
        }
        objects = [self._find_object(export, name, types.get(name)) for name in map(".".join, paths)]
        for database in sorted({path[0] for path, _ in objects if path[0] in self.source.imported}):
            yield f"GRANT {IMPORTED} ON DATABASE {self.quote_name(database)} TO {grantee};"
        objects = [(path, kind) for path, kind in objects if path[0] not in self.source.imported]
        for word, size in (("DATABASE", 1), ("SCHEMA", 2)):
            for container_path in sorted({tuple(path[:size]) for path, _ in objects if len(path) > size}):
                yield f"GRANT USAGE ON {word} {self.quote_path(container_path)} TO {grantee};"
        for path, object_type in objects:
            yield from self._render_dataset_grant(path, object_type, difference["wanted"], grantee)

    # -- what takes a repair back --------------------------------------------------------------------------------------

    def render_inverse(self, export: Export, difference: DifferenceRow, repair: str) -> str:
        """Return what takes a repair back; what CASCADE took from others returns as a grant of whoever runs it."""
        lines = super().render_inverse(export, difference, repair).split("\n")
        path, name = difference["object"] or "", difference["grantee"] or self.find_role(export, difference)
        names = sorted(self.source.revoked.get((path, name), ()))
        dependents = [grant for item in names for grant in self.source.list_dependents(path, name, item)]
        if not dependents:
            return "\n".join(lines)
        # What was given to others in place of what they lose stays: nothing else would bring that back.
        lines = [line for line in lines if not line.startswith("REVOKE ")]
        scope = self.render_scope(export, difference)
        for grant in dependents:
            if self.source.is_revoked(path, grant.grantee, grant.privilege):
                lines.append(f"GRANT {grant.privilege} {scope} TO {self.render_principal(grant.kind, grant.grantee)};")
        holders = ", ".join(dict.fromkeys(describe_principal(grant.grantee) for grant in dependents))
        return "\n".join((*lines, render_note(f"{holders} have it from you, and no longer from {name}.")))


DIALECT = SnowflakeDialect(
    name="snowflake",
    quote='"',
    levels={READ: "SELECT", WRITE: f"{READ_AND_WRITE}, TRUNCATE", ADMIN: "ALL PRIVILEGES"},
    scopes=("", "", ""),
    objects=("", "", ""),
    table_parts=3,
    nouns={},
    membership="ROLE ",
    owner_change="",
    can_rename_roles=True,
    owner="SYSADMIN",
)
