// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/data_pattern.h"

namespace ncclprobe::support {

// Bytes to copy around, other ones for each rank.
inline constexpr model::Pattern k_byte_pattern = model::pattern_for(
    1, model::Collective::send_recv, model::DataType::u8, model::ReduceOp::sum, 1);

} // namespace ncclprobe::support
