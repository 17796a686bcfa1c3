"""Forms that give something to people for a time, and change that time: members of a group, holders of a role."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.engine.families.validity import Validity
from policies.engine.model import Actor
from policies.http.guard import get_actor
from policies.http.pages.change_effect import ProposedChange, describe_effect
from policies.http.pages.form_page import FormPage
from policies.http.pages.list_and_form_pages import Section, redirect_with_message
from policies.http.pages.people_picker import PeoplePicker
from policies.http.pages.times import OptionalTimesForm, TimesForm, build_holders, describe_times
from policies.writes.timed_holders import TimedHolder


@dataclass(frozen=True, slots=True)
class HolderForms:
    """The forms of one group or role, whose page has the URL name `page` and which the breadcrumb calls `name`.

    `give` is the service that gives it, with the parameter `field` for those who get it. `build_change` returns the
    change in its form in the API for their URNs.
    """

    request: HttpRequest
    section: Section
    page: str
    urn: str
    name: str
    field: str
    give: Callable[..., list[str]]
    build_change: Callable[[Sequence[str]], ProposedChange]

    def run_addition(
        self, picker: PeoplePicker, *, title: str, label: str, report: Callable[[int], str]
    ) -> HttpResponse:
        """Show or save the form that gives it to those chosen in the picker, which has the name `field`.

        `report` returns the message for the number of those who got it.
        """
        page = FormPage(
            self.request,
            OptionalTimesForm,
            title=title,
            label=label,
            section=self.section,
            crumb=self.name,
            cancel_url=reverse(self.page, args=[self.urn]),
            pickers=[picker],
            are_pickers_first=True,
            keeps_draft=True,
            effect=lambda: self._describe_effect(page, picker.chosen_urns) if picker.is_sound else [],
        )

        def add(
            *,
            valid_from: datetime | None,
            valid_until: datetime | None,
            reason: str,
            by: Actor,
            channel: str,
            **choices: Sequence[str],
        ) -> list[str]:
            holders = build_holders(choices[self.field], valid_from=valid_from, valid_until=valid_until, reason=reason)
            return self.give(**{self.field: holders}, by=by, channel=channel)

        return page.run(add, lambda urns: self._redirect(report(len(urns))))

    def run_time_change(
        self, holder: str, validity: Validity, *, title: str, subtitle: str, message: str
    ) -> HttpResponse:
        """Show or save the form that sets the time of a holder (URN), who has it for `validity` now."""
        page = FormPage(
            self.request,
            TimesForm,
            title=title,
            subtitle=subtitle,
            label="Save",
            section=self.section,
            crumb=self.name,
            cancel_url=reverse(self.page, args=[self.urn]),
            initial={"valid_from": validity.begins, "valid_until": validity.ends},
            effect=lambda: self._describe_effect(page, [holder]),
        )

        def save(
            *, valid_from: datetime | None, valid_until: datetime | None, reason: str, by: Actor, channel: str
        ) -> list[str]:
            timed_holder = TimedHolder(holder, Validity(valid_from, valid_until), reason)
            return self.give(**{self.field: [timed_holder]}, by=by, channel=channel)

        return page.run(save, lambda _: self._redirect(message))

    def _describe_effect(self, page: FormPage, urns: Sequence[str]) -> list[str]:
        effect = describe_effect(self.build_change(urns), by=get_actor(self.request))
        return [*describe_times(page.form), *effect]

    def _redirect(self, message: str) -> HttpResponse:
        return redirect_with_message(self.request, message, self.page, self.urn)
