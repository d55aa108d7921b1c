// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/what_if.h"
#include "base/number_list.h"
#include "base/parse_enum.h"
#include "base/units.h"

#include <charconv>
#include <cmath>

namespace ncclprobe::analysis::job {
namespace {

constexpr const char* k_what_if_examples =
    "write rank:7=median, host=none, input=none, transfers=median, computing=-10%, "
    "all_reduce=-20%, "
    "all_reduce:data=-20% or bucket=100M; join several with '+' between them";

base::Error bad_change(std::string_view text) {
  return {base::Errc::invalid_argument, fmt::format("'{}' is not a change of a job", text),
          k_what_if_examples};
}

// "-20%" as 0.8.
std::optional<double> factor_of(std::string_view text) {
  if (text.size() < 3 || text.back() != '%' || (text.front() != '-' && text.front() != '+'))
    return std::nullopt;
  double percent = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [stopped, error] = std::from_chars(text.data() + 1, end, percent);
  if (error != std::errc{} || stopped != end || !std::isfinite(percent) || percent < 0)
    return std::nullopt;
  const double factor = 1 + (text.front() == '-' ? -percent : percent) / 100;
  return factor >= 0 && factor <= 1000 ? std::optional(factor) : std::nullopt;
}

base::Result<Change> change_of(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return base::fail(bad_change(text));
  std::string_view what = text.substr(0, equals), of;
  const std::string_view to = text.substr(equals + 1);
  if (const std::size_t colon = what.find(':'); colon != std::string_view::npos) {
    of = what.substr(colon + 1);
    what = what.substr(0, colon);
  }
  Change change;
  const std::optional<double> factor = factor_of(to);
  change.factor = factor.value_or(1);
  if (what == "rank" && to == "median") {
    change.kind = ChangeKind::rank;
    change.ranks = base::parse_number_list(of);
    if (!change.ranks.empty())
      return change;
  } else if ((what == "host" || what == "input") && of.empty() && to == "none") {
    change.kind = what == "host" ? ChangeKind::host : ChangeKind::input;
    return change;
  } else if (what == "transfers" && of.empty() && to == "median") {
    change.kind = ChangeKind::transfers;
    return change;
  } else if (what == "bucket" && of.empty()) {
    change.kind = ChangeKind::bucket;
    NCCLPROBE_TRY_ASSIGN(change.bytes, base::parse_bytes(to));
    if (change.bytes > 0)
      return change;
  } else if (factor && what == "computing" && of.empty()) {
    change.kind = ChangeKind::computing;
    return change;
  } else if (factor && !what.empty()) {
    change.kind = ChangeKind::function;
    for (char letter : what)
      if (letter != '_')
        change.function += letter;
    if (of.empty())
      return change;
    NCCLPROBE_TRY_ASSIGN(change.role, base::parse_enum<Role>(of, "group"));
    return change;
  }
  return base::fail(bad_change(text));
}

} // namespace

base::Result<WhatIf> parse_what_if(const std::string& text) {
  WhatIf out{text, {}};
  std::size_t begin = 0;
  // A "+" after "=" is a sign.
  for (std::size_t i = 0; i <= text.size(); ++i)
    if (i == text.size() || (text[i] == '+' && i > 0 && text[i - 1] != '=')) {
      NCCLPROBE_TRY_ASSIGN(Change change,
                           change_of(std::string_view(text).substr(begin, i - begin)));
      out.changes.push_back(std::move(change));
      begin = i + 1;
    }
  return out;
}

} // namespace ncclprobe::analysis::job
