// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"

#include <map>
#include <string>

namespace ncclprobe::launch {

// The result of a gather, sent to all: why it failed, or the bytes of each rank.
struct Gathered {
  std::string problem, hint;
  std::map<int, std::string> parts;
};
NCCLPROBE_FIELDS(Gathered, problem, hint, parts)

} // namespace ncclprobe::launch
