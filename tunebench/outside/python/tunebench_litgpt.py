"""LitGPT: makes its checkpoint of a Hugging Face folder, then runs its command line.

usage: python tunebench_litgpt.py MODEL_FOLDER CHECKPOINT -- LITGPT-WORDS

CHECKPOINT holds model_config.yaml; the weights are converted when they are not there yet. Nothing is told here:
tunebench_events watches LitGPT.
"""

import json
import os
import shutil
import sys
from pathlib import Path


def convert(model, checkpoint):
    """Writes lit_model.pth, whose name it gets when it is whole."""
    from litgpt.scripts import convert_hf_checkpoint as scripts
    from litgpt.config import Config
    from litgpt.utils import incremental_save

    config = Config.from_file(checkpoint / "model_config.yaml")
    index = model / "model.safetensors.index.json"
    if index.is_file():
        with open(index, encoding="utf-8") as file:
            names = set(json.load(file)["weight_map"].values())
    else:
        names = {"model.safetensors"}
    unfinished = checkpoint / ("lit_model.pth.%d" % os.getpid())
    weights, queries = {}, {}
    with incremental_save(unfinished) as saver:
        for name in sorted(names):
            stored = scripts.load_safetensors(model / name)
            scripts.copy_weights_hf_llama(config, queries, weights, stored, saver=saver, debug_mode=True)
        saver.save(weights)
    shutil.copy(model / "tokenizer.json", checkpoint / "tokenizer.json")
    own = model / "tokenizer_config.json"
    settings = json.loads(own.read_text(encoding="utf-8")) if own.is_file() else {}
    # It must name a class, although only the tokenizer file is used.
    settings.setdefault("tokenizer_class", "PreTrainedTokenizerFast")
    (checkpoint / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    os.replace(unfinished, checkpoint / "lit_model.pth")


def main(words):
    model, checkpoint, rest = Path(words[0]), Path(words[1]), words[words.index("--") + 1 :]
    if not (checkpoint / "lit_model.pth").is_file():
        convert(model, checkpoint)
    from litgpt.__main__ import main as litgpt

    sys.argv = ["litgpt", *rest]
    litgpt()


if __name__ == "__main__":
    main(sys.argv[1:])
