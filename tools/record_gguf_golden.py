#!/usr/bin/env python3
"""Records tests/golden/gguf with the gguf package of ggml-org: encoded blocks of every tensor type
that is read with the values that package decodes from them, and a whole small Llama.

    pip install gguf==0.19.0
    tools/record_gguf_golden.py tests/golden/gguf
"""
import hashlib
import json
import sys
from importlib.metadata import version
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

SEED = 20240607
TYPES = [Type.F32, Type.F16, Type.BF16, Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q6_K]
VOCABULARY, WIDTH, HEADS, KV_HEADS, FEED_FORWARD, LAYERS = 270, 32, 4, 2, 256, 2
HEAD_WIDTH = WIDTH // HEADS


def encode(values, kind, rng):
    """Bytes of `values`, rows kept. The package cannot quantise to Q6_K: blocks of any bits with
    small finite scales stand in."""
    if kind != Type.Q6_K:
        return gguf.quantize(values, kind)
    rows, columns = values.shape
    blocks = rng.integers(0, 256, size=(rows, columns // 256, 210), dtype=np.uint8)
    scales = rng.uniform(-0.002, 0.002, size=(rows, columns // 256, 1)).astype(np.float16)
    blocks[:, :, 208:210] = scales.view(np.uint8)
    return blocks.reshape(rows, -1)


def decode(data, kind):
    return np.ascontiguousarray(gguf.dequantize(data, kind), dtype=np.float32)


def record_blocks(rng):
    cases = []
    for kind in TYPES:
        columns = 512 if kind == Type.Q6_K else 64
        values = (rng.standard_normal((2, columns)) * 3).astype(np.float32)
        data = np.ascontiguousarray(encode(values, kind, rng))
        decoded = decode(data, kind)
        cases.append({
            "type": kind.name,
            "code": int(kind),
            "bytes": data.view(np.uint8).tobytes().hex(),
            "values": decoded.reshape(-1).view(np.uint32).tolist(),
        })
    return cases


def paired_rows(weight, heads):
    """The row order that GGUF files of Llama have: of each head, i and i + E/2 side by side."""
    shape = weight.shape
    halves = weight.reshape(heads, 2, shape[0] // heads // 2, *shape[1:])
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(shape))


def bfloat16_bits(values):
    bits = values.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def tensors():
    yield "token_embd", "model.embed_tokens", (VOCABULARY, WIDTH), Type.Q8_0, 0
    for layer in range(LAYERS):
        ours, theirs = f"blk.{layer}.", f"model.layers.{layer}."
        yield ours + "attn_q", theirs + "self_attn.q_proj", (WIDTH, WIDTH), Type.Q4_1, HEADS
        yield ours + "attn_k", theirs + "self_attn.k_proj", (KV_HEADS * HEAD_WIDTH, WIDTH), Type.Q4_0, KV_HEADS
        yield ours + "attn_v", theirs + "self_attn.v_proj", (KV_HEADS * HEAD_WIDTH, WIDTH), Type.BF16, 0
        yield ours + "attn_output", theirs + "self_attn.o_proj", (WIDTH, WIDTH), Type.F16, 0
        yield ours + "ffn_gate", theirs + "mlp.gate_proj", (FEED_FORWARD, WIDTH), Type.Q4_0, 0
        yield ours + "ffn_up", theirs + "mlp.up_proj", (FEED_FORWARD, WIDTH), Type.Q4_1, 0
        yield ours + "ffn_down", theirs + "mlp.down_proj", (WIDTH, FEED_FORWARD), Type.Q6_K, 0
        yield ours + "attn_norm", theirs + "input_layernorm", (WIDTH,), Type.F32, 0
        yield ours + "ffn_norm", theirs + "post_attention_layernorm", (WIDTH,), Type.F32, 0
    yield "output_norm", "model.norm", (WIDTH,), Type.F32, 0


def byte_letters():
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = iter(range(256, 512))
    return [chr(byte if byte in kept else next(spare)) for byte in range(256)]


def record_model(path, rng):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_block_count(LAYERS)
    writer.add_context_length(128)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(HEAD_WIDTH)
    writer.add_rope_freq_base(50000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    letters = byte_letters()
    special = ["<pad>", "<s>", "</s>"]
    merges = ["h e", "l l", "he ll", "Ġ w", "hell o"]
    tokens = special + letters + [merge.replace(" ", "") for merge in merges] + ["<tool>"]
    kinds = [3] * 3 + [1] * (len(letters) + len(merges)) + [4]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_chat_template("{{ messages }}")
    expected = {}
    for ours, theirs, shape, kind, heads in tensors():
        values = (rng.standard_normal(shape) * 0.1).astype(np.float32)
        stored = paired_rows(values, heads) if heads else values
        data = stored if kind == Type.F32 else encode(stored, kind, rng)
        writer.add_tensor(ours + ".weight", np.ascontiguousarray(data), raw_dtype=kind)
        decoded = decode(np.ascontiguousarray(data), kind).reshape(shape)
        if heads:  # back to two halves
            paired = decoded.reshape(heads, HEAD_WIDTH // 2, 2, shape[1])
            decoded = np.ascontiguousarray(paired.swapaxes(1, 2).reshape(shape))
        bits = bfloat16_bits(np.ascontiguousarray(decoded, dtype=np.float32))
        expected[theirs + ".weight"] = {
            "shape": list(shape),
            "first": bits.reshape(-1)[:8].tolist(),
            "sha256": hashlib.sha256(bits.tobytes()).hexdigest(),
        }
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return expected


def main():
    folder = Path(sys.argv[1])
    made_with = f"gguf {version('gguf')}, numpy {np.__version__}, seed {SEED}"
    rng = np.random.default_rng(SEED)
    blocks = {"made_with": made_with, "cases": record_blocks(rng)}
    (folder / "blocks.json").write_text(json.dumps(blocks) + "\n")
    expected = {"made_with": made_with, "tensors": record_model(folder / "tiny.gguf", rng)}
    (folder / "tiny.expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
