"""The frame of editors whose form travels as a signed draft: opened, drawn anew by buttons, kept when refused, saved.

An editor of guardrails or of approval rules states its draft, its buttons and its service.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Generic, TypeVar

from django.db.models import Model
from django.http import HttpRequest, HttpResponse, QueryDict
from django.views import View

from policies.authoring.pages.policy_actions import parse_version
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid, NotFound, PolicyAppError, Stale
from policies.http.guard import get_actor
from policies.http.pages.form_drafts import FormDraft
from policies.http.pages.list_and_form_pages import UNPROCESSABLE_STATUS, redirect_with_message

#: The buttons that store the draft, and that change nothing.
SAVE_VERB, REFRESH_VERB = "save", "refresh"

Draft = TypeVar("Draft")
Row = TypeVar("Row", bound=Model)


class DraftEditor(View, ABC, Generic[Draft, Row]):
    """One request of an editor: the row to be replaced (None: a new one), and the result of trying to save.

    `version` is the one that the edit started from. `refusal` is a sentence where storing was refused as a whole.
    """

    http_method_names = ["get", "post"]

    #: Noun of what is edited, and the route of its page.
    noun = ""
    detail_route = ""

    draft: Draft
    form_draft: FormDraft
    urn: str | None = None
    row: Row | None = None
    version: int | None = None
    errors: Sequence[Problem] = ()
    shows_errors = False
    refusal: str = ""
    status: int = HTTPStatus.OK

    # -- of the editor --------------------------------------------------------------------------------------------

    @abstractmethod
    def find_row(self, urn: str) -> Row:
        """Return the edited row. Raises NotFound, and Conflict or Forbidden for one that pages cannot change."""

    @abstractmethod
    def get_version(self, row: Row) -> int:
        """Return the version of a row."""

    def get_name(self, row: Row) -> str:
        """Return the name of a row."""
        return str(row)

    @abstractmethod
    def begin_draft(self, row: Row | None) -> Draft:
        """Return the draft of a row as it is stored, or of a new one."""

    @abstractmethod
    def read_draft(self, data: QueryDict) -> Draft | None:
        """Return the draft that a form sent back, with its fields; None without a valid signature."""

    @abstractmethod
    def run_verb(self, verb: str, argument: str) -> None:
        """Change the draft as a button says; an unknown one changes nothing."""

    @abstractmethod
    def find_problems(self) -> tuple[Problem, ...]:
        """Return every problem that keeps the draft from being stored."""

    @abstractmethod
    def store(self, *, by: Actor) -> Row:
        """Store the draft, as a new row or over `urn` at `version`. Raises Conflict, NotFound and Stale."""

    @abstractmethod
    def render(self) -> HttpResponse:
        """Return the page, or for htmx the part that it asks for."""

    # -- of all editors -------------------------------------------------------------------------------------------

    def get(self, request: HttpRequest, urn: str | None = None) -> HttpResponse:
        """Page for a new one, to change one, or of a draft."""
        self.form_draft = FormDraft(request)
        if urn is not None:
            try:
                self._load(urn)
            except NotFound:
                if not self.form_draft.is_shown:
                    raise
                self.refusal = f"This {self.noun} was deleted while you were changing it. Saving makes a new one."
        if self.form_draft.is_shown and self._show_draft():
            return self.render()
        self.version = None if self.row is None else self.get_version(self.row)
        self.draft = self.begin_draft(self.row)
        return self.render()

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
        verb, _, argument = self.data.get("go", "").partition(":")
        if (answer := self._run_button(verb or SAVE_VERB, argument)) is not None:
            self.form_draft.delete()
            return answer
        htmx = getattr(request, "htmx", None)
        if htmx and htmx.target not in (None, "builder"):
            return self.render()
        again = self.form_draft.answer_again(self._describe_outcome())
        return again or self.form_draft.mark(self.render())

    @property
    def data(self) -> QueryDict:
        """The form that was posted or is shown as a draft."""
        return self.form_draft.data

    @property
    def is_for_aside(self) -> bool:
        """Whether htmx asks for what stands beside the fields, and nothing else."""
        htmx = getattr(self.request, "htmx", None)
        return bool(htmx) and htmx.target == "builder-aside"  # type: ignore[union-attr]  # the middleware sets it

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show problems at their fields from now on."""
        self.errors, self.shows_errors = problems, bool(problems)

    def build_frame_context(self) -> dict[str, Any]:
        """Return what the frame of editors (policies/editor.html) needs of the result."""
        return {
            "work": self,
            "is_wrong": self.shows_errors,
            "enter": SAVE_VERB,
            "is_dirty": self.request.method == "POST",
            "form_draft": self.form_draft.build_context(),
        }

    def list_general_errors(self, *pointers: str) -> list[str]:
        """Return the problems at no field; `pointers` are those of the fields."""
        starts = tuple(f"{pointer}/" for pointer in pointers)
        return [problem.detail for problem in self.errors if not f"{problem.pointer}/".startswith(starts)]

    def _load(self, urn: str) -> None:
        self.urn, self.row = urn, self.find_row(urn)

    def _read_form(self) -> bool:
        """Read the draft from the form; false for a form that this site did not make."""
        self.version = parse_version(self.data.get("version"))
        draft = self.read_draft(self.data)
        if draft is not None:
            self.draft = draft
        return draft is not None

    def _show_draft(self) -> bool:
        """Bring the form to where it was when it was kept; false if it cannot be read any more."""
        if not self._read_form():
            self.form_draft.forget()
            return False
        verb, _, argument = self.data.get("go", REFRESH_VERB).partition(":")
        # Nothing is stored by looking at it: what came of the attempt was kept with the draft.
        self._run_button(REFRESH_VERB if verb == SAVE_VERB else verb, argument)
        outcome = self.form_draft.outcome
        self.refusal = self.refusal or outcome.get("refusal", "")
        self.version = outcome.get("version", self.version)
        if problems := outcome.get("problems"):
            self.show_problems([Problem(*problem) for problem in problems])
        if self.row is not None and self.version != self.get_version(self.row):
            self.refusal = f"{self.get_name(self.row)} was changed while you were changing it. Saving replaces it."
            self.version = self.get_version(self.row)
        self.status = HTTPStatus.OK
        return True

    def _describe_outcome(self) -> dict[str, Any]:
        """Return what came of an attempt to store the draft, as it is kept with it."""
        problems = [(problem.code, problem.pointer, problem.detail) for problem in self.errors]
        outcome = {"refusal": self.refusal, "version": self.version, "problems": problems}
        return {name: value for name, value in outcome.items() if value}

    def _run_button(self, verb: str, argument: str) -> HttpResponse | None:
        if verb == SAVE_VERB:
            return self._save()
        self.run_verb(verb, argument)
        if self.data.get("is_shown") and not self.errors:
            self.show_problems(self.find_problems())
        return None

    def _save(self) -> HttpResponse | None:
        """Store the draft and redirect to its page; None where it was refused, with the reason set."""
        problems = self.find_problems()
        if problems:
            self.status = UNPROCESSABLE_STATUS
            self.show_problems(problems)
            return None
        try:
            row = self.store(by=get_actor(self.request))
        except (Conflict, NotFound) as refusal:
            self.refusal, self.status = refusal.detail, refusal.status
            return None
        except Stale as refusal:
            self.refusal, self.status = f"{refusal.detail} Saving again replaces it.", refusal.status
            self.version = self.get_version(self.find_row(self.urn or ""))
            return None
        urn: str = row.urn  # type: ignore[attr-defined]  # every row that is edited has one
        return redirect_with_message(self.request, f"{self.get_name(row)} is saved.", self.detail_route, urn)
