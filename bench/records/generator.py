"""Fills a database with a history of calls: a large tenant and eight others, 13 months, words as people use them.

A month is written into a table of its own, which becomes a partition, with every index, once it is full: that way it
is as the database would have left it, and takes minutes instead of hours. Needs the owner's login.
"""

import itertools
import json
import random
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import psycopg

MONTHS = 13
OTHERS = 8
USERS = 1000
PHRASES = 20_000
WORDS = 5000
# As often as a call in ten thousand, and once in a month.
RARE_TOOL = "github_create_issue"
RARE_WORD = "quokka"
ABSENT_WORD = "xylophone"
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstv" for vowel in "aeo"]
COMMON = ["report", "meeting", "invoice", "customer", "review", "budget", "project", "deadline", "contract", "release"]
GATES = json.dumps(
    [{"gate": gate, "ok": True} for gate in ("allowlist", "schema", "permission", "policy", "rate_limit", "approval")]
)

_PHRASES = """
    CREATE TABLE bench_phrases (number integer PRIMARY KEY, text text NOT NULL);
    CREATE TABLE bench_people
        (tenant integer, number integer, tenant_id uuid, user_id uuid, PRIMARY KEY (tenant, number))
"""
_MONTH = """
    INSERT INTO {table} (id, tenant_id, user_id, conversation_id, message_id, run_id, turn, position, tool_name, tier,
        input, output, output_bytes, display, status, error_code, error_message, decision, side_effects, params_hash,
        output_hash, row_key, attempt, fence, execution_time_ms, created_at, queued_at, started_at, finished_at)
    SELECT id, tenant_id, user_id, md5(tenant || ' ' || call.number || ' ' || i / 40000)::uuid, run_id, run_id,
        1, position, tool,
        CASE tool WHEN 'save_note' THEN 'workspace' WHEN 'send_email' THEN 'elevated' ELSE 'read_only' END,
        CASE tool WHEN 'save_note' THEN jsonb_build_object('title', one.text, 'content', two.text)
            WHEN 'web_search' THEN jsonb_build_object('query', one.text)
            WHEN 'list_tasks' THEN '{{"status": "all", "limit": 20}}'
            ELSE jsonb_build_object('title', one.text, 'priority', 'high') END,
        CASE WHEN code IS NULL THEN jsonb_build_object('id', run_id, 'url', 'https://example.com/' || two.number) END,
        CASE WHEN code IS NULL THEN 90 END,
        CASE WHEN code IS NOT NULL THEN 'It did not work' WHEN tool = 'list_tasks' THEN position || ' tasks'
            WHEN tool = 'web_search' THEN '3 results for "' || one.text || '"' ELSE 'Saved "' || one.text || '"' END,
        CASE WHEN code IS NULL THEN 'success' ELSE 'error' END, code,
        CASE code WHEN 'timeout' THEN 'The tool did not answer within 30 s' WHEN 'validation_error' THEN
            'title: must be a string' ELSE 'Refused: ' || code END,
        %(gates)s, '[]', encode(sha256(id::text::bytea), 'hex'),
        CASE WHEN code IS NULL THEN encode(sha256(run_id::text::bytea), 'hex') END, sha256(id::text::bytea),
        1, 1, CASE WHEN code IS NULL THEN (10 * exp(3 * chance))::integer END, at, at, at, at
    FROM (
        SELECT uuidv7(at - clock_timestamp()) AS id, uuidv7(at - clock_timestamp()) AS run_id, at, position,
            chance, tenant, phrase, second,
            CASE WHEN tenant = 0 AND chance < 0.01 THEN 0 ELSE ({users} * person)::integer END AS number,
            CASE WHEN tool < 0.0001 THEN '{rare}' WHEN tool < 0.05 THEN 'send_email' WHEN tool < 0.15 THEN 'add_task'
                WHEN tool < 0.40 THEN 'web_search' WHEN tool < 0.65 THEN 'save_note' ELSE 'list_tasks' END AS tool,
            CASE WHEN code < 0.0001 THEN 'outcome_unknown' WHEN code < 0.003 THEN 'execution_error'
                WHEN code < 0.01 THEN 'not_allowed' WHEN code < 0.02 THEN 'rate_limited'
                WHEN code < 0.035 THEN 'validation_error' WHEN code < 0.05 THEN 'timeout' END AS code,
            i
        FROM (
            SELECT i, i %% 2 AS position, random() AS chance, random() AS tool, random() AS code,
                trunc(({users} - 1) * random() * random())::integer / {users}::float AS person,
                CASE WHEN random() < %(share)s THEN 0 ELSE 1 + trunc(random() * {others})::integer END AS tenant,
                trunc(random() * {phrases})::integer AS phrase, trunc(random() * {phrases})::integer AS second,
                %(low)s::timestamptz + (%(high)s::timestamptz - %(low)s::timestamptz) * (i / %(count)s::float) AS at
            FROM generate_series(0, %(count)s - 1) i OFFSET 0) rolled OFFSET 0) call
    JOIN bench_people USING (tenant, number)
    JOIN bench_phrases one ON one.number = call.phrase
    JOIN bench_phrases two ON two.number = call.second
"""
# A few hundred that wait or run, the newest of their tenant.
_OPEN = """
    INSERT INTO tool_calls (id, tenant_id, user_id, conversation_id, message_id, run_id, turn, position, tool_name,
        tier, input, status, decision, params_hash, row_key, created_at, queued_at, lease_until)
    SELECT uuidv7(), tenant_id, user_id, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, 0, 'send_email',
        'elevated', '{"to": "bob@example.com", "subject": "Hello"}',
        (ARRAY['awaiting_approval', 'queued', 'running'])[1 + number %% 3], %(gates)s, repeat('0', 64),
        sha256(user_id::text::bytea), now(), now(), CASE number %% 3 WHEN 2 THEN now() + interval '1 day' END
    FROM bench_people WHERE number < 50
"""
_ENTRIES = """
    INSERT INTO ledger_entries (tenant_id, call_id, kind, version, commitment)
    SELECT tenant_id, id, kind, 3, sha256(id::text::bytea) FROM
        (SELECT tenant_id, id FROM tool_calls WHERE status = 'success' ORDER BY id DESC LIMIT 5000) call,
        (VALUES ('proposed'), ('settled')) AS of (kind) ORDER BY id, kind
"""
_WALLS = """
    ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
    ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
    CREATE POLICY app ON {table} TO toolgate_app
        USING (tenant_id = (SELECT nullif(current_setting('toolgate.tenant', true), '')::uuid))
"""


