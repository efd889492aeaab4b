#!/usr/bin/env python3
"""Record what PyTorch and transformers compute for tiny models of each family.

    python tools/record_golden.py [FAMILY/CASE ...]

writes tests/golden/FAMILY/CASE/:
    config.json, model.safetensors   a Hugging Face folder; weights are bfloat16 values
    batch.json                       ids and labels of one batch, settings, losses, norms, versions
    gradients.safetensors            every gradient of the first step, before clipping, float32
    logits.safetensors               logits of the first step where there is no padding, float32
    trained.safetensors              every parameter after STEPS AdamW steps with clipping, float32

Needs torch, transformers, safetensors. Arithmetic is float32 on one CPU thread; the first label
of a row is position 1's token, as transformers shifts them. The cases of folder llama are larger
than the others because they are older.
"""

import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file
from transformers.core_model_loading import revert_weight_conversion

STEPS = 3
SAMPLES, LENGTH = 2, 12
LEARNING_RATE, WEIGHT_DECAY = 1e-2, 0.1
IGNORED = -100

FIRST = dict(
    vocab_size=97, hidden_size=32, intermediate_size=56, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
    rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2, pad_token_id=0,
    tie_word_embeddings=False,
)
TOKENS = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)
SMALL = dict(
    vocab_size=53, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
    rms_norm_eps=1e-5, tie_word_embeddings=False, **TOKENS,
)
LLAMA3 = dict(
    rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0,
    high_freq_factor=4.0, original_max_position_embeddings=16,
)
# Trained on 8 positions, so that the batch of 12 is beyond it.
YARN = dict(
    rope_type="yarn", rope_theta=100.0, factor=4.0, original_max_position_embeddings=8,
    beta_fast=2.0, beta_slow=0.1,
)
GEMMA = dict(head_dim=8, query_pre_attn_scalar=24, sliding_window=5, rms_norm_eps=1e-6,
             tie_word_embeddings=True, max_position_embeddings=64, num_hidden_layers=2)
# A share of the loss that shows in every gradient of a router.
EXPERTS = dict(intermediate_size=8, tie_word_embeddings=True, output_router_logits=True,
               router_aux_loss_coef=0.05)
