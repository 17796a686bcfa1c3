"""The editor of a guardrail: its rule in pickers or as JSON, with its sentence and what breaks it beside the fields."""

import json
from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from policies.authoring.pages.draft_editor import DraftEditor
from policies.authoring.pages.form_values import FieldNotes
from policies.engine.errors import Problem
from policies.engine.guardrails.rules import RuleKind
from policies.engine.model import Actor
from policies.errors import Forbidden, Invalid
from policies.guardrails.pages.draft import EVERYBODY, GuardrailDraft
from policies.guardrails.pages.fields import build_parts_context, describe_incomplete_rule
from policies.guardrails.pages.guardrails import MANAGE_GUARD, MODE_LABELS, SECTION, build_breach_rows
from policies.guardrails.queries import guardrails
from policies.guardrails.services import guardrails as service
from policies.http.pages.list_and_form_pages import CHANNEL, UNPROCESSABLE_STATUS
from policies.models import Guardrail
from policies.writes import managed_rows, strict_json
from policies.writes.guardrail_check import serialize_judgment

#: Most levels of objects and lists in a rule.
_MAX_DEPTH = 16

#: Most breaches that stand beside the fields.
_MAX_SHOWN_BREACHES = 3

_UNSHOWABLE = "The form has no place for all of this; it can only be written as JSON."