@dataclass(frozen=True)
class Crowd:
    """A tenant of the generated history and the ids of its users."""

    tenant_id: uuid.UUID
    users: list[uuid.UUID]


def generate(owner_url: str, crowds: list[Crowd], *, large: int, total: int) -> None:
    """Write `total` calls, `large` of them of the first crowd, whose first user has one in a hundred."""
    with psycopg.connect(owner_url, autocommit=True) as owner:
        _prepare(owner, crowds)
        lows = _months(datetime.now(UTC))
        # The newest month is not over: it has what it would have by now.
        spans = [(low, min(high, datetime.now(UTC) - timedelta(minutes=1))) for low, high in lows]
        whole = sum((high - low).total_seconds() for low, high in spans)
        counts = [round(total * (high - low).total_seconds() / whole) for low, high in spans]
        with ThreadPoolExecutor(2) as pool:
            written = [
                pool.submit(_month, owner_url, low, high, count, large / total)
                for (low, high), count in zip(spans, counts, strict=True)
            ]
            tables = [each.result() for each in written]
        for (low, high), table in zip(lows, tables, strict=True):
            _attach(owner, table, low, high)
        owner.execute(_OPEN.encode(), {"gates": GATES})
        owner.execute(_ENTRIES.encode())
        owner.execute("VACUUM ANALYZE tool_calls")
        owner.execute("VACUUM ANALYZE ledger_entries")


def _prepare(owner: psycopg.Connection, crowds: list[Crowd]) -> None:
    for statement in _PHRASES.split(";"):
        owner.execute(statement.encode())
    with owner.cursor() as cursor:
        with cursor.copy("COPY bench_phrases FROM STDIN") as copy:
            for row in enumerate(_phrases()):
                copy.write_row(row)
        with cursor.copy("COPY bench_people FROM STDIN") as copy:
            for tenant, crowd in enumerate(crowds):
                for number in range(USERS):
                    copy.write_row((tenant, number, crowd.tenant_id, crowd.users[number % len(crowd.users)]))
    owner.execute("ANALYZE bench_phrases")
    owner.execute("ANALYZE bench_people")


def _phrases() -> list[str]:
    """Texts of six words, some of them in every second text and most in hardly any; the rare one in none yet."""
    chosen = random.Random(7)
    made = {"".join(chosen.choices(SYLLABLES, k=chosen.choice((2, 3, 4)))) for _ in range(3 * WORDS)}
    words = COMMON + sorted(made)[: WORDS - len(COMMON)]
    return [" ".join(words[int(WORDS ** chosen.random()) - 1] for _ in range(6)) for _ in range(PHRASES)]


def _months(now: datetime) -> list[tuple[datetime, datetime]]:
    """Each month's first moment and the next one's, the oldest first."""
    first = [(now.year * 12 + now.month - 1) - back for back in range(MONTHS - 1, -2, -1)]
    moments = [datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC) for month in first]
    return list(itertools.pairwise(moments))


def _month(owner_url: str, low: datetime, high: datetime, count: int, share: float) -> str:
    table = f"tool_calls_{low:%Y_%m}"
    values = {"gates": GATES, "share": share, "low": low, "high": high, "count": count}
    names = {"table": table, "users": USERS, "others": OTHERS, "phrases": PHRASES, "rare": RARE_TOOL}
    with psycopg.connect(owner_url, autocommit=True) as owner:
        owner.execute("SET work_mem = '64MB'")
        # Rows lie in the order of their time, as they came; a parallel plan would mix them.
        owner.execute("SET max_parallel_workers_per_gather = 0")
        owner.execute("SET enable_mergejoin = off")
        # The month that migrations made ahead is empty, and gives way to the one that is filled here.
        owner.execute(f"DROP TABLE IF EXISTS {table}".encode())
        owner.execute(f"CREATE TABLE {table} (LIKE tool_calls INCLUDING DEFAULTS INCLUDING CONSTRAINTS)".encode())
        owner.execute(_MONTH.format(**names).encode(), values)
        rare = (
            f"UPDATE {table} SET display = display || ' {RARE_WORD}' WHERE id IN"
            f" (SELECT id FROM {table} WHERE tenant_id = (SELECT tenant_id FROM bench_people LIMIT 1) LIMIT 1)"
        )
        owner.execute(rare.encode())
    return table


def _attach(owner: psycopg.Connection, table: str, low: datetime, high: datetime) -> None:
    owner.execute("SET maintenance_work_mem = '512MB'")
    floors = owner.execute("SELECT uuid_v7_floor(%s), uuid_v7_floor(%s)", [low, high]).fetchone()
    assert floors is not None
    owner.execute(
        f"ALTER TABLE tool_calls ATTACH PARTITION {table} FOR VALUES FROM ('{floors[0]}') TO ('{floors[1]}')".encode()
    )
    for statement in _WALLS.format(table=table).split(";\n"):
        owner.execute(statement.encode())
