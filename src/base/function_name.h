// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ncclprobe::base {

// "std::map<>::find(int const&)": the arguments of templates fill lines and tell a reader nothing.
std::string without_template_arguments(std::string_view name);

// A symbol's function as C++ writes it, without the arguments of templates; other symbols as they
// are.
std::string function_name(const char* symbol);

} // namespace ncclprobe::base
