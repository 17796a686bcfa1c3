"""The editor of a guardrail: its rule in pickers or as JSON, with its sentence and what breaks it beside the fields."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache

from policies.authoring.pages.form_values import FieldNotes
from policies.authoring.pages.policy_actions import parse_version
from policies.engine.errors import Problem
from policies.engine.guardrails.rules import RuleKind
from policies.errors import Conflict, Forbidden, Invalid, NotFound, PolicyAppError, Stale
from policies.guardrails.pages.draft import EVERYBODY, GuardrailDraft
from policies.guardrails.pages.fields import build_parts_context, describe_incomplete_rule
from policies.guardrails.pages.guardrails import MANAGE_GUARD, MODE_LABELS, SECTION, build_breach_rows
from policies.guardrails.queries import guardrails
from policies.guardrails.services import guardrails as service
from policies.http.guard import get_actor
from policies.http.pages.form_drafts import FormDraft
from policies.http.pages.list_and_form_pages import CHANNEL, UNPROCESSABLE_STATUS, redirect_with_message
from policies.models import Guardrail
from policies.writes import managed_rows, strict_json
from policies.writes.guardrail_check import serialize_judgment

#: Most levels of objects and lists in a rule.
_MAX_DEPTH = 16

#: Most breaches that stand beside the fields.
_MAX_SHOWN_BREACHES = 3

#: The buttons that store the draft, and that change nothing.
_SAVE_VERB, _REFRESH_VERB = "save", "refresh"

_UNSHOWABLE = "The form has no place for all of this; it can only be written as JSON."


@method_decorator(never_cache, name="dispatch")
@MANAGE_GUARD
class GuardrailEditor(View):
    """One request of the editor: the guardrail to be replaced (None: a new one), and the result of trying to save.

    `version` is the one that the edit started from. `refusal` is a sentence where storing was refused as a whole.
    """

    http_method_names = ["get", "post"]

    draft: GuardrailDraft
    form_draft: FormDraft
    urn: str | None = None
    guardrail: Guardrail | None = None
    version: int | None = None
    errors: Sequence[Problem] = ()
    shows_errors = False
    refusal: str = ""
    status: int = HTTPStatus.OK

    def get(self, request: HttpRequest, urn: str | None = None) -> HttpResponse:
        """Page for a new guardrail of the kind that the query names, to change one, or of a draft."""
        self.form_draft = FormDraft(request)
        if urn is not None:
            try:
                self._load(urn)
            except NotFound:
                if not self.form_draft.is_shown:
                    raise
                self.refusal = "This guardrail was deleted while you were changing it. Saving makes a new one."
        if self.form_draft.is_shown and self._show_draft():
            return self._render()
        if self.guardrail is None:
            kind = request.GET.get("kind", "")
            self.draft = GuardrailDraft(kind=RuleKind(kind) if kind in tuple(RuleKind) else RuleKind.NEVER)
            if self.draft.kind in (RuleKind.NOT_BOTH, RuleKind.NO_POLICY):
                self.draft.audience = EVERYBODY
            return self._render()
        guardrail = self.guardrail
        self.version = guardrail.version
        self.draft = GuardrailDraft(guardrail.name, guardrail.description, guardrail.mode)
        if not self.draft.show_rule(guardrail.rule):
            self.draft.rule_text = _format(guardrail.rule)
        return self._render()

    def post(self, request: HttpRequest, urn: str | None = None) -> HttpResponse:
        """Apply the posted form to the draft and run the pressed button; a form that is not stored is kept."""
        self.form_draft = FormDraft(request)
        try:
            if urn is not None:
                self._load(urn)
        except PolicyAppError:
            if (again := self.form_draft.answer_again({})) is not None:
                return again
            raise
        if not self._read_form():
            raise Invalid.from_problem(
                code="draft.unreadable", pointer="", detail="This form was not created by this site, or it is damaged."
            )
        verb, _, argument = self._data.get("go", "").partition(":")
        if (answer := self._run_button(verb or _SAVE_VERB, argument)) is not None:
            self.form_draft.delete()
            return answer
        htmx = getattr(request, "htmx", None)
        if htmx and htmx.target not in (None, "builder"):
            return self._render()
        again = self.form_draft.answer_again(self._describe_outcome())
        return again or self.form_draft.mark(self._render())

    @property
    def _data(self) -> QueryDict:
        """The form that was posted or is shown as a draft."""
        return self.form_draft.data

    def _read_form(self) -> bool:
        """Read the draft from the form; false for a form that this site did not make."""
        self.version = parse_version(self._data.get("version"))
        draft = GuardrailDraft.from_post(self._data)
        if draft is not None:
            self.draft = draft
        return draft is not None

    def _show_draft(self) -> bool:
        """Bring the form to where it was when it was kept; false if it cannot be read any more."""
        if not self._read_form():
            self.form_draft.forget()
            return False
        verb, _, argument = self._data.get("go", _REFRESH_VERB).partition(":")
        # Nothing is stored by looking at it: what came of the attempt was kept with the draft.
        self._run_button(_REFRESH_VERB if verb == _SAVE_VERB else verb, argument)
        outcome = self.form_draft.outcome
        self.refusal = self.refusal or outcome.get("refusal", "")
        self.version = outcome.get("version", self.version)
        if problems := outcome.get("problems"):
            self._show_problems([Problem(*problem) for problem in problems])
        if self.guardrail is not None and self.version != self.guardrail.version:
            self.refusal = f"{self.guardrail.name} was changed while you were changing it. Saving replaces it."
            self.version = self.guardrail.version
        self.status = HTTPStatus.OK
        return True

    def _describe_outcome(self) -> dict[str, Any]:
        """Return what came of an attempt to store the draft, as it is kept with it."""
        problems = [(problem.code, problem.pointer, problem.detail) for problem in self.errors]
        outcome = {"refusal": self.refusal, "version": self.version, "problems": problems}
        return {name: value for name, value in outcome.items() if value}

    def _load(self, urn: str) -> Guardrail:
        self.urn, self.guardrail = urn, guardrails.get_guardrail(urn=urn)
        if self.guardrail.is_built_in:
            raise Forbidden((), f"The guardrail {self.guardrail.name} is built in and cannot be changed.")
        managed_rows.refuse_managed(self.guardrail)
        return self.guardrail

    def _run_button(self, verb: str, argument: str) -> HttpResponse | None:
        draft, (prefix, _, index) = self.draft, argument.partition(":")
        part = draft.find_part(prefix)
        match verb:
            case "save":
                return self._save()
            case "add" if part is not None:
                part[0].add_criterion(part[1], self._data.get(f"{prefix}_new", ""))
            case "remove" if part is not None:
                part[0].remove_criterion(part[1], index)
            case "json":
                draft.rule_text = _format(draft.compose_rule())
            case "form":
                self._leave_json()
            case _:
                pass
        if self._data.get("is_shown") and not self.errors:
            self._show_problems(self._find_problems())
        return None

    def _leave_json(self) -> None:
        rule, problems = self._read_rule()
        if not problems and not self.draft.show_rule(rule):
            problems = (Problem("rule.form", "/rule", _UNSHOWABLE),)
        if problems:
            self.status = UNPROCESSABLE_STATUS
            self._show_problems(problems)

    def _read_rule(self) -> tuple[Any, tuple[Problem, ...]]:
        """Return the rule of the form, or that which its JSON states, or why that cannot be read."""
        if self.draft.rule_text is None:
            return self.draft.compose_rule(), ()
        try:
            return strict_json.loads(self.draft.rule_text.encode(), max_depth=_MAX_DEPTH, label="The rule"), ()
        except Invalid as refusal:
            return None, tuple(Problem(problem.code, "/rule", problem.detail) for problem in refusal.problems)

    def _find_problems(self) -> tuple[Problem, ...]:
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

    def _list_values(self, rule: Any) -> dict[str, Any]:
        draft = self.draft
        return {"name": draft.name, "description": draft.description, "mode": draft.mode, "rule": rule}

    def _save(self) -> HttpResponse | None:
        """Store the draft and redirect to its page; None where it was refused, with the reason set."""
        problems = self._find_problems()
        if problems:
            self.status = UNPROCESSABLE_STATUS
            self._show_problems(problems)
            return None
        values, by = self._list_values(self._read_rule()[0]), get_actor(self.request)
        try:
            if self.urn is None:
                guardrail = service.create(by=by, channel=CHANNEL, **values)
            else:
                guardrail = service.update(urn=self.urn, by=by, channel=CHANNEL, if_version=self.version, **values)
        except (Conflict, NotFound) as refusal:
            self.refusal, self.status = refusal.detail, refusal.status
            return None
        except Stale as refusal:
            self.refusal, self.status = f"{refusal.detail} Saving again replaces it.", refusal.status
            self.version = guardrails.get_guardrail(urn=self.urn or "").version
            return None
        return redirect_with_message(self.request, f"{guardrail.name} is saved.", "guardrail", guardrail.urn)

    def _show_problems(self, problems: Sequence[Problem]) -> None:
        self.errors, self.shows_errors = problems, bool(problems)

    # -- rendering ------------------------------------------------------------------------------------------------

    def _render(self) -> HttpResponse:
        aside = self._build_aside_context()
        htmx = getattr(self.request, "htmx", None)
        if htmx and htmx.target == "builder-aside":
            return render(self.request, "policies/_guardrail_aside.html", aside)
        parts = build_parts_context(self.draft, self.errors, self._data)
        notes = FieldNotes(self.errors, ())
        fields = ("/name", "/description", "/mode", *parts.pop("pointers"))
        general_errors = [
            problem.detail
            for problem in self.errors
            if not f"{problem.pointer}/".startswith(tuple(f"{x}/" for x in fields))
        ]
        name = self.guardrail.name if self.guardrail else ""
        context = {
            **aside,
            **parts,
            "work": self,
            "draft": self.draft,
            "signed_draft": self.draft.to_signed_text(),
            "notes": {name: notes.find(f"/{name}") for name in ("name", "description", "mode", "rule")},
            "modes": [(mode, label, mode == self.draft.mode) for mode, label in MODE_LABELS.items()],
            "general": general_errors,
            "is_wrong": self.shows_errors,
            "enter": "save",
            "is_dirty": self.request.method == "POST",
            "form_draft": self.form_draft.build_context(),
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
        is_sound = not self._find_problems()
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
