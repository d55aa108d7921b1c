// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

// Run files, examinations, traces and logs are handed to others. They tell values only of variables
// that are known to be harmless, by a list of names: a prefix such as CUDA_ says nothing, as
// anybody's CUDA_API_KEY has it too. Needs nothing but the C++ runtime.
namespace ncclprobe::base {

bool is_harmless_variable(std::string_view name);

// What stands for all other values.
inline constexpr std::string_view k_value_not_stored = "(set)";

// The value as it may be stored and shown.
std::string stored_value(std::string_view name, std::string_view value);

} // namespace ncclprobe::base
