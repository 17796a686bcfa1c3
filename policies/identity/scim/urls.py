"""URL pattern of SCIM: one view answers every path below `/scim/v2`, and the library routes it."""

from django.urls import re_path
from django.views.decorators.csrf import csrf_exempt

from policies.http.guard import signed_in
from policies.http.lazy_view import lazy_view

scim_view = csrf_exempt(lazy_view("policies.identity.scim.views.handle_scim", signed_in.with_channel("scim")))

urlpatterns = [re_path(r"^scim/v2(?:/(?P<path>(?s:.*)))?$", scim_view, name="scim")]
