"""What of a caller's tools a model is shown: each of them, or a few and a way to find and call the others.

`offer` decides which, `searching` finds tools by words. Which tool a call through tools_call is of says
`tools.invocation.naming`.
"""
