"""The ledger: its entries, the Merkle tree over them, the signed heads and their keys."""

from django.db import models
from django.db.models.functions import Now

from audit.models.calls import UNCONSTRAINED
from tenants.models import Tenant

SEALED = models.Q(leaf_index__isnull=False)


class LedgerEntry(models.Model):
    """One append-only statement: of a call, of its erasure, of a reading, or of a setting that was changed.

    `commitment` is an HMAC-SHA-256 over the canonical payload (see `audit.calls.ledger`), never the payload.
    """

    class Kind(models.TextChoices):
        """What the entry states."""

        PROPOSED = "proposed"
        DECIDED = "decided"
        ANSWERED = "answered"
        SETTLED = "settled"
        REPORTED = "reported"
        ERASED = "erased"
        DROPPED = "dropped"
        READ = "read"
        CHANGED = "changed"

    seq = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False, **UNCONSTRAINED)
    call_id = models.UUIDField(null=True)
    record_id = models.UUIDField(
        null=True, help_text="The decision, erasure, reading or change that it is about, in a table of its own."
    )
    kind = models.TextField(choices=Kind.choices)
    version = models.SmallIntegerField()
    commitment = models.BinaryField()
    created_at = models.DateTimeField(db_default=Now())
    leaf_index = models.BigIntegerField(null=True, help_text="Its place in the log, once sealed.")
    tenant_index = models.BigIntegerField(null=True, help_text="Its place among the tenant's sealed entries.")

    class Meta:
        db_table = "ledger_entries"
        ordering = ["seq"]
        verbose_name_plural = "ledger entries"
        indexes = [
            models.Index(fields=["tenant", "call_id"], name="ledger_entries_call"),
            models.Index(fields=["seq"], condition=models.Q(leaf_index__isnull=True), name="ledger_entries_unsealed"),
            models.Index(fields=["record_id"], condition=models.Q(kind="changed"), name="ledger_entries_changed"),
        ]
        # Over sealed entries only, so that writing an entry does not maintain it.
        constraints = [
            models.UniqueConstraint(fields=["leaf_index"], condition=SEALED, name="ledger_entries_leaf"),
            models.UniqueConstraint(
                fields=["tenant", "tenant_index"], condition=SEALED, name="ledger_entries_of_tenant"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.kind} {self.call_id or self.record_id}"


class LedgerTile(models.Model):
    """Up to 256 neighbouring hashes of the Merkle tree: leaves at level 0, above them the roots of full tiles."""

    pk = models.CompositePrimaryKey("level", "index")
    level = models.SmallIntegerField()
    index = models.BigIntegerField()
    hashes = models.BinaryField(help_text="32 bytes each; a level's last tile grows to 256 of them.")

    class Meta:
        db_table = "ledger_tiles"

    def __str__(self) -> str:
        return f"{self.level}/{self.index}"


class Checkpoint(models.Model):
    """A signed head of the log: how many entries it had, and the root over them."""

    origin = models.TextField(help_text="The log's name, which is also the name of the key.")
    size = models.BigIntegerField()
    root = models.BinaryField()
    note = models.TextField(help_text="A C2SP signed note.")
    created_at = models.DateTimeField(db_default=Now())
    witnessed_at = models.DateTimeField(null=True, help_text="When the witness took it.")

    class Meta:
        db_table = "ledger_checkpoints"
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["origin", "size"], name="ledger_checkpoints_once")]
        indexes = [
            models.Index(fields=["size"], name="ledger_checkpoints_size"),
            models.Index(
                fields=["id"], condition=models.Q(witnessed_at__isnull=True), name="ledger_checkpoints_unseen"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.origin} {self.size}"


class LedgerKey(models.Model):
    """A public key that checkpoints are signed with; the newest signs."""

    vkey = models.TextField(unique=True, help_text="As a C2SP verifier key: name+id+key.")
    origin = models.TextField()
    endorsement = models.TextField(null=True, help_text="A note about it, signed with the key before it.")
    reason = models.TextField(default="", help_text="Why a new log was begun with it.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ledger_keys"
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.vkey
