"""Our own API under `/api/v1`: a package for each kind of resource, over what `framework` shares."""
