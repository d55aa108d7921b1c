// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <cstdint>

// The oracle of model/data_pattern.h over whole buffers, much faster than element by element. Types
// and operations are dispatched once per buffer, and no branch in the loops depends on the data.
namespace ncclprobe::host {

// Sets elements [0, count) to pattern.number(rank, i).
void fill_pattern(void* data, model::DataType, const model::Pattern&, int rank,
                  std::uint64_t count);

backend::Mismatch compare_pattern(const void* data, model::DataType, const model::Pattern&,
                                  const model::Expectation&);

// Counts bytes that are not model::k_poison_byte.
backend::Mismatch compare_poison(const std::byte* data, std::uint64_t bytes);

} // namespace ncclprobe::host
