"""The builder: a DataHub policy in three steps, each a page of the editor."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from policies.authoring.pages import builder_fields, presenters
from policies.authoring.pages.builder_fields import FIELD_ENTITY_TYPES, TREE_FIELDS, BuilderFields
from policies.authoring.pages.datahub_draft import DataHubDraft
from policies.authoring.pages.datahub_wording import is_deny
from policies.authoring.pages.editor import PolicyEditor
from policies.authoring.pages.form_values import FieldNotes, is_within
from policies.authoring.pages.validity_fields import format_field
from policies.authoring.queries import policies
from policies.engine import wording
from policies.engine.errors import Problem
from policies.engine.families import datahub, datahub_fields
from policies.errors import NotFound
from policies.http.guard import needs
from policies.http.pages.list_and_form_pages import UNPROCESSABLE_STATUS, page_view
from policies.pdp import authorizer

#: The steps: label, and pointers of the parts of the document that the step edits.
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Policy",
        (
            "/displayName",
            "/description",
            "/effect",
            "/type",
            "/state",
            "/validFrom",
            "/validUntil",
            "/editable",
            "/lastUpdatedTimestamp",
        ),
    ),
    ("Resources and privileges", ("/resources", "/privileges")),
    ("Actors", ("/actors",)),
)

STEP_NUMBERS = tuple(str(number) for number in range(1, len(STEPS) + 1))

_EFFECT_CHOICES = (
    (datahub.ALLOW, "Allow", "These people get the privileges below."),
    (
        datahub.DENY,
        "Deny",
        "These people do not get the privileges below, even where other policies allow them: a deny always wins.",
    ),
)
_TIME_FIELDS = (
    (datahub_fields.VALID_FROM, "Begins (UTC)", "If empty, it is in effect at once."),
    (datahub_fields.VALID_UNTIL, "Ends (UTC)", "If empty, it stays in effect without end."),
)
_STATE_CHOICES = (("ACTIVE", "Active"), ("INACTIVE", "Inactive"), ("DRAFT", "Draft"))
_SCOPE_CHOICES = (
    ("any", "Everything, and questions without a resource"),
    ("some", "Resources that meet all conditions below"),
)
_TAG_SCOPE_CHOICES = (("any", "Any"), ("some", "Only tags that meet all conditions below"))
_TYPE_CHOICES = (
    (datahub.METADATA, "Metadata", "Privileges on entities of the catalog, or on some of them."),
    (datahub.PLATFORM, "Platform", "Privileges on the platform itself; it applies to no resource."),
)

#: Who fills in policies or guardrails.
_PICKER_GUARD = needs("MANAGE_POLICIES", "MANAGE_GUARDRAILS")

#: Most results of a search.
_MAX_OPTIONS = 20


class Builder(PolicyEditor):
    """The builder: the shown step, and the problems of the draft that it shows (`shows_errors`: some of this step)."""

    family = datahub.NAME
    draft_class = DataHubDraft
    template_name = "policies/builder.html"
    aside_template = "policies/_aside_live.html"

    draft: DataHubDraft
    step = 1
    errors: Sequence[Problem] = ()
    shows_errors = False

    def run_button(self, verb: str, argument: str) -> HttpResponse | None:
        """Run a button; one without a name goes to the next step."""
        step, draft = self.data.get("step", "1"), self.draft
        self.step = int(step) if step in STEP_NUMBERS else 1
        if self.data.get("is_shown"):
            self.errors = self._find_step_problems()
            self.shows_errors = bool(self.errors)
        match verb:
            case "save" | "takeover":
                return self.save()
            case "add":
                draft.add_criterion(argument, self.data.get(f"{argument}_new", ""))
            case "remove":
                draft.remove_criterion(*argument.partition(":")[::2])
            case "drop":
                draft.remove_unknown_field(argument)
            case "convert":
                draft.convert_deprecated()
            case "" | "previous" | "next" | "1" | "2" | "3":
                self._change_step(verb)
            case _:
                pass
        return None

    @property
    def place(self) -> dict[str, str]:
        """The step that is shown."""
        return {"step": str(self.step)}

    def _show_draft(self, urn: str | None) -> bool:
        """Bring the form to where it was, at the step that the address names."""
        is_shown = super()._show_draft(urn)
        step = self.request.GET.get("step", "")
        if step in STEP_NUMBERS and int(step) != self.step:
            self.step, self.errors, self.shows_errors = int(step), (), False
        return is_shown

    def find_problems(self) -> tuple[Problem, ...]:
        """Return every problem of the document and of the posted fields."""
        return (*self.draft.problems, *super().find_problems())

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show the first step that has problems, unless this one has some."""
        self.errors, self.shows_errors = problems, True
        steps = [find_step(problem) for problem in problems]
        if self.step not in steps:
            self.step = min(steps)

    def build_context(self, _problems: Sequence[Problem], lint_problems: Sequence[Problem]) -> dict[str, Any]:
        """Return the context of the shown step, and of what is beside the steps."""
        notes = self._collect_notes(lint_problems)
        is_last = self.step == len(STEPS)
        general_errors = notes.find("")["errors"] if any(not problem.pointer for problem in self.errors) else []
        wrong_steps = {find_step(problem) for problem in self.errors}
        return {
            "steps": [
                {"number": number, "label": label, "is_current": number == self.step, "is_wrong": number in wrong_steps}
                for number, (label, _) in enumerate(STEPS, start=1)
            ],
            "is_last": is_last,
            "enter": "save" if is_last else "next",
            "template": f"policies/_step_{self.step}.html",
            "draft": self.draft.to_signed_text(),
            "unknown": datahub_fields.list_unknown_fields(self.draft.document),
            "document": self.draft.document,
            "general": general_errors,
            "is_wrong": self.shows_errors or bool(general_errors),
            **self._build_step_context(notes),
        }

    def build_aside_context(self, lint_problems: Sequence[Problem]) -> dict[str, Any]:
        """Return the notes at the fields of the step."""
        return {"live": self._build_step_context(self._collect_notes(lint_problems))["live"]}

    def _find_step_problems(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.find_problems() if find_step(problem) == self.step)

    def _change_step(self, verb: str) -> None:
        """Show another step; moving forward requires that this step has no problems."""
        target_step = int(verb) if verb.isdecimal() else self.step - 1 if verb == "previous" else self.step + 1
        target_step = min(max(target_step, 1), len(STEPS))
        step_problems = self._find_step_problems()
        if target_step > self.step and step_problems:
            self.status = UNPROCESSABLE_STATUS
            self.errors, self.shows_errors = step_problems, True
        else:
            self.step, self.errors, self.shows_errors = target_step, (), False

    def _collect_notes(self, lint_problems: Sequence[Problem]) -> FieldNotes:
        return FieldNotes((*self.errors, *self.draft.problems), lint_problems)

    def _build_step_context(self, notes: FieldNotes) -> dict[str, Any]:
        builders = (self._build_head_context, self._build_resources_context, self._build_actors_context)
        fields = BuilderFields(self.draft, notes, self.data)
        is_platform = self.draft.document.get("type") == datahub.PLATFORM
        return {
            "is_platform": is_platform,
            "is_deny": is_deny(self.draft.document),
            **builders[self.step - 1](fields, notes),
        }

    def _build_head_context(self, _fields: BuilderFields, notes: FieldNotes) -> dict[str, Any]:
        document = self.draft.document
        names = ("displayName", "description", "effect", "type", "state", "validFrom", "validUntil", "editable")
        field_notes = {name: notes.find(f"/{name}") for name in names}
        return {
            "notes": field_notes,
            "live": field_notes,
            "effects": _mark_choice(_EFFECT_CHOICES, document.get(datahub_fields.EFFECT) or datahub.ALLOW),
            "kinds": [(*kind, document.get("type") == kind[0]) for kind in _TYPE_CHOICES],
            "states": _mark_choice(_STATE_CHOICES, document.get("state")),
            "times": [
                {"name": key, "label": label, "hint": hint, "text": format_field(document.get(key))}
                | {"notes": field_notes[key]}
                for key, label, hint in _TIME_FIELDS
            ],
            "is_editable": document.get("editable") is not False,
        }

    def _build_resources_context(self, fields: BuilderFields, notes: FieldNotes) -> dict[str, Any]:
        search_text = self.data.get("find", "")[:100]
        block = self.draft.block
        criteria, constraints = fields.build_criterion_cards("c"), fields.build_criterion_cards("s")
        scope = "any" if block is None else "some"
        tag_scope = "any" if (block or {}).get(datahub_fields.CONSTRAINTS) is None else "some"
        field_notes = {"resources": notes.find_exactly("/resources"), "privileges": notes.find("/privileges")}
        return {
            "notes": field_notes,
            "live": field_notes | {card["key"]: card["notes"] for card in (*criteria, *constraints)},
            "scope": scope,
            "scopes": _mark_choice(_SCOPE_CHOICES, scope),
            "s_scope": tag_scope,
            "s_scopes": _mark_choice(_TAG_SCOPE_CHOICES, tag_scope),
            "deprecated": fields.build_deprecated_rows(),
            "criteria": criteria,
            "criteria_hidden": fields.count_hidden_criteria("c"),
            "constraints": constraints,
            "constraints_hidden": fields.count_hidden_criteria("s"),
            "addable": [(name, wording.FIELDS[name].label) for name in datahub.FIELDS],
            "addable_properties": list(wording.PARTIES.items()),
            "find": search_text,
            "privileges": fields.group_privileges(search_text),
        }

    def _build_actors_context(self, fields: BuilderFields, notes: FieldNotes) -> dict[str, Any]:
        actors = self.draft.document.get("actors") or {}
        pickers = fields.build_actor_pickers()
        field_notes = {
            "actors": notes.find_exactly("/actors"),
            **{key: notes.find(f"/actors/{key}") for key in ("resourceOwners", "allUsers", "allGroups")},
        }
        return {
            "notes": field_notes,
            "live": field_notes | {name: {"lints": picker["notes"]["lints"]} for name, picker in pickers.items()},
            "actors": actors,
            "pickers": pickers,
            "has_exceptions": any(
                actors.get(key) or pickers[key]["pasted"] or any(pickers[key]["notes"].values())
                for key in (*datahub_fields.EXCLUDED_ACTOR_LISTS, datahub_fields.EXCLUDED_OWNER_TYPES)
            ),
            "owner_types": "any" if actors.get("resourceOwnersTypes") is None else "some",
        }


