"""Plain calls of AuthZEN's evaluation and evaluations: answered from the bytes of the body, without Django's request.

Plain are evaluations of a subject and a resource by type and id and an action by name, without properties, context and
options. Other bodies, and refused ones, are left to the view.
"""

from collections.abc import Callable, Mapping
from typing import Any

from catalog.protocols.authzen import evaluation, request_models
from policies.decisions.api.plain_calls import LeftToView, MayAskCheck
from policies.engine.model import Actor
from policies.http.api import plain_json

#: Member of a plain evaluation → names of its members.
_PLAIN_MEMBERS = {"subject": {"type", "id"}, "action": {"name"}, "resource": {"type", "id"}}


def answer_evaluation(body: bytes, by: Actor) -> bytes:
    """Return the answer to a plain evaluation. Raises LeftToView, and the errors of `evaluation.evaluate`."""
    members = plain_json.decode(body, max_signs=request_models.MAX_SIGNS)
    if not (
        _is_plain(members)
        and members.keys() == _PLAIN_MEMBERS.keys()
        and plain_json.has_all_texts(body, _count_texts(members))
    ):
        raise LeftToView
    return _answer(evaluation.evaluate, members, by)


def answer_evaluations(body: bytes, by: Actor) -> bytes:
    """Return the answers to a batch of plain evaluations. Raises LeftToView, and the errors of the view."""
    batch = plain_json.decode(body, max_signs=request_models.MAX_SIGNS)
    if type(batch) is not dict or type(items := batch.pop("evaluations", None)) is not list or not items:
        raise LeftToView
    if not (
        len(items) <= request_models.MAX_ITEMS
        and _is_plain(batch)
        and all(map(_is_plain, items))
        and plain_json.has_all_texts(body, 1 + _count_texts(batch) + sum(map(_count_texts, items)))
    ):
        raise LeftToView
    members = {**batch, "evaluations": items}
    return _answer(evaluation.evaluate_batch, members, by)


def _answer(
    evaluate: Callable[[Mapping[str, Any], Actor, MayAskCheck], Any], members: Mapping[str, Any], by: Actor
) -> bytes:
    check_may_ask = MayAskCheck(by)
    answer_body = plain_json.encode_ascii(evaluate(members, by, check_may_ask))
    check_may_ask.count_use()
    return answer_body


def _is_plain(members: Any) -> bool:
    """Return whether these are members of an evaluation, as objects of texts."""
    if type(members) is not dict or not members.keys() <= _PLAIN_MEMBERS.keys():
        return False
    return all(
        type(party) is dict
        and party.keys() == _PLAIN_MEMBERS[name]
        and all(type(text) is str for text in party.values())
        for name, party in members.items()
    )


def _count_texts(members: Mapping[str, Mapping[str, str]]) -> int:
    """Return how many texts plain members have, names included."""
    return sum(1 + 2 * len(party) for party in members.values())
