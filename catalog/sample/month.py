"""The month before the first start: people of the sample company ask for access, others decide, and things end.

`data/requests.yaml` says who did what on which day, `data/approval_rules.yaml` who decides. The services of the product
write it, one act after another, while the clock stands at the time of the act (`catalog.sample.past`). Ends that come
due in between are written at their times, and people are told of everything as workers would have told them.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.utils import timezone

from catalog.sample import people
from catalog.sample.past import PastClock, set_back
from catalog.sample.rules import Facts, fill, load_data
from policies.aspects import services as aspect_services
from policies.changes.applying import apply_changes
from policies.changes.shapes import load_changes
from policies.engine.model import Actor
from policies.events import notices
from policies.events.channels.inbox import storage
from policies.http.guard import PAGES
from policies.models import ApprovalRule, Notice, PolicyVersion, SubmittedRequest, User
from policies.models.approval_rule import APPROVAL_RULE_PREFIX
from policies.models.people import ROOT_USERNAME, USER_PREFIX
from policies.pdp import actor_resolution, authorizer, due_changes
from policies.requests import written_ways
from policies.requests.asked import read_asked
from policies.requests.rules import approval_rules
from policies.requests.services import asking, deciding, own_requests
from policies.requests.services.sources import settle_sources

#: How many days ago the company began to work with its catalog.
_DAYS = 28

#: The time of day at which what was given ends, and at which people are told of what ends soon.
_END_OF_DAY, _MORNING = time(18, tzinfo=UTC), time(6, tzinfo=UTC)
#: The days before today up to which people have read what they were told, and from which they are told of ends.
_READ_UNTIL, _REMINDED_FROM = 3, 8
#: Who wrote the approval rules.
_ADMINISTRATOR = "nora.brandt"
#: How long the write of what has come due waits for others: there are none.
_WAIT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that somebody does at a time, in a story; `run` gets the URN of the story's request."""

    at: datetime
    run: Callable[["Story"], None]
    story: "Story"


@dataclass(slots=True)
class Story:
    """The facts of one request; `urn` is empty until somebody asks."""

    facts: Facts = field(default_factory=dict)
    urn: str = ""


@contextmanager
def open_before() -> Iterator[None]:
    """Let a house that is empty be set up before its month: without users it is the day before; otherwise now."""
    if User.objects.exists():
        yield
        return
    with set_back(timedelta(days=_DAYS + 1)):
        yield


def is_untouched() -> bool:
    """Return whether this is the sample company and nobody else, and nobody has asked for anything in it yet."""
    company_names = {ROOT_USERNAME, *people.PEOPLE}
    names = set(User.objects.filter(kind=User.Kind.PERSON).values_list("username", flat=True))
    return names == company_names and not SubmittedRequest.objects.exists() and not ApprovalRule.objects.exists()


def write_month() -> int:
    """Write the month unless somebody else is in the house or it was written before; return the number of requests."""
    if not is_untouched():
        return 0
    now = timezone.now()
    with set_back(timedelta(days=_DAYS)) as clock:
        for act in sorted(_list_acts(now), key=lambda act: act.at):
            _advance(clock, act.at)
            act.run(act.story)
            _make_notices()
    due_changes.apply_due_changes(wait_seconds=_WAIT_SECONDS)
    _make_notices()
    notices.remind(now=timezone.now())
    return SubmittedRequest.objects.count()


def _advance(clock: PastClock, instant: datetime) -> None:
    """Set the clock to an instant, and before to each time up to it at which something begins or ends."""
    while (boundary := _find_next_boundary()) is not None and boundary <= instant:
        clock.set(boundary)
        due_changes.apply_due_changes(wait_seconds=_WAIT_SECONDS)
        _make_notices()
    clock.set(instant)


def _find_next_boundary() -> datetime | None:
    milliseconds = PolicyVersion.load_numbers().next_boundary
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)


def _make_notices() -> None:
    """Make the notices of what has happened since the last call."""
    notices.make_all(seconds=_WAIT_SECONDS)


# -- acts -------------------------------------------------------------------------------------------------------------


