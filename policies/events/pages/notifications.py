"""The inbox: the viewer's notices, and whether they come by mail."""

from typing import cast

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from policies.events.channels.email import planning
from policies.events.channels.inbox import storage
from policies.http.guard import signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import Section, action_view, page_view, redirect_with_message
from policies.models import NoticePreference, User

SECTION = Section("Notices", "notifications")


class NoticePreferenceForm(forms.Form):
    """Whether notices come by mail."""

    by_mail = forms.ChoiceField(label="Notices by mail", choices=NoticePreference.ByMail.choices)


@page_view(signed_in)
def list_notices(request: HttpRequest) -> HttpResponse:
    """Page with the viewer's notices, newest first; `?unread=1` leaves out those that are read."""
    user = _get_user(request)
    is_unread = request.GET.get("unread") == "1"
    page = list_and_form_pages.get_page(request, storage.list_notices(user_id=user.pk, is_unread=is_unread))
    by_mail = planning.get_by_mail(user_id=user.pk)
    context = {
        "page": page,
        "rows": page,
        "columns": list_and_form_pages.build_columns("Notice", "Actions"),
        "is_unread": is_unread,
        "form": NoticePreferenceForm(initial={"by_mail": by_mail.value}),
        "is_mail_sent": settings.NOTICE_MAIL,
        "address": user.email if planning.is_address(user.email) else "",
        "breadcrumbs": SECTION.breadcrumbs(),
    }
    return list_and_form_pages.render_list(
        request,
        page_template="notifications/list.html",
        fragment_template="notifications/_list.html",
        context=context,
    )


@action_view(signed_in)
def mark_notice(request: HttpRequest, number: int) -> HttpResponse:
    """Mark one of the viewer's notices as read, or with `unread` as unread; return to the list."""
    storage.mark(user_id=_get_user(request).pk, number=number, is_read="unread" not in request.POST)
    return redirect("notifications")


@action_view(signed_in)
def mark_all(request: HttpRequest) -> HttpResponse:
    """Mark all notices of the viewer as read."""
    count = storage.mark_all_read(user_id=_get_user(request).pk)
    noun = "notice is" if count == 1 else "notices are"
    return redirect_with_message(request, f"{count:,} {noun} marked as read.", "notifications")


@action_view(signed_in)
def choose_mail(request: HttpRequest) -> HttpResponse:
    """Store whether the viewer gets notices by mail; what is no choice changes nothing."""
    form = NoticePreferenceForm(request.POST)
    if not form.is_valid():
        return redirect("notifications")
    by_mail = NoticePreference.ByMail(form.cleaned_data["by_mail"])
    planning.choose_by_mail(user_id=_get_user(request).pk, by_mail=by_mail.value)
    return redirect_with_message(request, f"Saved: {by_mail.label.lower()}.", "notifications")


def _get_user(request: HttpRequest) -> User:
    """Return the viewer, whom the guard has found to be signed in."""
    return cast("User", request.user)
