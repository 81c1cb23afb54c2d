import uuid

import django.contrib.auth.models
import django.contrib.auth.validators
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="Tenant",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("slug", models.SlugField(unique=True)),
                ("name", models.CharField(max_length=200)),
                (
                    "role_ceilings",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text='The highest tier of tools a role may use, such as {"auditor": "read_only"}.',
                    ),
                ),
                (
                    "default_tools",
                    models.JSONField(
                        blank=True, default=list, help_text='What "..." stands for in an agent\'s list of tools.'
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "db_table": "tenants",
                "ordering": ["slug"],
            },
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "A user with that username already exists."},
                        help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                        max_length=150,
                        unique=True,
                        validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                        verbose_name="username",
                    ),
                ),
                ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                ("date_joined", models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined")),
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "db_table": "users",
                "ordering": ["username"],
            },
            managers=[
                ("objects", django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("prefix", models.CharField(editable=False, max_length=12)),
                ("key_hash", models.BinaryField(unique=True)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32),
                        blank=True,
                        help_text="Empty: everything that the role allows.",
                        null=True,
                        size=None,
                    ),
                ),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_keys",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="api_keys", to="tenants.tenant"
                    ),
                ),
            ],
            options={
                "verbose_name": "API key",
                "db_table": "api_keys",
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("member", "Member"),
                            ("approver", "Approver"),
                            ("auditor", "Auditor"),
                            ("owner", "Owner"),
                        ],
                        default="member",
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to="tenants.tenant"
                    ),
                ),
            ],
            options={
                "db_table": "memberships",
                "ordering": ["tenant", "user"],
                "constraints": [models.UniqueConstraint(fields=("tenant", "user"), name="memberships_tenant_user")],
            },
        ),
        rls.operation(
            """
            -- A key dies with the membership it speaks for.
            ALTER TABLE api_keys ADD CONSTRAINT api_keys_of_member FOREIGN KEY (tenant_id, user_id)
                REFERENCES memberships (tenant_id, user_id) ON DELETE CASCADE;

            ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
            ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
            CREATE POLICY app ON tenants TO toolgate_app
                USING (id = (SELECT nullif(current_setting('toolgate.tenant', true), '')::uuid));
            CREATE POLICY operator ON tenants TO toolgate_operator USING (true) WITH CHECK (true);

            -- A user is seen by themself and by the tenants they belong to.
            ALTER TABLE users ENABLE ROW LEVEL SECURITY;
            ALTER TABLE users FORCE ROW LEVEL SECURITY;
            CREATE POLICY app ON users TO toolgate_app USING (
                id = (SELECT nullif(current_setting('toolgate.user', true), '')::uuid)
                OR id IN (SELECT user_id FROM memberships));
            CREATE POLICY operator ON users TO toolgate_operator USING (true) WITH CHECK (true);
            """,
            rls.isolate("memberships"),
            rls.isolate("api_keys"),
            rls.grant("tenants", app="SELECT", operator="SELECT, INSERT, UPDATE, DELETE"),
            rls.grant("users", app="SELECT", operator="SELECT, INSERT, UPDATE, DELETE"),
            rls.grant("users_groups", app="SELECT", operator="SELECT, INSERT, UPDATE, DELETE"),
            rls.grant("users_user_permissions", app="SELECT", operator="SELECT, INSERT, UPDATE, DELETE"),
            rls.grant("memberships", app="SELECT", operator="SELECT, INSERT, UPDATE, DELETE"),
            rls.grant("api_keys", app="SELECT, INSERT, UPDATE", operator="SELECT, INSERT, UPDATE, DELETE"),
        ),
        rls.operation(
            functions(
                "tenants/login",
                "authenticate_key",
                "record_key_use",
                "find_login",
                "load_user",
                "record_login",
                "memberships_of",
            ),
        ),
    ]
