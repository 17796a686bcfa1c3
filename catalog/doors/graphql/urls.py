"""The paths of DataHub's GraphQL, the older one of the clients' own and that of the pages; all of them are the same."""

from django.urls import path

from policies.doors.late import late

graphql = late("catalog.doors.graphql.views.graphql")

urlpatterns = [
    path("api/graphql", graphql, name="graphql"),
    path("api/graphql/", graphql),
    path("api/v2/graphql", graphql, name="graphql-v2"),
    path("api/v2/graphql/", graphql),
]
