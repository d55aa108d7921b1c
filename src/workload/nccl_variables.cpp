// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/nccl_variables.h"

#include "workload/nccl_variable_table.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string>

namespace ncclprobe::workload {
namespace {

// More channels than this came with 2.25.1 (MAXCHANNELS).
constexpr std::int64_t k_most_channels_before = 32;
constexpr int k_more_channels_since = 22501;

constexpr int k_flags_since = 23003;

struct KnownWord {
  std::string_view word;
  int since = 0;
};

std::vector<KnownWord> known_words(std::string_view words) {
  std::vector<KnownWord> known;
  while (!words.empty()) {
    std::string_view one = words.substr(0, words.find('|'));
    words.remove_prefix(std::min(one.size() + 1, words.size()));
    std::size_t at = std::min(one.find('@'), one.size());
    KnownWord& entry = known.emplace_back(KnownWord{one.substr(0, at), 0});
    if (at < one.size())
      std::from_chars(one.data() + at + 1, one.data() + one.size(), entry.since);
  }
  return known;
}

int or_newest(int version) {
  return version == 0 ? k_newest_known_nccl : version;
}

} // namespace

std::span<const Variable> nccl_variables() {
  return table::k_variables;
}

const Variable* find_variable(std::string_view name) {
  auto found = std::ranges::find(table::k_variables, name, &Variable::name);
  return found == table::k_variables.end() ? nullptr : &*found;
}

bool is_read_by(const Variable& variable, int version) {
  return version >= variable.since && (variable.until == 0 || version < variable.until);
}

std::vector<std::string_view> legal_words(const Variable& variable, int version) {
  std::vector<std::string_view> words;
  for (const KnownWord& known : known_words(variable.words))
    if (known.since <= or_newest(version))
      words.push_back(known.word);
  return words;
}

std::optional<int> word_since(const Variable& variable, std::string_view word) {
  for (const KnownWord& known : known_words(variable.words))
    if (known.word == word)
      return known.since;
  return std::nullopt;
}

Limits legal_numbers(const Variable& variable, int version) {
  Limits limits = variable.limits;
  if (variable.kind != ValueKind::integer)
    return limits;
  if (limits.most == table::k_most_channels && or_newest(version) < k_more_channels_since)
    limits.most = k_most_channels_before;
  return limits;
}

bool acts_on_network(Scope scope) {
  return scope == Scope::network || scope == Scope::socket || scope == Scope::infiniband ||
         scope == Scope::nvlink_between_nodes;
}

IntegerReading read_integer(std::string_view text) {
  std::string copy(text);
  char* end = nullptr;
  errno = 0;
  long long value = std::strtoll(copy.c_str(), &end, 0);
  bool fits = errno != ERANGE;
  bool any = end != copy.c_str();
  return {value, any && copy.find_first_not_of(" \t", end - copy.c_str()) == std::string::npos,
          fits};
}

bool reads_integer(const Variable& variable, int version) {
  return variable.kind == ValueKind::boolean || variable.kind == ValueKind::integer ||
         (variable.kind == ValueKind::flag && or_newest(version) < k_flags_since);
}

bool is_outside(const Variable& variable, std::int64_t value, int version) {
  Limits limits = legal_numbers(variable, version);
  return reads_integer(variable, version) && (value < limits.least || value > limits.most);
}

} // namespace ncclprobe::workload
