"""What a tenant says about tools, as owners write it: settings and grants. Gates read it in `tools.gates.policy`.

`changes` writes the setting of a tool, `grants` gives and takes grants; both within the caller's transaction.
"""
