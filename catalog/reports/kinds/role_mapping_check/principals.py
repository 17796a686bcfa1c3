"""Names of those who have grants in a source: roles, users, and what holds privileges as roles do.

The name of a user or of an account's role is as the source has it. Any other begins with its type, as SQL writes it,
and the parts of its name follow, each after SEPARATOR: a database role is one of its database,
and a group may have the name of a role.
"""

from pyspark.sql import Column
from pyspark.sql import functions as f

#: Separator of the parts of a name; any printable character may be in a part.
SEPARATOR = "\x1f"

GROUP = "GROUP"
DATABASE_ROLE, APPLICATION_ROLE, INSTANCE_ROLE = "DATABASE ROLE", "APPLICATION ROLE", "INSTANCE ROLE"
SHARE, APPLICATION = "SHARE", "APPLICATION"

#: Roles that are parts of something else.
SCOPED_ROLE_TYPES = (DATABASE_ROLE, APPLICATION_ROLE, INSTANCE_ROLE)
#: Grantees outside of the account's roles and users.
OUTSIDE_TYPES = (SHARE, APPLICATION)


def join_name(principal_type: str | Column, *parts: Column) -> Column:
    """Return the name of a principal of such a type; null when a part is."""
    first_part = f.lit(principal_type) if isinstance(principal_type, str) else principal_type
    return f.concat(first_part, *(f.concat(f.lit(SEPARATOR), part) for part in parts))


def dotted_name(name: Column) -> Column:
    """Return names as exports.json writes them: DATABASE.ROLE, SHARE NAME, and those without a type as they are."""
    bare_name = f.regexp_replace(name, f"^({DATABASE_ROLE}|{GROUP}){SEPARATOR}", "")
    typed_name = f.regexp_replace(name, f"^([^{SEPARATOR}]*){SEPARATOR}", "$1 ")
    words = f.when(bare_name != name, bare_name).otherwise(typed_name)
    return f.when(name.contains(SEPARATOR), f.replace(words, f.lit(SEPARATOR), f.lit("."))).otherwise(name)


def is_outside(name: str) -> Column:
    """Whether the principal of a column is none of the account's roles or users."""
    return f.col(name).rlike(f"^({'|'.join(OUTSIDE_TYPES)}){SEPARATOR}")


def is_group(name: str) -> Column:
    """Whether the principal of a column is a group that holds privileges as a role does."""
    return f.col(name).startswith(f"{GROUP}{SEPARATOR}")


def split_principal(name: str) -> tuple[str, list[str]]:
    """Return the type of a principal, '' for a role of the account or a user, and the parts of its name."""
    principal_type, *parts = name.split(SEPARATOR)
    return (principal_type, parts) if parts else ("", [name])


def describe_principal(name: str) -> str:
    """Return a name for people."""
    principal_type, parts = split_principal(name)
    return f"{principal_type.lower()} {'.'.join(parts)}".strip()
