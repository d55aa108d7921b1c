// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/function_name.h"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace ncclprobe::base {

std::string without_template_arguments(std::string_view name) {
  constexpr std::string_view k_operator = "operator";
  std::string kept;
  int depth = 0;
  for (const char c : name) {
    const bool of_operator = // operator<, operator<<, operator->
        depth == 0 && (kept.ends_with(k_operator) || kept.ends_with("operator<") ||
                       kept.ends_with("operator>") || kept.ends_with("operator-"));
    if (of_operator) {
      kept += c;
      continue;
    }
    if (c == '<' && depth++ == 0)
      kept += "<>";
    if (depth == 0)
      kept += c;
    if (c == '>' && depth > 0)
      --depth;
  }
  return kept;
}

std::string function_name(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
  return status == 0 ? without_template_arguments(plain.get()) : symbol;
}

} // namespace ncclprobe::base
