// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.h"

#include <string>
#include <vector>

namespace ncclprobe::support {

// A document that is refused, and what the message must name: the place, and what is wrong there.
struct Refusal {
  std::string document;
  std::vector<std::string> named;
};

// `refuse(document)` gives the message.
template <typename Refuse>
void check_refusals(const std::vector<Refusal>& all, Refuse refuse) {
  for (const Refusal& one : all) {
    INFO(one.document);
    const std::string message = refuse(one.document);
    for (const std::string& word : one.named)
      CHECK_THAT(message, ContainsSubstring(word));
  }
}

} // namespace ncclprobe::support
