"""Questions about finished effective access reports that a page asks and a worker answers, through the cache.

A question is evaluated once for everybody who asks it, for REPORT_ANSWER_SECONDS at most.
"""

import hashlib
import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.cache import cache

from catalog import urns
from catalog.models import Report
from catalog.reports.run import access_lookup, launcher
from catalog.reports.snapshot.reader import CorruptSnapshot
from catalog.reports.tables import ENTITY, PERSON, ReportColumn, number_column
from policies.engine import selectors
from policies.errors import NotFound
from policies.propagation import pubsub, task_queue

log = logging.getLogger(__name__)

#: The task that has a worker answer a question; its argument is the question as JSON.
ANSWER_TASK = "catalog.answer_access_question"

#: Rows of an answer at most; `manage.py access` prints all.
MAX_ROWS = 10_000

#: Facet by which an entity of a type selects a part of the catalog.
FACETS = {
    "tag": selectors.TAG,
    "domain": selectors.DOMAIN,
    "container": selectors.CONTAINER,
    "glossaryTerm": selectors.GLOSSARY,
    "glossaryNode": selectors.GLOSSARY,
    "dataPlatformInstance": selectors.DATA_PLATFORM_INSTANCE,
    "corpuser": selectors.OWNER,
    "corpGroup": selectors.OWNER,
}

_CHANGE_COLUMNS = (PERSON, number_column("gained", "Gained on"), number_column("lost", "Lost on"))

#: Lifetimes in the cache of answers about finished runs, which never change, and of refusals.
_ANSWER_SECONDS, _REFUSAL_SECONDS = 3600, 60

_QUEUE_UNREACHABLE = "The queue could not be reached, so no worker knows of this question. Ask again."
_UNEXPECTED_ERROR = "The question failed with an unexpected error; the details are in the log of the worker."


@dataclass(frozen=True, slots=True)
class AccessQuestion:
    """A question about a run: "who", "what" or "changed" since an earlier run, for a privilege and a URN."""

    report: str
    since: str
    ask: str
    privilege: str
    urn: str

    def serialize(self) -> str:
        """Return the question as JSON."""
        return json.dumps(asdict(self))

    @property
    def key(self) -> str:
        """The key of the answer in the cache."""
        return f"report-access:{hashlib.sha256(self.serialize().encode()).hexdigest()}"

    @property
    def request_key(self) -> str:
        """The key of the time at which a worker was asked."""
        return f"{self.key}:asked"

    @property
    def start_key(self) -> str:
        """The key that is there while a worker works on the answer."""
        return f"{self.key}:begun"


@dataclass(frozen=True, slots=True)
class AccessAnswer:
    """The columns of an answer, its rows, of which the first MAX_ROWS are kept, and their number; or a `refusal`."""

    columns: tuple[ReportColumn, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    total: int = 0
    refusal: str = ""


class _DeadlinePassed(Exception):
    """A question took longer than REPORT_ANSWER_SECONDS."""


def request_answer(question: AccessQuestion) -> AccessAnswer | None:
    """Return the answer to a question, or None while a worker works on it, which is asked by the first call."""
    if (answer := cache.get(question.key)) is None:
        limit = settings.REPORT_ANSWER_SECONDS
        # Twice the limit, so that what polls learns that no answer came.
        if cache.add(question.request_key, time.time(), timeout=2 * limit):
            try:
                pubsub.check_redis()
                task_queue.enqueue(ANSWER_TASK, question.serialize(), expires=limit)
            except pubsub.list_connection_errors() as error:
                log.warning("question_not_queued", extra={"report": question.report, "error": str(error)})
                cache.delete(question.request_key)
                return AccessAnswer(refusal=_QUEUE_UNREACHABLE)
        elif time.time() - (cache.get(question.request_key) or 0) > limit:
            return AccessAnswer(refusal=_describe_delay() if has_begun(question) else _describe_absence())
        answer = cache.get(question.key)
    return answer if isinstance(answer, AccessAnswer) else None


def has_begun(question: AccessQuestion) -> bool:
    """Whether a worker works on the answer, or did until it was too late."""
    return cache.get(question.start_key) is not None


def answer_question(document: str) -> None:
    """Answer a question that was serialized, and store the answer; one that is answered already is left alone."""
    question = AccessQuestion(**json.loads(document))
    if cache.get(question.key) is not None:
        return
    cache.set(question.start_key, time.time(), timeout=2 * settings.REPORT_ANSWER_SECONDS)
    deadline = time.monotonic() + settings.REPORT_ANSWER_SECONDS

    def check_deadline() -> None:
        launcher.check_worker()
        if time.monotonic() > deadline:
            raise _DeadlinePassed

    try:
        answer = _look_up(question, check_deadline)
    except launcher.WorkerStopping:
        # Whoever waits for the answer asks another worker.
        cache.delete_many([question.request_key, question.start_key])
        return
    except (NotFound, CorruptSnapshot) as refusal:
        answer = AccessAnswer(refusal=str(refusal))
    except _DeadlinePassed:
        answer = AccessAnswer(refusal=_describe_delay())
    except Exception as error:
        log.error("question_failed", extra={"report": question.report}, exc_info=error)
        answer = AccessAnswer(refusal=_UNEXPECTED_ERROR)
    cache.set(question.key, answer, _REFUSAL_SECONDS if answer.refusal else _ANSWER_SECONDS)
    cache.delete_many([question.request_key, question.start_key])


def _look_up(question: AccessQuestion, check_deadline: Callable[[], None]) -> AccessAnswer:
    run, privilege, urn = _load_report(question.report), question.privilege, question.urn
    columns: tuple[ReportColumn, ...]
    rows: list[tuple[Any, ...]]
    match question.ask:
        case "changed":
            changes = access_lookup.count_changes(
                older=_load_report(question.since),
                newer=run,
                privilege=privilege,
                field=FACETS[urns.entity_type(urn)],
                value=urn,
                check_deadline=check_deadline,
            )
            people = changes.gained.keys() | changes.lost.keys()
            columns = _CHANGE_COLUMNS
            rows = [(person, changes.gained[person], changes.lost[person]) for person in people]
            rows.sort(key=lambda row: (-row[1], -row[2], row[0]))
        case "what":
            entities = access_lookup.list_entities(
                report=run, privilege=privilege, person=urn, check_deadline=check_deadline
            )
            columns, rows = (ENTITY,), [(entity,) for entity in entities]
        case _:
            people_urns = access_lookup.list_people(report=run, privilege=privilege, entity=urn)
            columns, rows = (PERSON,), [(person,) for person in people_urns]
    return AccessAnswer(columns, tuple(rows[:MAX_ROWS]), len(rows))


def _load_report(report_id: str) -> Report:
    report = Report.objects.filter(pk=UUID(report_id)).first()
    if report is None:
        raise NotFound("This report was deleted.")
    return report


def _describe_absence() -> str:
    return (
        f"No worker has begun with this question within {settings.REPORT_ANSWER_SECONDS} seconds: none is running, or "
        "all are busy (Settings > Status). Start one and ask again; manage.py access needs none."
    )


def _describe_delay() -> str:
    return (
        f"There was no answer within {settings.REPORT_ANSWER_SECONDS} seconds (REPORT_ANSWER_SECONDS). "
        "manage.py access answers without a limit."
    )
