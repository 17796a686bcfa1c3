"""The answers of proofs: a verdict, an example, and the statements that a negative answer rests on."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from policies.engine.errors import EngineError
from policies.engine.model import Question, Statement
from policies.engine.selectors import (
    BRANCH,
    CONTAINER,
    CREATION,
    DOMAIN,
    GLOSSARY,
    MAIN_BRANCH,
    OWNER,
    TAG,
    Resource,
)


class Verdict(StrEnum):
    """The answer of a proof; UNKNOWN if the time was over or something is not translated exactly."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class ProofUnavailable(EngineError):
    """The solver is not installed, cannot be loaded, or failed. Callers show the verdict as unknown."""

    code = "proof.unavailable"


class ProofContradiction(EngineError):
    """The solver and `decide` answer the same question differently, which is a bug in the translation."""

    code = "proof.contradiction"

    def __init__(self, question: Question, claim: str) -> None:
        self.question = question
        super().__init__(f"{claim} {question}")


@dataclass(frozen=True, slots=True)
class Proof:
    """A verdict; for one with an example the question that `decide` confirmed.

    `because_of` are the statements that a proof without an example rests on, where it names them. `earlier` is the same
    question as it was before a change of what is known of people and entities, where that is compared.
    """

    verdict: Verdict
    question: Question | None = None
    because_of: tuple[Statement, ...] = ()
    earlier: Question | None = None

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies of `because_of`, sorted, each once."""
        return tuple(sorted({statement.origin.policy for statement in self.because_of}))

    @property
    def example(self) -> dict[str, Any] | None:
        """The question in the shape of api-next.md section 3."""
        return None if self.question is None else describe_question(self.question)


#: The keys of facets in an example.
_KEYS = {DOMAIN: "domains", TAG: "tags", GLOSSARY: "terms", CONTAINER: "containers"}


#: Facets that an example tells otherwise, or that say nothing with this value.
_UNTOLD_FIELDS = frozenset((*_KEYS, OWNER, CREATION))
_UNTOLD_VALUES = {BRANCH: frozenset((MAIN_BRANCH,))}


def describe_question(question: Question) -> dict[str, Any]:
    """Return a question as JSON in the shape of an example (api-next.md section 3).

    The keys are `actor`, `privilege`, `resource` (None: the platform) and `sub_resources`, URNs as `authorize` takes
    them; facets without a key of their own are in `facets` of a resource.
    """
    actor = question.actor
    described_actor: dict[str, Any] = {
        "urn": actor.urn,
        "groups": sorted(actor.groups),
        "roles": sorted(actor.roles),
    }
    if actor.attributes:
        fields = sorted({field for field, _ in actor.attributes})
        described_actor["attributes"] = {
            field: sorted(value for name, value in actor.attributes if name == field) for field in fields
        }
    return {
        "actor": described_actor,
        "privilege": question.privilege,
        "resource": None if question.resource is None else _describe_resource(question.resource),
        "sub_resources": [resource.urn for resource in question.subresources],
    }


def _describe_resource(resource: Resource) -> dict[str, Any]:
    """Return a resource with its facets; those without a key of their own are in `facets` if they have values."""
    described_resource: dict[str, Any] = {
        "urn": resource.urn,
        "type": resource.type,
        "owners": [
            {"owner": owner.actor, "type": owner.type or None}
            for owner in sorted(resource.owners, key=lambda owner: (owner.actor, owner.type))
        ],
    }
    for field, key in _KEYS.items():
        described_resource[key] = sorted(resource.facets.get(field, ()))
    other_facets = {
        field: sorted(values)
        for field, values in sorted(resource.facets.items())
        if values and field not in _UNTOLD_FIELDS and values != _UNTOLD_VALUES.get(field)
    }
    return described_resource | ({"facets": other_facets} if other_facets else {})
