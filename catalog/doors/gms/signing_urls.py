"""The paths of signing in and up, with and without a slash at the end."""

from django.urls import path

from catalog.doors.gms import signing

urlpatterns = [
    path("logIn", signing.log_in, name="gms-log-in"),
    path("logIn/", signing.log_in),
    path("signUp", signing.sign_up, name="gms-sign-up"),
    path("signUp/", signing.sign_up),
    path("auth/signUp", signing.sign_up, name="gms-auth-sign-up"),
    path("auth/signUp/", signing.sign_up),
]
