"""The answer of the catalog's policies about uses that no role mapping declares, as the engine decides."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice

import pyarrow as pa

from catalog.reports.snapshot import partitions
from catalog.reports.snapshot.partition_facts import PartitionFacts
from catalog.reports.spark.job import Job

#: Questions that are asked at most, a person and a dataset each.
MAX_QUESTIONS = 20_000
_VIEW = "VIEW_ENTITY_PAGE"

#: A dataset and a person, by URN.
DatasetAndPerson = tuple[str, str]


def find_viewing_policies(job: Job, pairs: Iterable[DatasetAndPerson]) -> Mapping[DatasetAndPerson, str | None]:
    """Return the name of a policy that lets the person view the dataset in the catalog, None where none does.

    Pairs beyond MAX_QUESTIONS are left out. Raises CorruptSnapshot.
    """
    names: dict[DatasetAndPerson, str | None] = dict.fromkeys(islice(pairs, MAX_QUESTIONS))
    if not names:
        return names
    people: dict[str, set[str]] = {}
    for entity, person in names:
        people.setdefault(entity, set()).add(person)
    wanted_people = {person for _, person in names}
    actors = {actor.urn: actor for actor in job.state.actors if actor.urn in wanted_people}
    for facts in _load_facts(job, people):
        for index, entity in enumerate(facts.urns):
            for person in people[entity] & actors.keys():
                decision = facts.decide(actors[person], _VIEW, index)
                if decision.is_allowed:
                    policies = (statement.origin.name for statement in decision.statements)
                    names[entity, person] = next(policies, "")
    return names


def _load_facts(job: Job, urns: Iterable[str]) -> Iterator[PartitionFacts]:
    """Yield the facts of datasets, of those near each other at a time: what lies between them is read, too."""
    fields = partitions.list_loaded_fields(job.state.tested_fields([_VIEW]))
    numbers = partitions.find_entity_numbers(job.source, list(urns))
    for _, near_numbers in groupby(numbers.to_pylist(), lambda number: number // partitions.MAX_PARTITION_ENTITIES):
        partition = partitions.load_partition(job.state, fields, pa.array(near_numbers, numbers.type))
        yield PartitionFacts(job.state, partition)
