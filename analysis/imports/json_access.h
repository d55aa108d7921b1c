// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Reading of other programs' JSON: every access is checked, because nothing of it can be trusted.
namespace ncclprobe::analysis::imports {

using Json = nlohmann::json;

struct Document {
  Json json;
  bool was_cut = false; // the end was missing
};

// A document whose end is missing is read up to the last list or object that is whole. Errors:
// invalid_argument if it is not JSON at all, or exceeds the limits of base/document_limits.h.
Result<Document> read_document(std::string_view text);

// The member of an object; null if there is none, or if `json` is no object.
const Json& member(const Json& json, const char* name);

// Nothing if it is of another type or out of range. Numbers in texts, "12.5", count too.
std::optional<double> number_in(const Json& json);
std::optional<std::int64_t> integer_in(const Json& json);
// Printable; empty if it is no text.
std::string text_in(const Json& json);

} // namespace ncclprobe::analysis::imports
