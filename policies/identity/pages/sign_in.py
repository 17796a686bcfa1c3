"""Sign-in and sign-out pages."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import views
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from policies.errors import NotFound
from policies.http.guard import public
from policies.http.pages.filter_forms import SignInForm
from policies.identity.queries import users_groups_roles
from policies.models.people import ROOT_USERNAME, USER_PREFIX

#: Session key of the provider's sign-out URL.
SIGN_OUT_URL_KEY = "oidc_way_out"


class SignInView(views.LoginView):
    """The sign-in page. A signed-in user is redirected to the requested page."""

    template_name = "registration/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_redirect_url(self) -> str:  # type: ignore[override]  # the stubs describe a later Django
        """Return the URL to go to after sign-in, on this site and not this page, or ''."""
        url = super().get_redirect_url()
        return "" if urlsplit(url).path == reverse("sign-in") else url

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the warning about the default root password, and the label of the OpenID Connect provider."""
        provider = settings.OIDC.label if settings.OIDC.is_configured else ""
        return {
            **super().get_context_data(**kwargs),
            "is_default_password": _is_default_password(),
            "provider": provider,
        }


class SignOutView(views.LogoutView):
    """Ends the session here. Users who signed in with a provider get a link to its sign-out page."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """End the session."""
        sign_out_url = request.session.get(SIGN_OUT_URL_KEY, "")
        response = super().post(request, *args, **kwargs)
        if not (sign_out_url and settings.OIDC.is_configured):
            return response
        context = {"label": settings.OIDC.label, "way_out": sign_out_url}
        return TemplateResponse(request, "registration/signed_out.html", context)


def _is_default_password() -> bool:
    """Whether root still has the shipped password; checked only with PLAIN_HTTP, which is for trials on one machine."""
    if not settings.PLAIN_HTTP:
        return False
    try:
        root = users_groups_roles.get_user(urn=f"{USER_PREFIX}{ROOT_USERNAME}")
    except NotFound:
        return False
    return root.check_password(settings.DEFAULT_ROOT_PASSWORD)


sign_in = public(SignInView.as_view())
sign_out = public(SignOutView.as_view())