CASES = {
    "llama/tied": ("Llama", dict(tie_word_embeddings=True)),
    "llama/biased": ("Llama", dict(attention_bias=True, mlp_bias=True, head_dim=12,
                                   intermediate_size=40)),
    "llama/llama3-rope": ("Llama", dict(rope_parameters=LLAMA3, num_key_value_heads=1)),
    "llama/qwen2": ("Qwen2", dict(rms_norm_eps=1e-6, tie_word_embeddings=True)),
    "rope/linear": ("Llama", dict(rope_parameters=dict(
        rope_type="linear", rope_theta=100.0, factor=2.5))),
    "rope/dynamic": ("Llama", dict(max_position_embeddings=8, rope_parameters=dict(
        rope_type="dynamic", rope_theta=100.0, factor=2.0))),
    "rope/yarn": ("Llama", dict(max_position_embeddings=32, rope_parameters=YARN)),
    "rope/yarn-told": ("Llama", dict(max_position_embeddings=32, rope_parameters=dict(
        YARN, attention_factor=1.5, truncate=False))),
    "mistral/window": ("Mistral", dict(sliding_window=5)),
    "qwen2/window": ("Qwen2", dict(use_sliding_window=True, sliding_window=4, max_window_layers=1,
                                   tie_word_embeddings=True)),
    "granite/multipliers": ("Granite", dict(
        embedding_multiplier=12.0, residual_multiplier=0.22, logits_scaling=8.0,
        attention_multiplier=0.3, tie_word_embeddings=True)),
    "granite/biased": ("Granite", dict(
        embedding_multiplier=6.0, residual_multiplier=0.4, logits_scaling=3.0,
        attention_multiplier=0.2, attention_bias=True, mlp_bias=True)),
    "granitemoehybrid/dense": ("GraniteMoeHybrid", dict(
        embedding_multiplier=12.0, residual_multiplier=0.22, logits_scaling=10.0,
        attention_multiplier=0.3, tie_word_embeddings=True, num_local_experts=0,
        num_experts_per_tok=0, shared_intermediate_size=24, position_embedding_type="rope",
        layer_types=["attention", "attention"], mamba_n_heads=4, mamba_d_head=8, mamba_expand=2,
        mamba_d_state=4)),
    "qwen3/qk-norm": ("Qwen3", dict(head_dim=6, rms_norm_eps=1e-6, tie_word_embeddings=True)),
    "phi3/short": ("Phi3", dict(sliding_window=7)),
    "phi3/longrope": ("Phi3", dict(
        max_position_embeddings=64, original_max_position_embeddings=8,
        num_attention_heads=2, num_key_value_heads=1, rope_parameters=dict(
            rope_type="longrope", rope_theta=100.0, partial_rotary_factor=0.75,
            short_factor=[1.0, 1.1, 1.3], long_factor=[1.2, 2.5, 4.0]))),
    "gemma2/caps": ("Gemma2", dict(
        GEMMA, attn_logit_softcapping=1.5, final_logit_softcapping=4.0)),
    "gemma3/two-bases": ("Gemma3", dict(
        GEMMA, layer_types=["sliding_attention", "full_attention"],
        rope_parameters=dict(
            sliding_attention=dict(rope_type="default", rope_theta=50.0),
            full_attention=dict(rope_type="linear", factor=4.0, rope_theta=5000.0)))),
    "gpt_bigcode/mqa": ("GPTBigCode", dict(
        vocab_size=53, n_embd=16, n_layer=2, n_head=4, n_positions=20, n_inner=40,
        activation_function="gelu", attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, **TOKENS)),
    "gpt_bigcode/mha": ("GPTBigCode", dict(
        vocab_size=53, n_embd=16, n_layer=2, n_head=4, n_positions=14, multi_query=False,
        scale_attn_weights=False, attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, **TOKENS)),
    "bloom/six-heads": ("Bloom", dict(vocab_size=53, hidden_size=12, n_layer=2, n_head=6, **TOKENS)),
    "mixtral/router-loss": ("Mixtral", dict(EXPERTS, num_local_experts=4, num_experts_per_tok=2)),
    "mixtral/window": ("Mixtral", dict(EXPERTS, num_local_experts=3, num_experts_per_tok=2,
                                       output_router_logits=False, sliding_window=5)),
    "granitemoe/router-loss": ("GraniteMoe", dict(
        EXPERTS, num_local_experts=5, num_experts_per_tok=3, attention_bias=True,
        embedding_multiplier=6.0, residual_multiplier=0.4, logits_scaling=3.0,
        attention_multiplier=0.2)),
    "granitemoeshared/shared-expert": ("GraniteMoeShared", dict(
        EXPERTS, num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=10,
        embedding_multiplier=12.0, residual_multiplier=0.22, logits_scaling=8.0,
        attention_multiplier=0.3)),
    "qwen2_moe/gated-shared-expert": ("Qwen2Moe", dict(
        EXPERTS, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8, norm_topk_prob=False,
        shared_expert_intermediate_size=10)),
    "qwen3_moe/renormalised": ("Qwen3Moe", dict(
        EXPERTS, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=6, norm_topk_prob=True,
        head_dim=6)),
    "olmoe/whole-qk-norm": ("Olmoe", dict(EXPERTS, num_experts=4, num_experts_per_tok=2)),
}
OWN_SIZES = ("GPTBigCode", "Bloom")
# Small enough that each step is clipped.
CLIPPED_AT = {"granite/multipliers": 0.1, "granite/biased": 0.1, "granitemoehybrid/dense": 0.1,
              "granitemoe/router-loss": 0.1, "granitemoeshared/shared-expert": 0.1}


def make_model(case):
    kind, settings = CASES[case]
    if kind not in OWN_SIZES:
        settings = {**(FIRST if case.startswith("llama/") else SMALL), **settings}
    config_class, model_class = kind + "Config", kind + "ForCausalLM"
    if kind == "Gemma3":
        config_class = "Gemma3TextConfig"
    config = getattr(transformers, config_class)(**settings)
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    model = getattr(transformers, model_class)(config).float().train()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            # Wider than an initialisation, so that no gradient is close to zero; norms not 1.
            scale, centre = (0.2, 1.0) if is_norm(name) and weight.dim() == 1 else (0.25, 0.0)
            if kind.startswith("Gemma") and is_norm(name):
                centre = 0.0  # these multiply with 1 + weight
            if name.endswith("bias"):
                centre = 0.0
            weight.copy_((centre + scale * torch.randn(weight.shape)).bfloat16().float())
    return config, model


