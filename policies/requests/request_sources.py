"""Systems that own what is asked for: who is in a group, or holds a role, is theirs to say.

The identity source shows groups by the memberships that it writes here. Of others the registry `request_sources` has an
object each, by the name that a way has as its `source`.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

from policies import registries

#: Owns groups that SCIM or sign-in write. Nothing of a way of this source is written here.
IDENTITY = "identity"

#: Owns external roles. Their holders are declared here, and have the role once an export shows it.
WAREHOUSE = "warehouse"


class AskedOfSource(NamedTuple):
    """A group or role (a URN) that a source has been asked, since a time, to give to somebody (a URN)."""

    actor: str
    target: str
    since: datetime


class RequestSource(Protocol):
    """One system that owns who has what (the registry `request_sources`)."""

    def find_shown(self, *, expected: Collection[AskedOfSource]) -> Collection[AskedOfSource]:
        """Return those that the source shows as given, in something that it told after it was asked."""

    def load_declared(self, *, targets: Collection[str]) -> Mapping[str, Collection[str]]:
        """Return who is declared here to have these targets: URN of the target → URNs of users and groups."""

    def find_address(self, *, target: str) -> str:
        """Return the address at which people ask the source itself; '' without one."""


def load_source(name: str) -> RequestSource:
    """Return the object of a source. Raises LookupError for the identity source and for unknown ones."""
    source: RequestSource = registries.load_entries("request_sources")[name]
    return source
