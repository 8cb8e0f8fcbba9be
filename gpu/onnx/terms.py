"""Terms of an open model: turns them into the tokens that it reads beside the picture."""

from functools import lru_cache

import numpy as np

from manifest import ManifestError


class Encoded:
    """Tokens and their mask, [terms, length] each. Equal only to itself: terms are encoded once."""

    def __init__(self, tokens, mask):
        self.arrays = (tokens, mask)


class Encoder:
    def __init__(self, rules):
        """rules are the terms of a manifest."""
        from tokenizers import Tokenizer  # only open models need it

        try:
            self._tokenizer = Tokenizer.from_file(rules.tokenizer)
        except Exception as error:  # tokenizers raises only this
            raise ManifestError(f"terms.tokenizer: {error}") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._rules = rules
        # All requests for a video have the same terms.
        self.encode = lru_cache(64)(self._encode)

    def _ids(self, term):
        return self._tokenizer.encode(self._rules.prompt.format(term)).ids

    def known(self, terms):
        """Returns whether each term fits into the model."""
        return [len(self._ids(term)) <= self._rules.length for term in terms]

    def _encode(self, terms):
        tokens, mask = (np.zeros((len(terms), self._rules.length), np.int64) for _ in range(2))
        for i, term in enumerate(terms):
            ids = self._ids(term)
            tokens[i, : len(ids)], mask[i, : len(ids)] = ids, 1
        return Encoded(tokens, mask)
