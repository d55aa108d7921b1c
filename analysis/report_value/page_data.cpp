// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report_value/page_data.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {

// A "<" could begin a tag or a comment, and so end the element around it.
void PageData::put(std::string_view text) {
  for (char c : nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace))
    if (c == '<' || c == '>' || c == '&')
      out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out_ += c;
}

} // namespace ncclprobe::analysis
