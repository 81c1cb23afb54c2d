"""Regular expressions in schemas: `ecma` says what one means, `linear` and `backtracking` are the engines for it."""
