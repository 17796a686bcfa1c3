"""The line to approach: the barest honest program that answers the questions of a measured world with bit sets.

For each privilege the policies that list it are numbered, and each value that they name has one integer: a bit for each
policy. It knows what these worlds contain and nothing else: no denies, sub-resources, restrictions, properties,
requirements, reasons or changes. It keeps nothing from one question to the next, and its facts are tuples that are made
beforehand.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from bench.worlds import Asked, Company, Document, closed, containers_of

Sets = dict[str, int]


class Facts(NamedTuple):
    """A question with its facts, hierarchies closed; owners as (holder, type)."""

    holders: tuple[str, ...]
    tokens: tuple[str, ...]
    privilege: str
    type: str
    urn: str
    domains: tuple[str, ...]
    containers: tuple[str, ...]
    tags: tuple[str, ...]
    owners: tuple[tuple[str, str], ...]


def facts_of(asked: Asked) -> Facts:
    """Return what the program is asked with."""
    person, thing = asked.person, asked.thing
    holders = (person.urn, *person.groups)
    return Facts(
        holders,
        (*holders, *person.roles),
        asked.privilege,
        thing.type,
        thing.urn,
        tuple(closed(thing.domain)),
        tuple(containers_of(thing)),
        thing.tags,
        thing.owners,
    )


class Listing:
    """The policies that list one privilege. One has at most one criterion besides TYPE, as in both worlds."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.by_token: Sets = {}
        self.by_owner_type: Sets = {"": 0}
        self.by_type: Sets = {}
        self.by_urn: Sets = {}
        self.by_beginning: Sets = {}
        self.by_domain: Sets = {}
        self.by_container: Sets = {}
        self.by_tag: Sets = {}
        self.by_excluded_tag: Sets = {}
        self.without_criterion = self.of_any_type = 0
        for number, document in enumerate(documents):
            self._add(1 << number, document)
        self.by_type = {kind: bits | self.of_any_type for kind, bits in self.by_type.items()}
        #: None begins with another one, so at most one is the beginning of a URN: the last that is not after it.
        self.beginnings = ["", *sorted(self.by_beginning)]

    def _add(self, bit: int, document: Document) -> None:
        actors = document["actors"]
        for key in ("users", "groups", "roles"):
            _put(self.by_token, actors.get(key, ()), bit)
        if actors.get("resourceOwners"):
            _put(self.by_owner_type, actors.get("resourceOwnersTypes", ("",)), bit)
        said = document["resources"]["filter"]["criteria"]
        criteria = {(one["field"], one.get("condition", "EQUALS")): one["values"] for one in said}
        kinds = criteria.pop(("TYPE", "EQUALS"), ())
        _put(self.by_type, kinds, bit)
        self.of_any_type |= 0 if kinds else bit
        tables = {
            ("URN", "EQUALS"): self.by_urn,
            ("URN", "STARTS_WITH"): self.by_beginning,
            ("DOMAIN", "EQUALS"): self.by_domain,
            ("CONTAINER", "EQUALS"): self.by_container,
            ("TAG", "EQUALS"): self.by_tag,
            ("TAG", "NOT_EQUALS"): self.by_excluded_tag,
        }
        for tested, values in criteria.items():
            _put(tables[tested], values, bit)
        self.without_criterion |= bit if criteria.keys() <= {("TAG", "NOT_EQUALS")} else 0

    def is_reached(self, facts: Facts) -> bool:
        """Whether one of the policies speaks to the actor about the entity."""
        candidates = self.by_type.get(facts.type, self.of_any_type) & self._named(facts)
        return bool(candidates and candidates & self._covering(facts))

    def _named(self, facts: Facts) -> int:
        named, by_token = 0, self.by_token
        for token in facts.tokens:
            if token in by_token:
                named |= by_token[token]
        for holder, kind in facts.owners:
            if holder in facts.holders:
                named |= self.by_owner_type[""] | self.by_owner_type.get(kind, 0)
        return named

    def _covering(self, facts: Facts) -> int:
        covering, urn = self.without_criterion, facts.urn
        for tag in facts.tags:
            if tag in self.by_excluded_tag:
                covering &= ~self.by_excluded_tag[tag]
        for values, sets in (
            (facts.tags, self.by_tag),
            (facts.domains, self.by_domain),
            (facts.containers, self.by_container),
        ):
            for value in values:
                if value in sets:
                    covering |= sets[value]
        if urn in self.by_urn:
            covering |= self.by_urn[urn]
        beginning = self.beginnings[bisect_right(self.beginnings, urn) - 1]
        if beginning and urn.startswith(beginning):
            covering |= self.by_beginning[beginning]
        return covering


class BitSets:
    """The policies of a company."""

    def __init__(self, company: Company) -> None:
        documents: dict[str, list[Document]] = {}
        for _, document in company.documents:
            for name in document["privileges"]:
                documents.setdefault(name, []).append(document)
        self.listings = {name: Listing(listed) for name, listed in documents.items()}

    def is_allowed(self, facts: Facts) -> bool:
        """Answer one question."""
        listing = self.listings.get(facts.privilege)
        return listing is not None and listing.is_reached(facts)


def _put(sets: Sets, values: Iterable[str], bit: int) -> None:
    for value in values:
        sets[value] = sets.get(value, 0) | bit
