"""What a model is shown: the conversation, its tool rounds, and the hidden rounds of stateless clients."""
