"""The privileges that exist: those of every family's vocabulary, and those that settings.CUSTOM_PRIVILEGES names.

A stored policy may name one that the setting no longer does; it gives this all the same.
"""

from functools import cache

from policies.engine import families
from policies.engine.families import cdap
from policies.engine.requirements import Requirement
from policies.kept_settings import kept_settings


def is_known(name: str) -> bool:
    """Whether a privilege of this name exists."""
    return name in _list_registered_names() or name in kept_settings.CUSTOM_PRIVILEGES


def needs_unknown(requirement: Requirement) -> bool:
    """Whether each way to meet the requirement needs a privilege that does not exist."""
    if requirement.sole_privilege is not None:
        return not is_known(requirement.sole_privilege)
    return bool(requirement.any_of) and all(
        any(not any(map(is_known, need.privileges)) for need in alternative) for alternative in requirement.any_of
    )


def suggest_names(name: str) -> tuple[str, ...]:
    """Return the names of privileges of any family that are similar; it takes milliseconds."""
    return tuple(
        suggestion for vocabulary in families.load_vocabularies().values() for suggestion in vocabulary.suggest(name)
    )


@cache
def _list_registered_names() -> frozenset[str]:
    vocabularies = families.load_vocabularies().values()
    return frozenset((cdap.LIST_PRIVILEGE,)).union(*(vocabulary.names for vocabulary in vocabularies))
