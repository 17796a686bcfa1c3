"""URL paths of DataHub's GraphQL, the older one of its clients and that of its pages, both with the same view."""

from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from policies.http.guard import signed_in
from policies.http.lazy_view import lazy_view

graphql = csrf_exempt(
    lazy_view("catalog.protocols.datahub_graphql.views.handle_graphql", signed_in.with_channel("graphql"))
)

urlpatterns = [
    path("api/graphql", graphql, name="graphql"),
    path("api/graphql/", graphql),
    path("api/v2/graphql", graphql, name="graphql-v2"),
    path("api/v2/graphql/", graphql),
]
