"""Requirements as text, as the decision log stores them: "A and B | C or D", where | binds closest."""

from functools import lru_cache

from policies.engine.requirements import Need, Requirement, privilege_requirement

_OR, _AND, _ANY = " or ", " and ", " | "


def format_requirement(requirement: Requirement) -> str:
    """Return the privileges of a requirement. The relative on which each is needed is left out."""
    return _OR.join(_AND.join(_ANY.join(need.privileges) for need in alternative) for alternative in requirement.any_of)


@lru_cache(maxsize=1024)
def parse_requirement(text: str) -> Requirement:
    """Return the requirement of a text, every privilege on the entity itself; no requirement for no text."""
    if " " not in text:
        return privilege_requirement(text) if text else Requirement(())
    return Requirement(
        tuple(
            tuple(Need(tuple(need.split(_ANY))) for need in alternative.split(_AND)) for alternative in text.split(_OR)
        )
    )
