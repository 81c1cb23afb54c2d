"""Why nothing is embedded, as one tree.

EmbeddingRefused        nobody is to be asked: no model, not allowed, stopped, no budget
└── EmbeddingFailed     somebody was asked, and there is no vector; worth asking again
"""


class EmbeddingRefused(Exception):
    """Nothing was sent; the message is for the log, and holds nothing of the text."""


class EmbeddingFailed(EmbeddingRefused):
    """The provider did not answer with what was asked for; `of_text`: another text may do better."""

    def __init__(self, message: str, *, of_text: bool = False):
        super().__init__(message)
        self.of_text = of_text
