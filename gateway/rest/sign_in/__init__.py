"""How people come in, over REST: their sessions, and the single sign-on of their tenant."""