class NewPolicy(Builder):
    """The builder of a new policy; the one URL of new policies leads to the editor of another family from here."""

    def get(self, request: HttpRequest, urn: str | None = None) -> HttpResponse:
        """Page of the builder, or a redirect: to the family of the policy to be copied, else to that in the query."""
        family = request.GET.get("family", "")
        if source_urn := request.GET.get("like"):
            event = policies.list_versions(urn=source_urn).first()
            family = event.family if event is not None else family
        if family not in presenters.PRESENTERS or family == self.family:
            return super().get(request, urn)
        query = request.GET.copy()
        query.pop("family", None)
        return redirect(f"{reverse(presenters.get_presenter(family).new_url_name)}?{query.urlencode()}")


@page_view(_PICKER_GUARD)
def search_options(request: HttpRequest, field: str) -> HttpResponse:
    """Options for a picker, while somebody types in it: the first matches of a search in the catalog."""
    if field not in FIELD_ENTITY_TYPES:
        raise NotFound("There is no such search.")
    entities = authorizer.directory().search(
        text=request.GET.get("q", "")[:200], types=FIELD_ENTITY_TYPES[field], limit=_MAX_OPTIONS + 1
    )
    rows = [
        {"urn": entity.urn, "label": entity.name or entity.urn, "hint": entity.urn, "type": entity.type}
        for entity in entities
    ]
    context = {"name": _read_picker_name(request), "options": rows[:_MAX_OPTIONS], "is_more": len(rows) > _MAX_OPTIONS}
    return render(request, "components/picker_options.html", context)


@page_view(_PICKER_GUARD)
def list_branches(request: HttpRequest, field: str) -> HttpResponse:
    """Children of a node of a tree, loaded when it is opened."""
    if field not in TREE_FIELDS:
        raise NotFound("There is no such tree.")
    name = _read_picker_name(request)
    node = builder_fields.load_branches(field, request.GET.get("parent", ""), name)
    return render(request, "policies/_branches.html", {"name": name, **node})


def find_step(problem: Problem) -> int:
    """Return the number of the step that edits the part of the document with this problem."""
    return next((number for number, (_, parts) in enumerate(STEPS, start=1) if is_within(problem, parts)), 1)


def _mark_choice(choices: Sequence[tuple[str, ...]], current: Any) -> list[tuple[Any, ...]]:
    return [(*choice, choice[0] == current) for choice in choices]


def _read_picker_name(request: HttpRequest) -> str:
    return request.GET.get("name", "")[:60]
