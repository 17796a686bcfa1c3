"""Names of those who have grants in a source: roles and users, and groups that hold privileges as roles do.

The name of a user or role is as the source has it. That of such a group begins with its type, as SQL writes it, and its
name follows after SEPARATOR: a source may have a role and a group of one name.
"""

from pyspark.sql import Column
from pyspark.sql import functions as f

#: Separator of the parts of a name; any printable character may be in a part.
SEPARATOR = "\x1f"

GROUP = "GROUP"


def join_name(principal_type: str, name: Column) -> Column:
    """Return the name of a principal of such a type; null when the name is."""
    return f.concat(f.lit(principal_type + SEPARATOR), name)


def dotted_name(name: Column) -> Column:
    """Return names as exports.json writes them: without the type."""
    return f.regexp_replace(name, f"^{GROUP}{SEPARATOR}", "")


def split_principal(name: str) -> tuple[str, list[str]]:
    """Return the type of a principal, '' for a role or a user, and the parts of its name."""
    principal_type, *parts = name.split(SEPARATOR)
    return (principal_type, parts) if parts else ("", [name])


def describe_principal(name: str) -> str:
    """Return a name for people."""
    principal_type, parts = split_principal(name)
    return f"{principal_type.lower()} {'.'.join(parts)}".strip()
