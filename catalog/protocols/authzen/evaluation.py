"""Evaluations: each becomes a question of ours, all of a batch are answered together."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from catalog.protocols.authzen import identifiers
from catalog.protocols.authzen.request_models import Malformed, Members, Reader
from policies.decisions.api import request_serializers
from policies.decisions.api.request_serializers import Question
from policies.engine import actor_conditions
from policies.engine.model import Actor, Decision
from policies.errors import Forbidden, PolicyAppError
from policies.pdp import authorizer
from policies.pdp.authorizer import Ask

#: Members that stand at the top of a batch for items that lack them; an item replaces one whole.
_DEFAULTS = ("subject", "action", "resource", "context")

Answer = dict[str, Any]


def evaluation(reader: Reader, by: Actor) -> Answer:
    """Answer one evaluation. Raises Malformed, Forbidden and what `authority.answer` raises."""
    question = _question(reader)
    (found,) = _answers([question], by)
    if isinstance(found, Forbidden):
        raise found
    if isinstance(found, PolicyAppError):
        raise Malformed(found.detail)
    return found


def evaluations(reader: Reader, by: Actor) -> Answer:
    """Answer a batch in order, or like one evaluation where there is nothing to evaluate in turn.

    A broken item is refused in its place. Raises Malformed for a broken batch, and Forbidden.
    """
    semantic, items = reader.semantic(), reader.evaluations()
    if not items and not reader.wrong:
        return evaluation(reader, by)
    reader.finish()
    read = [_read(item, reader.members) for item in items]
    answered = iter(_answers([one for one in read if not isinstance(one, Malformed)], by))
    shown = []
    for one in read:
        found = one if isinstance(one, Malformed) else next(answered)
        if isinstance(found, Forbidden):
            raise found
        shown.append(_refused(found) if isinstance(found, PolicyAppError) else found)
        if semantic.ends_with(is_allowed=shown[-1]["decision"]):
            break
    return {"evaluations": shown}


def may_ask(by: Actor) -> None:
    """Raise Forbidden unless the caller may ask about somebody else."""
    authorizer.require(by=by, any_of=request_serializers.OTHERS)


def _read(item: Any, defaults: Members) -> dict[str, Any] | Malformed:
    if not isinstance(item, dict):
        return Malformed("An evaluation must be an object.")
    whole = {name: defaults[name] for name in _DEFAULTS if name in defaults} | item
    try:
        return _question(Reader(whole))
    except Malformed as error:
        return error


def _question(reader: Reader) -> dict[str, Any]:
    """Return an evaluation as a question of ours; one whose subject cannot act here has no actor."""
    subject, action, resource = reader.subject(), reader.action(), reader.resource()
    reader.context()
    reader.finish()
    return {
        "actor": identifiers.actor(subject),
        "privilege": identifiers.privilege(action),
        "resource": identifiers.asked(resource),
        "said": identifiers.said(resource),
        "circumstances": {**subject.properties, **action.properties},
    }


def _answers(asked: Sequence[dict[str, Any]], by: Actor) -> list[Answer | PolicyAppError]:
    """Answer the questions in order; a subject that cannot act here is denied without asking."""
    known = [one for one in asked if one["actor"] is not None]
    understood = request_serializers.understand(sent=known, by=by, may_ask=lambda: may_ask(by)) if known else []
    asks = [_put(one, sent) for one, sent in zip(understood, known, strict=True) if isinstance(one, Question)]
    decisions = iter(authorizer.answer_logged(asks=asks) if asks else ())
    answers = iter([_shown(next(decisions)) if isinstance(one, Question) else one for one in understood])
    return [_nobody() if one["actor"] is None else next(answers) for one in asked]


def _put(question: Question, sent: dict[str, Any]) -> tuple[Actor, Ask]:
    """Return a question with what the request says of its parties in place of what is stored."""
    ask = question.ask
    if ask.resource is not None and sent["said"]:
        ask = replace(ask, resource=replace(ask.resource, said=sent["said"]))
    return actor_conditions.overridden(question.actor, sent["circumstances"]), ask


def _shown(decision: Decision) -> Answer:
    context = {"code": decision.code.value, "policy_version": decision.version}
    return {"decision": decision.is_allowed, "context": context}


def _nobody() -> Answer:
    return {"decision": False, "context": {"code": "subject_unknown"}}


def _refused(error: PolicyAppError) -> Answer:
    return {"decision": False, "context": {"error": {"status": error.status, "message": error.detail}}}
