"""URL paths of AuthZEN 1.0."""

from django.urls import path

from catalog.protocols.authzen import views as authzen_views
from catalog.protocols.authzen.access_requests import views as request_views

urlpatterns = [
    path("access/v1/evaluation", authzen_views.evaluate, name="authzen-evaluation"),
    path("access/v1/evaluations", authzen_views.evaluate_batch, name="authzen-evaluations"),
    path("access/v1/requests", request_views.submit_request, name="authzen-access-requests"),
    # Ids of tasks are longer than this word.
    path("access/v1/requests/schema", request_views.get_schema, name="authzen-access-request-schema"),
    path("access/v1/requests/<str:token>", request_views.get_task, name="authzen-access-request-task"),
    path("access/v1/requests/<str:token>/cancel", request_views.cancel_task, name="authzen-access-request-cancel"),
    path("access/v1/search/subject", authzen_views.search_subjects, name="authzen-search-subject"),
    path("access/v1/search/resource", authzen_views.search_resources, name="authzen-search-resource"),
    path("access/v1/search/action", authzen_views.search_actions, name="authzen-search-action"),
    path(".well-known/authzen-configuration", authzen_views.get_configuration, name="authzen-configuration"),
]
