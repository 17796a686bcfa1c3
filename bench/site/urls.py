"""The two views that `POST /api/v1/authorize` is compared with: a DRF view and a Django view that answer nothing."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from policies.http.guard import public, signed_in


@signed_in
class Empty(APIView):
    """The product's authentication, permission class and renderer, and nothing to do."""

    def post(self, _request: Request) -> Response:
        """Answer an empty object."""
        return Response({})


@public
@csrf_exempt
def empty(_request: HttpRequest) -> HttpResponse:
    """Answer nothing."""
    return HttpResponse()


# Below /api/, so that their calls are counted as well.
urlpatterns = [
    path("api/empty/drf", Empty.as_view()),
    path("api/empty/django", empty),
    path("", include("authzsite.urls")),
]
