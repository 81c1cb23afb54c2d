import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import audit.identifiers
from tenants.scope import rls
from tenants.scope.sql_files import functions


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0002_approvals"),
        ("tenants", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="CallCount",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("user_id", models.UUIDField(null=True)),
                ("hour", models.DateTimeField()),
                ("tool_name", models.TextField(help_text="Empty for names that are no tool's.")),
                ("calls", models.BigIntegerField(default=0)),
                ("succeeded", models.BigIntegerField(default=0)),
                ("refused", models.BigIntegerField(default=0, help_text="Ended before they ran.")),
                ("failed", models.BigIntegerField(default=0)),
                ("timed", models.BigIntegerField(default=0, help_text="Calls that have a time.")),
                ("total_ms", models.BigIntegerField(default=0)),
                ("ms_10", models.BigIntegerField(default=0, help_text="Calls of at most 10 ms, and so on.")),
                ("ms_30", models.BigIntegerField(default=0)),
                ("ms_100", models.BigIntegerField(default=0)),
                ("ms_300", models.BigIntegerField(default=0)),
                ("ms_1000", models.BigIntegerField(default=0)),
                ("ms_3000", models.BigIntegerField(default=0)),
                ("ms_10000", models.BigIntegerField(default=0)),
                ("ms_30000", models.BigIntegerField(default=0)),
                ("ms_more", models.BigIntegerField(default=0)),
            ],
            options={
                "db_table": "tool_call_counts",
            },
        ),
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("origin", models.TextField(help_text="The log's name, which is also the name of the key.")),
                ("size", models.BigIntegerField()),
                ("root", models.BinaryField()),
                ("note", models.TextField(help_text="A C2SP signed note.")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("witnessed_at", models.DateTimeField(help_text="When the witness took it.", null=True)),
            ],
            options={
                "db_table": "ledger_checkpoints",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Erasure",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=audit.identifiers.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "scope",
                    models.TextField(
                        choices=[
                            ("call", "Call"),
                            ("conversation", "Conversation"),
                            ("user", "User"),
                            ("retention", "Retention"),
                            ("month", "Month"),
                        ]
                    ),
                ),
                (
                    "subject_id",
                    models.UUIDField(help_text="The call, conversation or user; empty for retention.", null=True),
                ),
                ("low", models.UUIDField(help_text="The first id of the month.", null=True)),
                ("high", models.UUIDField(help_text="The first id after the month.", null=True)),
                ("reason", models.TextField(default="")),
                ("calls", models.BigIntegerField(default=0)),
                ("row_key", models.BinaryField(help_text="The key of its entries' commitments.")),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "db_table": "erasures",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="HistoryRead",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=audit.identifiers.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("user_id", models.UUIDField(help_text="Whose calls, where it was one person's.", null=True)),
                ("call_id", models.UUIDField(null=True)),
                (
                    "action",
                    models.TextField(
                        choices=[
                            ("list", "List"),
                            ("detail", "Detail"),
                            ("receipt", "Receipt"),
                            ("run", "Run"),
                            ("charts", "Charts"),
                            ("export", "Export"),
                        ]
                    ),
                ),
                ("via", models.TextField(help_text="page, api, admin or command.")),
                ("filters", models.JSONField(default=dict)),
                ("calls", models.BigIntegerField(default=0, help_text="How many calls were shown.")),
                ("row_key", models.BinaryField(help_text="The key of its entry's commitment.")),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "db_table": "history_reads",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="LedgerKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("vkey", models.TextField(help_text="As a C2SP verifier key: name+id+key.", unique=True)),
                ("origin", models.TextField()),
                (
                    "endorsement",
                    models.TextField(help_text="A note about it, signed with the key before it.", null=True),
                ),
                ("reason", models.TextField(default="", help_text="Why a new log was begun with it.")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "ledger_keys",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="LedgerTile",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "level", "index", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("level", models.SmallIntegerField()),
                ("index", models.BigIntegerField()),
                (
                    "hashes",
                    models.BinaryField(help_text="32 bytes each; a level's last tile grows to 256 of them."),
                ),
            ],
            options={
                "db_table": "ledger_tiles",
            },
        ),
        migrations.AddField(
            model_name="ledgerentry",
            name="leaf_index",
            field=models.BigIntegerField(help_text="Its place in the log, once sealed.", null=True),
        ),
        migrations.AddField(
            model_name="ledgerentry",
            name="record_id",
            field=models.UUIDField(
                help_text="The decision, erasure or reading that it is about, in a table of its own.", null=True
            ),
        ),
        migrations.AddField(
            model_name="ledgerentry",
            name="tenant_index",
            field=models.BigIntegerField(help_text="Its place among the tenant's sealed entries.", null=True),
        ),
        migrations.AlterField(
            model_name="ledgerentry",
            name="call_id",
            field=models.UUIDField(null=True),
        ),
        migrations.AlterField(
            model_name="ledgerentry",
            name="created_at",
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
        ),
        migrations.AlterField(
            model_name="ledgerentry",
            name="kind",
            field=models.TextField(
                choices=[
                    ("proposed", "Proposed"),
                    ("decided", "Decided"),
                    ("settled", "Settled"),
                    ("erased", "Erased"),
                    ("dropped", "Dropped"),
                    ("read", "Read"),
                ]
            ),
        ),
        migrations.AlterField(
            model_name="ledgerentry",
            name="tenant",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
            ),
        ),
        migrations.AddIndex(
            model_name="ledgerentry",
            index=models.Index(
                condition=models.Q(("leaf_index__isnull", True)), fields=["seq"], name="ledger_entries_unsealed"
            ),
        ),
        migrations.AddConstraint(
            model_name="ledgerentry",
            constraint=models.UniqueConstraint(
                condition=models.Q(("leaf_index__isnull", False)), fields=("leaf_index",), name="ledger_entries_leaf"
            ),
        ),
        migrations.AddConstraint(
            model_name="ledgerentry",
            constraint=models.UniqueConstraint(
                condition=models.Q(("leaf_index__isnull", False)),
                fields=("tenant", "tenant_index"),
                name="ledger_entries_of_tenant",
            ),
        ),
        migrations.AddField(
            model_name="callcount",
            name="tenant",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="tenants.tenant"
            ),
        ),
        migrations.AddIndex(
            model_name="checkpoint",
            index=models.Index(fields=["size"], name="ledger_checkpoints_size"),
        ),
        migrations.AddIndex(
            model_name="checkpoint",
            index=models.Index(
                condition=models.Q(("witnessed_at__isnull", True)), fields=["id"], name="ledger_checkpoints_unseen"
            ),
        ),
        migrations.AddConstraint(
            model_name="checkpoint",
            constraint=models.UniqueConstraint(fields=("origin", "size"), name="ledger_checkpoints_once"),
        ),
        migrations.AddField(
            model_name="erasure",
            name="actor",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="erasure",
            name="tenant",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
            ),
        ),
        migrations.AddField(
            model_name="historyread",
            name="reader",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="historyread",
            name="tenant",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
            ),
        ),
        migrations.AddConstraint(
            model_name="callcount",
            constraint=models.UniqueConstraint(
                fields=("tenant", "user_id", "hour", "tool_name"), name="tool_call_counts_hour", nulls_distinct=False
            ),
        ),
        migrations.AddIndex(
            model_name="erasure",
            index=models.Index(fields=["tenant", "-id"], name="erasures_of_tenant"),
        ),
        migrations.AddIndex(
            model_name="historyread",
            index=models.Index(fields=["tenant", "-id"], name="history_reads_of_tenant"),
        ),
        migrations.AddIndex(
            model_name="historyread",
            index=models.Index(fields=["tenant", "user_id", "-id"], name="history_reads_of_user"),
        ),
        rls.operation(
            """
            -- Sealing marks an entry with its place in the log, so that one which is committed late is sealed late and
            -- never lost; which transaction wrote it does not matter any more.
            ALTER TABLE ledger_entries DROP COLUMN xact;
            DROP TRIGGER append_only ON ledger_entries;
            CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON ledger_entries
                FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only();
            """,
            functions("audit/log", "ledger_entry_is_sealed_once"),
            """
            CREATE TRIGGER sealed_once BEFORE UPDATE ON ledger_entries
                FOR EACH ROW EXECUTE FUNCTION ledger_entry_is_sealed_once();
            CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON ledger_checkpoints
                FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only();
            ALTER TABLE ledger_entries ADD CONSTRAINT ledger_entries_about
                CHECK (call_id IS NOT NULL OR kind IN ('dropped', 'read'));
            ALTER TABLE ledger_entries ADD CONSTRAINT ledger_entries_places
                CHECK ((leaf_index IS NULL) = (tenant_index IS NULL));
            """,
            functions("audit/retention", "bare_answers", "erased_call"),
            functions("audit/calls", "tool_calls_guard"),
            """
            -- The log, its heads and its keys are no tenant's: hashes of all, which say nothing about any.
            ALTER TABLE ledger_tiles ENABLE ROW LEVEL SECURITY;
            ALTER TABLE ledger_checkpoints ENABLE ROW LEVEL SECURITY;
            ALTER TABLE ledger_keys ENABLE ROW LEVEL SECURITY;
            CREATE POLICY everyone ON ledger_tiles TO toolgate_app, toolgate_system, toolgate_operator
                USING (true) WITH CHECK (true);
            CREATE POLICY everyone ON ledger_checkpoints TO toolgate_app, toolgate_system, toolgate_operator
                USING (true) WITH CHECK (true);
            CREATE POLICY everyone ON ledger_keys TO toolgate_app, toolgate_system, toolgate_operator
                USING (true) WITH CHECK (true);
            """,
            rls.grant("ledger_tiles", app="SELECT", system="SELECT, INSERT, UPDATE", operator="SELECT"),
            rls.grant(
                "ledger_checkpoints", app="SELECT", system="SELECT, INSERT, UPDATE (witnessed_at)", operator="SELECT"
            ),
            rls.grant("SEQUENCE ledger_checkpoints_id_seq", system="USAGE"),
            rls.grant("ledger_keys", app="SELECT", system="SELECT, INSERT", operator="SELECT"),
            rls.grant("SEQUENCE ledger_keys_id_seq", system="USAGE"),
            rls.grant("ledger_entries", system="UPDATE (leaf_index, tenant_index)"),
            rls.grant("tool_calls", system="SELECT (tier, error_code, execution_time_ms, created_at, finished_at)"),
            *(rls.isolate(table) for table in ("erasures", "history_reads", "tool_call_counts")),
            rls.grant("erasures", app="SELECT, INSERT", system="SELECT, INSERT", operator="SELECT, INSERT"),
            rls.grant("history_reads", app="SELECT, INSERT", operator="SELECT, INSERT"),
            # The operator reads other people's history too, and puts that on record.
            rls.grant("ledger_entries", system="INSERT", operator="INSERT"),
            rls.grant("SEQUENCE ledger_entries_seq_seq", system="USAGE", operator="USAGE"),
            rls.grant("tool_call_counts", app="SELECT", system="SELECT, INSERT, UPDATE", operator="SELECT"),
            rls.grant("SEQUENCE tool_call_counts_id_seq", system="USAGE"),
        ),
    ]
