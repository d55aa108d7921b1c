// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/record.h"
#include "wire/packing.h"

#include <vector>

namespace ncclprobe::wire {

// Marks column by column: a cell has up to half a million a rank.
void pack_marks(Packer& packer, const std::vector<model::Mark>& marks);
std::vector<model::Mark> unpack_marks(Unpacker& unpacker); // throws as Unpacker does

} // namespace ncclprobe::wire
