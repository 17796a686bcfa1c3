"""The readable part of a table for an actor, as a query, with the contribution of each role."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse

from catalog import urns
from catalog.access import readable_columns
from policies.decisions.pages import explore_common
from policies.decisions.pages.explore_common import AnswerViewer
from policies.decisions.pages.explore_forms import ActorPrivilegesForm
from policies.engine.model import Actor, Decision, Effect, Statement
from policies.engine.requirements import privilege_requirement
from policies.engine.restrictions import RoleAllow, RoleSlice, combine_allows
from policies.errors import Invalid
from policies.http.guard import signed_in
from policies.http.pages.filter_forms import WhyForm
from policies.http.pages.list_and_form_pages import page_view
from policies.pdp import actor_resolution, authorizer, explanations
from policies.pdp.access_requests import AccessRequest, ResourceRef

_DEFAULT_TABLE_NAME = "this_table"


class RestrictionsForm(ActorPrivilegesForm):
    """Actor, dataset or view, and its table name in the database."""

    table = forms.CharField(
        label="Table name in the database",
        required=False,
        max_length=512,
        help_text="Up to three names with dots between them. If empty: its name in the catalog.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


@page_view(signed_in)
def show_restrictions(request: HttpRequest) -> HttpResponse:
    """Show the query for the readable part of a table, and the origin of each restriction."""
    form = RestrictionsForm.from_query(request.GET)
    return explore_common.render_question_page(
        request, route="why-restrictions", form=form, template="why/restrictions.html", build_answer=_build_answer
    )


def _build_answer(form: WhyForm, viewer: AnswerViewer, request: HttpRequest) -> dict[str, Any]:
    data = form.cleaned_data
    if (choices := explore_common.find_choices(form, request)) is not None:
        return {"choices": choices}
    urn, resource_urn = data["actor"] or viewer.actor.urn, data["resource"]
    kind = urns.entity_type(resource_urn)
    if kind not in readable_columns.READ_PRIVILEGES:
        form.add_error("resource", "Name a dataset or a view: nothing else has rows.")
        return {}
    actor, may_view_facts = actor_resolution.load_actor(urn=urn), viewer.may_view_fact(resource_urn)
    resource = ResourceRef(resource_urn, kind)
    decision = authorizer.answer(
        actor=actor, request=AccessRequest(privilege_requirement(readable_columns.READ_PRIVILEGES[kind]), resource)
    )
    allow_statements = (
        [statement for statement in decision.statements if statement.effect is Effect.ALLOW] if may_view_facts else []
    )
    statements_by_role = _group_by_role(actor, allow_statements)
    names = authorizer.load_names(urns={urn, *statements_by_role, *((resource_urn,) if may_view_facts else ())} - {""})
    answer = {
        "is_allowed": decision.is_allowed,
        "sentence": explanations.SENTENCES[decision.code],
        "actor": {"urn": urn, "name": names.get(urn, urn)},
        "resource": explore_common.resource_context(resource_urn, names),
        "may_know": may_view_facts,
        "version": decision.version,
    }
    if may_view_facts and decision.is_allowed:
        answer |= _render_query(form, actor, resource, names.get(resource_urn, ""))
        answer["combination"] = _combination_sentence(decision, statements_by_role)
    answer["parts"] = [
        _build_part(role, statements, decision, names, viewer)
        for role, statements in sorted(statements_by_role.items())
    ]
    return {"answer": answer}


def _group_by_role(actor: Actor, allow_statements: list[Statement]) -> dict[str, list[Statement]]:
    """Return role -> statements that apply to the actor through it; '' for those that apply otherwise."""
    statements_by_role: dict[str, list[Statement]] = {}
    for statement in allow_statements:
        for role in statement.actors.tokens & actor.roles or {""}:
            statements_by_role.setdefault(role, []).append(statement)
    return statements_by_role


def _render_query(form: WhyForm, actor: Actor, resource: ResourceRef, name: str) -> dict[str, str]:
    """Return the query or the reason for its absence; an invalid table name is replaced unless the user typed it."""
    typed_name = form.cleaned_data["table"]
    table_names = [typed_name] if typed_name else [name or _DEFAULT_TABLE_NAME, _DEFAULT_TABLE_NAME]
    detail = ""
    for table in table_names:
        try:
            return {"sql": readable_columns.render_select(actor=actor, resource=resource, table=table, dialect="spark")}
        except readable_columns.TableNotReadable as refusal:
            return {"no_sql": refusal.detail}
        except Invalid as refusal:
            detail = refusal.problems[0].detail
            if typed_name and refusal.problems[0].pointer == "/table":
                form.add_error("table", detail)
    return {"no_sql": detail}


def _combination_sentence(decision: Decision, statements_by_role: Mapping[str, list[Statement]]) -> str:
    is_restricted = any(
        statement.restriction is not None for statements in statements_by_role.values() for statement in statements
    )
    if decision.slices is None:
        if is_restricted:
            return "All of it: one role shows it without restriction, and that lifts what the others restrict."
        return "All of it: nothing restricts reading it."
    if len(decision.slices) == 1:
        return "One part decides: a row shows when it meets all of its conditions, with the columns it lists."
    return (
        f"{len(decision.slices)} parts add up, cell by cell: a cell shows when some part accepts its row and lists its"
        " column."
    )


def _build_part(
    role: str, statements: list[Statement], decision: Decision, names: Mapping[str, str], viewer: AnswerViewer
) -> dict[str, Any]:
    role_slices = combine_allows(RoleAllow(role, statement.restriction) for statement in statements)
    return {
        "role": {"urn": role, "name": names.get(role, role), "url": viewer.account_url(role)} if role else None,
        "verdict": _verdict_sentence(role, role_slices, decision),
        "columns": role_slices[0].columns if role_slices else None,
        "statements": [
            {
                "policy": statement.origin.name,
                "number": statement.origin.index + 1,
                "url": viewer.policy_url(statement.origin.policy),
                "restriction": statement.restriction,
            }
            for statement in statements
        ],
    }


def _verdict_sentence(role: str, role_slices: tuple[RoleSlice, ...] | None, decision: Decision) -> str:
    if role_slices is None:
        return "Shows all of it."
    if not role_slices:
        return "Its lists have no column in common, so it shows nothing."
    if decision.slices is None:
        return "Lifted by another role."
    if any(role_slice.role == role for role_slice in decision.slices):
        return "Counts: within one role conditions must all hold, and only columns in every list are shown."
    return "Shows the same as another role."
