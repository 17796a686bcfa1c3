"""Plain calls of authorize and authorize/batch: answered from the bytes of the body, without the request of DRF.

Plain are questions of a privilege or operation with at most a user and the URN of a resource, which is what nearly all
callers send. Other bodies, and refused ones, are left to the view.
"""

import time
from collections.abc import Mapping
from typing import Any

from policies.decisions.api import answers, request_serializers
from policies.engine.model import Actor
from policies.http.api import plain_json
from policies.pdp import authorizer, inverse_queries
from policies.propagation import metrics


class LeftToView(Exception):
    """The call is not plain, or is refused: the view answers it."""


def answer_authorize(body: bytes, by: Actor) -> bytes:
    """Return the answer to a plain question. Raises LeftToView, and the errors of `answers.answer_question`."""
    question = plain_json.decode(body)
    if not (request_serializers.is_plain_question(question) and plain_json.has_all_texts(body, _count_texts(question))):
        raise LeftToView
    started_at = time.perf_counter()
    check_may_ask = MayAskCheck(by)
    answer = answers.answer_question(question, by=by, check_may_ask=check_may_ask)
    answer_body = plain_json.encode(answer)
    check_may_ask.count_use()
    metrics.record_authorize(time.perf_counter() - started_at)
    return answer_body


def answer_batch(body: bytes, by: Actor) -> bytes:
    """Return the answers to a batch of plain questions. Raises LeftToView, and the errors of `answers.answer_batch`."""
    payload = plain_json.decode(body)
    if type(payload) is not dict or payload.keys() != {"questions"}:
        raise LeftToView
    questions = payload["questions"]
    if (
        type(questions) is not list
        or len(questions) > request_serializers.MAX_BATCH_QUESTIONS
        or not all(map(request_serializers.is_plain_question, questions))
        or not plain_json.has_all_texts(body, 1 + sum(map(_count_texts, questions)))
    ):
        raise LeftToView
    check_may_ask = MayAskCheck(by)
    answer_body = plain_json.encode(
        answers.answer_batch(payload, by=by, check_may_ask=check_may_ask, is_validated=True)
    )
    check_may_ask.count_use()
    return answer_body


def _count_texts(question: Mapping[str, Any]) -> int:
    """Return how many texts a plain question has: a resource is a name with one member, everything else is a pair."""
    return 2 * len(question) + ("resource" in question)


class MayAskCheck:
    """The check of whether the caller may ask about others, which raises LeftToView unless that is known.

    Deciding it is left to the view, which also logs that decision.
    """

    def __init__(self, by: Actor) -> None:
        self._by = by
        self._was_asked = False

    def __call__(self) -> None:
        """Raise LeftToView unless the caller is known to hold a privilege for it."""
        if not authorizer.is_known_to_hold(by=self._by, any_of=inverse_queries.ASK_ABOUT_OTHERS_PRIVILEGES):
            raise LeftToView
        self._was_asked = True

    def count_use(self) -> None:
        """Count the use of that privilege, if there was one: at the end, when nothing is left to the view any more."""
        if self._was_asked:
            authorizer.count_known_use(by=self._by, any_of=inverse_queries.ASK_ABOUT_OTHERS_PRIVILEGES)
