"""From a request body to token ids, positions and pixels: everything before a device is needed.

Covers: `Preparer.prepare`, thread-safe and without weights. Budgets are checked for every question before
anything runs; a request is refused whole. Does not cover: what a prompt says (`kit.contract`) or running it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kit.checkpoint.tokens import positions
from kit.contract.errors import ContractError
from kit.contract.prompt import Question, user_message
from kit.contract.request import parse_request
from kit.engine.base import Grid, Prepared, PreparedQuestion
from kit.model.pixels import MERGE, grid_of, patches

if TYPE_CHECKING:
    from kit.checkpoint.tokens import Tokenizer
    from kit.profile import Profile


class Preparer:
    """Turns bodies into `Prepared` for one tokenizer and one profile's names and budgets."""

    def __init__(self, tokenizer: Tokenizer, profile: Profile) -> None:
        self.tokenizer = tokenizer
        self._names = profile.model_names()
        self._limits = profile.limits

    def prepare(self, body: bytes) -> Prepared:
        """Parse, check, tokenise. Raises ContractError: 413 for the body's size, 422 for everything else."""
        request = parse_request(body, self._names)
        grids = tuple(grid_of(image.height, image.width) for image in request.images)
        questions = tuple(self._question(request.state, question, grids) for question in request.questions)
        pixels = patches(request.images)[0] if request.images else None
        return Prepared(body, request, questions, grids, pixels)

    def _question(self, state: str, question: Question, grids: Sequence[Grid]) -> PreparedQuestion:
        tokenizer = self.tokenizer
        prompt = tokenizer.chat(user_message(state, question), len(grids))
        image_tokens = [frames * rows * columns // MERGE**2 for frames, rows, columns in grids]
        ids = tokenizer.expand(tokenizer.encode(prompt), image_tokens)
        budget = self._limits.image_tokens if grids else self._limits.text_tokens
        if len(ids) > budget:
            kind = "images" if grids else "text"
            raise ContractError(
                f"question {question.id!r}: {len(ids)} tokens, over the budget of {budget} for {kind}: "
                "shorten the state or the candidates" + (", or send smaller images" if grids else "")
            )
        axes = positions(ids, grids, tokenizer.image_token_id, MERGE)
        labels = tokenizer.label_ids[: len(question.candidates)]
        return PreparedQuestion(question, prompt, tuple(ids), labels, axes)
