// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <cstddef>
#include <string>
#include <string_view>

// Checks a document before it is parsed, because parsers and their trees recurse: a key of 50,000
// parts overflows the stack. Only the limits are checked; the parser reports malformed documents.
// Errors: invalid_argument, naming the exceeded limit and `name`.
namespace ncclprobe::base {

inline constexpr std::size_t k_most_levels = 100; // ours have about ten
inline constexpr std::size_t k_most_values =
    10'000'000; // a survey of 4,000 ranks has almost that many
inline constexpr std::size_t k_most_toml_bytes = std::size_t{4} << 20;

Result<void> check_json_limits(std::string_view text, const std::string& name);
// CBOR as JSON libraries write it: tags and strings without a length are refused too.
Result<void> check_cbor_limits(std::string_view bytes, const std::string& name);
// Parts of a key are levels, like tables and lists.
Result<void> check_toml_limits(std::string_view text, const std::string& name);

} // namespace ncclprobe::base
