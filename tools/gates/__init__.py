"""The gates that a call passes: one ordered list, one file for each gate.

`order` has the list. Each gate's file holds its check, its refusal code, its words for the model, the user and the log,
and its label for pages. `interface` says what a gate is and what it is given; `policy`, `rate_counter` and `refusals`
are what gates share. Allowed imports: `tools.interface`, `tools.schemas`, `tools.errors`, and `audit`. Approval rules
and approvals come in as data (`interface.Rule`, `interface.Approval`), since `approvals` imports this package.
"""
