"""The filters by tenant of lists in the admin."""

from django.contrib.admin import EmptyFieldListFilter
from unfold.contrib.filters.admin import AutocompleteSelectFilter

# Entries of `list_filter`, where `list_filter_submit` is set. One searches for the tenant: a choice among all of them
# would make every page longer, and an installation may have thousands.
BY_TENANT = ("tenant", AutocompleteSelectFilter)
# For rows that may be the operator's own, which are of no tenant.
WITHOUT_TENANT = ("tenant", EmptyFieldListFilter)
