"""Settings > Users & Groups > Service accounts: users for programs."""

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from policies.engine.model import SYSTEM_ACTOR
from policies.errors import NotFound
from policies.http.guard import get_actor, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import CHANNEL, Breadcrumb, FormPage
from policies.identity.pages import removal_warnings, rename_forms
from policies.identity.pages.account_presenter import account_facts, account_row, list_account_losses
from policies.identity.pages.forms import NewServiceForm, SearchFilterForm, ServiceForm
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import service_accounts, users
from policies.models import User
from policies.pdp import authorizer
from policies.writes import required_privileges

MANAGE_GUARD = needs("MANAGE_SERVICE_ACCOUNTS")

_COLUMNS = [
    {"label": "Name"},
    {"label": "Description"},
    {"label": "State"},
    {"label": "Roles"},
    {"label": "Tokens", "is_number": True},
    {"label": "Actions", "is_hidden_label": True},
]


@require_GET
@never_cache
@MANAGE_GUARD
def list_service_accounts(request: HttpRequest) -> HttpResponse:
    """Page with the list of service accounts, searched and paged; htmx requests get only the list."""
    form = SearchFilterForm(request.GET)
    form.is_valid()
    text = form.cleaned_data.get("q", "")
    page = list_and_form_pages.get_page(
        request, users_groups_roles.list_users(kind=User.Kind.SERVICE, q=text, address_condition=Q())
    )
    counts = credentials.count_tokens(users=list(page))
    context = {
        "form": form,
        "page": page,
        "rows": [{**account_row(user), "tokens": counts[user.urn]} for user in page],
        "columns": _COLUMNS,
        "is_filtered": bool(text),
        "breadcrumbs": list_and_form_pages.settings_breadcrumbs("Users & Groups", ("Service accounts", "")),
    }
    return list_and_form_pages.render_list(
        request, page_template="people/services.html", fragment_template="people/_services.html", context=context
    )


@require_GET
@never_cache
@MANAGE_GUARD
def show_service_account(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one service account with its tokens, groups, roles and policies."""
    user = _get_service_account(urn)
    names = authorizer.load_names(urns=[user.created_by]) | {SYSTEM_ACTOR: "the system"}
    context = {
        "user_shown": user,
        "facts": [fact for fact in account_facts(user, names) if fact["label"] not in ("Email", "Title")],
        "tokens": credentials.list_tokens(owner=urn)[:100],
        "group_names": user.group_names,
        "role_names": user.role_names,
        "policies": credentials.list_policies_naming(actor=urn),
        "may": list_and_form_pages.check_permissions(
            request,
            assign=(required_privileges.MANAGE_POLICIES, None),
            groups=(required_privileges.privilege_group("group.update"), None),
        ),
        "breadcrumbs": _breadcrumbs(user.name),
    }
    return render(request, "people/service.html", context)


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGE_GUARD
def create_service_account(request: HttpRequest) -> HttpResponse:
    """Page that creates a service account; its roles and policies give it privileges."""
    page = FormPage(
        title="New service account",
        subtitle="It has no password and acts by its tokens.",
        label="Create service account",
        cancel_url=reverse("service-accounts"),
        breadcrumbs=_breadcrumbs("New service account"),
        form=NewServiceForm(list_and_form_pages.get_post_data(request)),
    )
    if request.method == "POST":
        user = page.save_or_report(
            lambda cleaned_data: service_accounts.create(**cleaned_data, by=get_actor(request), channel=CHANNEL)
        )
        if user is not None:
            messages.success(request, f"{user.name} was created. Create a token for it next.")
            return redirect("service-account", urn=user.urn)
    return page.render(request)


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGE_GUARD
def edit_service_account(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that edits the name and description of a service account."""
    user = _get_service_account(urn) if request.method == "GET" else users_groups_roles.find_user(urn=urn)
    current_facts = None if user is None else users.facts(user)
    name = urn if user is None else user.name
    page = FormPage(
        title=f"Edit {name}",
        label="Save",
        cancel_url=reverse("service-account", args=[urn]),
        breadcrumbs=_breadcrumbs(name),
        form=ServiceForm(
            list_and_form_pages.get_post_data(request), initial=list_and_form_pages.build_initial_data(current_facts)
        ),
    )
    return rename_forms.handle_form(
        request, page=page, urn=urn, current_facts=current_facts, save=service_accounts.update
    )


@require_POST
@MANAGE_GUARD
def toggle_service_account(request: HttpRequest, urn: str) -> HttpResponse:
    """Suspend an active service account or activate a suspended one; its tokens are refused while it is suspended."""
    user = _get_service_account(urn)
    set_state = users.activate if user.state == User.State.SUSPENDED else users.suspend
    updated_user = set_state(urn=urn, by=get_actor(request), channel=CHANNEL)
    messages.success(request, f"{updated_user.name} is {updated_user.get_state_display().lower()}.")
    return redirect("service-account", urn=urn)


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGE_GUARD
def delete_service_account(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page that lists the losses, and the deletion of a service account."""
    user = _get_service_account(urn)
    if request.method == "POST":
        users.remove(urn=urn, by=get_actor(request), channel=CHANNEL)
        messages.success(request, f"{user.name} is deleted.")
        return redirect("service-accounts")
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Delete {user.name}?",
        text="Programs that act as it are refused from now on. This cannot be undone.",
        losses=[*list_account_losses(user), *removal_warnings.list_losses(urn=urn)],
        label="Delete service account",
        cancel_url=reverse("service-account", args=[urn]),
    )


def _get_service_account(urn: str) -> User:
    user = users_groups_roles.get_user(urn=urn)
    if user.kind != User.Kind.SERVICE or user.is_removed:
        raise NotFound(f"There is no service account {urn!r}.")
    return user


def _breadcrumbs(label: str) -> list[Breadcrumb]:
    return list_and_form_pages.settings_breadcrumbs(
        "Users & Groups", ("Service accounts", reverse("service-accounts")), (label, "")
    )