def is_norm(name):
    return "norm" in name or ".ln_" in name


def config_document(config, model):
    """config.json in the words that older versions of transformers read, too."""
    document = json.loads(config.to_json_string())
    parameters = document.pop("rope_parameters", None) or {}
    if "full_attention" in parameters:
        document["rope_parameters"] = parameters
    elif parameters:
        document["rope_theta"] = parameters.get("rope_theta", 10000.0)
        if parameters.get("partial_rotary_factor", 1.0) != 1.0:
            document["partial_rotary_factor"] = parameters["partial_rotary_factor"]
        if parameters.get("rope_type", "default") != "default":
            document["rope_scaling"] = {k: v for k, v in parameters.items()
                                        if k not in ("rope_theta", "partial_rotary_factor")}
    document["architectures"] = [type(model).__name__]
    document["torch_dtype"] = document.pop("dtype", None) or "float32"
    return {key: value for key, value in sorted(document.items()) if not key.startswith("_")}


def make_batch(vocabulary):
    ids = torch.randint(3, vocabulary, (SAMPLES, LENGTH))
    labels = ids.clone()
    labels[0, :4] = IGNORED  # a masked prompt
    ids[1, LENGTH - 3:] = TOKENS["pad_token_id"]  # padding on the right
    labels[1, LENGTH - 3:] = IGNORED
    return ids, labels


def tensors(model, pick):
    """Under the names that checkpoints have, which are not always those of the modules."""
    head_is_tied = model.config.tie_word_embeddings
    picked = {name: pick(weight).detach().clone().contiguous()
              for name, weight in model.named_parameters()
              if not (head_is_tied and name == "lm_head.weight")}
    return {name: tensor.clone().contiguous()
            for name, tensor in revert_weight_conversion(model, picked).items()}


def record(case, folder):
    torch.manual_seed(list(CASES).index(case) + 1)
    config, model = make_model(case)
    ids, labels = make_batch(config.vocab_size)
    mask = torch.ones_like(ids)
    mask[1, LENGTH - 3:] = 0

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config_document(config, model), indent=1) + "\n")
    save_file(tensors(model, lambda w: w.bfloat16()), folder / "model.safetensors",
              metadata={"format": "pt"})

    plain = [w for n, w in model.named_parameters() if is_norm(n) or n.endswith("bias")]
    decayed = [w for n, w in model.named_parameters() if not (is_norm(n) or n.endswith("bias"))]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": plain, "weight_decay": 0.0}],
        lr=LEARNING_RATE)
    max_grad_norm = CLIPPED_AT.get(case, 1.0)
    losses, norms = [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        output = model(input_ids=ids, attention_mask=mask, labels=labels, use_cache=False)
        output.loss.backward()
        if step == 0:
            save_file(tensors(model, lambda w: w.grad), folder / "gradients.safetensors")
            save_file({"logits": output.logits.detach()[mask.bool()]}, folder / "logits.safetensors")
        losses.append(output.loss.item())
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm).item())
        optimizer.step()
    save_file(tensors(model, lambda w: w), folder / "trained.safetensors")

    # labels[b, t] in our files is what position t has to predict.
    ahead = torch.full_like(labels, IGNORED)
    ahead[:, :-1] = labels[:, 1:]
    document = {
        "torch": torch.__version__, "transformers": transformers.__version__,
        "samples": SAMPLES, "length": LENGTH,
        "learning_rate": LEARNING_RATE, "weight_decay": WEIGHT_DECAY,
        "max_grad_norm": max_grad_norm,
        "real_rows": mask.flatten().nonzero().flatten().tolist(),
        "ids": ids.flatten().tolist(), "labels": ahead.flatten().tolist(),
        "losses": losses, "grad_norms": norms,
    }
    (folder / "batch.json").write_text(json.dumps(document) + "\n")
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(case, "losses", losses, "norms", norms, "bytes", size)


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    root = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
    for case in sys.argv[1:] or CASES:
        record(case, root / case)


if __name__ == "__main__":
    main()
