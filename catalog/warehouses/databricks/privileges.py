"""The privileges of Unity Catalog by what they reach of the data of tables."""

from collections.abc import Mapping

from catalog.warehouses.levels import ADMIN, READ, WRITE

#: What reaches the files of tables in an external location, whose statements name the location.
READ_FILES, WRITE_FILES, ALL_FILES = "READ FILES", "WRITE FILES", "ALL FILES"
FILE_PRIVILEGES = (READ_FILES, WRITE_FILES, ALL_FILES)
#: What a share gives its recipients.
SHARED = "SHARED"
#: What goes around all privileges on tables; the privilege stands before the words.
ANY_FILE = "ANY FILE"
ANY_FILE_PRIVILEGES = (f"SELECT {ANY_FILE}", f"MODIFY {ANY_FILE}")

PRIVILEGES: Mapping[str, int] = {
    "SELECT": READ,
    "MODIFY": WRITE,
    # Who manages or owns an object can give himself every privilege on it.
    **dict.fromkeys(("ALL PRIVILEGES", "MANAGE", "OWN", "OWNERSHIP"), ADMIN),
    **dict(zip(FILE_PRIVILEGES, (READ, WRITE, ADMIN), strict=True)),
    SHARED: READ,
    **dict(zip(ANY_FILE_PRIVILEGES, (READ, WRITE), strict=True)),
}
#: Privileges on tables and what contains them that reach no data.
HARMLESS = (
    *("USE CATALOG", "USE SCHEMA", "USAGE", "BROWSE", "EXECUTE", "APPLY TAG", "READ METADATA", "REFRESH", "REFERENCES"),
    *("READ VOLUME", "WRITE VOLUME", "ADD VOLUME", "EXTERNAL USE SCHEMA", "MANAGE ALLOWLIST", "MODIFY CLASSPATH"),
    *("ACCESS", "EXECUTE CLEAN ROOM TASK"),
)
#: Privileges with which somebody gets into a container, or lets himself in.
ENTERING = ("ALL PRIVILEGES", "MANAGE", "OWN", "OWNERSHIP")
#: The privilege that lets into a container, and no further, by the type of the container.
ENTRIES: Mapping[str, str] = {"SCHEMA": "USE SCHEMA", "CATALOG": "USE CATALOG"}
