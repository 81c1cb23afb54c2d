"""Who may do what: one table of actions, for REST, pages and commands, that every route must be in."""
