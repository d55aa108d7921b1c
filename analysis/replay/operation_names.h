// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/collective.h"
#include "model/data_type.h"

#include <optional>
#include <string_view>

namespace ncclprobe::analysis::replay {

// By NCCL's names: "AllReduce", "ncclBfloat16". Nothing: a schedule has no such thing.
std::optional<model::Collective> collective_of(std::string_view function);
std::optional<model::DataType> data_type_of(std::string_view type);

} // namespace ncclprobe::analysis::replay
