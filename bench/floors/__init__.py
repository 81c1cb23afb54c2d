"""The floors: the least that the parts Toolgate stands on cost on this machine."""