@method_decorator(never_cache, name="dispatch")
@MANAGE_GUARD
class GuardrailEditor(DraftEditor[GuardrailDraft, Guardrail]):
    """One request of the editor of guardrails."""

    noun = "guardrail"
    detail_route = "guardrail"

    def find_row(self, urn: str) -> Guardrail:
        """Return the guardrail. Raises NotFound, Forbidden for one that is built in, Conflict for one in files."""
        guardrail = guardrails.get_guardrail(urn=urn)
        if guardrail.is_built_in:
            raise Forbidden((), f"The guardrail {guardrail.name} is built in and cannot be changed.")
        managed_rows.refuse_managed(guardrail)
        return guardrail

    def get_version(self, row: Guardrail) -> int:
        """Return the version of a guardrail."""
        version: int = row.version
        return version

    def get_name(self, row: Guardrail) -> str:
        """Return the name of a guardrail."""
        return str(row.name)

    def begin_draft(self, row: Guardrail | None) -> GuardrailDraft:
        """Return the draft of a guardrail, as JSON where the form cannot show it, or of the kind in the query."""
        if row is None:
            kind = self.request.GET.get("kind", "")
            draft = GuardrailDraft(kind=RuleKind(kind) if kind in tuple(RuleKind) else RuleKind.NEVER)
            if draft.kind in (RuleKind.NOT_BOTH, RuleKind.NO_POLICY):
                draft.audience = EVERYBODY
            return draft
        draft = GuardrailDraft(row.name, row.description, row.mode)
        if not draft.show_rule(row.rule):
            draft.rule_text = _format(row.rule)
        return draft

    def read_draft(self, data: QueryDict) -> GuardrailDraft | None:
        """Return the draft that a form sent back; None without a valid signature."""
        return GuardrailDraft.from_post(data)

    def run_verb(self, verb: str, argument: str) -> None:
        """Add or remove a condition, or change between the form and JSON."""
        draft, (prefix, _, index) = self.draft, argument.partition(":")
        part = draft.find_part(prefix)
        match verb:
            case "add" if part is not None:
                part[0].add_criterion(part[1], self.data.get(f"{prefix}_new", ""))
            case "remove" if part is not None:
                part[0].remove_criterion(part[1], index)
            case "json":
                draft.rule_text = _format(draft.compose_rule())
            case "form":
                self._leave_json()
            case _:
                pass

    def find_problems(self) -> tuple[Problem, ...]:
        """Return every problem that keeps the draft from being stored."""
        rule, problems = self._read_rule()
        pasted_problems = tuple(problem for part in self.draft.parts.values() for problem in part.problems)
        if problems or pasted_problems:
            return problems or pasted_problems
        try:
            service.validate_values(self._list_values(rule), urn=self.urn or "")
        except Invalid as refusal:
            return refusal.problems
        return ()

    def store(self, *, by: Actor) -> Guardrail:
        """Store the guardrail. Raises Conflict, NotFound and Stale."""
        values = self._list_values(self._read_rule()[0])
        if self.urn is None:
            return service.create(by=by, channel=CHANNEL, **values)
        return service.update(urn=self.urn, by=by, channel=CHANNEL, if_version=self.version, **values)

    def _leave_json(self) -> None:
        rule, problems = self._read_rule()
        if not problems and not self.draft.show_rule(rule):
            problems = (Problem("rule.form", "/rule", _UNSHOWABLE),)
        if problems:
            self.status = UNPROCESSABLE_STATUS
            self.show_problems(problems)

    def _read_rule(self) -> tuple[Any, tuple[Problem, ...]]:
        """Return the rule of the form, or that which its JSON states, or why that cannot be read."""
        if self.draft.rule_text is None:
            return self.draft.compose_rule(), ()
        try:
            return strict_json.loads(self.draft.rule_text.encode(), max_depth=_MAX_DEPTH, label="The rule"), ()
        except Invalid as refusal:
            return None, tuple(Problem(problem.code, "/rule", problem.detail) for problem in refusal.problems)

    def _list_values(self, rule: Any) -> dict[str, Any]:
        draft = self.draft
        return {"name": draft.name, "description": draft.description, "mode": draft.mode, "rule": rule}

    # -- rendering ------------------------------------------------------------------------------------------------

    def render(self) -> HttpResponse:
        """Return the page, or what stands beside the fields."""
        aside = self._build_aside_context()
        if self.is_for_aside:
            return render(self.request, "policies/_guardrail_aside.html", aside)
        parts = build_parts_context(self.draft, self.errors, self.data)
        notes = FieldNotes(self.errors, ())
        name = self.row.name if self.row else ""
        context = {
            **aside,
            **self.build_frame_context(),
            "general": self.list_general_errors("/name", "/description", "/mode", *parts.pop("pointers")),
            **parts,
            "draft": self.draft,
            "signed_draft": self.draft.to_signed_text(),
            "notes": {name: notes.find(f"/{name}") for name in ("name", "description", "mode", "rule")},
            "modes": [(mode, label, mode == self.draft.mode) for mode, label in MODE_LABELS.items()],
            "heading": f"Edit {name}" if name else "New guardrail",
            "action": reverse("guardrail-edit", args=[self.urn]) if self.urn else reverse("guardrail-new"),
            "cancel_url": reverse("guardrail", args=[self.urn]) if self.urn else reverse("guardrails"),
            "breadcrumbs": SECTION.breadcrumbs(
                *([(name, reverse("guardrail", args=[self.urn]))] if name else []), "Edit" if self.urn else "Create"
            ),
        }
        return render(self.request, "policies/guardrail_form.html", context, status=self.status)

    def _build_aside_context(self) -> dict[str, Any]:
        """Return the sentence of the rule and, where it can be judged, what breaks it already or is going to."""
        rule, _ = self._read_rule()
        is_sound = not self.find_problems()
        judgment = service.judge_rule(rule) if is_sound else None
        breaches = [] if judgment is None else serialize_judgment(judgment, limit=_MAX_SHOWN_BREACHES)
        return {
            "sentence": describe_incomplete_rule(rule),
            "is_sound": is_sound,
            "is_broken": judgment is not None and judgment.status is not Guardrail.Status.HOLDS,
            "breach_rows": build_breach_rows(breaches),
            "breach_count": 0 if judgment is None else judgment.count,
        }


def _format(rule: Mapping[str, Any]) -> str:
    return json.dumps(rule, indent=2, ensure_ascii=False)
