"""How a model names a row that the database ties to it by more than its id."""

from typing import Any

# For a foreign key that its migration makes as (tenant_id, x_id), which Django has no word for, and indexes by tenant.
TIED: dict[str, Any] = {"db_constraint": False, "db_index": False}
