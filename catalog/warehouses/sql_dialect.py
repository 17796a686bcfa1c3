"""Repairs in SQL: what its dialects have in common, and the words in which they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from catalog.warehouses.difference_details import parse_details
from catalog.warehouses.difference_words import describe_role, dotted_name, find_identifier
from catalog.warehouses.grant_facts import Grantee, list_privileges
from catalog.warehouses.levels import OWNERSHIPS
from catalog.warehouses.principals import DATABASE_ROLE, GROUP, SEPARATOR, describe_principal, split_principal
from catalog.warehouses.repair_statements import invert_repair, render_note
from catalog.warehouses.warehouse import Dialect, DifferenceRow, Export

READ_AND_WRITE = "SELECT, INSERT, UPDATE, DELETE"
#: Objects by how many parts of a table's name they lack: a table, its schema, its database.
_Words = tuple[str, str, str]


@dataclass(frozen=True)
class SqlDialect(Dialect):
    """A dialect by its words.

    `quote` marks names. `levels` are the privileges to grant for a level. `scopes` follow them for a table, a schema
    and a database ('' where there is no such statement), `objects` are the same in other statements. `table_parts` is
    the number of parts, from the end, of the name of a table. `nouns` precede principals, and PUBLIC is everybody
    where `has_public`. `membership` precedes the role of a membership, None where no statement gives or makes roles.
    `owner_change` precedes a new owner; `owns_containers`: whoever owns a schema has what is in it; `can_rename_roles`:
    there is a statement for it.
    """

    name: str
    quote: str
    levels: Mapping[int, str]
    scopes: _Words
    objects: _Words
    table_parts: int
    nouns: Mapping[str, str]
    membership: str | None
    owner_change: str
    has_public: bool = False
    owns_containers: bool = False
    can_rename_roles: bool = False
    tells_quoted_tables: bool = False
    owner: str = ""

    # -- names ---------------------------------------------------------------------------------------------------------

    def quote_name(self, name: str) -> str:
        """Return a name between the quotation marks of the dialect."""
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def quote_path(self, parts: Sequence[str]) -> str:
        """Return a name of several parts."""
        return ".".join(map(self.quote_name, parts))

    def render_scope(self, export: Export, difference: DifferenceRow) -> str:
        """Return the clause ON of a statement; '' where the dialect has none for such an object."""
        return self._render_words(export, difference, self.scopes)

    def render_object(self, export: Export, difference: DifferenceRow) -> str:
        """Return the object of a difference, after the word for it; '' where the dialect has none."""
        return self._render_words(export, difference, self.objects)

    def _render_words(self, export: Export, difference: DifferenceRow, words: _Words) -> str:
        path = find_object_path(export, difference)
        depth = count_missing_parts(difference, path)
        word = words[min(depth, 2)]
        return f"{word} {self.quote_path(path[-max(self.table_parts - depth, 1) :])}" if word else ""

    def render_principal(self, kind: str | None, name: str) -> str:
        """Return a user, group or role; PUBLIC is a word where it stands for everybody."""
        principal_type, parts = split_principal(name)
        if self.has_public and parts[-1].upper() == "PUBLIC":
            return "PUBLIC"
        return self.nouns.get(principal_type or kind or Grantee.ROLE, "") + self.quote_name(parts[-1])

    def render_grantee(self, export: Export, difference: DifferenceRow) -> str:
        """Return the grantee of a difference, after the word for it."""
        return self.render_principal(difference["kind"], difference["grantee"] or self.find_role(export, difference))

    def render_role(self, name: str) -> str:
        """Return a role with its type, as statements about it alone name it."""
        principal_type, parts = split_principal(name)
        return f"{principal_type or 'ROLE'} {self.quote_path(parts)}"

    def find_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return the name of a role in the source, from the one in the catalog."""
        return str(difference["new_name"] or self.find_declared_role(export, difference))

    def find_declared_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return the name that a role should have in the source."""
        identifier = find_identifier(difference["role_urn"]) if difference["role_urn"] else difference["role"]
        return export.role_name(identifier)

    # -- grants --------------------------------------------------------------------------------------------------------

    def grant_access(self, export: Export, difference: DifferenceRow) -> str:
        """Return the GRANT of the level `wanted`."""
        return self.render_grant(export, difference, difference["wanted"])

    def render_grant(self, export: Export, difference: DifferenceRow, level: int) -> str:
        """Return the GRANT of a level on a table, or on all that a container has."""
        if difference["object"] and not difference["entity"]:
            return self._render_container_grant(export, difference, self.levels[level])
        scope = self.render_scope(export, self.narrow_to_dataset(export, difference))
        return f"GRANT {self.levels[level]} {scope} TO {self.render_grantee(export, difference)};"

    def narrow_to_dataset(self, export: Export, difference: DifferenceRow, /) -> DifferenceRow:
        """Return the difference about its dataset: what is granted is not for everything in its container."""
        if count_missing_parts(difference, find_object_path(export, difference)):
            return {**difference, "object": None}
        return difference

    def _render_container_grant(self, export: Export, difference: DifferenceRow, privileges: str) -> str:
        """Return the statement that grants privileges on all that a container has, or words where there is none."""
        grantee, condition = self.render_grantee(export, difference), difference["condition"]
        path = ".".join(find_object_path(export, difference))
        if condition:
            return render_note(f"Give {grantee} {privileges} on {path}, under the condition: {condition}")
        scope = self.render_container_scope(export, difference)
        if not scope:
            return render_note(f"Give {grantee} {privileges} on every table of {path}.")
        return f"GRANT {privileges} {scope} TO {grantee};"

    def render_container_scope(self, export: Export, difference: DifferenceRow) -> str:
        """Return the clause ON of a GRANT on all that a container has; '' where the dialect has none."""
        return self.render_scope(export, difference)

    def revoke_access(self, export: Export, difference: DifferenceRow) -> str:
        """Return the REVOKE of all privileges of a difference, or of the role that they come through."""
        if difference["via"]:
            return self.revoke_role(export, difference)
        return "\n".join(self.render_revokes(export, difference, list_privileges(export, difference["bits"])))

    def render_revokes(self, export: Export, difference: DifferenceRow, privileges: Sequence[str]) -> list[str]:
        """Return statements that revoke privileges; ownership is transferred instead."""
        statements = []
        if not set(OWNERSHIPS).isdisjoint(privileges):
            statements.append(self.render_owner_change(export, difference))
        names = spell_privileges([privilege for privilege in privileges if privilege not in OWNERSHIPS])
        if names:
            scope, grantee = self.render_scope(export, difference), self.render_grantee(export, difference)
            words = f"Take the access to {dotted_name(difference['object'])} from {difference['grantee']}."
            statements.append(f"REVOKE {', '.join(names)} {scope} FROM {grantee};" if scope else render_note(words))
        return statements

    def render_owner_change(self, export: Export, difference: DifferenceRow) -> str:
        """Return the statement that gives an object to the usual owner, or words where there is none."""
        object_clause = self.render_object(export, difference)
        if not object_clause or not export.owner:
            return render_note(f"Hand {dotted_name(difference['object'])} on to its right owner.")
        if not self.owns_containers and count_missing_parts(difference, find_object_path(export, difference)):
            return render_note(f"Hand what {object_clause} contains on to {export.owner}, table by table.")
        return f"ALTER {object_clause} {self.owner_change}{self.quote_name(export.owner)};"

    def change_level(self, export: Export, difference: DifferenceRow) -> str:
        """Revoke what exceeds the declared level, or the inherited role, then grant that level if necessary."""
        target_level = difference["wanted"]
        grant = self.render_grant(export, difference, target_level)
        if difference["level"] < target_level:
            return grant
        if difference["via"]:
            return f"{self.revoke_role(export, difference)}\n{grant}"
        held_privileges = list_privileges(export, difference["bits"])
        excess_privileges = [privilege for privilege in held_privileges if export.vocabulary[privilege] > target_level]
        lines = self.render_revokes(export, difference, excess_privileges)
        is_held = any(export.vocabulary[privilege] == target_level for privilege in held_privileges)
        if not is_held or "ALL PRIVILEGES" in spell_privileges(excess_privileges):
            lines.append(grant)
        return "\n".join(lines)

    # -- roles ---------------------------------------------------------------------------------------------------------

    def create_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return the CREATE ROLE of a role that the source lacks."""
        return "" if self.membership is None else f"CREATE {self.render_role(self.find_role(export, difference))};"

    def drop_role(self, _export: Export, difference: DifferenceRow) -> str:
        """Return the DROP ROLE of a role that opens nothing."""
        return "" if self.membership is None else f"DROP {self.render_role(difference['grantee'])};"

    def rename_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return the statement that gives a role its old name again, if there is none of that name."""
        new_name, old_name = difference["new_name"], self.find_declared_role(export, difference)
        (new_type, new_parts), (old_type, old_parts) = split_principal(new_name), split_principal(old_name)
        # A group has a name of its own kind; a database role stays in its database.
        is_same_kind = new_type in ("", GROUP) and not old_type
        is_same_kind |= new_type == old_type == DATABASE_ROLE and new_parts[0] == old_parts[0]
        if not self.can_rename_roles or not is_same_kind or difference["is_there"]:
            return ""
        return f"ALTER {self.render_role(new_name)} RENAME TO {self.quote_path(old_parts)};"

    # -- members -------------------------------------------------------------------------------------------------------

    def add_member(self, export: Export, difference: DifferenceRow) -> str:
        """Return the statement that gives a role to an account."""
        account = export.account_name(find_identifier(difference["actor"]))
        role = difference["object"] or self.find_role(export, difference)
        return self.render_membership("GRANT", role, difference["kind"], account)

    def remove_member(self, export: Export, difference: DifferenceRow) -> str:
        """Return the statement that takes a role from an account."""
        held_role = difference["via"] or difference["object"] or self.find_role(export, difference)
        return self.render_membership("REVOKE", held_role, difference["kind"], difference["grantee"])

    def revoke_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return the statement that takes the inherited role from the role of a difference."""
        holder = difference["grantee"] or self.find_role(export, difference)
        statement = self.render_membership("REVOKE", difference["via"], Grantee.ROLE, holder)
        words = f"Take {describe_role(difference)} out of {describe_principal(difference['via'])}."
        return statement or render_note(words)

    def render_membership(self, verb: str, role: str, kind: str | None, account: str) -> str:
        """Return the statement that gives ("GRANT") or takes ("REVOKE") a role."""
        if self.membership is None:
            return ""
        principal_type, parts = split_principal(role)
        if principal_type == GROUP:
            action = "ADD" if verb == "GRANT" else "DROP"
            return f"ALTER GROUP {self.quote_path(parts)} {action} USER {self.quote_name(account)};"
        preposition = "TO" if verb == "GRANT" else "FROM"
        noun = f"{principal_type} " if principal_type else self.membership
        return f"{verb} {noun}{self.quote_path(parts)} {preposition} {self.render_principal(kind, account)};"

    # -- what takes a repair back --------------------------------------------------------------------------------------

    def render_inverse(self, export: Export, difference: DifferenceRow, repair: str) -> str:
        """Return what takes a repair back: what somebody had stays, and what was handed on returns to its owner."""
        grantee = difference["grantee"]
        is_passable = any(details.get("is_grantable") for details in parse_details(difference["details"]))
        held_privileges = [] if difference["via"] else list_privileges(export, difference["bits"] or 0)
        return invert_repair(
            repair,
            owner=self.render_principal(difference["kind"], grantee) if grantee else "",
            option=" WITH GRANT OPTION" if is_passable else "",
            holder=self.render_grantee(export, difference) if held_privileges else "",
            held_privileges=spell_privileges([name for name in held_privileges if name not in OWNERSHIPS]),
        )


def find_object_path(export: Export, difference: DifferenceRow) -> list[str]:
    """Return the parts of the object's name in the source, else of its name in the catalog as the source spells it."""
    if difference["object"]:
        return str(difference["object"]).split(SEPARATOR)
    return [export.spell(part) for part in str(difference["name"]).split(".")]


def count_missing_parts(difference: DifferenceRow, path: Sequence[str]) -> int:
    """Return how many parts of the name of a dataset that it contains an object lacks: none if it is a table."""
    return max(len(str(difference["name"]).split(".")) - len(path), 0)


def spell_privileges(privileges: Sequence[str]) -> list[str]:
    """Return privileges of a CSV form as SQL, each once; ALL PRIVILEGES replaces all others."""
    words = {"READ": "SELECT", "WRITE": "INSERT, UPDATE, DELETE, TRUNCATE", "ADMIN": "ALL PRIVILEGES"}
    names = [part for name in privileges for part in words.get(name, name).split(", ")]
    names = ["ALL PRIVILEGES" if name == "ALL" else name for name in names]
    return ["ALL PRIVILEGES"] if "ALL PRIVILEGES" in names else list(dict.fromkeys(names))
