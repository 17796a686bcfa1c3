"""Everything below `/scim/v2` is one view; what is there, the library knows."""

from django.urls import re_path

from policies.doors.scim import views

urlpatterns = [re_path(r"^scim/v2(?:/(?P<path>(?s:.*)))?$", views.door, name="scim")]
