"""The paths of AuthZEN 1.0."""

from django.urls import path

from catalog.doors.authzen import views

urlpatterns = [
    path("access/v1/evaluation", views.evaluation, name="authzen-evaluation"),
    path("access/v1/evaluations", views.evaluations, name="authzen-evaluations"),
    path("access/v1/search/subject", views.search_subject, name="authzen-search-subject"),
    path("access/v1/search/resource", views.search_resource, name="authzen-search-resource"),
    path("access/v1/search/action", views.search_action, name="authzen-search-action"),
    path(".well-known/authzen-configuration", views.configuration, name="authzen-configuration"),
]
