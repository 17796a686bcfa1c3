"""The order in which the statements of a new snapshot are numbered."""

from collections import defaultdict

from policies.engine.model import Statement
from policies.engine.selectors import TYPE

#: A policy's URN and its compiled statements.
Policy = tuple[str, tuple[Statement, ...]]


def sort_by_locality(policies: tuple[Policy, ...]) -> list[Policy]:
    """Sort policies by the first value of their criteria, so that statements on the same value have close numbers.

    A set is as long as its highest number, and sets fill most of the memory of a snapshot: the fields with the most
    values, and so the most sets, come first.
    """
    values_by_field: defaultdict[str, set[str]] = defaultdict(set)
    for _, statements in policies:
        for statement in statements:
            for criterion in statement.resources.criteria:
                values_by_field[criterion.field].update(criterion.values)
    rank_by_field = {field: -len(values) for field, values in values_by_field.items()}

    def get_sort_key(policy: Policy) -> tuple[int, str, str]:
        # Loops, since a generator for each of ten thousand policies takes longer than what it yields.
        sort_key = (1, "", "")
        for statement in policy[1]:
            for criterion in statement.resources.criteria:
                field = criterion.field
                if field != TYPE:
                    sort_key = min(sort_key, (rank_by_field[field], field, min(criterion.values, default="")))
        return sort_key

    return sorted(policies, key=get_sort_key)
