"""Reading arguments and checking them: strict JSON, JSON Schema, patterns, formats, and what is wrong in words."""
