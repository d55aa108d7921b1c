// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <cstddef>
#include <string>
#include <string_view>

// Looked at before a document is parsed, as parsers and the trees that they make recurse: a key of
// 50,000 parts is a stack overflow. Only the limits are checked; what is malformed the parser says.
// Errors: invalid_argument, naming the limit and `name`, where it is passed.
namespace ncclprobe::base {

inline constexpr std::size_t k_most_levels = 100;        // ours have about ten
inline constexpr std::size_t k_most_values = 10'000'000; // a survey of 4,000 ranks has most of that
inline constexpr std::size_t k_most_toml_bytes = std::size_t{4} << 20;

Result<void> check_json_limits(std::string_view text, const std::string& name);
// As JSON libraries write it: also refuses tags and strings without a length.
Result<void> check_cbor_limits(std::string_view bytes, const std::string& name);
// Parts of a key are levels, as those of tables and lists.
Result<void> check_toml_limits(std::string_view text, const std::string& name);

} // namespace ncclprobe::base
