"""Settings > Users & Groups > Service accounts: users that programs act as."""

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from policies.engine.model import SYSTEM_ACTOR
from policies.errors import NotFound
from policies.http.guard import actor_of, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import DOOR, Crumb, FormPage
from policies.identity.pages import removal_warnings, rename_forms
from policies.identity.pages.account_presenter import facts_of, losses_of, row_of
from policies.identity.pages.forms import NewServiceForm, SearchFilters, ServiceForm
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import service_accounts, users
from policies.models import User
from policies.pdp import authorizer
from policies.writes import required_privileges as wanted

MANAGES = needs("MANAGE_SERVICE_ACCOUNTS")

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
@MANAGES
def service_list(request: HttpRequest) -> HttpResponse:
    """The service accounts, searched and paged; an htmx request gets the list alone."""
    form = SearchFilters(request.GET)
    form.is_valid()
    text = form.cleaned_data.get("q", "")
    page = list_and_form_pages.page_of(request, users_groups_roles.users(kind=User.Kind.SERVICE, q=text, seen=Q()))
    counts = credentials.token_counts(users=list(page))
    context = {
        "form": form,
        "page": page,
        "rows": [{**row_of(user), "tokens": counts[user.urn]} for user in page],
        "columns": _COLUMNS,
        "is_filtered": bool(text),
        "breadcrumbs": list_and_form_pages.crumbs("Users & Groups", ("Service accounts", "")),
    }
    return list_and_form_pages.listed(
        request, whole="people/services.html", part="people/_services.html", context=context
    )


@require_GET
@never_cache
@MANAGES
def service_detail(request: HttpRequest, urn: str) -> HttpResponse:
    """One service account with its tokens, groups and roles."""
    user = _service(urn)
    names = authorizer.names(urns=[user.created_by]) | {SYSTEM_ACTOR: "the system"}
    context = {
        "user_shown": user,
        "facts": [fact for fact in facts_of(user, names) if fact["label"] not in ("Email", "Title")],
        "tokens": credentials.tokens(owner=urn)[:100],
        "group_names": user.group_names,
        "role_names": user.role_names,
        "policies": credentials.named_policies(actor=urn),
        "may": list_and_form_pages.may(
            request, assign=(wanted.MANAGE_POLICIES, None), groups=(wanted.group_of("group.update"), None)
        ),
        "breadcrumbs": _crumbs(user.name),
    }
    return render(request, "people/service.html", context)


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGES
def service_new(request: HttpRequest) -> HttpResponse:
    """Make a service account; what it may do comes with its roles and the policies that name it."""
    page = FormPage(
        title="New service account",
        subtitle="It has no password and acts by its tokens.",
        label="Create service account",
        cancel_url=reverse("service-accounts"),
        breadcrumbs=_crumbs("New service account"),
        form=NewServiceForm(list_and_form_pages.posted(request)),
    )
    if request.method == "POST":
        made = page.try_to(lambda typed: service_accounts.create(**typed, by=actor_of(request), door=DOOR))
        if made is not None:
            messages.success(request, f"{made.name} was created. Create a token for it next.")
            return redirect("service-account", urn=made.urn)
    return page.draw(request)


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGES
def service_edit(request: HttpRequest, urn: str) -> HttpResponse:
    """Change what a service account is called."""
    user = _service(urn) if request.method == "GET" else users_groups_roles.stored_user(urn=urn)
    now = None if user is None else users.facts(user)
    name = urn if user is None else user.name
    page = FormPage(
        title=f"Edit {name}",
        label="Save",
        cancel_url=reverse("service-account", args=[urn]),
        breadcrumbs=_crumbs(name),
        form=ServiceForm(list_and_form_pages.posted(request), initial=list_and_form_pages.initial(now)),
    )
    return rename_forms.answer(request, page=page, urn=urn, now=now, save=service_accounts.update)


@require_POST
@MANAGES
def service_state(request: HttpRequest, urn: str) -> HttpResponse:
    """Suspend a service account, or let it act again; its tokens wait meanwhile."""
    user = _service(urn)
    change = users.activate if user.state == User.State.SUSPENDED else users.suspend
    changed = change(urn=urn, by=actor_of(request), door=DOOR)
    messages.success(request, f"{changed.name} is {changed.get_state_display().lower()}.")
    return redirect("service-account", urn=urn)


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGES
def service_remove(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask, saying what will be lost, then delete a service account."""
    user = _service(urn)
    if request.method == "POST":
        users.remove(urn=urn, by=actor_of(request), door=DOOR)
        messages.success(request, f"{user.name} is deleted.")
        return redirect("service-accounts")
    return list_and_form_pages.ask(
        request,
        title=f"Delete {user.name}?",
        text="Programs that act as it are refused from now on. This cannot be undone.",
        losses=[*losses_of(user), *removal_warnings.losses(urn=urn)],
        label="Delete service account",
        cancel_url=reverse("service-account", args=[urn]),
    )


def _service(urn: str) -> User:
    user = users_groups_roles.user(urn=urn)
    if user.kind != User.Kind.SERVICE or user.is_removed:
        raise NotFound(f"There is no service account {urn!r}.")
    return user


def _crumbs(label: str) -> list[Crumb]:
    return list_and_form_pages.crumbs("Users & Groups", ("Service accounts", reverse("service-accounts")), (label, ""))
