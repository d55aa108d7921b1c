// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "base/fields.h"
#include "model/enum_names.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ncclprobe::analysis::doctor {

// Found by argument-dependent lookup for the enumerations of this folder.
using base::to_string;

// Ordered by how much it matters.
enum class CheckStatus {
  ok,
  info,    // informational, nothing to do
  unknown, // could not be checked: says what would be needed
  warn,    // works, with a cost or a risk
  fail,    // does not work, or makes results unreliable
};

// How a trial failed.
enum class Symptom {
  none,
  did_not_start, // before any of it ran
  failed,
  hung,
  wrong_data,
  detour, // it works, but more slowly than it could
};

// What a check found: one of a closed set of kinds, each with one sentence of one line. "{name}"
// and "{name:.2f}" in it stand for values, which must be there (else fmt::format_error).
struct What {
  What() = default;
  template <std::size_t M, std::size_t N> // literals alone
  What(const char (&name)[M], const char (&words)[N], Object named = {})
      : kind(name), sentence(words), values(std::move(named)), text(in_words(sentence, values)) {}
  std::string_view kind; // "mig_on", unique among all checks
  std::string_view sentence;
  Object values;
  std::string text; // the sentence with its values
  bool operator==(const What&) const = default;
};

// What a result costs, or its fix: a literal, in which "{name}" stands for a value of its What.
struct Words {
  Words() = default;
  Words(const char* literal) : sentence(literal) {} // NOLINT(google-explicit-constructor)
  std::string_view sentence;
  std::string text; // with the values, from CheckResults::add
  bool operator==(const Words&) const = default;
};
inline void write_as(base::Writer& out, const Words& words) {
  out.text(words.text);
}

// Another result, as the cause of this one.
struct Cause {
  std::string id; // "D14"
  std::string kind;
  std::string what; // for people
  bool operator==(const Cause&) const = default;
};
NCCLPROBE_FIELDS(Cause, id, kind, what)

struct CheckResult {
  std::string id; // "D14"
  CheckStatus status = CheckStatus::ok;
  What what;
  std::vector<std::string> evidence; // observations, one line each
  Words cost;                        // consequence of doing nothing; empty if there is none
  Words fix;                         // a command if possible; never run by us
  std::vector<int> ranks;            // affected ranks; none: the host or all
  std::vector<std::string> hosts;
  Symptom symptom = Symptom::none;
  std::vector<std::string> shows_as; // words in the evidence of failures that it causes
  std::optional<Cause> follows_from; // that its evidence names
  std::vector<Cause> may_be_of;      // could explain it, without proof
  bool operator==(const CheckResult&) const = default;
};
NCCLPROBE_FIELDS(CheckResult, id, status, evidence, cost, fix, follows_from, may_be_of, ranks,
                 hosts)

// "nccl_env" of "D14"; empty for an unknown id.
std::string_view check_name(std::string_view id);
// All ids in order.
std::vector<std::string_view> check_ids();

// The worst of all, ok if there are none.
CheckStatus worst(const std::vector<CheckResult>& findings);

} // namespace ncclprobe::analysis::doctor
