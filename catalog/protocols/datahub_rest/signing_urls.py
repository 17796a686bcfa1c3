"""URL paths of sign-in and sign-up, with and without a trailing slash."""

from django.urls import path

from catalog.protocols.datahub_rest import sign_in

urlpatterns = [
    path("logIn", sign_in.log_in, name="gms-log-in"),
    path("logIn/", sign_in.log_in),
    path("signUp", sign_in.sign_up, name="gms-sign-up"),
    path("signUp/", sign_in.sign_up),
    path("auth/signUp", sign_in.sign_up, name="gms-auth-sign-up"),
    path("auth/signUp/", sign_in.sign_up),
]
