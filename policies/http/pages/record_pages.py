"""The frame of the pages of one kind of record: its list, the form for a new one, and the questions before an action.

Groups, roles, users, service accounts and guardrails state their filters, columns, texts and services.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.http.guard import get_actor
from policies.http.pages.change_effect import describe_effect
from policies.http.pages.form_page import FormPage
from policies.http.pages.list_and_form_pages import (
    Section,
    ask_and_act,
    redirect_with_message,
    render_filtered_list,
)


class ShownRecord(Protocol):
    """A record that has a page."""

    @property
    def urn(self) -> str:
        """The URN, with which the URL of its page ends."""

    @property
    def name(self) -> str:
        """The display name."""


Record = TypeVar("Record", bound=ShownRecord)


@dataclass(frozen=True, slots=True)
class RecordPages:
    """The pages of one kind of record, which texts call `noun`; `section` is its list.

    `route` is the URL name of the page of one record, and with `-new` that of the form for a new one. The list has the
    rows of `rows_template` below `subtitle`. An empty one shows `icon` and `empty_text`; one in which the filters leave
    nothing shows `no_match_text`.
    """

    section: Section
    noun: str
    route: str
    subtitle: str
    rows_template: str
    icon: str
    empty_text: str = ""
    no_match_text: str = "Names are found by the beginnings of their words."

    @property
    def plural(self) -> str:
        """The noun for several."""
        return f"{self.noun}s"

    def get_url(self, urn: str) -> str:
        """Return the URL of the page of a record."""
        return reverse(self.route, args=[urn])

    def render_list(
        self,
        request: HttpRequest,
        *,
        form: forms.Form,
        query: Callable[..., QuerySet[Any] | Sequence[Any]],
        build_rows: Callable[[list[Any]], Sequence[Any]],
        columns: Sequence[dict[str, Any]],
        has_new: bool = True,
        template: str = "records.html",
        **context: Any,
    ) -> HttpResponse:
        """Render the list, searched, filtered and paged; for htmx the list alone.

        With `has_new` a button leads to the form for a new record. `template` extends records.html, and `context` is
        what it and the rows need beside what `render_filtered_list` gives them.
        """
        return render_filtered_list(
            request,
            template,
            "_records.html",
            form=form,
            query=query,
            build_rows=build_rows,
            columns=columns,
            pages=self,
            new_url=reverse(f"{self.route}-new") if has_new else "",
            breadcrumbs=self.section.breadcrumbs(),
            **context,
        )

    def create(
        self,
        request: HttpRequest,
        form_class: type[forms.Form],
        save: Callable[..., Record],
        *,
        message: str = "{} is there.",
        **options: Any,
    ) -> HttpResponse:
        """Show the form for a new record, or save it and go to its page, which shows the message with its name.

        `options` are further attributes of `FormPage`; unless they say otherwise, the form keeps drafts.
        """
        page = FormPage(
            request,
            form_class,
            title=f"New {self.noun}",
            label=f"Create {self.noun}",
            section=self.section,
            **{"keeps_draft": True, **options},
        )
        return page.run(
            save,
            lambda record: redirect_with_message(request, message.format(record.name), self.get_url(record.urn)),
        )

    def ask(
        self,
        request: HttpRequest,
        record: ShownRecord,
        act: Callable[..., Any],
        *,
        verb: str,
        done: str,
        text: str,
        change: str = "",
        losses: Callable[[], Iterable[str]] = tuple,
        kind: str = "danger",
        is_last: bool = False,
    ) -> HttpResponse:
        """Ask whether to do this to a record (GET), or call `act` with its URN and say that it is `done` (POST).

        `change` is the kind of change in previews, whose effect the question shows. If `is_last`, the record is gone
        afterwards and the list follows, else its page.
        """
        url = self.get_url(record.urn)
        return ask_and_act(
            request,
            partial(act, urn=record.urn),
            lambda _: redirect_with_message(request, f"{record.name} is {done}.", self.section.url if is_last else url),
            losses=losses,
            effect=(lambda: describe_effect({change: record.urn}, by=get_actor(request))) if change else None,
            title=f"{verb} {record.name}?",
            text=text,
            label=f"{verb} {self.noun}",
            kind=kind,
            cancel_url=url,
        )

    def delete(
        self,
        request: HttpRequest,
        record: ShownRecord,
        act: Callable[..., Any],
        *,
        text: str,
        losses: Callable[[], Iterable[str]],
        change: str = "",
    ) -> HttpResponse:
        """Ask whether to delete a record, with its losses (GET), or delete it and go to the list (POST)."""
        return self.ask(
            request, record, act, verb="Delete", done="deleted", text=text, change=change, losses=losses, is_last=True
        )
