"""Levels of access, of which a privilege has the highest one that it includes."""

from collections.abc import Mapping

READ, WRITE, ADMIN = 1, 2, 3
LEVELS: Mapping[str, int] = {"READ": READ, "WRITE": WRITE, "ADMIN": ADMIN}
LEVEL_NAMES: Mapping[int, str] = {level: name for name, level in LEVELS.items()}
#: Level of each type of an external role; other types have none.
ROLE_TYPE_LEVELS: Mapping[str, int] = {
    **dict.fromkeys(("READ", "READER", "VIEW", "VIEWER", "SELECT"), READ),
    **dict.fromkeys(("WRITE", "WRITER", "EDIT", "EDITOR"), WRITE),
    **dict.fromkeys(("ADMIN", "ADMINISTRATOR", "OWN", "OWNER"), ADMIN),
}
#: What the systems call the privilege of whoever owns an object: it ends with a new owner, and with nothing else.
OWNERSHIPS = ("OWNERSHIP", "OWNER", "OWN")
