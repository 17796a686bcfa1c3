"""Changes as JSON: one shape for what the API takes, what is stored, and what is read back and checked again."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.settings import api_settings

from policies.changes.kinds import Change, load_kinds, read_change, write_change
from policies.changes.staging import MAX_CHANGES
from policies.errors import Invalid
from policies.http.api import strict_fields
from policies.http.api.problem_details import iterate_problems

#: Most changes that a stored list has: what takes a list back may be several changes for each of it.
MAX_STORED = 10 * MAX_CHANGES


class ChangeIn(strict_fields.StrictSerializer):
    """One change: exactly one of these."""

    #: Whether it is one that the API does not take, too.
    takes_all: ClassVar[bool] = False

    def get_fields(self) -> dict[str, Any]:
        """Return a field for each kind of change that is taken."""
        kinds = (kind for kind in load_kinds().values() if kind.is_offered or self.takes_all)
        return {kind.kind: kind.build_shape(required=False) for kind in kinds}

    def find_contradictions(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return an error unless there is exactly one change."""
        count = len(values.keys() & self.fields.keys())
        if count == 1:
            return {}
        detail = f"A change is exactly one of {', '.join(self.fields)}; here are {count}."
        return {api_settings.NON_FIELD_ERRORS_KEY: [ErrorDetail(detail, "change.one")]}


class StoredChangeIn(ChangeIn):
    """One stored change, also of a kind that the API does not take."""

    takes_all = True


class ChangeList(strict_fields.StrictList):
    """Changes that are taken as one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=ChangeIn(), max_length=MAX_CHANGES, min_length=1, **kwargs)


def load_changes(value: object) -> list[Change]:
    """Return the changes that a JSON value states, as `dump_changes` wrote them.

    Raises Invalid with every problem and its place, also for a kind of change that is gone.
    """
    # What takes changes back may be more than they are.
    shape = strict_fields.StrictList(child=StoredChangeIn(), max_length=MAX_STORED)
    try:
        changes = shape.run_validation(value)
    except ValidationError as error:
        raise Invalid(list(iterate_problems(error.detail))) from None
    return [read_change(change) for change in changes]


def dump_changes(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Return changes as a JSON value, each with its kind."""
    return [write_change(change) for change in changes]
