"""Answers of the API in words, to questions that many rules answer."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

from django.test import Client

from tests.goldens import world
from tests.goldens.world import NAMESPACE, OBJECT, USER

#: How many distinct sentences there have to be.
SENTENCES = 500
MAX_QUESTIONS = 900

ACTORS = [f"{USER}{name}" for name in ("jenny", "james", "tim.schreiber", "nora.brandt", "piet.deboer", "nobody")]
PRIVILEGES = (
    "VIEW_ENTITY_PAGE",
    "EDIT_ENTITY_TAGS",
    "EDIT_ENTITY_DOCS",
    "EDIT_DOMAINS_PRIVILEGE",
    "EDIT_ENTITY_GLOSSARY_TERMS",
    "EDIT_ENTITY_DOC_LINKS",
    "EDIT_LINEAGE",
    "EDIT_ENTITY_STATUS",
    "EDIT_ENTITY",
    "EDIT_USER_PROFILE",
    "READ",
    "dataset:read",
    "MANAGE_POLICIES",
    "NO_SUCH_PRIVILEGE",
)


def list_questions(client: Client) -> Iterator[dict[str, Any]]:
    """Yield questions: every actor and privilege about entities of every type."""
    resources: list[dict[str, Any]] = [{"type": "dataset", "id": OBJECT}, {"urn": NAMESPACE}, {"type": "dataset"}, {}]
    for kind in ("dataset", "dashboard", "chart", "container", "domain", "glossaryTerm", "dataFlow", "corpuser", "tag"):
        answer = client.get("/api/v1/entities/", {"type": kind}).json()
        resources += [{"urn": one["urn"]} for one in answer["results"][: 8 if kind == "dataset" else 2]]
    for resource, actor, privilege in product(resources, ACTORS, PRIVILEGES):
        yield {"actor": actor, "privilege": privilege, "explain": True} | ({"resource": resource} if resource else {})


def list_explanations() -> Iterator[str]:
    """Yield the sentences, each after the question whose answer has it first."""
    client = world.sign_in("root")
    questions = list(list_questions(client))
    chosen = questions[:: max(len(questions) // MAX_QUESTIONS, 1)]
    answer = client.post("/api/v1/authorize/batch", {"questions": chosen}, content_type="application/json")
    assert answer.status_code == 200, answer.content
    seen: set[str] = set()
    for question, decision in zip(chosen, answer.json()["decisions"], strict=True):
        new = [one for one in dict.fromkeys(list_sentences(decision)) if one not in seen]
        if new:
            seen.update(new)
            yield f"{question['actor']} {question['privilege']} {json.dumps(question.get('resource'))}"
            yield from (f"    {sentence}" for sentence in new)


def list_sentences(decision: dict[str, Any]) -> Iterator[str]:
    """Yield what an answer says in words."""
    if "error" in decision:
        yield f"error: {json.dumps(decision['error'], sort_keys=True)}"
        return
    yield from (f"{one['name']} [{one['effect']}]: {one['because']}" for one in decision["reasons"])
    for near in decision["nearest"]:
        yield f"{near['name']} [nearly {near['effect']}]: {near['because']}"
        yield from (
            f"{near['name']} lacks {lack['part']}: {lack['detail']} {json.dumps(lack['changed_by'])} {lack['who']}"
            for lack in near["lacks"]
        )
    yield from (f"unknown {hint['what']} {hint['name']}: {hint['did_you_mean']}" for hint in decision["unknown"])
