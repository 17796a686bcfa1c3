"""Settings > Users & Groups > Service accounts: users for programs."""

from functools import partial
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from policies.http.guard import needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.form_drafts import is_opened
from policies.http.pages.list_and_form_pages import Section, build_columns, form_view, page_view
from policies.http.pages.record_pages import RecordPages
from policies.identity.pages import removal_warnings
from policies.identity.pages.account_presenter import account_facts, account_row, list_account_losses
from policies.identity.pages.edit_form import handle_edit
from policies.identity.pages.forms import NewServiceForm, SearchFilterForm, ServiceForm
from policies.identity.queries import credentials, policy_mentions, users_groups_roles
from policies.identity.services import people_writer, service_accounts, users
from policies.models import User
from policies.writes import required_privileges

SECTION = Section("Service accounts", "service-accounts", ("Settings", "Users & Groups"))
PAGES = RecordPages(
    SECTION,
    "service account",
    "service-account",
    subtitle="Accounts for programs, which act with access tokens.",
    rows_template="people/_service_rows.html",
    icon="service",
    empty_text="A program that runs on its own should not act as a person.",
)

MANAGE_GUARD = needs("MANAGE_SERVICE_ACCOUNTS")

_TOKEN_PAGE_SIZE = 100


@page_view(MANAGE_GUARD)
def list_service_accounts(request: HttpRequest) -> HttpResponse:
    """Page with the list of service accounts, searched and paged; htmx requests get only the list."""
    return PAGES.render_list(
        request,
        form=SearchFilterForm(request.GET),
        query=partial(users_groups_roles.list_users, kind=User.Kind.SERVICE, address_condition=Q()),
        build_rows=_build_rows,
        columns=build_columns("Name", "Description", "State", "Roles", "Tokens", "Actions", numbers=["Tokens"]),
    )


@page_view(MANAGE_GUARD)
def show_service_account(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one service account with its tokens, groups, roles and policies."""
    user = service_accounts.get(urn=urn)
    context = {
        "user_shown": user,
        "facts": [fact for fact in account_facts(user) if fact["label"] not in ("Email", "Title")],
        "tokens": list_and_form_pages.get_page(request, credentials.list_tokens(owner=urn), _TOKEN_PAGE_SIZE),
        "group_names": user.group_names,
        "role_names": user.role_names,
        "policies": policy_mentions.list_mentions(actor=urn),
        "may": list_and_form_pages.check_permissions(
            request,
            assign=required_privileges.MANAGE_POLICIES,
            groups=required_privileges.privilege_group("group.update"),
        ),
        "breadcrumbs": SECTION.breadcrumbs(user.name),
    }
    return render(request, "people/service.html", context)


@form_view(MANAGE_GUARD)
def create_service_account(request: HttpRequest) -> HttpResponse:
    """Page that creates a service account; its roles and policies give it privileges."""
    return PAGES.create(
        request,
        NewServiceForm,
        service_accounts.create,
        message="{} was created. Create a token for it next.",
        subtitle="It has no password and acts by its tokens.",
    )


@form_view(MANAGE_GUARD)
def edit_service_account(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that edits the name and description of a service account."""
    return handle_edit(
        request,
        ServiceForm,
        section=SECTION,
        url=PAGES.get_url(urn),
        urn=urn,
        record=service_accounts.get(urn=urn) if is_opened(request) else users_groups_roles.find_user(urn=urn),
        load_facts=people_writer.facts,
        save=service_accounts.update,
    )


@form_view(MANAGE_GUARD)
def toggle_service_account(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page and suspension of an active service account, or activation of a suspended one."""
    user = service_accounts.get(urn=urn)
    if user.state == User.State.SUSPENDED:
        act, verb, done, kind, text = users.activate, "Activate", "active", "primary", "accepted again"
    else:
        act, verb, done, kind, text = users.suspend, "Suspend", "suspended", "danger", "refused until it is activated"
    return PAGES.ask(
        request, user, act, verb=verb, done=done, kind=kind, text=f"Its tokens are {text}.", change=verb.lower()
    )


@form_view(MANAGE_GUARD)
def delete_service_account(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page that lists the losses, and the deletion of a service account."""
    user = service_accounts.get(urn=urn)
    return PAGES.delete(
        request,
        user,
        users.remove,
        text="Programs that act as it are refused from now on. This cannot be undone.",
        losses=lambda: [*list_account_losses(user), *removal_warnings.list_losses(urn=urn)],
        change="delete_user",
    )


def _build_rows(accounts: list[User]) -> list[dict[str, Any]]:
    counts = credentials.count_tokens(users=accounts)
    return [{**account_row(user), "tokens": counts[user.urn]} for user in accounts]
