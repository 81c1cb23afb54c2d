"""The tools that find and call other tools, when there are too many to show a model each."""
