// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What an OptimizerOp computes, on every backend: AdamW (Loshchilov and Hutter) after many
// steps, when the bias correction of the first steps is negligible. With gradient g, weight w and
// moments m and v, in f32:
//   m = m + (1 - k_first_decay) (g - m)
//   v = k_second_decay v + (1 - k_second_decay) g g
//   w = w - k_learning_rate (m / (sqrt(v) + k_epsilon) + k_weight_decay w)
// The constants are PyTorch's defaults.
namespace ncclprobe::backend::adamw {

inline constexpr float k_learning_rate = 1e-3F;
inline constexpr float k_first_decay = 0.9F;
inline constexpr float k_second_decay = 0.999F;
inline constexpr float k_epsilon = 1e-8F;
inline constexpr float k_weight_decay = 1e-2F;

} // namespace ncclprobe::backend::adamw
