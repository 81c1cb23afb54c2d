"""Setting up logins in a real cluster: roles are the cluster's, passwords take effect, and databases stay apart."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from gateway.embedded.services.together import EmbeddedServices
from tenants.scope.roles import GROUPS, SetupRefused, setup


class Cluster:
    """A PostgreSQL of this module's own, in which the owner makes databases."""

    def __init__(self, services: EmbeddedServices):
        self._owner_url = services.database_owner_url
        assert services.postgres is not None
        password = services.directory.passwords()["postgres_superuser"]
        self.superuser_url = f"postgresql://postgres:{password}@127.0.0.1:{services.postgres.port}/postgres"

    def owner_url(self, database: str) -> str:
        return urlunsplit(urlsplit(self._owner_url)._replace(path=f"/{database}"))

    def make(self, database: str) -> None:
        with psycopg.connect(self.owner_url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))

    def urls(self, database: str, app: str, *, password: str) -> dict[str, str]:
        """The three logins of an installation, all with one password."""
        address = urlsplit(self._owner_url).netloc.rpartition("@")[2]
        logins = {"default": app, "system": f"{app}_as_system", "operator": f"{app}_as_operator"}
        return {alias: f"postgresql://{login}:{password}@{address}/{database}" for alias, login in logins.items()}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    directory = Path(tempfile.mkdtemp(prefix="toolgate-roles-"))
    with EmbeddedServices(directory, valkey=False, durable=False) as services:
        yield Cluster(services)


def may_log_in(urls: dict[str, str]) -> list[bool]:
    """Whether the app's, the system's and the operator's login open a connection."""
    answers = []
    for alias in GROUPS:
        try:
            psycopg.connect(urls[alias]).close()
        except psycopg.OperationalError:
            answers.append(False)
        else:
            answers.append(True)
    return answers


YES, NO = [True] * 3, [False] * 3


def test_a_changed_password_takes_effect_for_every_login(cluster: Cluster) -> None:
    cluster.make("changing")
    before, after = (cluster.urls("changing", "changing", password=each) for each in ("before", "after"))
    setup(cluster.owner_url("changing"), before)
    assert (may_log_in(before), may_log_in(after)) == (YES, NO)
    done = setup(cluster.owner_url("changing"), after)
    assert done[:3] == [f"changed the password of changing{each}" for each in ("", "_as_system", "_as_operator")]
    # The extension is a superuser's to make.
    assert [line.partition(" until")[0] for line in done[3:]] == ["no search by meaning"]
    assert (may_log_in(before), may_log_in(after)) == (NO, YES)


def test_two_databases_of_one_cluster_keep_their_logins_to_themselves(cluster: Cluster) -> None:
    urls = {name: cluster.urls(name, name, password=f"of {name}".replace(" ", "-")) for name in ("one", "two")}
    for name in ("one", "two", "one", "two"):
        if name not in _databases(cluster):
            cluster.make(name)
        setup(cluster.owner_url(name), urls[name])
    assert (may_log_in(urls["one"]), may_log_in(urls["two"])) == (YES, YES)
    # The groups are the cluster's: without a refusal here, one's logins would read the other's rows.
    elsewhere = {alias: url.replace("/one", "/two") for alias, url in urls["one"].items()}
    assert may_log_in(elsewhere) == NO


def test_a_second_database_with_the_firsts_login_is_refused_and_changes_nothing(cluster: Cluster) -> None:
    first = cluster.urls("first", "shared", password="right")
    cluster.make("first")
    setup(cluster.owner_url("first"), first)
    cluster.make("second")
    with pytest.raises(SetupRefused) as refused:
        setup(cluster.owner_url("second"), cluster.urls("second", "shared", password="wrong"))
    assert str(refused.value) == (
        "the login shared of DATABASE_URL does not log in with the password given, and it may serve the database first "
        "too, so its password is left as it is; name another login in DATABASE_URL, or, if that database has logins of "
        "its own, run this release's setup_database for it first"
    )
    assert may_log_in(first) == YES


def test_a_login_of_two_databases_goes_on_with_the_password_that_it_has(cluster: Cluster) -> None:
    for name in ("left", "right"):
        cluster.make(name)
        setup(cluster.owner_url(name), cluster.urls(name, "both", password="same"))
    assert [may_log_in(cluster.urls(name, "both", password="same")) for name in ("left", "right")] == [YES, YES]


def test_a_database_of_an_earlier_release_is_not_robbed_of_its_logins(cluster: Cluster) -> None:
    """That release granted no CONNECT: only what its migrations granted to the groups shows that it is there."""
    old = cluster.urls("old", "earlier", password="old")
    cluster.make("old")
    setup(cluster.owner_url("old"), old)
    with psycopg.connect(cluster.owner_url("old"), autocommit=True) as connection:
        connection.execute("CREATE TABLE things ()")
        connection.execute("GRANT SELECT ON things TO toolgate_app, toolgate_system, toolgate_operator")
        connection.execute("GRANT CONNECT ON DATABASE old TO PUBLIC")
        connection.execute("REVOKE CONNECT ON DATABASE old FROM earlier, earlier_as_system, earlier_as_operator")
    cluster.make("young")
    with pytest.raises(SetupRefused, match="may serve the database old too"):
        setup(cluster.owner_url("young"), cluster.urls("young", "earlier", password="new"))
    assert may_log_in(old) == YES
    # Its own next set-up claims its logins, and may then change their passwords.
    setup(cluster.owner_url("old"), old)
    changed = cluster.urls("old", "earlier", password="changed")
    setup(cluster.owner_url("old"), changed)
    assert may_log_in(changed) == YES


def test_a_login_that_somebody_else_made_is_used_but_not_changed(cluster: Cluster) -> None:
    cluster.make("given")
    with psycopg.connect(cluster.superuser_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE given LOGIN PASSWORD 'given'")
    urls = cluster.urls("given", "given", password="given")
    setup(cluster.owner_url("given"), urls)
    assert may_log_in(urls) == YES
    with pytest.raises(
        SetupRefused, match="the owner may not change it, since somebody else made it; whoever did runs"
    ):
        setup(cluster.owner_url("given"), cluster.urls("given", "given", password="other"))
    assert may_log_in(urls) == YES


def test_a_second_owner_is_told_what_the_groups_want(cluster: Cluster) -> None:
    cluster.make("theirs")
    setup(cluster.owner_url("theirs"), cluster.urls("theirs", "theirs", password="x"))
    with psycopg.connect(cluster.owner_url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE ROLE another LOGIN CREATEROLE PASSWORD 'another'")
    with psycopg.connect(cluster.superuser_url, autocommit=True) as connection:
        connection.execute("ALTER ROLE another BYPASSRLS")
        connection.execute("CREATE DATABASE ours OWNER another")
    address = urlsplit(cluster.owner_url("ours")).netloc.rpartition("@")[2]
    with pytest.raises(SetupRefused, match="GRANT toolgate_app, toolgate_system, toolgate_operator TO another WITH"):
        setup(f"postgresql://another:another@{address}/ours", cluster.urls("ours", "ours", password="x"))


def _databases(cluster: Cluster) -> set[str]:
    with psycopg.connect(cluster.owner_url("postgres")) as connection:
        return {row[0] for row in connection.execute("SELECT datname FROM pg_database").fetchall()}
