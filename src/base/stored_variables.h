// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

// Run files, examinations, traces and logs are passed on to others. They store values only of
// variables on a list of harmless names. A prefix such as CUDA_ is not enough, because somebody's
// CUDA_API_KEY has it too. Needs only the C++ runtime.
namespace ncclprobe::base {

bool is_harmless_variable(std::string_view name);

// The replacement for all other values.
inline constexpr std::string_view k_value_not_stored = "(set)";

// As the value of a setting: workers do not inherit the variable.
inline constexpr std::string_view k_value_unset = "(not set)";

// The value to store and show.
std::string stored_value(std::string_view name, std::string_view value);

} // namespace ncclprobe::base
