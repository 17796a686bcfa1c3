"""Typed access to environment variables, on django-environ.

Every environment variable is read here, validated at once, and refused with one sentence that names it
(ImproperlyConfigured): a misspelt switch must stop the start, since a policy switch that silently stays off is not
enforced.
"""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

TRUE_WORDS = frozenset({"true", "1", "yes", "on"})
FALSE_WORDS = frozenset({"false", "0", "no", "off"})

_environment = environ.Env()


def read_file(path: Path) -> None:
    """Add the variables of a ``.env`` file, if it exists; variables that are already set keep their values."""
    if path.is_file():
        environ.Env.read_env(path)


def is_set(name: str) -> bool:
    """Whether the variable has a value; an empty one counts as absent."""
    return bool(text(name))


def text(name: str, default: str = "") -> str:
    """Return the value without surrounding blanks, or the default if it is absent or empty."""
    value: str = _environment.str(name, default="").strip()
    return value or default


def flag(name: str, *, default: bool) -> bool:
    """Return a switch, spelt true or false (or 1, 0, yes, no, on, off)."""
    value = text(name).lower()
    if not value:
        return default
    if value in TRUE_WORDS:
        return True
    if value in FALSE_WORDS:
        return False
    raise ImproperlyConfigured(f"{name} is {value!r}, but it has to be true or false.")


def combined_flag(names: Sequence[str], *, default: bool) -> bool:
    """Return one switch that has several names; those that are set must agree."""
    values_by_name = {name: flag(name, default=default) for name in names if is_set(name)}
    if len(set(values_by_name.values())) > 1:
        raise ImproperlyConfigured(f"{' and '.join(values_by_name)} are one switch, but they say different things.")
    return next(iter(values_by_name.values()), default)


def integer(name: str, *, default: int, minimum: int = 0) -> int:
    """Return a whole number of at least the minimum."""
    value = text(name)
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        number = minimum - 1
    if number < minimum:
        raise ImproperlyConfigured(f"{name} is {value!r}, but it has to be a whole number of at least {minimum}.")
    return number


def fraction(name: str, *, default: float) -> float:
    """Return a number from 0 to 1."""
    value = text(name)
    if not value:
        return default
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    # Also false for nan.
    if not 0 <= number <= 1:
        raise ImproperlyConfigured(f"{name} is {value!r}, but it has to be a number from 0 to 1.")
    return number


def choice(name: str, *, default: str, choices: Iterable[str]) -> str:
    """Return one of the choices."""
    allowed_values = tuple(choices)
    value = text(name, default)
    if value not in allowed_values:
        raise ImproperlyConfigured(f"{name} is {value!r}, but it has to be one of {', '.join(allowed_values)}.")
    return value


def names(name: str, *, default: Iterable[str] = ()) -> list[str]:
    """Return a list spelt with commas."""
    parts = [part.strip() for part in text(name).split(",")]
    return [part for part in parts if part] or list(default)


def pairs(name: str, *, default: Mapping[str, str]) -> dict[str, str]:
    """Return a mapping spelt like ``read=VIEW_ENTITY_PAGE, write=EDIT_ENTITY``."""
    meanings: dict[str, str] = {}
    for part in names(name):
        word, equals, meaning = (piece.strip() for piece in part.partition("="))
        if not (word and equals and meaning):
            raise ImproperlyConfigured(f"{name} has {part!r}, but each part is spelt like word=meaning.")
        if word in meanings:
            raise ImproperlyConfigured(f"{name} says twice what {word!r} means.")
        meanings[word] = meaning
    return meanings or dict(default)


def ensure_folder(name: str, *, default: Path) -> Path:
    """Return the path of a folder, which is created if it does not exist."""
    path = Path(text(name, str(default)))
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(f"{name} is {str(path)!r}, which cannot be a folder: {error.strerror}.") from error
    return path


def origins(name: str) -> list[str]:
    """Return a list of origins, each with its scheme and no path: https://authz.example."""
    values = names(name)
    for origin in values:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path or parts.query or parts.fragment:
            raise ImproperlyConfigured(f"{name} names {origin!r}, but an origin is spelt like https://authz.example.")
    return values


def origin(name: str) -> str:
    """Return one origin, or an empty text if it is absent."""
    values = origins(name)
    if len(values) > 1:
        raise ImproperlyConfigured(f"{name} names {len(values)} origins, but it has to be one.")
    return next(iter(values), "")


def address(name: str, *, schemes: Sequence[str], default: str = "") -> str:
    """Return a URL with one of the schemes, or the default if it is absent."""
    value = text(name, default)
    if value and value.partition("://")[0] not in schemes:
        expected_prefixes = " or ".join(f"{scheme}://" for scheme in schemes)
        # The value may contain a password, so it is not repeated.
        raise ImproperlyConfigured(f"{name} has to start with {expected_prefixes}.")
    try:
        _ = urlsplit(value).port
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is not an address: {error}.") from error
    return value


def database(name: str, *, default: Path) -> dict[str, Any]:
    """Return the settings of one database from ``postgres://user:password@host:port/name`` or ``sqlite:///path``.

    If the variable is absent they are those of the SQLite file `default`.
    """
    value = address(name, schemes=("postgres", "postgresql", "sqlite"))
    if not value:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(default)}
    try:
        settings: dict[str, Any] = environ.Env.db_url_config(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is not an address of a database.") from error
    if not settings.get("NAME"):
        raise ImproperlyConfigured(f"{name} does not name a database.")
    return settings


def is_loopback(host: str) -> bool:
    """Whether the address can be reached only from this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
