#!/usr/bin/env python3
"""Record what PyTorch and transformers compute for tiny models of the Llama family.

    python tools/record_golden.py [CASE ...]

writes tests/golden/llama/CASE/:
    config.json, model.safetensors   a Hugging Face folder; weights are bfloat16 values
    batch.json                       ids and labels of one batch, settings, losses, norms, versions
    gradients.safetensors            every gradient of the first step, before clipping, float32
    logits.safetensors               logits of the first step where there is no padding, float32
    trained.safetensors              every parameter after STEPS AdamW steps with clipping, float32

Needs torch, transformers, safetensors. Arithmetic is float32 on one CPU thread; the first label
of a row is position 1's token, as transformers shifts them.
"""

import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

STEPS = 3
SAMPLES, LENGTH = 2, 12
LEARNING_RATE, WEIGHT_DECAY, MAX_GRAD_NORM = 1e-2, 0.1, 1.0
IGNORED = -100

COMMON = dict(
    vocab_size=97, hidden_size=32, intermediate_size=56, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
    rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2, pad_token_id=0,
    tie_word_embeddings=False,
)
LLAMA3 = dict(
    rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0,
    high_freq_factor=4.0, original_max_position_embeddings=16,
)
CASES = {
    "tied": ("llama", dict(tie_word_embeddings=True)),
    "biased": ("llama", dict(attention_bias=True, mlp_bias=True, head_dim=12, intermediate_size=40)),
    "llama3-rope": ("llama", dict(rope_parameters=LLAMA3, num_key_value_heads=1)),
    "qwen2": ("qwen2", dict(rms_norm_eps=1e-6, tie_word_embeddings=True)),
}


def make_model(family, settings):
    kind = {"llama": "Llama", "qwen2": "Qwen2"}[family]
    config = getattr(transformers, kind + "Config")(**{**COMMON, **settings})
    config._attn_implementation = "eager"
    model = getattr(transformers, kind + "ForCausalLM")(config).float().train()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            # Wider than an initialisation, so that no gradient is close to zero; norms not 1.
            scale, centre = (0.2, 1.0) if "norm" in name else (0.25, 0.0)
            weight.copy_((centre + scale * torch.randn(weight.shape)).bfloat16().float())
    return config, model


def config_document(config, settings):
    """config.json in the words that every version of transformers reads."""
    document = json.loads(config.to_json_string())
    parameters = document.pop("rope_parameters", None) or {}
    document["rope_theta"] = parameters.get("rope_theta", 10000.0)
    if parameters.get("rope_type", "default") != "default":
        document["rope_scaling"] = {k: v for k, v in parameters.items() if k != "rope_theta"}
    document["architectures"] = [type(config).__name__.replace("Config", "ForCausalLM")]
    document["torch_dtype"] = document.pop("dtype", None) or "float32"
    return {key: value for key, value in sorted(document.items()) if not key.startswith("_")}


def make_batch():
    ids = torch.randint(3, COMMON["vocab_size"], (SAMPLES, LENGTH))
    labels = ids.clone()
    labels[0, :4] = IGNORED  # a masked prompt
    ids[1, LENGTH - 3:] = COMMON["pad_token_id"]  # padding on the right
    labels[1, LENGTH - 3:] = IGNORED
    return ids, labels


def tensors(model, pick):
    head_is_tied = model.config.tie_word_embeddings
    return {name: pick(weight).detach().clone().contiguous()
            for name, weight in model.named_parameters()
            if not (head_is_tied and name == "lm_head.weight")}


def record(case, folder):
    torch.manual_seed(list(CASES).index(case) + 1)
    family, settings = CASES[case]
    config, model = make_model(family, settings)
    ids, labels = make_batch()
    mask = torch.ones_like(ids)
    mask[1, LENGTH - 3:] = 0

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config_document(config, settings), indent=1) + "\n")
    save_file(tensors(model, lambda w: w.bfloat16()), folder / "model.safetensors",
              metadata={"format": "pt"})

    decayed = [w for n, w in model.named_parameters() if "norm" not in n and "bias" not in n]
    plain = [w for n, w in model.named_parameters() if "norm" in n or "bias" in n]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": plain, "weight_decay": 0.0}],
        lr=LEARNING_RATE)
    losses, norms = [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        output = model(input_ids=ids, attention_mask=mask, labels=labels)
        output.loss.backward()
        if step == 0:
            save_file(tensors(model, lambda w: w.grad), folder / "gradients.safetensors")
            save_file({"logits": output.logits.detach()[mask.bool()]}, folder / "logits.safetensors")
        losses.append(output.loss.item())
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_GRAD_NORM).item())
        optimizer.step()
    save_file(tensors(model, lambda w: w), folder / "trained.safetensors")

    # labels[b, t] in our files is what position t has to predict.
    ahead = torch.full_like(labels, IGNORED)
    ahead[:, :-1] = labels[:, 1:]
    document = {
        "torch": torch.__version__, "transformers": transformers.__version__,
        "samples": SAMPLES, "length": LENGTH,
        "learning_rate": LEARNING_RATE, "weight_decay": WEIGHT_DECAY,
        "max_grad_norm": MAX_GRAD_NORM,
        "real_rows": mask.flatten().nonzero().flatten().tolist(),
        "ids": ids.flatten().tolist(), "labels": ahead.flatten().tolist(),
        "losses": losses, "grad_norms": norms,
    }
    (folder / "batch.json").write_text(json.dumps(document) + "\n")
    print(case, "losses", losses, "norms", norms)


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    root = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "llama"
    for case in sys.argv[1:] or CASES:
        record(case, root / case)


if __name__ == "__main__":
    main()
