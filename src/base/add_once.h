// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace ncclprobe::base {

// Appends a text unless it is empty or already present.
inline void add_once(std::vector<std::string>& texts, std::string text) {
  if (!text.empty() && std::ranges::find(texts, text) == texts.end())
    texts.push_back(std::move(text));
}

} // namespace ncclprobe::base
