"""The statement editor: a Datazone policy as a form and as JSON, kept in step with each other."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from policies.authoring.pages.datazone_draft import MAX_VISIBLE_STATEMENTS, DatazoneDraft
from policies.authoring.pages.datazone_fields import build_statement_cards, list_statement_remarks, search_objects
from policies.authoring.pages.datazone_wording import describe_statements
from policies.authoring.pages.editor import SAVE_VERBS, PolicyEditor
from policies.authoring.pages.form_values import FieldNotes, is_within
from policies.authoring.pages.presenters import MANAGE_GUARD
from policies.authoring.pages.validity_fields import TIME_FIELDS, PostedTimes
from policies.authoring.services import policy_drafts
from policies.engine.errors import Problem
from policies.engine.families import datazone
from policies.engine.families.datazone_resource_patterns import list_types
from policies.engine.families.validity import UNLIMITED
from policies.errors import Invalid, NotFound
from policies.http.pages.list_and_form_pages import UNPROCESSABLE_STATUS, page_view
from policies.http.pages.people_picker import PeoplePicker
from policies.models import Policy

_STATE_CHOICES = ((Policy.State.ACTIVE, "Active"), (Policy.State.INACTIVE, "Inactive"))

#: Pointers of the parts of a document that have a field in the form.
_FORM_PARTS = (
    *("/name", "/roles", "/state", "/description", "/valid_from", "/valid_until"),
    *(f"/statements/{index}" for index in range(MAX_VISIBLE_STATEMENTS)),
)
_MAX_GENERAL_ERRORS = 10
#: Buttons of one statement, and the one that adds a statement.
_STATEMENT_VERBS = ("add", "copy", "remove", "up", "down", "open", "close", "find", "use")


class DatazoneEditor(PolicyEditor):
    """The statement editor: whether saving was tried, so that problems are shown, and those found only while saving."""

    family = datazone.NAME
    draft_class = DatazoneDraft
    template_name = "policies/statements.html"
    aside_template = "policies/_statements_aside.html"

    draft: DatazoneDraft
    is_tried = False
    save_problems: Sequence[Problem] = ()

    def run_button(self, verb: str, argument: str) -> HttpResponse | None:
        """Run a button, unless there is text that could not be applied to the form."""
        pressed_verb = self.data.get("go", "").partition(":")[0]
        self.is_tried = self.data.get("tried") == "1" or pressed_verb in ("apply", *SAVE_VERBS)
        if self.draft.has_unapplied_text:
            self.status = UNPROCESSABLE_STATUS
        elif verb in SAVE_VERBS:
            return self.save()
        elif verb in _STATEMENT_VERBS:
            index, _, field_argument = argument.partition(":")
            name, _, value = field_argument.partition(":")
            self.draft.handle_button(verb, index, name, value)
        return None

    def find_problems(self) -> tuple[Problem, ...]:
        """Return every problem of the draft, and of the times beside its document."""
        times = self.draft.times
        if times is None:
            return super().find_problems()
        begins, ends = times.values
        try:
            policy_drafts.validate_draft_with_times(self.draft.policy_input, begins=begins, ends=ends)
        except Invalid as refusal:
            return refusal.problems
        return ()

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show the problems beside those that are found again."""
        self.save_problems = problems

    def build_context(self, problems: Sequence[Problem], lint_problems: Sequence[Problem]) -> dict[str, Any]:
        """Return the context of the fields and of the JSON."""
        errors = tuple(dict.fromkeys((*problems, *self.save_problems))) if self.is_tried else ()
        notes, draft = FieldNotes(errors, lint_problems), self.draft
        sentences = describe_statements(form.item for form in draft.statement_forms[:MAX_VISIBLE_STATEMENTS])
        return {
            "writing": draft,
            "enter": "refresh",
            "cards": build_statement_cards(draft, notes, sentences),
            "remarks": list_statement_remarks((*errors, *lint_problems), len(sentences)),
            "hidden": max(len(draft.statement_forms) - MAX_VISIBLE_STATEMENTS, 0),
            "roles": self._build_roles_picker(notes),
            "name": draft.document.get("name", ""),
            "states": [(*state, draft.state == state[0]) for state in _STATE_CHOICES],
            "notes": {name: notes.find(f"/{name}") for name in ("name", "state", "description")},
            "times": self._build_time_fields(notes),
            "general": [
                f"{problem.pointer}: {problem.detail}" if problem.pointer else problem.detail
                for problem in errors
                if not is_within(problem, _FORM_PARTS)
            ][:_MAX_GENERAL_ERRORS],
            "unapplied": [(problem.pointer, problem.detail) for problem in draft.problems],
            "is_wrong": bool(errors),
        }

    def build_aside_context(self, _lint_problems: Sequence[Problem]) -> dict[str, Any]:
        """Return the JSON that follows the fields; one that was typed stays, since the fields do not follow it here."""
        return {"writing": self.draft, "kept": self.draft.has_unapplied_text or self.draft.is_from_text}

    def _build_time_fields(self, notes: FieldNotes) -> list[dict[str, Any]]:
        """Return the fields of the times; those that are stored for a form that was posted without them."""
        stored_validity = self.policy.validity if self.policy is not None else UNLIMITED
        texts = (self.draft.times or PostedTimes.from_validity(stored_validity)).texts
        return [
            {"name": name, "label": label, "hint": hint, "text": text, "notes": notes.find(f"/{name}")}
            for (name, label, hint), text in zip(TIME_FIELDS, texts, strict=True)
        ]

    def _build_roles_picker(self, notes: FieldNotes) -> dict[str, Any]:
        role_notes = notes.find("/roles")
        urns = tuple(dict.fromkeys(self.draft.document.get("roles") or ()))
        help_text = "Anyone who holds one of them, directly or through a group."
        picker = PeoplePicker("roles", "Roles", "role", help=help_text, chosen_urns=urns, errors=role_notes["errors"])
        return {**picker.build_context(), "lints": role_notes["lints"]}


@page_view(MANAGE_GUARD)
def search_ids(request: HttpRequest) -> HttpResponse:
    """Entities of a type that the text in an id field may mean."""
    kind, index, part = (request.GET.get(key, "") for key in ("kind", "place", "part"))
    if kind not in list_types() or not index.isdecimal() or part not in ("project", "id"):
        raise NotFound("There is no such search.")
    text = request.GET.get(f"s{index}_{part}", "")[:200]
    options = search_objects(kind, text) if text.strip() else []
    return render(request, "policies/_found_ids.html", {"options": options, "place": index, "part": part})
