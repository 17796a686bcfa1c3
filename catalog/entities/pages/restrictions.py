"""Which part of a table somebody may read, as a query, and which role contributes what to it."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from catalog import urns
from catalog.access import readable_columns
from policies.decisions.pages import explore_common
from policies.decisions.pages.explore_common import Asker
from policies.decisions.pages.explore_forms import CanForm
from policies.engine.model import Actor, Decision, Effect, Statement
from policies.engine.requirements import one
from policies.engine.restrictions import RoleAllow, Slice, combine
from policies.errors import Invalid
from policies.http.guard import signed_in
from policies.http.pages.filter_forms import WhyForm
from policies.pdp import actor_resolution, authorizer, explanations
from policies.pdp.authorizer import Ask, Asked

_NAMELESS = "this_table"


class RestrictionsForm(CanForm):
    """Who, which dataset or view, and what the database calls it."""

    table = forms.CharField(
        label="Table name in the database",
        required=False,
        max_length=512,
        help_text="Up to three names with dots between them. If empty: its name in the catalog.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


@require_GET
@never_cache
@signed_in
def page(request: HttpRequest) -> HttpResponse:
    """The query that shows what somebody may read of a table, and where each part of it comes from."""
    form = RestrictionsForm.asked(request.GET)
    return explore_common.page(
        request, route="why-restrictions", form=form, template="why/restrictions.html", answer=_answer
    )


def _answer(form: WhyForm, asker: Asker, request: HttpRequest) -> dict[str, Any]:
    data = form.cleaned_data
    if (choices := explore_common.choices(form, request)) is not None:
        return {"choices": choices}
    urn, resource = data["actor"] or asker.actor.urn, data["resource"]
    kind = urns.type_of(resource)
    if kind not in readable_columns.READS:
        form.add_error("resource", "Name a dataset or a view: nothing else has rows.")
        return {}
    actor, may_know = actor_resolution.actor(urn=urn), asker.may_know(resource)
    asked = Asked(resource, kind)
    decision = authorizer.answer(actor=actor, ask=Ask(one(readable_columns.READS[kind]), asked))
    allows = [one for one in decision.statements if one.effect is Effect.ALLOW] if may_know else []
    by_role = _by_role(actor, allows)
    names = authorizer.names(urns={urn, *by_role, *((resource,) if may_know else ())} - {""})
    answer = {
        "is_allowed": decision.is_allowed,
        "sentence": explanations.SENTENCES[decision.code],
        "actor": {"urn": urn, "name": names.get(urn, urn)},
        "resource": explore_common.resource_of(resource, names),
        "may_know": may_know,
        "version": decision.version,
    }
    if may_know and decision.is_allowed:
        answer |= _query(form, actor, asked, names.get(resource, ""))
        answer["combination"] = _combination(decision, by_role)
    answer["parts"] = [_part(role, listed, decision, names, asker) for role, listed in sorted(by_role.items())]
    return {"answer": answer}


def _by_role(actor: Actor, allows: list[Statement]) -> dict[str, list[Statement]]:
    """Return the statements under each role through which the actor holds them; '' for those held otherwise."""
    found: dict[str, list[Statement]] = {}
    for statement in allows:
        for role in statement.actors.tokens & actor.roles or {""}:
            found.setdefault(role, []).append(statement)
    return found


def _query(form: WhyForm, actor: Actor, asked: Asked, name: str) -> dict[str, str]:
    """Return the query, or why there is none; a name that no database takes is replaced unless it was typed."""
    typed = form.cleaned_data["table"]
    tried = [typed] if typed else [name or _NAMELESS, _NAMELESS]
    detail = ""
    for table in tried:
        try:
            return {"sql": readable_columns.select(actor=actor, asked=asked, table=table, dialect="spark")}
        except readable_columns.NotReadable as refusal:
            return {"no_sql": refusal.detail}
        except Invalid as refusal:
            detail = refusal.problems[0].detail
            if typed and refusal.problems[0].pointer == "/table":
                form.add_error("table", detail)
    return {"no_sql": detail}


def _combination(decision: Decision, by_role: Mapping[str, list[Statement]]) -> str:
    restricted = any(one.restriction is not None for listed in by_role.values() for one in listed)
    if decision.slices is None:
        if restricted:
            return "All of it: one role shows it without restriction, and that lifts what the others restrict."
        return "All of it: nothing restricts reading it."
    if len(decision.slices) == 1:
        return "One part decides: a row shows when it meets all of its conditions, with the columns it lists."
    return (
        f"{len(decision.slices)} parts add up, cell by cell: a cell shows when some part accepts its row and lists its"
        " column."
    )


def _part(
    role: str, listed: list[Statement], decision: Decision, names: Mapping[str, str], asker: Asker
) -> dict[str, Any]:
    combined = combine(RoleAllow(role, statement.restriction) for statement in listed)
    return {
        "role": {"urn": role, "name": names.get(role, role), "url": asker.holder_url(role)} if role else None,
        "verdict": _verdict(role, combined, decision),
        "columns": combined[0].columns if combined else None,
        "statements": [
            {
                "policy": statement.origin.name,
                "number": statement.origin.index + 1,
                "url": asker.policy_url(statement.origin.policy),
                "restriction": statement.restriction,
            }
            for statement in listed
        ],
    }


def _verdict(role: str, combined: tuple[Slice, ...] | None, decision: Decision) -> str:
    if combined is None:
        return "Shows all of it."
    if not combined:
        return "Its lists have no column in common, so it shows nothing."
    if decision.slices is None:
        return "Lifted by another role."
    if any(one.role == role for one in decision.slices):
        return "Counts: within one role conditions must all hold, and only columns in every list are shown."
    return "Shows the same as another role."
