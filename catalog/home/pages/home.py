"""Home: what its reader has, asked for and owns, what waits for a decision, and what administrators look at first."""

from datetime import timedelta
from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from catalog.home.pages import rows
from catalog.home.pages.rows import Reader
from catalog.home.queries import held_entities, owned
from catalog.home.queries.endings import HouseEndings
from catalog.home.services import visits
from catalog.reports.queries import findings
from policies.engine import wording
from policies.http.guard import get_actor, signed_in
from policies.http.pages.list_and_form_pages import page_view
from policies.models import User
from policies.pdp import authorizer
from policies.requests.pages.requests import build_rows as build_request_rows
from policies.requests.queries import requests
from policies.writes import change_log_queries

#: Rows of each list; the page of the list has them all.
LISTED = 5

#: What changed within this time stands on the page of administrators.
_WEEK = timedelta(days=7)


@page_view(signed_in)
def show_home(request: HttpRequest) -> HttpResponse:
    """Page with the first rows of each list that is about its reader."""
    reader, user = Reader.from_actor(get_actor(request)), cast("User", request.user)
    context = {**_build_access(reader), **_build_owned(reader), "has_requests": settings.AUTH_POLICIES_ENABLED}
    if settings.AUTH_POLICIES_ENABLED:
        context |= _build_requests(reader)
    is_administrator = requests.is_administrator(reader.actor)
    if is_administrator:
        context |= _build_house(reader, user)
    context |= {
        "name": user.name,
        "is_administrator": is_administrator,
        "is_new": not (is_administrator or context["has_own_ways"] or any(context.get(name) for name in _OWN_LISTS)),
        "questions": _list_questions(),
    }
    return render(request, "home/page.html", context)


#: Lists that are empty for somebody who is new; what all users have is not their own.
_OWN_LISTS = ("own_requests", "owned", "decisions")


def _list_questions() -> list[dict[str, str]]:
    """Return the questions for somebody who is new, each with the page that answers it."""
    return [
        {"label": "What may I do here?", "url": reverse("why-can", query={"resource": ""}), "icon": "why"},
        {
            "label": "Which data may I view?",
            "url": reverse("why-what", query={"privilege": owned.REACHING_PRIVILEGE}),
            "icon": "view",
        },
        {"label": "Why may I not do something?", "url": reverse("why"), "icon": "lock"},
    ]


def _build_access(reader: Reader) -> dict[str, Any]:
    """Return *What I have*: entities by domain, through what, and what ends soon."""
    ways = reader.list_ways()
    counts = held_entities.count_held(by=reader.actor)
    through = rows.count_through(ways, rows.load_through_names(ways))
    endings = rows.list_endings(reader, ways)
    return {
        "held": wording.word_count(counts.total, "entity", "entities") if counts.total else "",
        "domains": rows.build_domain_rows(counts.by_domain[:LISTED]),
        "domain_count": len(counts.by_domain),
        "through": through[:LISTED],
        "has_own_ways": any(step["kind"] != "everyone" for row in through for step in row["way"].through),
        "policies": wording.word_count(len({way.policy for way in ways}), "policy", "policies") if ways else "",
        "endings": rows.build_ending_rows(reader, endings[:LISTED]),
        "ending_count": len(endings),
    }


def _build_owned(reader: Reader) -> dict[str, Any]:
    entities = owned.list_owned(by=reader.actor)
    return {
        "owned": rows.build_owned_rows(reader, list(entities[:LISTED])),
        "owned_count": entities.order_by().count(),
    }


def _build_requests(reader: Reader) -> dict[str, Any]:
    """Return *My requests*, and *To decide* with the most urgent first."""
    own = requests.list_requests(by=reader.actor, mine=True)
    decisions = requests.list_requests(by=reader.actor, to_decide=True)
    own_rows, decision_rows = list(own[: LISTED + 1]), list(decisions[: LISTED + 1])
    built = build_request_rows([*own_rows[:LISTED], *decision_rows[:LISTED]], reader=reader.actor)
    own_count = min(len(own_rows), LISTED)
    return {
        "own_requests": built[:own_count],
        "has_more_requests": len(own_rows) > LISTED,
        "decisions": built[own_count:],
        "has_more_decisions": len(decision_rows) > LISTED,
    }


def _build_house(reader: Reader, user: User) -> dict[str, Any]:
    """Return the cards for administrators: changes of the week, findings since the last visit, and coming ends."""
    previous = visits.note_visit(user=user, now=reader.now)
    new_findings = findings.list_findings(states=findings.WAITING_STATES)
    if previous is not None:
        new_findings = new_findings.filter(first_seen_at__gt=previous)
    house = HouseEndings(until=reader.soon)
    since = reader.now - _WEEK
    changes = change_log_queries.list_policy_events().filter(at__gte=since)
    events = list(changes[:LISTED])
    names = authorizer.load_names(urns={event.by for event in events}) if events else {}
    return {
        "changes": [
            {
                "name": event.name,
                "url": reverse("policy-version", args=[event.version, event.policy_urn])
                if settings.AUTH_POLICIES_ENABLED
                else "",
                "verb": event.get_verb_display(),
                "by": names.get(event.by, "the system" if event.by == authorizer.SYSTEM.urn else event.by),
                "at": event.at,
            }
            for event in events
        ],
        "change_count": wording.word_count(changes.order_by().count(), "change of policies", "changes of policies"),
        "other_change_count": f"{change_log_queries.list_change_events().filter(at__gte=since).order_by().count():,}",
        "previous_visit": previous,
        "findings": [
            {
                "sentence": finding.sentence or "A finding about something that you may not view.",
                "url": reverse("finding", args=[finding.pk]),
                "severity": finding.get_severity_display(),
                "since": finding.first_seen_at,
            }
            for finding in findings.redact(findings=new_findings[:LISTED], by=reader.actor)
        ],
        "finding_count": f"{new_findings.order_by().count():,}",
        "house_endings": rows.build_house_rows(reader, house[:LISTED]),
        "house_ending_count": len(house),
    }
