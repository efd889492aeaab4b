#!/usr/bin/env python3
"""Let PEFT load an adapter and say what it computes.

    python tools/load_adapter.py MODEL_FOLDER ADAPTER_FOLDER CASE_JSON LOGITS_SAFETENSORS

writes the logits of the case's batch where there is no padding, float32. AdapterTest calls it on
folders that tunebench saved when TB_PEFT_PYTHON names a Python with torch, transformers and peft.
"""

import json
import pathlib
import sys

import peft
import torch
import transformers
from safetensors.torch import save_file


def main():
    torch.set_num_threads(1)
    model_folder, adapter_folder, case_file, logits_file = sys.argv[1:]
    case = json.loads(pathlib.Path(case_file).read_text())
    shape = (case["samples"], case["length"])
    real = torch.zeros(shape[0] * shape[1], dtype=torch.long)
    real[case["real_rows"]] = 1
    model = transformers.AutoModelForCausalLM.from_pretrained(
        model_folder, dtype=torch.float32, attn_implementation="eager")
    model = peft.PeftModel.from_pretrained(model, adapter_folder).eval()
    with torch.no_grad():
        logits = model(input_ids=torch.tensor(case["ids"]).view(shape),
                       attention_mask=real.view(shape), use_cache=False).logits
    logits = logits[:, -shape[1]:]
    save_file({"logits": logits[real.view(shape).bool()].contiguous()}, logits_file)


if __name__ == "__main__":
    main()
