"""The editor of policies: a draft as a form, with its wording, lints and impact beside the fields.

Each family has its own draft and fields. The whole draft travels in the form, so nothing is lost between two posts, by
errors, or by a concurrent change. It works without scripts; with them only the changed part is rendered again.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, ClassVar, Protocol, Self

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache

from policies.authoring.changes import PutPolicy
from policies.authoring.pages import presenters
from policies.authoring.pages.edit_conflict import find_edit_conflict
from policies.authoring.pages.policy_actions import parse_version
from policies.authoring.pages.policy_starts import load_start, require_family
from policies.authoring.pages.policy_templates import load_templates, policy_draft
from policies.authoring.pages.presenters import MANAGE_GUARD, SECTION
from policies.authoring.queries import policies
from policies.authoring.services import empty_reach, import_export, lints, policy_drafts
from policies.authoring.services import policies as service
from policies.authoring.services.policy_drafts import PolicyInput
from policies.changes.pages.net_change_wording import ChangeWording, describe_changes, word_changes
from policies.changes.pages.verdict_wording import build_verdicts, preview_in_words
from policies.engine.errors import Problem
from policies.errors import Conflict, Forbidden, GuardrailBroken, Invalid, NotFound, PolicyAppError, Stale
from policies.http.guard import get_actor
from policies.http.pages.form_drafts import FormDraft
from policies.http.pages.list_and_form_pages import (
    CHANNEL,
    UNPROCESSABLE_STATUS,
    check_permissions,
    redirect_with_message,
)
from policies.models import Policy
from policies.writes import managed_rows, required_privileges

#: The button of the aside that stands for asking for the whole net change after its sample.
EXACT_VERB = "exact"

#: The buttons that store a draft: as it is, and over somebody else's change. Beside them, the one that changes nothing.
SAVE_VERBS = (SAVE_VERB, TAKE_OVER_VERB) = "save", "takeover"
REFRESH_VERB = "refresh"

#: The button that saves a policy that reaches nobody or nothing.
SAVE_ANYWAY = "save:anyway"

#: Days of the decision log that can be replayed here.
REPLAY_DAYS = (7, 30)

_REPLAY_BUTTON = "replay"
_REPLAY_CHOICES = tuple((f"{_REPLAY_BUTTON}:{days}", f"Replay {days} days") for days in REPLAY_DAYS)

#: Id of the element that htmx loads verdicts into.
_VERDICTS_ID = "builder-verdicts"


class PolicyDraft(Protocol):
    """A policy being edited."""

    @property
    def policy_input(self) -> PolicyInput:
        """The draft as the input of services."""

    @classmethod
    def from_input(cls, policy_input: PolicyInput) -> Self:
        """Return a draft of a copy of a policy."""

    @classmethod
    def from_post(cls, data: QueryDict) -> Self | None:
        """Return the posted draft; None for a form that this site did not make."""


@method_decorator(never_cache, name="dispatch")
@MANAGE_GUARD
class PolicyEditor(View, ABC):
    """One request of an editor: the policy to be replaced (None: a new one), and the result of trying to save.

    `version` is the one that the edit started from. `refusal` is a sentence where storing was refused as a whole, by
    the guardrail of `guardrail_urn` if by one. `questions` are what it is asked about before it is stored.
    """

    http_method_names = ["get", "post"]

    family: ClassVar[str]
    draft_class: ClassVar[type[PolicyDraft]]
    template_name: ClassVar[str]
    aside_template: ClassVar[str]

    draft: Any
    urn: str | None = None
    policy: Policy | None = None
    version: int | None = None
    refusal: str = ""
    guardrail_urn: str = ""
    questions: Sequence[str] = ()
    found_problems: Sequence[Problem] = ()
    status: int = HTTPStatus.OK
    form_draft: FormDraft

    def get(self, request: HttpRequest, urn: str | None = None) -> HttpResponse:
        """Page for a new policy (blank, from a template, a policy or a version), to change one, or of a draft."""
        self.form_draft = FormDraft(request)
        if self.form_draft.is_shown and self._show_draft(urn):
            return self.render()
        if urn is None:
            source = load_start(self.family, request.GET)
        else:
            self.urn, self.policy = urn, policies.get_policy(urn=urn)
            self.version = self.policy.version
            source = policy_draft(self.policy)
            require_family(self.family, source, self.policy.name)
            self._refuse_uneditable(self.policy)
        self.draft = self.draft_class.from_input(source)
        return self.render()

    def post(self, request: HttpRequest, urn: str | None = None) -> HttpResponse:
        """Apply the posted form to the draft and run the pressed button; also reports somebody else's change.

        A form that is not stored is kept, and shown by the address of its draft.
        """
        self.form_draft = FormDraft(request)
        if not self._read_form(urn):
            raise Invalid.from_problem(
                code="draft.unreadable", pointer="", detail="This form was not created by this site, or it is damaged."
            )
        try:
            answer = self.run_button(*self._pressed_button)
        except PolicyAppError:
            self.form_draft.keep({})
            raise
        if answer is not None:
            self.form_draft.delete()
            return answer
        if self._is_part_request():
            return self.render()
        again = self.form_draft.answer_again(self._describe_outcome(), **self.place)
        return again or self.form_draft.mark(self.render())

    @property
    def data(self) -> QueryDict:
        """The form that was posted or is shown as a draft; empty for one that is opened."""
        return self.form_draft.data

    @property
    def place(self) -> dict[str, str]:
        """The part of the form that is shown, as its address says it."""
        return {}

    @property
    def is_filled(self) -> bool:
        """Whether somebody has typed into the form: it was posted, or is shown as a draft."""
        return self.request.method == "POST" or self.form_draft.is_shown

    def _read_form(self, urn: str | None) -> bool:
        """Read the draft from the form; false for a form that this site did not make."""
        self.urn, self.policy = urn, policies.find_policies(urns=[urn]).first() if urn is not None else None
        is_taking_over = self._pressed_button[0] == TAKE_OVER_VERB
        self.version = parse_version(self.data.get("newest" if is_taking_over else "version"))
        draft = self.draft_class.from_post(self.data)
        if draft is not None:
            self.draft = draft
        return draft is not None

    def _show_draft(self, urn: str | None) -> bool:
        """Bring the form to where it was when it was kept; false if it cannot be read any more."""
        if not self._read_form(urn):
            self.form_draft.forget()
            return False
        verb, argument = self._pressed_button
        if verb in SAVE_VERBS:
            # Nothing is stored by looking at it: what came of the attempt was kept with the draft.
            self.run_button(REFRESH_VERB, "")
            self._restore_outcome(self.form_draft.outcome)
        else:
            self.run_button(verb, argument)
        if self.policy is not None:
            # What was typed is shown all the same, so that it can be copied.
            try:
                self._refuse_uneditable(self.policy)
            except (Conflict, Forbidden) as refusal:
                self.refusal = refusal.detail
        self.status = HTTPStatus.OK
        return True

    @property
    def _pressed_button(self) -> tuple[str, str]:
        """The verb and the argument of the button; what is kept during typing has none."""
        verb, _, argument = self.data.get("go", REFRESH_VERB if self.form_draft.is_shown else "").partition(":")
        return verb, argument

    def _refuse_uneditable(self, policy: Policy) -> None:
        if not policy.is_editable:
            raise Forbidden((), f"{policy.name} cannot be changed.")
        managed_rows.refuse_managed(policy)

    def _describe_outcome(self) -> dict[str, Any]:
        """Return what came of an attempt to store the draft, as it is kept with it."""
        problems = [(problem.code, problem.pointer, problem.detail) for problem in self.found_problems]
        outcome = {
            "problems": problems,
            "questions": list(self.questions),
            "refusal": self.refusal,
            "guardrail": self.guardrail_urn,
        }
        return {name: value for name, value in outcome.items() if value}

    def _restore_outcome(self, outcome: Mapping[str, Any]) -> None:
        self.refusal, self.guardrail_urn = outcome.get("refusal", ""), outcome.get("guardrail", "")
        self.questions = outcome.get("questions", ())
        if problems := outcome.get("problems"):
            self.show_problems([Problem(*problem) for problem in problems])

    @abstractmethod
    def run_button(self, verb: str, argument: str) -> HttpResponse | None:
        """Change the draft or store it; None where the page is to be shown."""

    @abstractmethod
    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show the problems that kept the draft from being stored."""

    @abstractmethod
    def build_context(self, problems: Sequence[Problem], lint_problems: Sequence[Problem]) -> dict[str, Any]:
        """Return the context of the fields; `problems` are those of the draft."""

    @abstractmethod
    def build_aside_context(self, lint_problems: Sequence[Problem]) -> dict[str, Any]:
        """Return the additional context of `aside_template`, which htmx requests while somebody types."""

    def find_problems(self) -> tuple[Problem, ...]:
        """Return every problem that keeps the draft from being stored."""
        try:
            policy_drafts.validate_draft(self.draft.policy_input)
        except Invalid as refusal:
            return refusal.problems
        return ()

    def save(self) -> HttpResponse | None:
        """Store the draft and redirect to its page; None where it was refused, with the reason set, or is asked about.

        An active policy that reaches nobody or nothing is stored when the question is answered. Raises Forbidden naming
        the privilege that is missing.
        """
        problems = self.find_problems()
        if not problems and self._is_current() and self.data.get("go") != SAVE_ANYWAY:
            self.questions = empty_reach.describe_empty_reach(self.draft.policy_input)
            if self.questions:
                self.status = UNPROCESSABLE_STATUS
                return None
        return self._store(problems)

    def _is_current(self) -> bool:
        """Whether nobody else changed or deleted the policy since the edit began: that is told before anything else."""
        if self.urn is None:
            return True
        return self.policy is not None and self.policy.is_editable and self.policy.version == self.version

    def _store(self, problems: Sequence[Problem]) -> HttpResponse | None:
        draft, by = self.draft.policy_input, get_actor(self.request)
        try:
            if not problems and self.urn is None:
                return self._confirm(service.create(draft=draft, by=by, channel=CHANNEL))
            if not problems and self.urn is not None:
                return self._confirm(
                    service.update(urn=self.urn, draft=draft, by=by, channel=CHANNEL, if_version=self.version)
                )
        except Invalid as refusal:
            problems = refusal.problems
        except (Conflict, Forbidden) as refusal:
            if isinstance(refusal, Forbidden) and refusal.missing:
                raise
            self.refusal, self.status = refusal.detail, refusal.status
            self.guardrail_urn = refusal.guardrail if isinstance(refusal, GuardrailBroken) else ""
        except (Stale, NotFound) as refusal:
            self.status = refusal.status
        if problems:
            self.status = UNPROCESSABLE_STATUS
            self.found_problems = problems
            self.show_problems(problems)
        return None

    def render(self) -> HttpResponse:
        """Render the page, or for htmx what is beside the fields, or the verdicts there, which are loaded after it."""
        problems, draft, policy = self.find_problems(), self.draft.policy_input, self.policy
        is_sound = not problems
        if self._htmx_target == _VERDICTS_ID:
            return render(
                self.request, "policies/_verdicts.html", self._build_verdict_context(draft, is_sound=is_sound)
            )
        lint_problems = lints.find_lints(draft=draft, urn=policy.urn if policy else None) if is_sound else ()
        # A whole page needs both, and takes them from one preview.
        whole_preview = {} if self._is_aside_request() else self._preview_whole(draft, is_sound=is_sound)
        aside = {
            "sentence": presenters.get_presenter(draft.family).describe_policy(draft.document),
            "lints": lint_problems,
            **(whole_preview or self._describe_net_change(draft, is_sound=is_sound)),
            "exact": import_export.format_proposal(draft=draft, urn=policy.urn if policy else "") if is_sound else "",
            "is_sound": is_sound,
            "replay_choices": _REPLAY_CHOICES,
        }
        if self._is_aside_request():
            # The verdicts are loaded after it: they may take longer.
            return render(self.request, self.aside_template, {**aside, **self.build_aside_context(lint_problems)})
        context = {
            **aside,
            **self._build_frame_context(draft),
            **self.build_context(problems, lint_problems),
        }
        return render(self.request, self.template_name, context, status=self.status)

    def _is_aside_request(self) -> bool:
        """Whether htmx asks for what is beside the fields, while somebody types."""
        return self._htmx_target == "builder-aside"

    def _is_part_request(self) -> bool:
        """Whether htmx asks for a part of the page, which says nothing of the form itself."""
        return self._htmx_target not in ("", "builder")

    @property
    def _htmx_target(self) -> str:
        """The id of the element that htmx puts the answer into; empty for a whole page."""
        htmx = getattr(self.request, "htmx", None)
        return (htmx.target or "") if htmx else ""

    def _describe_net_change(self, draft: PolicyInput, *, is_sound: bool) -> dict[str, Any]:
        """Return the context of the net change: its sentences, and whether they are about a sample.

        While somebody types it is one, and the aside asks for all then; a draft with problems has no sentences.
        """
        if not is_sound:
            return {"net_change": [], "is_sampled": False}
        changes, by = [self._build_change(draft)], get_actor(self.request)
        if self.data.get("go") == EXACT_VERB:
            return {"net_change": describe_changes(changes=changes, by=by), "is_sampled": False}
        wording = word_changes(changes=changes, by=by, is_sampled=True)
        return {"net_change": wording.sentences, "is_sampled": wording.is_sampled}

    def _preview_whole(self, draft: PolicyInput, *, is_sound: bool) -> dict[str, Any]:
        """Return the context of the net change, and that of the verdicts, for a page that has both."""
        wording, verdicts = ChangeWording([]), dict[str, Any]()
        if is_sound:
            wording, verdicts = preview_in_words(
                changes=[self._build_change(draft)], by=get_actor(self.request), days=self._find_replay_days()
            )
        return {
            "net_change": wording.sentences,
            "is_sampled": False,
            "is_sound": is_sound,
            "verdicts": verdicts,
            "replay_choices": _REPLAY_CHOICES,
        }

    def _find_replay_days(self) -> int | None:
        """Return the days of the replay whose button was pressed, if one was."""
        verb, _, argument = self.data.get("go", "").partition(":")
        days = parse_version(argument) if verb == _REPLAY_BUTTON else None
        return days if days in REPLAY_DAYS else None

    def _build_change(self, draft: PolicyInput) -> PutPolicy:
        return PutPolicy(self.policy.urn if self.policy else None, draft)

    def _build_verdict_context(self, draft: PolicyInput, *, is_sound: bool) -> dict[str, Any]:
        """Return the context of `policies/_verdicts.html`, with a replay if its button was pressed."""
        changes, by = [self._build_change(draft)], get_actor(self.request)
        return {
            "is_sound": is_sound,
            "verdicts": build_verdicts(changes=changes, by=by, days=self._find_replay_days()) if is_sound else {},
            "replay_choices": _REPLAY_CHOICES,
        }

    def _confirm(self, result: service.PolicyWriteResult) -> HttpResponse:
        return redirect_with_message(
            self.request, "Saved. Decisions follow it from now on.", "policy", result.policy.urn
        )

    def _build_frame_context(self, draft: PolicyInput) -> dict[str, Any]:
        """Return the context of `policies/editor.html` beside the fields and the aside."""
        presenter, urn, policy = presenters.get_presenter(self.family), self.urn, self.policy
        is_posted = self.is_filled
        return {
            "work": self,
            "form_draft": self.form_draft.build_context(**self.place),
            "guardrail_url": self._build_guardrail_link(),
            "conflict": self._find_edit_conflict(draft),
            "heading": f"Edit {policy.name}" if policy else "Edit policy" if urn else presenter.new_label,
            "is_dirty": is_posted
            and (policy is None or policy.document != draft.document or draft.validity not in (None, policy.validity)),
            "action": reverse(presenter.edit_url_name, args=[urn]) if urn else reverse(presenter.new_url_name),
            "maker_url": reverse(presenter.new_url_name),
            "cancel_url": reverse("policy", args=[policy.urn]) if policy else reverse("policies"),
            "starters": []
            if urn or is_posted
            else [template for name, template in load_templates(self.family).items() if name],
            "breadcrumbs": SECTION.breadcrumbs(
                *([(policy.name, reverse("policy", args=[policy.urn]))] if policy else []), "Edit" if urn else "Create"
            ),
        }

    def _build_guardrail_link(self) -> str:
        """Return the URL of the guardrail that refused storing, for those who may see it."""
        if not self.guardrail_urn:
            return ""
        permissions = check_permissions(self.request, manage=required_privileges.MANAGE_GUARDRAILS)
        return reverse("guardrail", args=[self.guardrail_urn]) if permissions["manage"] else ""

    def _find_edit_conflict(self, draft: PolicyInput) -> dict[str, Any]:
        """Return the change somebody else made since the edit began; empty without one, or if nobody typed yet."""
        if not self.is_filled or self.urn is None:
            return {}
        return find_edit_conflict(urn=self.urn, policy=self.policy, seen_version=self.version, draft=draft)
