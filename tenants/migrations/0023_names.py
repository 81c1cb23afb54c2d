from django.db import migrations


class Migration(migrations.Migration):
    """What the admin calls kill switches and providers of single sign-on."""

    dependencies = [("tenants", "0022_taint_for_owners")]

    operations = [
        migrations.AlterModelOptions(
            name="killswitch", options={"ordering": ["-created_at"], "verbose_name_plural": "kill switches"}
        ),
        migrations.AlterModelOptions(
            name="signonprovider", options={"ordering": ["domain"], "verbose_name": "single sign-on provider"}
        ),
    ]