def _list_acts(now: datetime) -> Iterator[Act]:
    """Yield everything that happened, in no order."""
    script = load_data("requests")
    house = Story()
    yield Act(_find_instant(now, _DAYS, time(7, tzinfo=UTC)), _write_rules, house)
    for days in range(1, _REMINDED_FROM + 1):
        yield Act(_find_instant(now, days, _MORNING), _remind, house)
    yield Act(_find_instant(now, _READ_UNTIL, _END_OF_DAY), _read_notices, house)
    for facts in script["given"]:
        yield Act(_read_instant(now, facts["at"]), _grant, Story(facts | {"now": now}))
    for template in script["requests"]:
        story = Story(fill(template, script["things"]) | {"now": now})
        yield Act(_read_instant(now, story.facts["at"]), _ask, story)
        for at, name, verb, text, *further in story.facts.get("then", ()):
            yield Act(_read_instant(now, at), _bind(_ACTIONS[verb], name, text, *further), story)


def _find_instant(now: datetime, days: int, at: time) -> datetime:
    return datetime.combine(now.date() - timedelta(days=days), at)


def _read_instant(now: datetime, text: str) -> datetime:
    """Return the instant of `27 09:12`: 27 days before today, at that time (UTC)."""
    days, _, at = text.partition(" ")
    return _find_instant(now, int(days), time.fromisoformat(at).replace(tzinfo=UTC))


def _find_end(facts: Facts) -> datetime:
    return _find_instant(facts["now"], -facts["ends"], _END_OF_DAY)


def _load_person(name: str) -> Actor:
    return actor_resolution.load_actor(urn=f"{USER_PREFIX}{name}")


def _write_rules(_: Story) -> None:
    for name, document in load_data("approval_rules").items():
        terms = {key: value for key, value in document.items() if key not in ("name", "order")}
        approval_rules.create(
            urn=f"{APPROVAL_RULE_PREFIX}{name}",
            name=document["name"],
            order=document["order"],
            terms=terms,
            by=_load_person(_ADMINISTRATOR),
            channel=PAGES,
        )


def _remind(_: Story) -> None:
    notices.remind(now=timezone.now())


def _read_notices(_: Story) -> None:
    for user_id in Notice.objects.filter(read_at=None).order_by().values_list("user_id", flat=True).distinct():
        storage.mark_all_read(user_id=user_id)


def _grant(story: Story) -> None:
    facts = story.facts
    changes = load_changes(written_ways.set_end([facts["change"]], _find_end(facts)))
    apply_changes(changes=changes, by=_load_person(facts["by"]), channel=PAGES, reason=facts["reason"])


def _ask(story: Story) -> None:
    facts = story.facts
    rule_terms = {"ticket": facts["ticket"], "confirmed": ["purpose"]} if "ticket" in facts else {}
    body = {
        "actor": f"{USER_PREFIX}{facts.get('for', facts['by'])}",
        "items": facts["items"],
        "until": _find_end(facts).isoformat(),
        "reason": facts["reason"],
        **rule_terms,
    }
    story.urn = asking.ask(asked_body=read_asked(body), by=_load_person(facts["by"]), channel=PAGES).urn


Action = Callable[[Story, Actor, str, Mapping[str, Any]], object]


def _bind(action: Action, name: str, text: str, further: Mapping[str, Any] | None = None) -> Callable[[Story], None]:
    def run(story: Story) -> None:
        action(story, _load_person(name), text, further or {})

    return run


def _renew(story: Story, by: Actor, text: str, further: Mapping[str, Any]) -> None:
    own_requests.renew(urn=story.urn, by=by, until=_find_end({**story.facts, **further}), reason=text)


def _hand_over(story: Story, by: Actor, text: str, further: Mapping[str, Any]) -> None:
    deciding.hand_over(urn=story.urn, by=by, to=[f"{USER_PREFIX}{name}" for name in further["to"]], note=text)


def _join(_story: Story, person: Actor, text: str, _further: Mapping[str, Any]) -> None:
    """Let the identity provider say of which groups somebody is a member; what waited for it is done."""
    change = aspect_services.AspectChange(person.urn, "corpuser", "groupMembership", {"groups": text.split()})
    aspect_services.apply(changes=[change], by=authorizer.SYSTEM)
    settle_sources()


_ACTIONS: Mapping[str, Action] = {
    "approve": lambda story, by, text, further: deciding.approve(
        urn=story.urn, by=by, channel=PAGES, note=text, **further
    ),
    "deny": lambda story, by, text, further: deciding.deny(urn=story.urn, by=by, channel=PAGES, note=text, **further),
    "comment": lambda story, by, text, _: own_requests.comment(urn=story.urn, by=by, text=text),
    "withdraw": lambda story, by, text, _: own_requests.withdraw(urn=story.urn, by=by, channel=PAGES, note=text),
    "renew": _renew,
    "hand_over": _hand_over,
    "join": _join,
}
