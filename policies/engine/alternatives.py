"""Alternative lists of missing privileges, any one of which would suffice: combining and sorting them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from policies.engine.families import datahub, load_vocabularies, vocabulary
from policies.engine.model import MissingPrivilege

#: Most lists that one refusal names.
MAX_ALTERNATIVES = 16

#: Lists of missing privileges; all privileges of one list together suffice.
Alternatives = tuple[tuple[MissingPrivilege, ...], ...]


def join_alternatives(alternatives_by_refusal: Sequence[Alternatives]) -> Alternatives:
    """Return lists of privileges that suffice for all of several refusals together.

    The first alternatives of each are combined, then the second ones, and so on; a refusal with fewer alternatives
    repeats its last one. Other combinations would suffice too and are not listed, because there are too many of them.
    """
    alternatives_by_refusal = [alternatives for alternatives in alternatives_by_refusal if alternatives]
    count = max((len(alternatives) for alternatives in alternatives_by_refusal), default=0)
    return limit_alternatives(
        tuple(
            dict.fromkeys(
                missing_privilege
                for alternatives in alternatives_by_refusal
                for missing_privilege in alternatives[min(index, len(alternatives) - 1)]
            )
        )
        for index in range(count)
    )


def limit_alternatives(lists: Iterable[tuple[MissingPrivilege, ...]]) -> Alternatives:
    """Return at most MAX_ALTERNATIVES of these lists in their order, without empty ones and ones that contain another.

    Who has the privileges of the list that is contained needs no more.
    """
    alternatives = tuple(dict.fromkeys(missing_privileges for missing_privileges in lists if missing_privileges))
    if len(alternatives) > 1 and any(len(missing_privileges) > 1 for missing_privileges in alternatives):
        alternatives = _remove_supersets(alternatives)
    return alternatives[:MAX_ALTERNATIVES]


def _remove_supersets(alternatives: Alternatives) -> Alternatives:
    shortest_first = sorted(alternatives, key=len)
    minimal_sets: list[frozenset[MissingPrivilege]] = []
    minimal_lists: set[tuple[MissingPrivilege, ...]] = set()
    for missing_privileges in shortest_first:
        privilege_set = frozenset(missing_privileges)
        if not any(minimal_set <= privilege_set for minimal_set in minimal_sets):
            minimal_sets.append(privilege_set)
            minimal_lists.add(missing_privileges)
    return tuple(missing_privileges for missing_privileges in alternatives if missing_privileges in minimal_lists)


def sort_narrowest_first(lists: Iterable[tuple[MissingPrivilege, ...]]) -> Alternatives:
    """Return these lists sorted so that those that give away least come first.

    Privileges on entities are narrower than platform privileges; then comes the list whose broadest privilege permits
    least, then the shorter list. The sort is stable.
    """
    alternatives = tuple(lists)
    return alternatives if len(alternatives) < 2 else tuple(sorted(alternatives, key=_breadth))


def _breadth(missing_privileges: tuple[MissingPrivilege, ...]) -> tuple[int, int, int]:
    breadth_by_privilege = _count_breadth_by_privilege()
    datahub_vocabulary = vocabulary.load_datahub()
    platform_count = sum(
        (info := datahub_vocabulary.get(missing_privilege.privilege)) is not None and info.scope == vocabulary.PLATFORM
        for missing_privilege in missing_privileges
    )
    return (
        platform_count,
        max((breadth_by_privilege[missing_privilege.privilege] for missing_privilege in missing_privileges), default=0),
        len(missing_privileges),
    )


@cache
def _count_breadth_by_privilege() -> Counter[str]:
    """Return the breadth of each privilege: the number of operations that name it plus the privileges it implies."""
    breadth_by_privilege: Counter[str] = Counter()
    for requirement in (*datahub.load_operations().values(), *datahub.load_operation_groups().values()):
        breadth_by_privilege.update(requirement.privileges)
    for family_vocabulary in load_vocabularies().values():
        breadth_by_privilege.update(
            {name: len(implied_names) for name, implied_names in family_vocabulary.implications.items()}
        )
    return breadth_by_privilege
