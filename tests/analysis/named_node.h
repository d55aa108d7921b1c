// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/suitability/node_in_question.h"
#include "base/error.h"

#include <string>

namespace ncclprobe::analysis_test {

// Throws where no such GPU is known.
inline analysis::NodeInQuestion node_named(const std::string& gpu) {
  return base::value_or_throw(analysis::named_node(gpu));
}

} // namespace ncclprobe::analysis_test
