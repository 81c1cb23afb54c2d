"""What every resource of the REST API shares: problems, pagination, rendering, the OpenAPI document."""
