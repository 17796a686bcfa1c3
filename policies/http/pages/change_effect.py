"""The effect of changes, in sentences, for the pages of every room that ask before a change is made.

The room of policies previews changes, and asks the services of people for it; pages of people therefore reach it by the
name in the registry `ports`.
"""

from collections.abc import Mapping
from typing import Any

from policies.engine.model import Actor
from policies.pdp import ports

#: A change as `POST /api/v1/preview` has it: its kind, with its value.
ProposedChange = Mapping[str, Any]


def describe_effect(*changes: ProposedChange, by: Actor) -> list[str]:
    """Return sentences on who would gain and lose what by these changes together; if they would be refused, why."""
    sentences: list[str] = ports.import_port("ChangeDescriber")(changes, by=by)
    return sentences
