"""The files of the caller's conversations over REST: `/api/v1/conversations/{id}/files/`."""

import uuid
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_serializer
from rest_framework import generics, serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.models import Conversation
from gateway.rest.framework.pagination import Pages
from gateway.rest.framework.schema import ProblemSchema, refusals
from gateway.runs.errors import InvalidRequest
from tenants.login.views import WithinTenant
from tools.files import paths
from tools.files.paths import InvalidPath
from tools.keeping import files
from tools.keeping.downloading import attachment
from tools.keeping.errors import ChangedMeanwhile, FilesAway, FilesFull, FileTooLarge
from tools.models import File, FileVersion

_PATH = "From the workspace's root, such as notes/plan.md."
_SEEN = "The version that was read, 0 for none: nothing is changed when the file has another one by now."
_VERSION = OpenApiParameter("version", int, description="The newest without it.")
_SEEN_PARAMETER = OpenApiParameter("seen", int, description=_SEEN)
_MOST_NUMBER = 2**31 - 1


@extend_schema_serializer(component_name="File")
class FileSerializer(serializers.ModelSerializer[File]):
    """A file of a conversation: `version` is its newest, `size` is in bytes, `text` whether tools can read it."""

    text = serializers.BooleanField(source="plain")
    sha256 = serializers.SerializerMethodField()

    class Meta:
        model = File
        fields = ["id", "path", "version", "size", "media_type", "text", "sha256", "created_at", "updated_at"]

    def get_sha256(self, file: File) -> str:
        """Of its bytes, in hexadecimal."""
        return bytes(file.hash or b"").hex()


@extend_schema_serializer(component_name="FileVersion")
class FileVersionSerializer(serializers.ModelSerializer[FileVersion]):
    """What a file was; `call_id` is the tool call that wrote it, null for an upload."""

    text = serializers.BooleanField(source="plain")

    class Meta:
        model = FileVersion
        fields = ["version", "size", "media_type", "text", "call_id", "created_at"]


@extend_schema_serializer(component_name="FileDifference")
class DifferenceSerializer(serializers.Serializer[Any]):
    """What differs between two versions, as a unified diff; null where one is no text, or they are too long."""

    path = serializers.CharField()
    before = serializers.IntegerField()
    after = serializers.IntegerField()
    diff = serializers.CharField(allow_null=True, allow_blank=True)


class _ByPath(Pages):
    ordering = "path"


class _NewestFirst(Pages):
    ordering = "-version"


class _Files(WithinTenant, generics.GenericAPIView[Any]):
    """Of one of the caller's own conversations; 404 for any other."""

    scope = "chat"
    schema = ProblemSchema()
    serializer_class: Any = FileSerializer
    pagination_class: Any = _ByPath
    filter_backends: list[Any] = []
    queryset = File.objects.none()

    def conversation_id(self) -> uuid.UUID:
        """The conversation's id, once it is known to be the caller's."""
        conversation_id: uuid.UUID = self.kwargs["id"]
        if not Conversation.objects.filter(id=conversation_id, user_id=self.principal.user_id).exists():
            raise NotFound("There is no such conversation of yours.")
        return conversation_id

    def file(self, *, removed: bool = False) -> File:
        """The file that the address names; with `removed`, it may be one that a tool deleted."""
        conversation_id, file_id = self.conversation_id(), self.kwargs["file_id"]
        found = files.own(self.principal, conversation_id).filter(id=file_id).first()
        if found is None and removed:
            found = files.removed(self.principal, conversation_id).filter(id=file_id).first()
        if found is None:
            raise NotFound("There is no such file in this conversation.")
        return found

    def number(self, name: str, given: int | None = None) -> int | None:
        """A version that a parameter names; raises InvalidRequest."""
        text = self.request.query_params.get(name)
        if text is None:
            return given
        if not (text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) <= _MOST_NUMBER):
            raise InvalidRequest(f"{name} must be the number of a version.", name)
        return int(text)


