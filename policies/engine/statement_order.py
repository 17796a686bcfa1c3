"""The order in which the statements of a new snapshot are numbered."""

from policies.engine.model import Statement
from policies.engine.selectors import TYPE

#: A policy's URN and its compiled statements.
Policy = tuple[str, tuple[Statement, ...]]


def sort_by_locality(policies: tuple[Policy, ...]) -> list[Policy]:
    """Sort policies by the first value of their criteria, so that statements on the same value have close numbers.

    A set is as long as its highest number, and sets fill most of the memory of a snapshot: the fields with the most
    values, and so the most sets, come first.
    """
    values_by_field: dict[str, set[str]] = {}
    for _, statements in policies:
        for criterion in (criterion for statement in statements for criterion in statement.resources.criteria):
            values_by_field.setdefault(criterion.field, set()).update(criterion.values)
    rank_by_field = {field: -len(values) for field, values in values_by_field.items() if field != TYPE}

    def get_sort_key(policy: Policy) -> tuple[int, str, str]:
        return min(
            (
                (rank_by_field[criterion.field], criterion.field, min(criterion.values, default=""))
                for statement in policy[1]
                for criterion in statement.resources.criteria
                if criterion.field != TYPE
            ),
            default=(1, "", ""),
        )

    return sorted(policies, key=get_sort_key)
