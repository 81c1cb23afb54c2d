from django.db import migrations


class Migration(migrations.Migration):
    """The tables are the app `notifications`' now; nothing changes in the database."""

    dependencies = [("approvals", "0008_functions"), ("notifications", "0001_initial")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel(name="ApprovalNotice"),
                migrations.DeleteModel(name="WebhookEndpoint"),
            ]
        )
    ]