class FileListView(_Files):
    """The files of a conversation; a new one, or a new version."""

    def get_queryset(self) -> QuerySet[File]:
        """Those of the folder that `path` names."""
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        if self.request.query_params.get("deleted") == "true":
            return files.removed(self.principal, self.conversation_id())
        folder = _normal(paths.of_folder, self.request.query_params.get("path", ""))
        return files.own(self.principal, self.conversation_id(), folder=folder)

    @extend_schema(
        operation_id="list_files",
        parameters=[
            OpenApiParameter("path", str, description="Only files in this folder and those in it."),
            OpenApiParameter("deleted", bool, description="Those that a tool deleted, which can be brought back."),
        ],
        responses={200: FileSerializer(many=True), **refusals(InvalidRequest)},
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The files in the order of their paths."""
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(FileSerializer(page, many=True).data)

    @extend_schema(
        operation_id="upload_file",
        parameters=[OpenApiParameter("path", str, required=True, description=_PATH), _SEEN_PARAMETER],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses={
            200: FileSerializer,
            201: FileSerializer,
            **refusals(InvalidRequest, ChangedMeanwhile, FilesFull, FileTooLarge, FilesAway),
        },
    )
    def put(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A new version of the file at `path`, the body being its bytes; 201 where there was none."""
        conversation_id = self.conversation_id()
        path = _normal(paths.of_file, request.query_params.get("path", ""))
        # Read here, and not by a parser: whatever its type, it is the file. It is in memory, as every body.
        body = request._request.read()
        seen = self.number("seen")
        written = files.upload(self.principal, conversation_id, path=path, body=body, seen=seen)
        if written is None:
            raise NotFound("There is no such conversation of yours.")
        row = files.own(self.principal, conversation_id).get(id=written.id)
        return Response(FileSerializer(row).data, status=201 if written.new and written.version == 1 else 200)


class FileView(_Files):
    """One file."""

    @extend_schema(operation_id="get_file", responses={200: FileSerializer})
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """What is known of it."""
        return Response(FileSerializer(self.file()).data)

    @extend_schema(
        operation_id="delete_file",
        parameters=[_SEEN_PARAMETER],
        responses={204: None, **refusals(ChangedMeanwhile, FilesAway)},
    )
    def delete(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Delete it with all its versions."""
        files.delete(self.file(removed=True), seen=self.number("seen"))
        return Response(status=204)


class FileRestoreView(_Files):
    """What a tool deleted, brought back."""

    @extend_schema(
        operation_id="restore_file",
        request=None,
        responses={200: FileSerializer, **refusals(ChangedMeanwhile, FilesFull, FilesAway)},
    )
    def post(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The file with what it held last, as a new version."""
        found = files.removed(self.principal, self.conversation_id()).filter(id=self.kwargs["file_id"]).first()
        if found is None or files.restore(self.principal, found) is None:
            raise NotFound("There is no such deleted file in this conversation.")
        return Response(FileSerializer(self.file()).data)


class FileContentView(_Files):
    """What one file holds."""

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Whatever types the client says that it takes, a file is what it is."""
        return super().perform_content_negotiation(request, force=True)

    @extend_schema(
        operation_id="download_file",
        parameters=[_VERSION],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        """Its bytes, as an attachment."""
        file = self.file()
        return attachment(file, files.bytes_of(file, self.number("version")))


class FileVersionListView(_Files):
    """The versions of one file."""

    serializer_class = FileVersionSerializer
    pagination_class = _NewestFirst

    @extend_schema(operation_id="list_file_versions", responses={200: FileVersionSerializer(many=True)})
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Newest first; the last 100 are kept."""
        page = self.paginate_queryset(files.versions(self.file()))
        return self.get_paginated_response(FileVersionSerializer(page, many=True).data)


class FileDifferenceView(_Files):
    """What differs between two versions of one file."""

    @extend_schema(
        operation_id="compare_file_versions",
        parameters=[
            OpenApiParameter(
                "from", int, description="A version, 0 for before the first; the one before `to` without it."
            ),
            OpenApiParameter("to", int, description="A version; the newest without it."),
        ],
        responses={200: DifferenceSerializer, **refusals(InvalidRequest)},
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A unified diff."""
        file = self.file()
        after = self.number("to", file.version)
        before = self.number("from", max(0, (after or 0) - 1))
        if after is None or before is None:
            raise NotFound("There is no such version.")
        diff = files.difference(file, before, after)
        return Response({"path": file.path, "before": before, "after": after, "diff": diff})


def _normal(form: Any, given: str) -> str:
    try:
        return str(form(given))
    except InvalidPath as error:
        raise InvalidRequest(str(error), "path") from None
