"""The draft of a form on its page: shown as it was typed, kept where the form is shown again, discarded when saved."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast
from uuid import UUID

from django import forms
from django.forms.utils import ErrorDict, ErrorList
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse

from policies.drafts import keeping
from policies.drafts.tickets import TICKET_FIELD, DraftTicket
from policies.errors import Forbidden
from policies.http.pages.picker import FormPicker
from policies.http.unanswered_posts import DRAFT_PARAMETER, build_address, find_ticket
from policies.models import Draft, User

#: Most other drafts that a page offers.
_MAX_OTHERS = 5

_FOREIGN_FORM = "This form was opened by another account. Open it again to use it with yours."


@dataclass(slots=True)
class FormDraft:
    """The handling of drafts of a form in one request.

    `ticket` is that of a posted form; forms that programs send have none, and are answered at once. `row` is the draft
    that is shown (GET) or was kept (POST). The page answers a posted form that it shows again with a redirect to its
    draft, so that Back and a reload show the same form and send nothing again.
    """

    request: HttpRequest
    ticket: DraftTicket | None = field(init=False, default=None)
    row: Draft | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Read the ticket of a posted form, or find the draft that the address names."""
        if self.request.method == "POST":
            ticket = find_ticket(self.request)
            if ticket is not None and ticket.user_id != self._user_id:
                raise Forbidden((), _FOREIGN_FORM)
            # A button may post a form to another page, which shows it from then on.
            self.ticket = None if ticket is None else replace(ticket, path=self.request.path)
        elif (draft_id := parse_id(self.request.GET.get(DRAFT_PARAMETER, ""))) is not None:
            self.row = keeping.find_draft(user_id=self._user_id, path=self.request.path, draft_id=draft_id)

    @property
    def data(self) -> QueryDict:
        """The fields to be shown: those that were posted, or those of the draft."""
        if self.request.method == "POST" or self.row is None:
            return self.request.POST
        return QueryDict(self.row.fields)

    @property
    def bound_data(self) -> QueryDict | None:
        """The same for forms that tell an empty form from one that nobody has filled in."""
        return self.data if self.request.method == "POST" or self.row is not None else None

    @property
    def is_shown(self) -> bool:
        """Whether the page shows a draft."""
        return self.request.method == "GET" and self.row is not None

    @property
    def outcome(self) -> Mapping[str, Any]:
        """Why the form is shown again, as the page wrote it; empty for what was kept during typing."""
        return self.row.outcome if self.row is not None else {}

    def forget(self) -> None:
        """Show the form as if there were no draft, because the draft cannot be read."""
        self.row = None

    def keep(self, outcome: Mapping[str, Any]) -> bool:
        """Keep the posted form; false where it has no ticket or is too long."""
        if self.ticket is not None:
            self.row = keeping.keep(self.ticket, self.request.POST, outcome=outcome)
        return self.row is not None

    def answer_again(self, outcome: Mapping[str, Any], **query: str) -> HttpResponse | None:
        """Keep the posted form, and return the redirect to the page that shows it; None where the page is the answer.

        The page is the answer to htmx, and to a form that is not kept.
        """
        if not self.keep(outcome) or getattr(self.request, "htmx", False):
            return None
        return HttpResponseRedirect(self._build_address(**query))

    def mark(self, response: HttpResponse) -> HttpResponse:
        """Let the page know that the form which it drew anew is kept, and where; htmx reads it."""
        if self.row is not None and getattr(self.request, "htmx", False):
            facts = describe_kept(self.row, is_signed_in=True)
            response.headers["HX-Trigger-After-Settle"] = json.dumps({"draft-kept": facts})
        return response

    def delete(self) -> None:
        """Delete the draft of a form that was saved."""
        if self.ticket is not None:
            keeping.delete_saved_draft(self.ticket)

    def build_context(self, **query: str) -> dict[str, Any]:
        """Return the context of draft_notice.html and draft_field.html; `query` is the rest of the address."""
        row, ticket = self.row, self.ticket
        page_ticket = DraftTicket.create(
            user_id=self._user_id,
            path=self.request.path,
            draft_id=row.pk if row is not None else ticket.draft_id if ticket is not None else None,
            previous=row.page if row is not None else ticket.page if ticket is not None else None,
        )
        return {
            "row": row,
            "id": page_ticket.draft_id,
            "field": TICKET_FIELD,
            "ticket": str(page_ticket),
            "keep_url": reverse("drafts"),
            "address": self._build_address(str(page_ticket.draft_id), **query),
            "others": [] if row is not None or ticket is not None else self._list_others(),
        }

    @property
    def _user_id(self) -> int:
        """The caller, whom the guard of every page with a form has let in."""
        return cast("User", self.request.user).pk

    def _build_address(self, draft_id: str = "", **query: str) -> str:
        draft_id = draft_id or (str(self.row.pk) if self.row is not None else "")
        return build_address(self.request.path, {**self.request.GET.dict(), **query, DRAFT_PARAMETER: draft_id})

    def _list_others(self) -> list[dict[str, Any]]:
        drafts = keeping.list_drafts(user_id=self._user_id, path=self.request.path).only("id", "changed_at")[
            :_MAX_OTHERS
        ]
        return [
            {
                "id": draft.pk,
                "at": draft.changed_at,
                "url": build_address(self.request.path, {DRAFT_PARAMETER: str(draft.pk)}),
            }
            for draft in drafts
        ]


def is_opened(request: HttpRequest) -> bool:
    """Whether a page with a form is opened: nothing is posted, and no draft of the caller is shown."""
    return request.method == "GET" and not FormDraft(request).is_shown


def describe_errors(form: forms.Form, pickers: Sequence[FormPicker]) -> dict[str, Any]:
    """Return the errors of a form and of its pickers, as they are kept with a draft."""
    return {
        "errors": {name: [str(error) for error in errors] for name, errors in form.errors.items()},
        "pickers": {picker.name: picker.errors for picker in pickers},
    }


def restore_errors(draft: FormDraft, form: forms.Form, pickers: Sequence[FormPicker]) -> None:
    """Read the pickers of a draft, and show the errors that were kept with it; none for what was kept during typing."""
    form.full_clean()
    errors = draft.outcome.get("errors", {})
    # What `errors` returns, which Django offers no other way to set.
    form._errors = ErrorDict(  # type: ignore[attr-defined]  # the stubs leave it out
        {name: ErrorList(texts) for name, texts in errors.items()}
    )
    for picker in pickers:
        picker.read(draft.data)
        picker.errors = draft.outcome.get("pickers", {}).get(picker.name, picker.errors)


def describe_kept(draft: Draft, *, is_signed_in: bool) -> dict[str, Any]:
    """Return what a page is told of a draft that was kept."""
    return {"draft": str(draft.pk), "at": f"{draft.changed_at:%H:%M} UTC", "is_signed_in": is_signed_in}


def parse_id(text: str) -> UUID | None:
    """Return the id of a draft, None for any other text."""
    try:
        return UUID(text)
    except ValueError:
        return None
