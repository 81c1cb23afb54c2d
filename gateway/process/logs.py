"""One line a log record, with control characters escaped so that no text can forge a line or reach a terminal."""

import logging
import re

import structlog

# Every control and format character that a terminal or a reader of lines may act on: C0 and C1, the separators of
# lines, and what changes the direction of text. Lone surrogates cannot be written at all.
_ACTIVE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def _escaped(text: str) -> str:
    return _ACTIVE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


class OneLine(logging.Formatter):
    """Wraps a formatter: whatever it renders, message, values and traceback alike, is one line of harmless text."""

    def __init__(self, inner: logging.Formatter):
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        """The record in one line."""
        return _escaped(self._inner.format(record))


def formatter() -> logging.Formatter:
    """The formatter for every logger of the process."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.ExtraAdder(),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    line = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "logger", "event"], drop_missing=True),
        ],
    )
    return OneLine(line)
