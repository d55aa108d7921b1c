// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/page/page_bundle.h"

#include "analysis/page/embedded.h"
#include "base/base64.h"

namespace ncclprobe::analysis {
namespace {

// Of the hexadecimal digits that CMake writes.
std::string hash_in_base64(std::string_view digits) {
  auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(16 * value(digits[i]) + value(digits[i + 1]));
  return base::base64(bytes);
}

} // namespace

bool has_page() {
  return !page_script().empty();
}

std::string_view page_script() {
  return page::embedded_text("script");
}

std::string_view page_style() {
  return page::embedded_text("style");
}

std::string page_script_hash() {
  return hash_in_base64(page::embedded_text("script_hash"));
}

std::string page_style_hash() {
  return hash_in_base64(page::embedded_text("style_hash"));
}

} // namespace ncclprobe::analysis
