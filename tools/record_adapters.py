#!/usr/bin/env python3
"""Record what PEFT computes for adapters of the tiny models that record_golden.py made.

    python tools/record_adapters.py [CASE ...]

writes tests/golden/adapters/CASE/:
    adapter_config.json, adapter_model.safetensors   a PEFT folder, saved by PEFT: the beginning
    case.json                  the model, its batch, settings, losses, norms, versions
    logits.safetensors         logits of the first step where there is no padding, float32
    gradients.safetensors      the gradient of each tensor of the folder, before clipping, float32
    trained.safetensors        the folder's tensors after STEPS AdamW steps with clipping, float32

Needs torch, transformers, peft, safetensors. Arithmetic is float32 on one CPU thread; nothing is
dropped, since torch's random numbers are not ours.
"""

import json
import pathlib
import sys

import peft
import torch
import transformers
from safetensors.torch import save_file

STEPS = 3
LEARNING_RATE, WEIGHT_DECAY = 1e-2, 0.1
IGNORED = -100
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"


def lora(**settings):
    return peft.LoraConfig(task_type="CAUSAL_LM", **settings)


def prompt(tokens):
    return peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=tokens)


CASES = {
    "lora/llama": ("llama/tied", lora(r=4, lora_alpha=16, target_modules=["q_proj", "v_proj"])),
    "lora/llama-biases": ("llama/biased", lora(
        r=3, lora_alpha=8, target_modules=["k_proj", "v_proj", "down_proj"], bias="lora_only")),
    "lora/llama-saved": ("llama/tied", lora(
        r=2, lora_alpha=4, target_modules=["o_proj"],
        modules_to_save=["lm_head", "k_proj", "input_layernorm"])),
    "lora/qwen3-stabilised": ("qwen3/qk-norm", lora(
        r=8, lora_alpha=8, target_modules="all-linear", use_rslora=True)),
    "lora/gpt_bigcode": ("gpt_bigcode/mqa", lora(
        r=4, lora_alpha=16, target_modules=["c_attn", "c_proj"])),
    "lora/bloom-biases": ("bloom/six-heads", lora(
        r=4, lora_alpha=16, target_modules=["query_key_value", "dense_h_to_4h"], bias="all")),
    "lora/gemma2": ("gemma2/caps", lora(r=4, lora_alpha=8, target_modules=["q_proj", "up_proj"])),
    "lora/phi3": ("phi3/short", lora(
        r=4, lora_alpha=16, target_modules="all-linear", modules_to_save=["embed_tokens"])),
    "lora/granite-pattern": ("granite/multipliers", lora(
        r=4, lora_alpha=16, target_modules=r".*\.1\..*(q|o|gate)_proj")),
    "prompt/llama": ("llama/tied", prompt(5)),
    "prompt/qwen3": ("qwen3/qk-norm", prompt(3)),
    "prompt/gpt_bigcode": ("gpt_bigcode/mqa", prompt(4)),
    "prompt/bloom": ("bloom/six-heads", prompt(4)),
    "prompt/gemma2": ("gemma2/caps", prompt(3)),
    "prompt/phi3": ("phi3/short", prompt(4)),
    "prompt/granite": ("granite/multipliers", prompt(2)),
    "prompt/mistral": ("mistral/window", prompt(4)),
    "lora/mixtral": ("mixtral/window", lora(
        r=4, lora_alpha=16, target_modules=["q_proj", "v_proj"])),
    "prompt/mixtral": ("mixtral/window", prompt(3)),
}


def load_batch(name):
    recorded = json.loads((GOLDEN / name / "batch.json").read_text())
    shape = (recorded["samples"], recorded["length"])
    real = torch.zeros(shape[0] * shape[1], dtype=torch.long)
    real[recorded["real_rows"]] = 1
    return (torch.tensor(recorded["ids"]).view(shape), torch.tensor(recorded["labels"]).view(shape),
            real.view(shape), recorded)


def loss_of(logits, labels):
    return torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)


def stored(model, pick):
    """What PEFT stores, each tensor replaced by what `pick` makes of it."""
    trained = {name: pick(weight).detach().clone().contiguous()
               for name, weight in model.named_parameters() if weight.requires_grad}
    if model.active_peft_config.peft_type == "PROMPT_TUNING":
        return {"prompt_embeddings": next(iter(trained.values()))}
    whole = {name: trained.get(name, weight) for name, weight in model.state_dict().items()}
    return {name: weight.clone().contiguous() for name, weight in
            peft.get_peft_model_state_dict(model, state_dict=whole,
                                           save_embedding_layers=False).items()}


def plain(name):
    return name.endswith("bias") or "norm" in name or ".ln_" in name


def record(case, folder):
    torch.manual_seed(list(CASES).index(case) + 1)
    base, config = CASES[case]
    ids, labels, mask, recorded = load_batch(base)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        GOLDEN / base, dtype=torch.float32, attn_implementation="eager")
    model = peft.get_peft_model(model, config).float().train()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_" in name or "prompt" in name:  # so that no gradient is zero
                weight.copy_(0.25 * torch.randn(weight.shape))

    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder, save_embedding_layers=False)
    (folder / "README.md").unlink()
    trained = [(n, w) for n, w in model.named_parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW(
        [{"params": [w for n, w in trained if not plain(n)], "weight_decay": WEIGHT_DECAY},
         {"params": [w for n, w in trained if plain(n)], "weight_decay": 0.0}], lr=LEARNING_RATE)
    losses, norms = [], []
    max_grad_norm = None
    for step in range(STEPS):
        optimizer.zero_grad()
        logits = model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        logits = logits[:, -ids.shape[1]:]  # without those of virtual tokens
        loss = loss_of(logits, labels)
        loss.backward()
        if step == 0:
            save_file(stored(model, lambda w: w.grad), folder / "gradients.safetensors")
            save_file({"logits": logits.detach()[mask.bool()]}, folder / "logits.safetensors")
        losses.append(loss.item())
        weights = [w for _, w in trained]
        norm = torch.linalg.vector_norm(torch.stack([w.grad.norm() for w in weights])).item()
        max_grad_norm = max_grad_norm or round(norm / 5, 3)
        norms.append(norm)
        torch.nn.utils.clip_grad_norm_(weights, max_grad_norm)
        optimizer.step()
    save_file(stored(model, lambda w: w), folder / "trained.safetensors")

    document = {
        "torch": torch.__version__, "transformers": transformers.__version__,
        "peft": peft.__version__, "model": base,
        "samples": recorded["samples"], "length": recorded["length"],
        "learning_rate": LEARNING_RATE, "weight_decay": WEIGHT_DECAY,
        "max_grad_norm": max_grad_norm,
        "trained_parameters": sum(w.numel() for _, w in trained),
        "real_rows": recorded["real_rows"], "ids": recorded["ids"], "labels": recorded["labels"],
        "losses": losses, "grad_norms": norms,
    }
    (folder / "case.json").write_text(json.dumps(document) + "\n")
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(case, "losses", losses, "norms", norms, "bytes", size)


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for case in sys.argv[1:] or CASES:
        record(case, GOLDEN / "adapters" / case)


if __name__ == "__main__":
    main()
