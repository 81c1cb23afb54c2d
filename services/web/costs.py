"""What a tool's definition costs a model, as an estimate: providers count tokens each in their own way."""

import json
from typing import Any

from tools import definitions
from tools.interface import Tier, ToolSpec

# English and JSON have about this many characters to a token.
CHARACTERS_PER_TOKEN = 4


def tokens(name: str, description: str, parameters: dict[str, Any]) -> int:
    """About how many tokens a prompt has more for the tool's definition."""
    [made] = definitions.openai([ToolSpec(name, description, parameters, Tier.SYSTEM)])
    return -(-len(json.dumps(made, ensure_ascii=False, separators=(",", ":"))) // CHARACTERS_PER_TOKEN)
