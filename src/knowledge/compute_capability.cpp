// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/compute_capability.h"

#include <charconv>

namespace ncclprobe::knowledge {
namespace {

Error not_a_capability(std::string_view text) {
  return {Errc::invalid_argument, fmt::format("'{}' is not a compute capability", text),
          "such as 8.9, sm_89 or compute_89"};
}

bool read_number(std::string_view text, int& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0;
}

} // namespace

std::string ComputeCapability::text() const {
  return fmt::format("{}.{}", major, minor);
}

std::string ComputeCapability::sm() const {
  return fmt::format("sm_{}{}", major, minor);
}

std::string CodeTarget::sm() const {
  return capability.sm() + (reach == Reach::exact ? "a" : reach == Reach::family ? "f" : "");
}

std::string CodeTarget::compute() const {
  return "compute_" + sm().substr(3);
}

Result<CodeTarget> parse_code_target(std::string_view text) {
  std::string_view rest = text;
  for (std::string_view prefix : {"sm_", "SM_", "compute_"})
    if (rest.starts_with(prefix))
      rest.remove_prefix(prefix.size());
  CodeTarget target;
  if (rest.ends_with('a'))
    target.reach = Reach::exact;
  else if (rest.ends_with('f'))
    target.reach = Reach::family;
  if (target.reach != Reach::portable)
    rest.remove_suffix(1);

  std::size_t dot = rest.find('.');
  // Without a dot the last digit is the minor: sm_120 is 12.0.
  std::size_t split = dot == std::string_view::npos ? rest.size() - 1 : dot;
  if (rest.size() < 2 || rest.size() > 4)
    return fail(not_a_capability(text));
  std::string_view minor = rest.substr(dot == std::string_view::npos ? split : split + 1);
  ComputeCapability& capability = target.capability;
  if (!read_number(rest.substr(0, split), capability.major) ||
      !read_number(minor, capability.minor) || minor.size() != 1)
    return fail(not_a_capability(text));
  return target;
}

Result<ComputeCapability> parse_compute_capability(std::string_view text) {
  NCCLPROBE_TRY_ASSIGN(CodeTarget target, parse_code_target(text));
  if (target.reach != Reach::portable)
    return fail(not_a_capability(text));
  return target.capability;
}

} // namespace ncclprobe::knowledge
