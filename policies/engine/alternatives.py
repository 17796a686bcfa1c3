"""Lists of missing privileges of which any one would be enough: how they combine, and which of them is narrowest."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from policies.engine.families import datahub, vocabularies, vocabulary
from policies.engine.model import Missing

#: Most lists that one refusal names.
MAX_ALTERNATIVES = 16

#: Lists of missing privileges; everything in one of them together is enough.
Alternatives = tuple[tuple[Missing, ...], ...]


def join_alternatives(several: Sequence[Alternatives]) -> Alternatives:
    """Return what is enough for all of several refusals together.

    The first alternatives of each stand together, then the second ones, and so on; where one refusal has fewer than the
    others its last one is repeated. Mixtures would do as well and are not listed, because there are too many of them.
    """
    several = [alternatives for alternatives in several if alternatives]
    count = max((len(alternatives) for alternatives in several), default=0)
    return limit_alternatives(
        tuple(dict.fromkeys(lack for one in several for lack in one[min(place, len(one) - 1)]))
        for place in range(count)
    )


def limit_alternatives(lists: Iterable[tuple[Missing, ...]]) -> Alternatives:
    """Return these lists in their order, each once, without empty ones; MAX_ALTERNATIVES at most."""
    return tuple(dict.fromkeys(one for one in lists if one))[:MAX_ALTERNATIVES]


def sort_narrowest_first(lists: Iterable[tuple[Missing, ...]]) -> Alternatives:
    """Return these lists with those first that give away least.

    Privileges on entities are narrower than those on the whole platform; then comes the list whose broadest privilege
    opens least, then the shorter list. Lists that are alike stay in their order.
    """
    return tuple(sorted(lists, key=_breadth))


def _breadth(lacking: tuple[Missing, ...]) -> tuple[int, int, int]:
    opened = _opened_by_privilege()
    known = vocabulary.datahub()
    platform = sum(
        (info := known.get(lack.privilege)) is not None and info.scope == vocabulary.PLATFORM for lack in lacking
    )
    return platform, max((opened[lack.privilege] for lack in lacking), default=0), len(lacking)


@cache
def _opened_by_privilege() -> Counter[str]:
    """Return how much each privilege opens: the operations that it is enough for or part of, and what it implies."""
    opened: Counter[str] = Counter()
    for requirement in (*datahub.operations().values(), *datahub.groups().values()):
        opened.update(requirement.privileges)
    for words in vocabularies().values():
        opened.update({name: len(given) for name, given in words.gives.items()})
    return opened
