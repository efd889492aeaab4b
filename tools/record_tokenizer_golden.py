#!/usr/bin/env python3
"""Records the ids that the reference library gives, for tunebench/data/tokenizer_golden_test.cpp.

Trains two small BPE tokenizers on a licence text that every Debian system has and writes, for each,
NAME.tokenizer.json and NAME.expected.json into the folder given (tests/golden/tokenizer).

    pip install tokenizers==0.23.3
    tools/record_tokenizer_golden.py tests/golden/tokenizer
"""

import json
import pathlib
import sys

import tokenizers
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

CORPUS = pathlib.Path("/usr/share/common-licenses/Artistic")
LLAMA3_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEXTS = [
    "",
    " ",
    "   ",
    "\n",
    "a\r\n\r\nb \n c\t\td",
    "The Package is copyrighted; you may copy and distribute it.",
    "the The THE thE",
    "I'LL say we've done it, don't you? It'S ok.",
    "12345678 3.14159 1,000,000 0x1F",
    "caf\u00e9 cafe\u0301 nai\u0308ve \u212b A\u030a",
    "Stra\u00dfe \u0130stanbul \u01c5 '\u017f \ufb01ne",
    "\u00bd \u00b2 \u2167 \uff11\uff12 \u0661\u0662\u0663",
    "\u65e5\u672c\u8a9e \ud55c\uad6d\uc5b4 \u0e44\u0e17\u0e22 \u05e2\u05d1\u05e8\u05d9\u05ea",
    "\U0001f600\U0001f600 \U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea",
    "\u00a0\u3000\u200b\ufeff\u180e\u2028x\x00\x1f\x7f\x85",
    "<s>the text</s> and<s>more",
    "<|user|>hello<|end|>\n<|user|> there <|end|>",
    "keepkeep keep unkept KEEP",
    "a" * 70 + " " + "ab" * 40,
    "x" + " " * 40 + "y",
    "http://example.org/?q=1&r=%20#top [link](url) {json: \"v\"} <b>*</b>",
    "def f(x):\n    return x**2  # square\n\n\n",
    "A run of the program starts one child for each point. The child trains, writes a line for each\n"
    "step, and ends; the parent reads the lines, cuts the warm-up off and keeps what is left. When\n"
    "the child dies, the parent says how: out of memory, killed, or too slow.\n\n"
    "  * 1,024 tokens in 8.25 s are 124.1 tokens/s (n = 5, 95 % interval 122.9 to 125.3);\n"
    "  * peak memory was 3.4 GiB, of which the weights take 0.5.\n",
    "\u201cquoted\u201d \u2014 dash\u2026 \u20ac5 \u00a33 ~`|^$+=<>",
]


def train(tokenizer, byte_alphabet):
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<unk>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if byte_alphabet else [],
        show_progress=False,
    )
    tokenizer.train([str(CORPUS)], trainer)


def add_tokens(document):
    """Adds tokens with every kind of flag to a tokenizer.json."""
    free = max(document["model"]["vocab"].values()) + 1
    for content, flags in (
        ("<|user|>", {"special": True, "rstrip": True}),
        ("<|end|>", {"special": True, "lstrip": True}),
        ("keep", {"single_word": True, "normalized": True}),
    ):
        token = {"id": free, "content": content, "single_word": False, "lstrip": False}
        token.update({"rstrip": False, "normalized": False, "special": False})
        token.update(flags)
        document["added_tokens"].append(token)
        free += 1


def byte_level():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA3_WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    train(tokenizer, True)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    document = json.loads(tokenizer.to_str())
    document["model"]["ignore_merges"] = True
    add_tokens(document)
    return document


def characters():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    train(tokenizer, False)
    document = json.loads(tokenizer.to_str())
    vocabulary = document["model"]["vocab"]
    for byte in range(0x80, 0x100):  # the others are missing, so an emoji falls back, \x1f does not
        vocabulary[f"<0x{byte:02X}>"] = len(vocabulary)
    document["model"]["merges"] = [" ".join(pair) for pair in document["model"]["merges"]]
    add_tokens(document)
    return document


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in (("byte_level", byte_level()), ("characters", characters())):
        file_text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        (folder / f"{name}.tokenizer.json").write_text(file_text + "\n")
        reference = Tokenizer.from_str(file_text)
        cases = [
            {
                "text": text,
                "ids": reference.encode(text, add_special_tokens=False).ids,
                "with_special": reference.encode(text).ids,
            }
            for text in TEXTS
        ]
        recorded = {"made_with": f"tokenizers {tokenizers.__version__}", "cases": cases}
        lines = json.dumps(recorded).replace('{"text"', '\n{"text"')
        (folder / f"{name}.expected.json").write_text(lines + "\n")


if __name__ == "__main__":
    main()
