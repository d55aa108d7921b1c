// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/suitability/wheel_spec.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

namespace ncclprobe::analysis {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

tl::unexpected<base::Error> no_wheel(const std::string& text, const std::string& why) {
  return base::fail(base::Error{base::Errc::invalid_argument,
                                fmt::format("'{}' names no PyTorch wheel: {}", text, why),
                                "such as torch==2.8.0+cu128, torch==2.8 (the one that PyPI has) or "
                                "2.8+cu126"});
}

// The text after a version's numbers: "rc1", ".dev20251001", ".post1".
enum class Suffix { none, pre_release, wrong };
Suffix kind_of(std::string_view suffix) {
  if (suffix.empty() || suffix.starts_with(".post"))
    return Suffix::none;
  for (std::string_view before : {".dev", "dev", "rc", "a", "b"})
    if (suffix.starts_with(before) &&
        std::all_of(suffix.begin() + static_cast<std::ptrdiff_t>(before.size()), suffix.end(),
                    is_digit))
      return Suffix::pre_release;
  return Suffix::wrong;
}

std::optional<WheelBuild> build_of(std::string_view tag) {
  if (tag == "cpu" || tag.starts_with("cpu."))
    return WheelBuild::cpu;
  if (tag == "xpu")
    return WheelBuild::xpu;
  if (tag.starts_with("rocm"))
    return WheelBuild::rocm;
  if (tag.size() >= 4 && tag.size() <= 5 && tag.starts_with("cu") &&
      std::all_of(tag.begin() + 2, tag.end(), is_digit))
    return WheelBuild::cuda;
  return std::nullopt;
}

} // namespace

base::Result<WheelSpec> parse_wheel_spec(const std::string& text) {
  WheelSpec spec;
  spec.text = text;
  std::string_view rest = text;
  if (std::size_t equals = rest.find("=="); equals != std::string_view::npos) {
    if (rest.substr(0, equals) != "torch")
      return no_wheel(text, fmt::format("'{}' is not torch", rest.substr(0, equals)));
    rest.remove_prefix(equals + 2);
  }
  const std::size_t plus = rest.find('+');
  const std::string_view version = rest.substr(0, plus);
  const std::size_t numbers = std::min(version.find_first_not_of("0123456789."), version.size());
  std::string_view suffix = version.substr(numbers);
  std::string_view digits = version.substr(0, numbers);
  if (digits.ends_with('.')) { // "2.10.0.dev1"
    suffix = version.substr(numbers - 1);
    digits.remove_suffix(1);
  }
  auto parsed = knowledge::parse_version(digits);
  const bool has_minor = parsed && parsed->parts.size() >= 2 && parsed->parts.size() <= 3;
  const bool all_read =
      parsed && static_cast<std::size_t>(std::count(digits.begin(), digits.end(), '.')) + 1 ==
                    parsed->parts.size();
  const Suffix kind = kind_of(suffix);
  if (!has_minor || !all_read || kind == Suffix::wrong)
    return no_wheel(text, fmt::format("'{}' is not a version", version));
  spec.torch = std::move(*parsed);
  spec.pre_release = kind == Suffix::pre_release;
  if (plus == std::string_view::npos)
    return spec;
  spec.tag = rest.substr(plus + 1);
  auto build = build_of(spec.tag);
  if (!build)
    return no_wheel(text, fmt::format("'{}' is not one of cu..., cpu, rocm... and xpu", spec.tag));
  spec.build = *build;
  return spec;
}

} // namespace ncclprobe::analysis
