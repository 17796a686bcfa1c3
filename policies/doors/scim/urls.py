"""Everything below `/scim/v2` is one view; what is there, the library knows."""

from django.urls import re_path

from policies.doors.late import late

urlpatterns = [re_path(r"^scim/v2(?:/(?P<path>(?s:.*)))?$", late("policies.doors.scim.views.door"), name="scim")]
