"""The editor of an approval rule: its fields, its sentence, and how many past requests it would have decided."""

from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from policies.authoring.pages.draft_editor import DraftEditor
from policies.engine.errors import InvalidPolicy, Problem
from policies.engine.families import vocabulary
from policies.engine.model import Actor
from policies.errors import Invalid, Unavailable
from policies.http.pages.list_and_form_pages import CHANNEL
from policies.models import ApprovalRule
from policies.pdp import database_clock
from policies.requests.pages.approval_rules import MANAGE_GUARD, SECTION, STATE_LABELS
from policies.requests.pages.rule_draft import RuleDraft
from policies.requests.pages.rule_fields import build_fields_context
from policies.requests.pages.rule_wording import describe_decided, describe_rule, load_names
from policies.requests.queries import approval_rules
from policies.requests.rules import approval_rules as service
from policies.requests.rules.past_requests import count_decided
from policies.requests.rules.terms import read_terms
from policies.writes import managed_rows


@method_decorator(never_cache, name="dispatch")
@MANAGE_GUARD
class ApprovalRuleEditor(DraftEditor[RuleDraft, ApprovalRule]):
    """One request of the editor of approval rules."""

    noun = "approval rule"
    detail_route = "approval-rule"

    def find_row(self, urn: str) -> ApprovalRule:
        """Return the rule. Raises NotFound, and Conflict for one that is managed as code."""
        rule = approval_rules.get_rule(urn=urn)
        managed_rows.refuse_managed(rule)
        return rule

    def get_version(self, row: ApprovalRule) -> int:
        """Return the version of a rule."""
        version: int = row.version
        return version

    def begin_draft(self, row: ApprovalRule | None) -> RuleDraft:
        """Return the draft of a rule as it is stored, or of a new one, in which owners decide."""
        return RuleDraft() if row is None else RuleDraft.show(row)

    def read_draft(self, data: QueryDict) -> RuleDraft | None:
        """Return the draft that a form sent back; None without a valid signature."""
        return RuleDraft.from_post(data)

    def run_verb(self, verb: str, argument: str) -> None:
        """Add or remove a condition of the filter, a step, or what has to be confirmed; or raise a step."""
        draft, index = self.draft, argument.rpartition(":")[2]
        match verb:
            case "add":
                draft.scope.add_criterion("c", self.data.get(f"{argument}_new", ""))
            case "remove":
                draft.scope.remove_criterion("c", index)
            case "add-step":
                draft.add_step()
            case "remove-step":
                draft.remove_step(index)
            case "raise-step":
                draft.raise_step(index)
            case "add-condition":
                draft.add_condition()
            case "remove-condition":
                draft.remove_condition(index)
            case _:
                pass

    def find_problems(self) -> tuple[Problem, ...]:
        """Return every problem that keeps the draft from being stored."""
        draft = self.draft
        pasted_problems = [*draft.scope.problems, *(problem for step in draft.steps for problem in step.part.problems)]
        if pasted_problems:
            return tuple(pasted_problems)
        try:
            service.validate_values(self._list_values() | {"order": self._find_order()})
        except Invalid as refusal:
            return refusal.problems
        return ()

    def store(self, *, by: Actor) -> ApprovalRule:
        """Store the rule. Raises Conflict, NotFound and Stale."""
        values = self._list_values()
        order = self.draft.parse_order()
        if order is not None:
            values["order"] = order
        if self.urn is None:
            return service.create(by=by, channel=CHANNEL, **values)
        return service.update(urn=self.urn, by=by, channel=CHANNEL, if_version=self.version, **values)

    def _list_values(self) -> dict[str, Any]:
        draft = self.draft
        return {"name": draft.name, "state": draft.state, "terms": draft.compose_terms()}

    def _find_order(self) -> int | str:
        """Return the order that the rule is going to have, what is no number as it was typed."""
        order = self.draft.parse_order()
        if order is not None:
            return order
        return self.row.order if self.row is not None else service.find_next_order()

    # -- rendering ------------------------------------------------------------------------------------------------

    def render(self) -> HttpResponse:
        """Return the page, or what stands beside the fields."""
        aside = self._build_aside_context()
        if self.is_for_aside:
            return render(self.request, "requests/_rule_aside.html", aside)
        fields = build_fields_context(self.draft, self.errors, self.data)
        name = self.row.name if self.row else ""
        page_url = reverse("approval-rule", args=[self.urn]) if self.urn else reverse("approval-rules")
        links = [(name, page_url)] if name else []
        context = {
            **aside,
            **self.build_frame_context(),
            "general": self.list_general_errors(*fields.pop("pointers")),
            **fields,
            "draft": self.draft,
            "signed_draft": self.draft.to_signed_text(),
            "states": [(state, label, state == self.draft.state) for state, label in STATE_LABELS.items()],
            "privileges": list(vocabulary.load_datahub().privileges.values()),
            "heading": f"Edit {name}" if name else "New approval rule",
            "action": reverse("approval-rule-edit", args=[self.urn]) if self.urn else reverse("approval-rule-new"),
            "cancel_url": page_url,
            "breadcrumbs": SECTION.breadcrumbs(*links, "Edit" if self.urn else "Create"),
        }
        return render(self.request, "requests/rule_form.html", context, status=self.status)

    def _build_aside_context(self) -> dict[str, Any]:
        """Return the sentence of the rule and, where it can be read, how many past requests it would have decided."""
        terms = self.draft.compose_terms()
        return {"sentence": describe_rule(terms, load_names([terms])), "decided": self._describe_decided(terms)}

    def _describe_decided(self, terms: dict[str, Any]) -> str:
        order = self._find_order()
        if self.draft.state not in ApprovalRule.State.values or not isinstance(order, int):
            return ""
        try:
            decided = count_decided(terms=read_terms(terms), order=order, urn=self.urn, now=database_clock.get_now())
        except InvalidPolicy:
            return ""
        except Unavailable as refusal:
            return refusal.detail
        return describe_decided(decided, is_active=self.draft.state == ApprovalRule.State.ACTIVE)
