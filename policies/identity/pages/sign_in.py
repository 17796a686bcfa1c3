"""Signing in and out."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import views
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from policies.errors import NotFound
from policies.http.guard import public, signed_in
from policies.http.pages.filter_forms import SignInForm
from policies.identity.queries import users_groups_roles
from policies.models.people import ROOT_USERNAME, USER_PREFIX

#: Where a session keeps the address at which its person signs out of the provider.
SIGN_OUT_URL_KEY = "oidc_way_out"


class SignInView(views.LoginView):
    """The sign-in page. Somebody who is signed in goes on to where they wanted to go."""

    template_name = "registration/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_redirect_url(self) -> str:  # type: ignore[override]  # the stubs describe a later Django
        """Return where to go afterwards: an address of this site other than this page, or nothing."""
        url = super().get_redirect_url()
        return "" if urlsplit(url).path == reverse("sign-in") else url

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add whether the root account still has its first password, and what the other way in is called."""
        provider = settings.OIDC.label if settings.OIDC.is_configured else ""
        return {
            **super().get_context_data(**kwargs),
            "is_default_password": _is_default_password(),
            "provider": provider,
        }


class SignOutView(views.LogoutView):
    """Signs out here. Who came from a provider of identities is shown the way out there."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """End the session."""
        sign_out_url = request.session.get(SIGN_OUT_URL_KEY, "")
        response = super().post(request, *args, **kwargs)
        if not (sign_out_url and settings.OIDC.is_configured):
            return response
        context = {"label": settings.OIDC.label, "way_out": sign_out_url}
        return TemplateResponse(request, "registration/signed_out.html", context)


def _is_default_password() -> bool:
    """Whether the shipped password works: told only where it would be true, on a plain-HTTP trial of one machine."""
    if not settings.PLAIN_HTTP:
        return False
    try:
        root = users_groups_roles.get_user(urn=f"{USER_PREFIX}{ROOT_USERNAME}")
    except NotFound:
        return False
    return root.check_password(settings.DEFAULT_ROOT_PASSWORD)


sign_in = public(SignInView.as_view())
sign_out = public(SignOutView.as_view())


@require_GET
@signed_in
def redirect_to_catalog(_request: HttpRequest) -> HttpResponse:
    """Lead to the catalog, which everybody who is signed in may open."""
    return redirect("catalog")
