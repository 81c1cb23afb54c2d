"""AgentDojo's honest tasks and attacks (MIT licence, see LICENSE), through the gate `taint`."""
