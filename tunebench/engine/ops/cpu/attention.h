#pragma once

#include <cstdint>

#include "tunebench/base/thread_pool.h"
#include "tunebench/engine/core/view.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine::cpu {

struct AttentionShape {
  Heads heads;
  Sequences sequences;
  Scoring scoring;
};

/// Floats of workspace that both passes need.
std::int64_t attention_workspace(const Heads& heads, const Sequences& sequences, int threads);

void attention_forward(ThreadPool& pool, const AttentionShape& shape, View qkv, View out, View lse,
                       float* workspace);

struct AttentionGradient {
  View dout;
  View qkv;
  View out;
  View lse;
  View dqkv;
};
void attention_backward(ThreadPool& pool, const AttentionShape& shape,
                        const AttentionGradient& views, float* workspace);

}  // namespace tunebench::engine::cpu
