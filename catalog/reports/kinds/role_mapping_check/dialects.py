"""SQL dialects of repairs that differ by words alone: objects, principals and memberships of each.

A name is given by its parts; an object is a table, or a schema or database that contains it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from catalog.reports.kinds.role_mapping_check.exports import ADMIN, READ, WRITE
from catalog.reports.kinds.role_mapping_check.grant_facts import Grantee

_READ_AND_WRITE = "SELECT, INSERT, UPDATE, DELETE"
#: Objects by how many parts of a table's name they lack: a table, its schema, its database.
_Words = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class SqlDialect:
    """The words of a dialect.

    `quote` marks names. `levels` are the privileges to grant for a level. `scopes` follow them for a table, a schema
    and a database ('' where there is no such statement), `objects` are the same in other statements. `table_parts` is
    the number of parts, from the end, of the name of a table. `nouns` precede principals, and PUBLIC is everybody
    where `has_public`. `membership` precedes the role of a membership, None where no statement gives or makes roles.
    `owner_change` precedes a new owner; `owns_containers`: whoever owns a schema has what is in it; `can_rename_roles`:
    there is a statement for it.
    """

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

    def quote_name(self, name: str) -> str:
        """Return a name between the quotation marks of the dialect."""
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def render_object(self, words: _Words, path: Sequence[str], depth: int) -> str:
        """Return the object that lacks `depth` parts of a table's name, after the word for it; '' without a word."""
        word = words[min(depth, 2)]
        shown_count = max(self.table_parts - depth, 1)
        return f"{word} {'.'.join(map(self.quote_name, path[-shown_count:]))}" if word else ""

    def render_principal(self, kind: str | None, name: str) -> str:
        """Return a user, group or role; PUBLIC is a word where it stands for everybody."""
        if self.has_public and name.upper() == "PUBLIC":
            return "PUBLIC"
        return self.nouns.get(kind or Grantee.ROLE, "") + self.quote_name(name)


DIALECTS: Mapping[str, SqlDialect] = {
    "postgres": SqlDialect(
        quote='"',
        levels={READ: "SELECT", WRITE: f"{_READ_AND_WRITE}, TRUNCATE", ADMIN: "ALL PRIVILEGES"},
        scopes=("ON TABLE", "ON ALL TABLES IN SCHEMA", ""),
        objects=("TABLE", "SCHEMA", "DATABASE"),
        table_parts=2,
        nouns={},
        membership="",
        owner_change="OWNER TO ",
        has_public=True,
        can_rename_roles=True,
    ),
    "redshift": SqlDialect(
        quote='"',
        levels={READ: "SELECT", WRITE: f"{_READ_AND_WRITE}, TRUNCATE", ADMIN: "ALL PRIVILEGES"},
        scopes=("ON TABLE", "FOR TABLES IN SCHEMA", "FOR TABLES IN DATABASE"),
        objects=("TABLE", "SCHEMA", "DATABASE"),
        table_parts=2,
        nouns={Grantee.ROLE: "ROLE ", Grantee.GROUP: "GROUP "},
        membership="ROLE ",
        owner_change="OWNER TO ",
        has_public=True,
        can_rename_roles=True,
    ),
    "databricks": SqlDialect(
        quote="`",
        levels={READ: "SELECT", WRITE: "SELECT, MODIFY", ADMIN: "ALL PRIVILEGES"},
        scopes=("ON TABLE", "ON SCHEMA", "ON CATALOG"),
        objects=("TABLE", "SCHEMA", "CATALOG"),
        table_parts=3,
        nouns={},
        membership=None,
        owner_change="OWNER TO ",
        owns_containers=True,
    ),
    "trino": SqlDialect(
        quote='"',
        levels={READ: "SELECT", WRITE: _READ_AND_WRITE, ADMIN: "ALL PRIVILEGES"},
        scopes=("ON TABLE", "ON SCHEMA", ""),
        objects=("TABLE", "SCHEMA", ""),
        table_parts=3,
        nouns={Grantee.ROLE: "ROLE ", Grantee.USER: "USER "},
        membership="",
        owner_change="SET AUTHORIZATION ROLE ",
        owns_containers=True,
    ),
}
