"""`python -m gateway.server`: a web process, or several with `--workers` or WEB_CONCURRENCY."""

import argparse
import sys
from contextlib import suppress

from uvicorn import Config, Server
from uvicorn.supervisors import Multiprocess

from gateway.server import sockets
from gateway.server.connections import Connection

KEEP_ALIVE_SECONDS = 75
MAX_SOCKET_MESSAGE_BYTES = 1024 * 1024


def main() -> int:
    """The exit code; 1 when the server could not start and has printed why."""
    parser = argparse.ArgumentParser(prog="python -m gateway.server", description=__doc__)
    parser.add_argument("application", nargs="?", default="gateway.config.asgi:application")
    parser.add_argument("--fd", type=int, help="the listening socket that the parent process opened")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--workers", type=int, help="processes; WEB_CONCURRENCY where it is not given")
    parser.add_argument("--forwarded-allow-ips", help="proxies whose X-Forwarded-* headers count; FORWARDED_ALLOW_IPS")
    parser.add_argument("--no-proxy-headers", action="store_true", help="X-Forwarded-* headers never count")
    parser.add_argument("--stop-seconds", type=int, default=20, help="for requests under way when the process stops")
    parser.add_argument("--lifespan", choices=["on", "off"], default="on")
    given = parser.parse_args()
    sockets.allow_many()
    config = Config(
        given.application,
        loop="uvloop",
        http=Connection,
        lifespan=given.lifespan,
        workers=given.workers,
        proxy_headers=not given.no_proxy_headers,
        forwarded_allow_ips=given.forwarded_allow_ips,
        access_log=False,
        server_header=False,
        log_level="warning",
        timeout_graceful_shutdown=given.stop_seconds,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        ws_max_size=MAX_SOCKET_MESSAGE_BYTES,
    )
    try:
        listening = sockets.listen(given.host, given.port) if given.fd is None else sockets.inherited(given.fd)
    except OSError as error:
        print(f"cannot listen on {given.host} port {given.port}: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 1
    if config.workers > 1:
        Multiprocess(config, sockets=[listening]).run()
        return 0
    config.load_app()
    server = Server(config)
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    return 0 if server.started else 3


if __name__ == "__main__":
    sys.exit(main())
