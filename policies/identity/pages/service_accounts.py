"""Settings > Users & Groups > Service accounts: users for programs."""

from functools import partial
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from policies.http.guard import get_actor, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.change_effect import describe_effect
from policies.http.pages.form_drafts import is_opened
from policies.http.pages.form_page import FormPage
from policies.http.pages.list_and_form_pages import (
    Section,
    ask_and_act,
    build_columns,
    form_view,
    page_view,
    redirect_with_message,
)
from policies.identity.pages import removal_warnings
from policies.identity.pages.account_presenter import account_facts, account_row, list_account_losses
from policies.identity.pages.edit_form import handle_edit
from policies.identity.pages.forms import NewServiceForm, SearchFilterForm, ServiceForm
from policies.identity.queries import credentials, policy_mentions, users_groups_roles
from policies.identity.services import people_writer, service_accounts, users
from policies.models import User
from policies.writes import required_privileges

SECTION = Section("Service accounts", "service-accounts", ("Settings", "Users & Groups"))

MANAGE_GUARD = needs("MANAGE_SERVICE_ACCOUNTS")

_TOKEN_PAGE_SIZE = 100


@page_view(MANAGE_GUARD)
def list_service_accounts(request: HttpRequest) -> HttpResponse:
    """Page with the list of service accounts, searched and paged; htmx requests get only the list."""
    return list_and_form_pages.render_filtered_list(
        request,
        "people/services.html",
        "people/_services.html",
        form=SearchFilterForm(request.GET),
        query=partial(users_groups_roles.list_users, kind=User.Kind.SERVICE, address_condition=Q()),
        build_rows=_build_rows,
        columns=build_columns("Name", "Description", "State", "Roles", "Tokens", "Actions", numbers=["Tokens"]),
        breadcrumbs=SECTION.breadcrumbs(),
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
    page = FormPage(
        request,
        NewServiceForm,
        title="New service account",
        subtitle="It has no password and acts by its tokens.",
        keeps_draft=True,
        label="Create service account",
        section=SECTION,
    )
    message = "{} was created. Create a token for it next."
    return page.run(
        service_accounts.create,
        lambda user: redirect_with_message(request, message.format(user.name), "service-account", user.urn),
    )


@form_view(MANAGE_GUARD)
def edit_service_account(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that edits the name and description of a service account."""
    return handle_edit(
        request,
        ServiceForm,
        section=SECTION,
        url=reverse("service-account", args=[urn]),
        urn=urn,
        record=service_accounts.get(urn=urn) if is_opened(request) else users_groups_roles.find_user(urn=urn),
        load_facts=people_writer.facts,
        save=service_accounts.update,
    )


@form_view(MANAGE_GUARD)
def toggle_service_account(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page and suspension of an active service account, or activation of a suspended one."""
    user = service_accounts.get(urn=urn)
    is_suspended = user.state == User.State.SUSPENDED
    verb = "Activate" if is_suspended else "Suspend"

    def report_state(updated_user: User) -> HttpResponse:
        message = f"{updated_user.name} is {updated_user.get_state_display().lower()}."
        return redirect_with_message(request, message, "service-account", urn)

    return ask_and_act(
        request,
        partial(users.activate if is_suspended else users.suspend, urn=urn),
        report_state,
        title=f"{verb} {user.name}?",
        text=f"Its tokens are {'accepted again' if is_suspended else 'refused until it is activated'}.",
        effect=lambda: describe_effect({verb.lower(): urn}, by=get_actor(request)),
        label=f"{verb} service account",
        kind="primary" if is_suspended else "danger",
        cancel_url=reverse("service-account", args=[urn]),
    )


@form_view(MANAGE_GUARD)
def delete_service_account(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page that lists the losses, and the deletion of a service account."""
    user = service_accounts.get(urn=urn)
    return ask_and_act(
        request,
        partial(users.remove, urn=urn),
        lambda _: redirect_with_message(request, f"{user.name} is deleted.", "service-accounts"),
        title=f"Delete {user.name}?",
        text="Programs that act as it are refused from now on. This cannot be undone.",
        losses=lambda: [*list_account_losses(user), *removal_warnings.list_losses(urn=urn)],
        effect=lambda: describe_effect({"delete_user": urn}, by=get_actor(request)),
        label="Delete service account",
        cancel_url=reverse("service-account", args=[urn]),
    )


def _build_rows(accounts: list[User]) -> list[dict[str, Any]]:
    counts = credentials.count_tokens(users=accounts)
    return [{**account_row(user), "tokens": counts[user.urn]} for user in accounts]
