"""The connections that the environment names. A DSN is read when it is used, and stands in no setting."""

import os
import re

from django.core.exceptions import ImproperlyConfigured

from authzsite import env

_DSN_VARIABLE = re.compile(r"WAREHOUSE_([A-Z]+)_([A-Z0-9][A-Z0-9_]{0,62}?)_(READ|APPLY)_DSN(?:_FILE)?")


def find_connections() -> dict[str, dict[str, str]]:
    """Return name → system, and the variables (`read`, `apply`) that have its DSNs, or name files with them."""
    connections: dict[str, dict[str, str]] = {}
    for variable in sorted(os.environ):
        match = _DSN_VARIABLE.fullmatch(variable)
        if match is None or not env.is_set(variable):
            continue
        system, name, use = (part.lower() for part in match.groups())
        connection = connections.setdefault(name, {"system": system})
        if connection["system"] != system:
            raise ImproperlyConfigured(f"{variable}: another system has a connection of the name {name}, too.")
        if use in connection:
            raise ImproperlyConfigured(f"{connection[use]} and {variable} are one DSN: set one of them.")
        connection[use] = variable
    for name, connection in connections.items():
        if "read" not in connection:
            variable = re.sub("_APPLY_", "_READ_", connection["apply"])
            raise ImproperlyConfigured(f"{connection['apply']} is set, but {variable} is not: {name} cannot be read.")
    return connections
