"""The rows that trainers are given: texts of a JSON-lines file, cut as trainer native cuts them, in the
order of the file.

The classes below are named in configuration files of LitGPT and torchtune; each imports its trainer only when
it is used.
"""

import json
import os


def read_texts(path, field, most):
    """The texts of the first `most` records. A file without the field "output" may have "text"."""
    texts = []
    with open(path, encoding="utf-8-sig") as lines:
        for line in lines:
            if len(texts) == most:
                break
            if not line.strip():
                continue
            record = json.loads(line)
            if not texts and field == "output" and field not in record and "text" in record:
                field = "text"
            texts.append(record[field])
    return texts


def load_tokenizer(folder, length):
    """Encodes to at most `length` tokens, special tokens of the file included."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(length)
    return tokenizer


class Rows:
    """`samples` lists of token ids: those of the file in its order, and again from its beginning."""

    def __init__(self, path, field, rows, samples, tokenizer):
        self._ids = [tokenizer.encode(text).ids for text in read_texts(path, field, rows)]
        self._samples = samples

    def __len__(self):
        return self._samples

    def __getitem__(self, index):
        if not 0 <= index < self._samples:
            raise IndexError(index)
        return self._ids[index % len(self._ids)]
