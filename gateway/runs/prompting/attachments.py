"""Pictures and documents of a conversation's files that are attached to what the user says.

A message refers to versions of files; what they hold is read when a model is asked, within bounds. One that was deleted
since, or is beyond them, is a line of text in its place. Bytes say what a file is (`tools.files.content`), nobody else.
"""

import base64
import uuid
from collections.abc import Sequence

from psycopg.types.json import Jsonb

from audit.calls import taint
from gateway.providers import media
from gateway.providers.interface import Document, Image, Part, Text, UserMessage
from gateway.providers.routing.resolution import ResolvedModel
from gateway.runs.errors import AttachmentRefused
from gateway.runs.rows import NewRun
from tenants.scope.transactions import Connection, TenantScope
from tools.files import attached
from tools.files.attached import Attached, Wanted
from tools.labels import PRIVATE

MOST = 10
"""Of one message."""
MAX_BYTES = 5 * 1024 * 1024
"""Of one; Anthropic takes no larger picture."""
MOST_BYTES = 12 * 1024 * 1024
"""Of a message, and of all that a model is shown in one turn: 16 MiB of base64. Gemini takes requests of 20 MB."""

_ATTACH = "UPDATE messages SET attachments = %s WHERE id = %s"
_MOST_NAME = 100


async def attach(connection: Connection, new: NewRun, wanted: Sequence[Wanted], model: ResolvedModel) -> list[Attached]:
    """Have the message that begins a run refer to files of its conversation, in the transaction that writes it, once it
    is known that the model takes them; the versions. The conversation reads them with it, as it would with a tool.

    Raises AttachmentRefused, which names the one at fault.
    """
    scope = TenantScope(new.tenant_id, new.user_id)
    found, tainted = await attached.find(connection, *scope, new.conversation_id, wanted)
    takes = media.taken(model.name, model.kind)
    total = 0
    for at, each in enumerate(wanted):
        file = found.get(at)
        total += file.size if file else 0
        if why := _refusal(each, file, takes, model.name, total):
            raise AttachmentRefused(why, f"attachments[{at}].file")
    files = [found[at] for at in range(len(wanted))]
    await connection.execute(_ATTACH, [Jsonb([file.json for file in files]), new.user_message_id])
    source = files[0].path[:_MOST_NAME] + (f" and {len(files) - 1} more" if len(files) > 1 else "")
    await taint.add(
        connection,
        scope,
        conversation_id=new.conversation_id,
        run_id=new.id,
        labels=tainted | {PRIVATE},
        source=f"{source} (attached)",
    )
    return files


def _refusal(wanted: Wanted, file: Attached | None, takes: frozenset[str], model: str, total: int) -> str:
    """Why a file is not attached, or nothing; `total` is the bytes of the message's files up to it."""
    path = wanted.path[:_MOST_NAME]
    if file is None:
        version = f" with a version {wanted.version}" if wanted.version is not None else ""
        return f"This conversation has no file {path}{version}. Upload it first, or choose one of its files."
    if file.media_type not in media.EVERY:
        return (
            f"{path} is neither a picture (PNG, JPEG, GIF, WebP) nor a PDF by its bytes. A text need not be attached: "
            "name it in the message, and the model can read it."
        )
    if file.media_type not in takes:
        return (
            f"The model {model} does not take a {media.NAMES[file.media_type]} ({path}). Choose a model that does, or "
            "send the message without it. An owner adds models under Settings, Models."
        )
    if file.size > MAX_BYTES or total > MOST_BYTES:
        return (
            f"An attached file has up to {MAX_BYTES:,} bytes, and those of a message up to {MOST_BYTES:,} together; "
            f"{path} is beyond that. Attach a smaller one."
        )
    return ""


async def parts(
    connection: Connection, referred: Sequence[tuple[uuid.UUID, Sequence[Attached]]]
) -> dict[uuid.UUID, tuple[Part, ...]]:
    """What the messages of runs refer to, as parts of a prompt, by the run: `referred` has the newest first, and those
    are shown as far as there is room."""
    files = [file for _, of_run in referred for file in of_run]
    if not files:
        return {}
    room = MOST_BYTES
    fitting: set[Attached] = set()
    for file in files:
        if file not in fitting and room >= file.size:
            room -= file.size
            fitting.add(file)
    bodies = await attached.contents(connection, fitting)
    return {
        run_id: tuple(_part(file, file in fitting, bodies.get((file.file_id, file.version))) for file in of_run)
        for run_id, of_run in referred
        if of_run
    }


def said(text: str, beside: tuple[Part, ...] = (), *, by_person: bool = True) -> UserMessage:
    """What was said, with the parts beside it, if there are any."""
    return UserMessage(text, (Text(text), *beside) if beside else (), by_person=by_person)


def _part(file: Attached, fits: bool, body: bytes | None) -> Part:
    if body is None:
        why = "It was deleted since." if fits else "It is not shown again: newer ones take all the room."
        return Text(f"[{media.NAMES.get(file.media_type, file.media_type)} {file.path} was attached here. {why}]")
    data = base64.b64encode(body).decode()
    if file.media_type == "application/pdf":
        return Document(file.media_type, data, file.name)
    return Image(file.media_type, data, name=file.name)
