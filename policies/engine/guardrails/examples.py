"""Examples as JSON: whoever asks `authorize` about entities made like them gets the answer that they give."""

from typing import Any

from policies.engine.model import Question
from policies.engine.selectors import CONTAINER, DOMAIN, GLOSSARY, TAG, Resource

#: The lists of an example's resource, and the facets that they hold.
_LISTS = {"tags": TAG, "domains": DOMAIN, "terms": GLOSSARY, "containers": CONTAINER}


def serialize_question(question: Question) -> dict[str, Any]:
    """Return a question as an example of the API (api-next.md section 3)."""
    actor = question.actor
    return {
        "actor": {"urn": actor.urn, "groups": sorted(actor.groups), "roles": sorted(actor.roles)},
        "privilege": question.privilege,
        "resource": None if question.resource is None else _serialize_resource(question.resource),
        "sub_resources": [resource.urn for resource in question.subresources],
    }


def _serialize_resource(resource: Resource) -> dict[str, Any]:
    owners = sorted(resource.owners, key=lambda owner: (owner.actor, owner.type))
    return {
        "urn": resource.urn,
        "type": resource.type,
        "owners": [{"owner": owner.actor, "type": owner.type or None} for owner in owners],
        **{name: sorted(resource.facets.get(field, ())) for name, field in _LISTS.items()},
    }
